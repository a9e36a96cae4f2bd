/* Tests of the workspace root: it opens nothing outside, and nothing inside can block the program. */

#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static struct scratch files, outside;
static struct beneath *root;

static int setup(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    scratch_init(&files);
    scratch_init(&outside);
    scratch_write(&outside, "secret", "outside\n");
    root = beneath_open(files.path, &err);
    return root ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    beneath_close(root);
    scratch_release(&files);
    scratch_release(&outside);
    return 0;
}

static void link_to(const char *target, const char *name)
{
    CLEANUP(free) char *path = scratch_path(&files, name);
    assert_int_equal(symlink(target, path), 0);
}

static void expect_text(const char *path, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (beneath_read(root, path, &out, 0, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(out.buf, text);
}

static void expect_refusal(const char *path, int code, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(beneath_read(root, path, &out, 0, NULL, &err), -1);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, code);
    assert_int_equal(out.len, 0);
}

TEST_WITH(paths_are_cleaned, setup, teardown)
{
    static const char *const good[][2] = {
        {"a", "a"},
        {"./a//b/", "a/b"},
        {".", "."},
        {"./", "."},
        {"a/..", "."},
        {"a/./b/../c", "a/c"},
        {"a/b/../..", "."},
        {"...", "..."},
        {"..a/b..", "..a/b.."},
        {"a b/\xff", "a b/\xff"},
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        CLEANUP(free) char *clean = beneath_clean(root, good[i][0], &err);
        assert_non_null(clean);
        assert_string_equal(clean, good[i][1]);
    }
    CLEANUP(free) char *absolute = xasprintf("%s//x/../y", beneath_path(root));
    CLEANUP(free) char *below = beneath_clean(root, absolute, &err);
    assert_string_equal(below, "y");
    CLEANUP(free) char *itself = beneath_clean(root, beneath_path(root), &err);
    assert_string_equal(itself, ".");

    CLEANUP(free) char *sibling = xasprintf("%sx/y", beneath_path(root));
    CLEANUP(free) char *climbs = xasprintf("%s/../y", beneath_path(root));
    const char *const bad[] = {"..", "../a", "a/../../b", "./../x", "/", "/etc/passwd", sibling, climbs};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(free) char *expected = xasprintf("path escapes workspace: %s", bad[i]);
        assert_null(beneath_clean(root, bad[i], &err));
        assert_string_equal(err.text, expected);
    }
    beneath_set_alias(root, "/workspace");
    CLEANUP(free) char *alias = beneath_clean(root, "/workspace/a/../b", &err);
    assert_string_equal(alias, "b");
    assert_null(beneath_clean(root, "/workspaces/b", &err));
    assert_null(beneath_clean(root, "/workspace/../b", &err));
    beneath_set_alias(root, NULL);
    assert_null(beneath_clean(root, "", &err));
    assert_string_equal(err.text, "the path is empty");
}

TEST_WITH(root_of_everything, setup, teardown)
{
    struct err err = ERR_INIT;
    struct beneath *all = beneath_open("/", &err);
    assert_non_null(all);
    CLEANUP(free) char *clean = beneath_clean(all, "/etc/../usr/", &err);
    assert_string_equal(clean, "usr");
    beneath_close(all);
    assert_null(beneath_open("/no/such/folder", &err));
    assert_int_equal(err.code, ENOENT);
    CLEANUP(free) char *file = scratch_path(&outside, "secret");
    assert_null(beneath_open(file, &err));
}

TEST_WITH(links_never_lead_outside, setup, teardown)
{
    CLEANUP(free) char *secret = scratch_path(&outside, "secret");
    CLEANUP(free) char *inside = scratch_path(&files, "a/real");
    CLEANUP(free) char *climbing = xasprintf("../..%s", secret);
    scratch_write(&files, "a/real", "inside\n");
    scratch_mkdir(&files, "b");
    link_to("a/real", "inside");
    link_to("../a/real", "b/over");
    link_to("a", "folder");
    link_to(secret, "out");
    link_to(climbing, "b/climbs");
    link_to(outside.path, "outfolder");
    link_to(inside, "absolute");
    link_to("nowhere", "dangling");
    link_to("loop2", "loop1");
    link_to("loop1", "loop2");
    link_to("/proc/self/fd/0", "magic");

    expect_text("inside", "inside\n");
    expect_text("b/over", "inside\n");
    expect_text("folder/real", "inside\n");
    expect_refusal("out", EXDEV, "path escapes workspace: out");
    expect_refusal("b/climbs", EXDEV, "path escapes workspace: b/climbs");
    expect_refusal("outfolder/secret", EXDEV, "path escapes workspace: outfolder/secret");
    expect_refusal("absolute", EXDEV, "path escapes workspace: absolute");
    expect_refusal("magic", EXDEV, "path escapes workspace: magic");
    expect_refusal("dangling", ENOENT, "dangling does not exist");
    expect_refusal("loop1", ELOOP, "loop1 leads through too many symbolic links");
    expect_refusal("a/real/x", ENOTDIR, "a/real/x does not exist: a part of its path is not a folder");

    struct stat st;
    struct err err = ERR_INIT;
    const char *const links[] = {"inside", "out", "dangling", "loop1"};
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        assert_int_equal(beneath_lstat(root, links[i], &st, &err), 0);
        assert_true(S_ISLNK(st.st_mode));
    }
    assert_int_equal(beneath_lstat(root, "none", &st, &err), -1);
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(beneath_lstat(root, "outfolder/secret", &st, &err), -1);
    assert_int_equal(err.code, EXDEV);
}

TEST_WITH(special_files_do_not_block, setup, teardown)
{
    CLEANUP(free) char *fifo = scratch_path(&files, "fifo");
    CLEANUP(free) char *sock = scratch_path(&files, "sock");
    CLEANUP(free) char *null = scratch_path(&files, "null");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(sock) < sizeof(address.sun_path));
    memcpy(address.sun_path, sock, strlen(sock));
    CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);

    alarm(20);
    expect_refusal("fifo", EINVAL, "fifo is a FIFO, not a file");
    expect_refusal("sock", ENXIO, "sock cannot be read: it is a socket or a device");
    expect_refusal(".", EISDIR, ". is a folder, not a file");
    if (mknod(null, S_IFCHR | 0666, makedev(1, 3)) == 0)
        expect_refusal("null", EINVAL, "null is a device, not a file");
    struct err err = ERR_INIT;
    assert_int_equal(beneath_openat(root, "fifo", O_WRONLY, 0, &err), -1);
    alarm(0);
}

TEST_WITH(files_below_the_root_are_read, setup, teardown)
{
    struct err err = ERR_INIT;
    struct stat st;
    scratch_write(&files, "ten", "0123456789");
    scratch_write(&files, "empty", "");
    scratch_write(&files, "bad\xff\xfename", "strange\n");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    assert_int_equal(beneath_read(root, "ten", &out, 10, &st, &err), 0);
    assert_int_equal(st.st_size, 10);
    assert_int_equal(beneath_read(root, "ten", &out, 9, NULL, &err), -1);
    assert_int_equal(err.code, EFBIG);
    expect_text("empty", "");
    expect_text("bad\xff\xfename", "strange\n");
    char longer[600];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(beneath_lstat(root, longer, &st, &err), -1);
    assert_int_equal(err.code, ENAMETOOLONG);
    assert_non_null(strstr(err.text, "… is too long for a file name"));
}

static atomic_bool race_over;

/* Swaps a folder with a link that leads out, as fast as it goes. */
static void *swap(void *data)
{
    (void)data;
    CLEANUP(free) char *a = scratch_path(&files, "swap"), *b = scratch_path(&files, "trap");
    while (!atomic_load(&race_over))
        renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    return NULL;
}

TEST_WITH(a_race_never_wins, setup, teardown)
{
    scratch_write(&files, "swap/secret", "inside\n");
    link_to(outside.path, "trap");
    pthread_t thread;
    atomic_store(&race_over, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        struct err err = ERR_INIT;
        if (beneath_read(root, "swap/secret", &out, 0, NULL, &err) == 0)
            assert_string_equal(out.buf, "inside\n");
    }
    atomic_store(&race_over, true);
    pthread_join(thread, NULL);
}

/* A folder beneath it is a root like any other: by the name it really has, and with nothing above it. */
TEST_WITH(a_root_within, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    CLEANUP(free) char *real = scratch_path(&files, "a/b");
    struct err err = ERR_INIT;
    scratch_write(&files, "a/b/x", "inside\n");
    scratch_write(&files, "a/above", "above\n");
    link_to("a/b", "near");
    link_to("../above", "a/b/up");
    link_to(outside.path, "away");
    struct beneath *within = beneath_within(root, "near", &err);
    assert_non_null(within);
    assert_string_equal(beneath_path(within), real);
    assert_int_equal(beneath_read(within, "x", &out, 0, NULL, &err), 0);
    assert_int_equal(beneath_read(within, "up", &out, 0, NULL, &err), -1);
    assert_int_equal(err.code, EXDEV);
    beneath_close(within);
    err = (struct err)ERR_INIT;
    assert_null(beneath_within(root, "away", &err));
    assert_int_equal(err.code, EXDEV);
    assert_null(beneath_within(root, "a/above", &err));
    assert_int_equal(err.code, ENOTDIR);
}

static void expect_place(const char *asked, const char *path, size_t anchor, bool link)
{
    struct err err = ERR_INIT;
    struct beneath_place place;
    if (beneath_resolve(root, asked, &place, &err) < 0)
        fail_msg("%s: %s", asked, err.text);
    assert_string_equal(place.path, path);
    assert_int_equal(place.anchor.len, anchor);
    assert_int_equal(place.link, link);
    struct stat st;
    assert_int_equal(fstat(place.folder, &st), 0);
    assert_true(st.st_dev == place.anchor.dev && st.st_ino == place.anchor.ino);
    beneath_place_release(&place);
}

static void expect_unresolved(const char *asked, int code, const char *part)
{
    struct err err = ERR_INIT;
    struct beneath_place place;
    assert_int_equal(beneath_resolve(root, asked, &place, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, part));
}

TEST_WITH(paths_are_resolved_below_the_root, setup, teardown)
{
    CLEANUP(free) char *inside = scratch_path(&files, "a/b");
    scratch_write(&files, "a/b/x", "x");
    scratch_write(&files, "file", "f");
    link_to("a", "one");
    link_to("one/b", "two");
    link_to("../..", "a/b/top");
    link_to(inside, "absolute");
    link_to("a/b/", "slashed");
    link_to("missing/folder", "dangling");
    link_to("missing/../file", "crooked");
    link_to("file", "a/none");
    link_to(outside.path, "away");
    link_to("../../..", "a/b/climbs");
    link_to("loop2", "loop1");
    link_to("loop1", "loop2");
    link_to("/proc/self/cwd", "magic");
    expect_place("a/b/x", "a/b/x", 3, false);
    expect_place("one/b/x", "a/b/x", 3, false);
    expect_place("./two//x", "a/b/x", 3, false);
    expect_place("absolute/x", "a/b/x", 3, false);
    expect_place("slashed/new/deep/er", "a/b/new/deep/er", 3, false);
    expect_place("slashed", "a/b", 1, true);
    expect_place("two/top/file", "file", 0, false);
    expect_place("two/top", ".", 0, true);
    expect_place("new", "new", 0, false);
    expect_place("dangling", "missing/folder", 0, true);
    expect_place("dangling/x", "missing/folder/x", 0, false);
    expect_place("a/none", "a/file", 1, true);
    expect_place(".", ".", 0, false);
    expect_unresolved("away", EXDEV, "away is a symbolic link to ");
    expect_unresolved("away/x/y", EXDEV, "path escapes workspace: away/x/y (away is a symbolic link to ");
    expect_unresolved("two/climbs/x", EXDEV,
                      "path escapes workspace: two/climbs/x (a/b/climbs is a symbolic link to ../../..");
    expect_unresolved("magic/x", EXDEV, "path escapes workspace: magic/x");
    expect_unresolved("../x", EXDEV, "path escapes workspace: ../x");
    expect_unresolved("loop1/x", ELOOP, "too many symbolic links");
    expect_unresolved("crooked", ENOENT, "does not exist");
    expect_unresolved("file/x", ENOTDIR, "not a folder");
}

TEST_WITH(the_same_folder_again, setup, teardown)
{
    struct err err = ERR_INIT;
    struct beneath_place place;
    CLEANUP(free) char *folder = scratch_path(&files, "a"), *aside = scratch_path(&files, "aside");
    scratch_mkdir(&files, "a");
    scratch_mkdir(&files, "b");
    assert_int_equal(beneath_resolve(root, "a/new/x", &place, &err), 0);
    assert_int_equal(beneath_folder(root, place.path, &place.anchor, false, &err), -1);
    assert_int_equal(err.code, ENOENT);
    int fd = beneath_folder(root, place.path, &place.anchor, true, &err);
    assert_true(fd >= 0);
    close(fd);
    assert_true(scratch_exists(&files, "a/new"));
    assert_int_equal(rename(folder, aside), 0);
    const char *const swaps[] = {"b", "aside", NULL};
    for (size_t i = 0; i < COUNT_OF(swaps); i++) {
        if (swaps[i])
            link_to(swaps[i], "a");
        else
            scratch_mkdir(&files, "a");
        assert_int_equal(beneath_folder(root, place.path, &place.anchor, true, &err), -1);
        assert_int_equal(err.code, ESTALE);
        assert_string_equal(err.text, "a was moved or replaced during the call");
        scratch_remove(&files, "a");
    }
    assert_int_equal(beneath_folder(root, place.path, &place.anchor, true, &err), -1);
    assert_int_equal(err.code, ESTALE);
    beneath_place_release(&place);
}
