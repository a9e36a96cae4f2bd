/* Tests of operations on whole trees. The digest is the same with one thread or two, and always ends. Removing and
 * copying follow no link and stay within their tree. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tree.h"
#include "support/scratch.h"
#include "support/shortcuts.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct scratch files;

static void assert_content(const char *name, const char *want)
{
    CLEANUP(free) char *content = scratch_read(&files, name, NULL);
    assert_string_equal(content, want);
}

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    return chdir(files.path);
}

static int teardown(void **state)
{
    (void)state;
    scratch_release(&files);
    return chdir("/");
}

/* Files a, b, c … with sizes around the size of a piece, against the same stream hashed at once. */
TEST_WITH(any_size, setup, teardown)
{
    static const size_t sizes[] = {0, 1, 4095, 262143, 262144, 262145, 600000};
    for (size_t count = 1; count <= 70; count += 23) {
        CLEANUP(strbuf) struct strbuf stream = STRBUF_INIT;
        char expected[HASH_SHA256_HEX], got[HASH_SHA256_HEX];
        struct err err = ERR_INIT;
        for (size_t i = 0; i < count; i++) {
            char name[16];
            size_t len = sizes[i % COUNT_OF(sizes)];
            snprintf(name, sizeof(name), "%c%02zu/file", 'a' + (int)(i % 3), i);
            CLEANUP(free) char *bytes = xmalloc(len + 1);
            memset(bytes, (int)i, len);
            scratch_write_bytes(&files, name, bytes, len);
        }
        for (int letter = 'a'; letter <= 'c'; letter++)
            for (size_t i = 0; i < count; i++)
                if ((int)(i % 3) == letter - 'a') {
                    size_t len = sizes[i % COUNT_OF(sizes)];
                    strbuf_addf(&stream, "%c%02zu/file", letter, i);
                    strbuf_addch(&stream, '\0');
                    strbuf_grow(&stream, len);
                    memset(stream.buf + stream.len, (int)i, len);
                    strbuf_set_len(&stream, stream.len + len);
                    strbuf_addch(&stream, '\0');
                }
        hash_sha256(stream.buf, stream.len, expected);
        assert_int_equal(tree_digest_path(files.path, got, &err), 0);
        assert_string_equal(got, expected);
    }
}

TEST_WITH(links_to_files_are_read, setup, teardown)
{
    char linked[HASH_SHA256_HEX], plain[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    scratch_write(&files, "one/a", "x");
    scratch_write(&files, "two/a", "x");
    scratch_write(&files, "one/b", "x");
    CLEANUP(free) char *link = scratch_path(&files, "two/b"), *one = scratch_path(&files, "one");
    CLEANUP(free) char *two = scratch_path(&files, "two");
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(tree_digest_path(one, plain, &err), 0);
    assert_int_equal(tree_digest_path(two, linked, &err), 0);
    assert_string_equal(linked, plain);
}

TEST_WITH(other_kinds_of_files, setup, teardown)
{
    char out[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&files, "thing");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(tree_digest_path(files.path, out, &err), -1);
    assert_non_null(strstr(err.text, "thing"));
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(tree_digest_path(files.path, out, &err), -1);
    unlink(path);
    assert_int_equal(symlink(".", path), 0);
    assert_int_equal(tree_digest_path(files.path, out, &err), -1);
    assert_int_equal(err.code, EISDIR);
}

TEST_WITH(a_digest_has_a_size_limit, setup, teardown)
{
    char out[HASH_SHA256_HEX];
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&files, "huge");
    int fd = open(path, O_WRONLY | O_CREAT, 0600), folder = open(files.path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    close(fd);
    assert_int_equal(tree_digest(folder, false, 1 << 20, out, &err), -1);
    assert_int_equal(err.code, EFBIG);
    close(folder);
}

static void remove_tree(const char *path)
{
    struct err err = ERR_INIT;
    if (file_remove_tree(path, &err))
        fail_msg("%s", err.text);
    struct stat st;
    assert_int_equal(lstat(path, &st), -1);
}

TEST_WITH(remove_does_not_follow_links, setup, teardown)
{
    scratch_mkdir(&files, "outside");
    scratch_write(&files, "outside/precious", "x");
    scratch_mkdir(&files, "t/a/b");
    scratch_write(&files, "t/a/f", "x");
    assert_int_equal(symlink("../../outside", "t/a/link"), 0);
    assert_int_equal(symlink("../outside/precious", "t/file-link"), 0);
    assert_int_equal(symlink("nowhere", "t/broken"), 0);
    assert_int_equal(mkfifo("t/fifo", 0600), 0);
    remove_tree("t");
    assert_content("outside/precious", "x");
    /* Nor when the path is a link itself. */
    assert_int_equal(symlink("outside", "top"), 0);
    remove_tree("top");
    assert_content("outside/precious", "x");
    remove_tree("outside/precious"); /* a file */
    remove_tree("never-was");
}

TEST_WITH(remove_closed_folders, setup, teardown)
{
    scratch_mkdir(&files, "closed/in/deep");
    scratch_write(&files, "closed/in/f", "x");
    assert_int_equal(chmod("closed/in/deep", 0), 0);
    assert_int_equal(chmod("closed/in", 0500), 0);
    assert_int_equal(chmod("closed", 0500), 0);
    remove_tree("closed");
}

TEST_WITH(empty_folder, setup, teardown)
{
    struct err err = ERR_INIT;
    struct stat before, after;
    scratch_mkdir(&files, "ws/in/closed");
    scratch_mkdir(&files, "beside");
    scratch_write(&files, "beside/precious", "x");
    scratch_write(&files, "ws/in/f", "x");
    assert_int_equal(symlink("../beside", "ws/link"), 0);
    assert_int_equal(symlink("ws", "alias"), 0);
    assert_int_equal(chmod("ws/in/closed", 0), 0);
    assert_int_equal(chmod("ws", 0), 0);
    assert_int_equal(stat("ws", &before), 0);
    if (file_empty_folder("ws", &err))
        fail_msg("%s", err.text);
    assert_int_equal(stat("ws", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* the folder itself stays */
    assert_int_equal(rmdir("ws"), 0);              /* and is empty */
    assert_content("beside/precious", "x");
    assert_int_equal(file_empty_folder("ws", &err), -1);
    assert_string_equal(err.text, "cannot empty ws: No such file or directory");
    assert_int_equal(file_empty_folder("beside/precious", &err), -1);
    scratch_mkdir(&files, "ws");
    assert_int_equal(file_empty_folder("alias", &err), -1); /* a link was put in its place */
}

/* Folders named "d" within each other, and every now and then a file beside one. */
static void make_deep(const char *name, int depth)
{
    scratch_mkdir(&files, name);
    int at = open(name, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        if (i % 50 == 0)
            close(openat(at, "f", O_CREAT | O_WRONLY, 0600));
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        close(at);
        at = next;
    }
    close(at);
}

TEST_WITH(remove_is_not_bounded_by_descriptors, setup, teardown)
{
    /* Deeper than paths and descriptors reach, and with folders beside it. */
    make_deep("deep", 10000);
    scratch_mkdir(&files, "deep/other");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {128, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct err err = ERR_INIT;
    int failed = file_remove_tree("deep", &err);
    setrlimit(RLIMIT_NOFILE, &before);
    if (failed)
        fail_msg("%s", err.text);
    assert_int_equal(access("deep", F_OK), -1);
}

TEST_WITH(copy_is_bounded_in_depth, setup, teardown)
{
    struct err err = ERR_INIT;
    char one[HASH_SHA256_HEX], two[HASH_SHA256_HEX];
    make_deep("most", 199);
    assert_int_equal(file_copy_tree("most", "copy", &err), 0);
    assert_int_equal(tree_digest_path("most", one, &err), 0);
    assert_int_equal(tree_digest_path("copy", two, &err), 0);
    assert_string_equal(one, two);
    make_deep("deep", 250);
    int before = dup(0);
    close(before);
    assert_int_equal(file_copy_tree("deep", "copy2", &err), -1);
    assert_int_equal(err.code, ENAMETOOLONG);
    int after = dup(0); /* the lowest that is free: none was left open */
    close(after);
    assert_int_equal(after, before);
}

TEST_WITH(copy_tree, setup, teardown)
{
    scratch_mkdir(&files, "from/sub/empty");
    scratch_write(&files, "from/f", "content");
    scratch_write(&files, "from/sub/run", "#!/bin/sh\n");
    assert_int_equal(chmod("from/sub/run", 0750), 0);
    assert_int_equal(chmod("from/sub/empty", 0500), 0);
    assert_int_equal(symlink("../f", "from/sub/link"), 0);
    assert_int_equal(symlink("/nowhere", "from/broken"), 0);
    assert_int_equal(mkfifo("from/fifo", 0600), 0);
    CLEANUP(free) char *big = xcalloc(1, 300001);
    memset(big, 'b', 300000);
    scratch_write(&files, "from/big", big);

    struct err err = ERR_INIT;
    if (file_copy_tree("from", "to", &err))
        fail_msg("%s", err.text);
    assert_content("to/f", "content");
    assert_content("to/big", big);
    assert_content("to/sub/link", "content");
    struct stat st;
    assert_int_equal(lstat("to/sub/link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat("to/broken", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat("to/fifo", &st), -1);
    assert_int_equal(stat("to/sub/run", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0750);
    assert_int_equal(stat("to/sub/empty", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0500);
    CLEANUP(free) char *names = scratch_list(&files, "to");
    assert_string_equal(names, "big broken f sub");

    /* Into a folder inside itself: once, not endlessly. */
    if (file_copy_tree("from", "from/copy", &err))
        fail_msg("%s", err.text);
    assert_content("from/copy/f", "content");
    assert_int_equal(access("from/copy/copy", F_OK), -1);

    assert_int_equal(file_copy_tree("missing", "to2", &err), -1);
    assert_string_equal(err.text, "cannot copy missing: No such file or directory");
    /* Existing files are not overwritten. */
    assert_int_equal(file_copy_tree("from", "to", &err), -1);
    assert_int_equal(err.code, EEXIST);
    assert_memory_equal(err.text, "cannot copy from/", 17);
}
