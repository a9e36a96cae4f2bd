/* Files of the program's own: whole reads, whole replacements, trees, and where things live. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    folder = file_make_temp_dir(NULL, "keyturn-file-", &err);
    return folder && chdir(folder) == 0 ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int failed = chdir("/") || file_remove_tree(folder, &err) || access(folder, F_OK) == 0;
    free(folder);
    return failed;
}

static void put(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    if (file_replace(path, text, strlen(text), 0644, &err))
        fail_msg("%s", err.text);
}

static void assert_content(const char *path, const char *want)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (file_read(path, &out, 0, &err))
        fail_msg("%s", err.text);
    assert_string_equal(out.buf, want);
}

static void make_dirs(const char *path)
{
    struct err err = ERR_INIT;
    if (file_mkdirs(path, 0755, &err))
        fail_msg("%s", err.text);
}

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void test_read(void **state)
{
    (void)state;
    put("r", "content");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    strbuf_addstr(&out, "> ");
    assert_int_equal(file_read("r", &out, 7, &err), 0);
    assert_string_equal(out.buf, "> content");
    assert_string_equal(err.text, ""); /* untouched */

    assert_int_equal(file_read("r", &out, 6, &err), -1);
    assert_string_equal(err.text, "cannot read r: it is larger than 6 bytes");
    assert_string_equal(out.buf, "> content"); /* nothing was added */
    assert_int_equal(file_read("missing", &out, 0, &err), -1);
    assert_string_equal(err.text, "cannot read missing: No such file or directory");
    assert_int_equal(err.code, ENOENT);
    assert_int_equal(file_read(".", &out, 0, &err), -1);
    assert_int_equal(err.code, EISDIR);
    /* A pipe is refused, and refused at once. */
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(file_read("fifo", &out, 0, &err), -1);
    assert_string_equal(err.text, "cannot read fifo: it is not a regular file");
    assert_int_equal(file_read("/dev/zero", &out, 0, &err), -1);
}

static void test_replace(void **state)
{
    (void)state;
    make_dirs("rep");
    struct err err = ERR_INIT;
    assert_int_equal(file_replace("rep/f", "one\0two", 7, 0640, &err), 0);
    struct stat st;
    assert_int_equal(stat("rep/f", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(st.st_size, 7);
    ino_t first = st.st_ino;
    put("rep/f", "new");
    assert_content("rep/f", "new");
    assert_int_equal(stat("rep/f", &st), 0);
    assert_true(st.st_ino != first); /* another file took the name: a reader of the old one keeps all of it */
    assert_int_equal(count_entries("rep"), 1);
    put("rep/empty", "");
    assert_content("rep/empty", "");

    assert_int_equal(file_replace("no/such/f", "x", 1, 0600, &err), -1);
    assert_string_equal(err.text, "cannot write no/such/f: No such file or directory");
    make_dirs("rep/dir/x");
    assert_int_equal(file_replace("rep/dir", "x", 1, 0600, &err), -1);
    assert_int_equal(count_entries("rep"), 3); /* and no temporary is left */
    put("plain-name", "here");
    assert_content("plain-name", "here");
}

static void test_replace_fails_whole(void **state)
{
    (void)state;
    make_dirs("full");
    put("full/f", "old content");
    /* A limit of the file size stands in for a full disk. */
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {1000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    char *big = xcalloc(1, 100000);
    struct err err = ERR_INIT;
    int failed = file_replace("full/f", big, 100000, 0600, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    free(big);
    assert_int_equal(failed, -1);
    assert_string_equal(err.text, "cannot write full/f: File too large");
    assert_content("full/f", "old content");
    assert_int_equal(count_entries("full"), 1);
}

static void test_write_all_to_a_slow_reader(void **state)
{
    (void)state;
    enum { SIZE = 300000 }; /* more than a pipe holds, so one write does not do */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        char *bytes = xcalloc(1, SIZE);
        for (int i = 0; i < SIZE; i++)
            bytes[i] = (char)(i % 127);
        _exit(file_write_all(ends[1], bytes, SIZE) ? 1 : 0);
    }
    close(ends[1]);
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    assert_int_equal(strbuf_read(&got, ends[0], 0), 0);
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(got.len, SIZE);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(got.buf[i], i % 127);

    assert_int_equal(file_write_all(-1, "x", 1), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(file_write_all(-1, "", 0), 0);
}

static void test_mkdirs(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    make_dirs("m/a/b/c");
    make_dirs("m/a/b/c");
    make_dirs("m//a///d/");
    make_dirs("/");
    CLEANUP(free) char *absolute = xasprintf("%s/m/x/y", folder);
    make_dirs(absolute);
    assert_int_equal(access("m/x/y", X_OK), 0);
    assert_int_equal(access("m/a/d", X_OK), 0);
    put("m/file", "x");
    assert_int_equal(file_mkdirs("m/file/below", 0700, &err), -1);
    assert_string_equal(err.text, "cannot create the folder m/file: Not a directory");
    /* A link to a folder counts as one. */
    assert_int_equal(symlink("a", "m/link"), 0);
    make_dirs("m/link/e");
    assert_int_equal(access("m/a/e", X_OK), 0);
    assert_int_equal(file_mkdirs("m/private", 0700, &err), 0);
    struct stat st;
    assert_int_equal(stat("m/private", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void remove_tree(const char *path)
{
    struct err err = ERR_INIT;
    if (file_remove_tree(path, &err))
        fail_msg("%s", err.text);
    struct stat st;
    assert_int_equal(lstat(path, &st), -1);
}

static void test_remove_does_not_follow_links(void **state)
{
    (void)state;
    make_dirs("outside");
    put("outside/precious", "x");
    make_dirs("t/a/b");
    put("t/a/f", "x");
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

static void test_remove_closed_folders(void **state)
{
    (void)state;
    make_dirs("closed/in/deep");
    put("closed/in/f", "x");
    assert_int_equal(chmod("closed/in/deep", 0), 0);
    assert_int_equal(chmod("closed/in", 0500), 0);
    assert_int_equal(chmod("closed", 0500), 0);
    remove_tree("closed");
}

static void test_empty_folder(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct stat before, after;
    make_dirs("ws/in/closed");
    make_dirs("beside");
    put("beside/precious", "x");
    put("ws/in/f", "x");
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
    make_dirs("ws");
    assert_int_equal(file_empty_folder("alias", &err), -1); /* somebody put a link in its place */
}

static void test_remove_is_not_bounded_by_descriptors(void **state)
{
    (void)state;
    /* Deeper than paths and descriptors reach, and with folders beside it. */
    make_dirs("deep/other");
    int at = open("deep", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        if (i % 500 == 0)
            close(openat(at, "f", O_CREAT | O_WRONLY, 0600));
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        close(at);
        at = next;
    }
    close(at);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {256, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct err err = ERR_INIT;
    int failed = file_remove_tree("deep", &err);
    setrlimit(RLIMIT_NOFILE, &before);
    if (failed)
        fail_msg("%s", err.text);
    assert_int_equal(access("deep", F_OK), -1);
}

static void test_copy_tree(void **state)
{
    (void)state;
    make_dirs("from/sub/empty");
    put("from/f", "content");
    put("from/sub/run", "#!/bin/sh\n");
    assert_int_equal(chmod("from/sub/run", 0750), 0);
    assert_int_equal(chmod("from/sub/empty", 0500), 0);
    assert_int_equal(symlink("../f", "from/sub/link"), 0);
    assert_int_equal(symlink("/nowhere", "from/broken"), 0);
    assert_int_equal(mkfifo("from/fifo", 0600), 0);
    CLEANUP(free) char *big = xcalloc(1, 300001);
    memset(big, 'b', 300000);
    put("from/big", big);

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
    assert_int_equal(count_entries("to"), 4);

    /* Into a folder inside itself: once, not for ever. */
    if (file_copy_tree("from", "from/copy", &err))
        fail_msg("%s", err.text);
    assert_content("from/copy/f", "content");
    assert_int_equal(access("from/copy/copy", F_OK), -1);

    assert_int_equal(file_copy_tree("missing", "to2", &err), -1);
    assert_string_equal(err.text, "cannot copy missing: No such file or directory");
    /* What is there already is not written over. */
    assert_int_equal(file_copy_tree("from", "to", &err), -1);
    assert_int_equal(err.code, EEXIST);
    assert_memory_equal(err.text, "cannot copy from/", 17);
}

static void test_temp_dir(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *one = file_make_temp_dir(folder, "p-", &err);
    CLEANUP(free) char *two = file_make_temp_dir(folder, "p-", &err);
    assert_string_not_equal(one, two);
    CLEANUP(free) char *start = xasprintf("%s/p-", folder);
    assert_memory_equal(one, start, strlen(start));
    struct stat st;
    assert_int_equal(stat(one, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_null(file_make_temp_dir("/no/where", "p", &err));
    assert_string_equal(err.text, "cannot create a folder in /no/where: No such file or directory");
    setenv("TMPDIR", folder, 1);
    CLEANUP(free) char *three = file_make_temp_dir(NULL, "q", &err);
    unsetenv("TMPDIR");
    assert_memory_equal(three, folder, strlen(folder));
}

static void assert_path(enum file_xdg kind, const char *name, const char *want)
{
    CLEANUP(free) char *path = file_xdg_path(kind, name);
    assert_string_equal(path, want);
}

static void test_xdg(void **state)
{
    (void)state;
    setenv("HOME", "/home/me", 1);
    static const char *const names[] = {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    assert_path(FILE_CONFIG, "theme", "/home/me/.config/keyturn/theme");
    assert_path(FILE_DATA, "a/b", "/home/me/.local/share/keyturn/a/b");
    assert_path(FILE_STATE, "", "/home/me/.local/state/keyturn");
    assert_path(FILE_CACHE, "x", "/home/me/.cache/keyturn/x");
    setenv("XDG_CONFIG_HOME", "/conf", 1);
    setenv("XDG_STATE_HOME", "relative", 1); /* invalid, so ignored */
    setenv("XDG_CACHE_HOME", "", 1);
    assert_path(FILE_CONFIG, "theme", "/conf/keyturn/theme");
    assert_path(FILE_STATE, "x", "/home/me/.local/state/keyturn/x");
    assert_path(FILE_CACHE, "x", "/home/me/.cache/keyturn/x");
}

static void test_program_dir(void **state)
{
    (void)state;
    CLEANUP(free) char *dir = file_program_dir();
    CLEANUP(free) char *path = xasprintf("%s/%s", dir, program_invocation_short_name);
    assert_int_equal(dir[0], '/');
    assert_int_equal(access(path, X_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_replace_fails_whole),
        cmocka_unit_test(test_write_all_to_a_slow_reader),
        cmocka_unit_test(test_mkdirs),
        cmocka_unit_test(test_remove_does_not_follow_links),
        cmocka_unit_test(test_remove_closed_folders),
        cmocka_unit_test(test_empty_folder),
        cmocka_unit_test(test_remove_is_not_bounded_by_descriptors),
        cmocka_unit_test(test_copy_tree),
        cmocka_unit_test(test_temp_dir),
        cmocka_unit_test(test_xdg),
        cmocka_unit_test(test_program_dir),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
