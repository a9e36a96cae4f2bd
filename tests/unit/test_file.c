/* Tests of the program's own files: whole reads, whole replacements, and the default folders. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

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

TEST(files_are_read)
{
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

TEST(files_are_replaced_atomically)
{
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

TEST(replace_fails_whole)
{
    make_dirs("full");
    put("full/f", "old content");
    /* A limit on the file size simulates a full disk. */
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

TEST(write_all_to_a_slow_reader)
{
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

TEST(missing_folders_are_made)
{
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

TEST(temp_dir)
{
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

TEST(xdg_folders_are_found)
{
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

TEST(program_dir)
{
    CLEANUP(free) char *dir = file_program_dir();
    CLEANUP(free) char *path = xasprintf("%s/%s", dir, program_invocation_short_name);
    assert_int_equal(dir[0], '/');
    assert_int_equal(access(path, X_OK), 0);
}

TEST_GROUP(make_folder, drop_folder)
