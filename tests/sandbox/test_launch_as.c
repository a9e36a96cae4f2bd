/* Tests keyturn-launch --as: the user of the command, the files that it sees, and that it ends with its parent. Only
 * root can use it. */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/user.h"
#include "support/test.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCHER    BUILD_DIR "/keyturn-launch"
#define OPTIONS_MAX 16

static char *top;  /* everyone may enter */
static char *shut; /* contains 0700, with shown/, lent/ and other/ */

static char *in_shut(const char *name)
{
    return xasprintf("%s/%s", shut, name);
}

static void put(const char *name, const char *text, mode_t mode)
{
    CLEANUP(free) char *path = in_shut(name);
    assert_int_equal(file_replace(path, text, strlen(text), mode, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void make(const char *name, mode_t mode)
{
    CLEANUP(free) char *path = in_shut(name);
    assert_int_equal(mkdir(path, mode), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static int prepare(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return 0;
    top = file_make_temp_dir(NULL, "keyturn-as-", NULL);
    shut = xasprintf("%s/shut", top);
    if (chmod(top, 0755) || mkdir(shut, 0700))
        return -1;
    make("shown", 0755);
    make("shown/below", 0777);
    make("lent", 0700);
    make("lent/work", 0777);
    make("other", 0755);
    put("shown/file", "open", 0644);
    put("lent/file", "lent", 0600);
    put("other/file", "hidden", 0644);
    put("alone", "alone", 0644);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    int failed = top ? file_remove_tree(top, NULL) : 0;
    free(top);
    free(shut);
    return failed;
}

static void become_launcher(const char *const *options, const char *command)
{
    char uid[16], gid[16];
    const char *argv[OPTIONS_MAX + 16] = {LAUNCHER, "--as", uid, "--as-group", gid};
    size_t count = 5;
    snprintf(uid, sizeof(uid), "%u", (unsigned)sandbox_user()->uid);
    snprintf(gid, sizeof(gid), "%u", (unsigned)sandbox_user()->gid);
    while (*options)
        argv[count++] = *options++;
    argv[count++] = "--";
    argv[count++] = "sh";
    argv[count++] = "-c";
    argv[count++] = command;
    execv(LAUNCHER, (char **)(uintptr_t)argv);
    _exit(126);
}

static void read_all(int fd, struct strbuf *out)
{
    char block[4096];
    ssize_t got;
    while ((got = read(fd, block, sizeof(block))) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            strbuf_add(out, block, (size_t)got);
    close(fd);
}

/* Returns the output of the command with these options. */
static char *run(const char *const *options, const char *command)
{
    struct strbuf out = STRBUF_INIT;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("SHUT", shut, 1);
        setenv("TOP", top, 1);
        become_launcher(options, command);
    }
    close(ends[1]);
    read_all(ends[0], &out);
    waitpid(pid, NULL, 0);
    return strbuf_detach(&out, NULL);
}

#define SKIP_UNLESS_ROOT() \
    if (geteuid() != 0)    \
    skip()

TEST(the_command_is_the_other_user)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free)
    char *said = run((const char *const[]){NULL}, "id -u; id -g; id -G; grep -E '^Cap|^Groups' /proc/self/status");
    CLEANUP(free)
    char *wanted =
        xasprintf("%u\n%u\n%u\nGroups:\t \n"
                  "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                  "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n",
                  (unsigned)sandbox_user()->uid, (unsigned)sandbox_user()->gid, (unsigned)sandbox_user()->gid);
    assert_string_equal(said, wanted);
}

TEST(only_bound_paths_are_visible)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free) char *shown = in_shut("shown"), *alone = in_shut("alone");
    CLEANUP(free) char *without = run((const char *const[]){NULL}, "cat $SHUT/shown/file 2>/dev/null || echo no");
    assert_string_equal(without, "no\n");
    CLEANUP(free)
    char *said = run((const char *const[]){"--show", shown, "--show", alone, NULL},
                     "ls $SHUT; cat $SHUT/shown/file $SHUT/alone; echo x > $SHUT/shown/below/made && cat "
                     "$SHUT/shown/below/made; touch $SHUT/new 2>/dev/null || echo shut");
    assert_string_equal(said, "alone\nshown\nopenalonex\nshut\n");
    /* The file on the host belongs to the other user, and the host's folder is unchanged. */
    struct stat st;
    CLEANUP(free) char *made = in_shut("shown/below/made"), *hidden = in_shut("other/file");
    assert_int_equal(stat(made, &st), 0);
    assert_int_equal(st.st_uid, sandbox_user()->uid);
    assert_int_equal(access(hidden, F_OK), 0);
    assert_int_equal(stat(shut, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(unlink(made), 0);
}

TEST(bound_folders_are_read_only)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free) char *bind_mounts = in_shut("lent"), *work = in_shut("lent/work");
    const char *command = "cat $SHUT/lent/file; (echo x > $SHUT/lent/file) 2>/dev/null || echo kept; "
                          "(echo x > $SHUT/lent/work/made) 2>/dev/null && echo made";
    CLEANUP(free) char *alone = run((const char *const[]){"--lend", bind_mounts, NULL}, command);
    assert_string_equal(alone, "lentkept\n");
    /* Mounts inside it stay visible. */
    CLEANUP(free) char *both = run((const char *const[]){"--show", work, "--lend", bind_mounts, NULL}, command);
    assert_string_equal(both, "lentkept\nmade\n");
}

TEST(links_lead_to_bound_folders)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free) char *link = xasprintf("%s/l", top), *through = xasprintf("%s/l/file", top);
    CLEANUP(free) char *shown = in_shut("shown"), *file = in_shut("shown/file");
    assert_int_equal(symlink(shown, link), 0);
    CLEANUP(free)
    char *said = run((const char *const[]){"--show", through, "--show", file, NULL}, "cat $TOP/l/file; ls $SHUT/shown");
    assert_string_equal(said, "openfile\n");
    assert_int_equal(unlink(link), 0);
}

TEST(standard_files_can_be_opened_again)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free) char *said = run((const char *const[]){NULL}, "echo again > /dev/stderr");
    assert_string_equal(said, "again\n");
}

TEST(wrong_arguments_are_reported)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(free) char *gone = in_shut("gone");
    CLEANUP(free) char *said = run((const char *const[]){"--show", gone, NULL}, "echo began");
    assert_non_null(strstr(said, "keyturn-launch: cannot open "));
    assert_null(strstr(said, "began"));
    CLEANUP(free) char *relative = run((const char *const[]){"--show", "there", NULL}, "echo began");
    assert_string_equal(relative, "keyturn-launch: cannot show there: Invalid argument\n");
    CLEANUP(free) char *root = run((const char *const[]){"--as", "0", NULL}, "echo began");
    assert_non_null(strstr(root, "keyturn-launch: --as needs root and another user than root"));
}

/* The command holds the pipe until it ends, and only the end of its parent ends it. */
TEST(the_command_ends_with_its_parent)
{
    SKIP_UNLESS_ROOT();
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
            become_launcher((const char *const[]){NULL}, "echo began; exec sleep 600");
        }
        pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    alarm(60); /* ends the test, which would wait for the other end */
    read_all(ends[0], &out);
    alarm(0);
    assert_string_equal(out.buf, "egan\n");
}

TEST_GROUP(prepare, clean)
