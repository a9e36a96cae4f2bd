/* Tests the table of system calls, row by row: every forbidden call is made, with harmless arguments. A call that
 * reaches the kernel fails with EFAULT, EBADF or EINVAL; a filtered one gives EPERM or ENOSYS, or ends the process. The
 * control makes the same calls without the filter. */

#include "base/mem.h"
#include "inside.h"
#include "support/scratch.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct scratch work;
static struct sandbox_options filtered, unfiltered;

static int setup(void **state)
{
    (void)state;
    scratch_init(&work);
    filtered = (struct sandbox_options){.workspace = work.path, .no_landlock = true, .no_rlimits = true};
    unfiltered = filtered;
    unfiltered.no_seccomp = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_release(&work);
    return 0;
}

/* ---- whole calls ---- */

struct row {
    const char *name, *rule;
};
#define SYSCALL(name, rule, why) {#name, #rule},
static const struct row rows[] = {
#include "../../harness/syscalls.def"
};

/* All arguments are -1: not a valid descriptor, process, address or set of flags. */
static int try_row(const struct row *row, const struct sandbox_options *options)
{
    struct attempt call = {seccomp_syscall_resolve_name(row->name), {-1, -1, -1, -1, -1, -1}};
    return inside(options, attempt, &call);
}

static bool takes_arguments(const char *name)
{
    return strcmp(name, "fork") != 0 && strcmp(name, "vfork") != 0;
}

TEST(calls_that_are_refused)
{
    size_t tried = 0, reached = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        bool kill = strcmp(row->rule, "KILL") == 0, nosys = strcmp(row->rule, "NOSYS") == 0;
        if (!kill && !nosys && strcmp(row->rule, "DENY") != 0)
            continue;
        if (seccomp_syscall_resolve_name(row->name) < 0)
            continue; /* missing on this machine */
        int got = try_row(row, &filtered), expected = kill ? -SIGSYS : nosys ? ENOSYS : EPERM;
        if (got != expected)
            fail_msg("%s: expected %d, got %d", row->name, expected, got);
        tried++;
        /* Without the filter, only calls that need a privilege still fail. */
        int control = takes_arguments(row->name) ? try_row(row, &unfiltered) : EPERM;
        if (control < 0)
            fail_msg("%s ends the process without the filter too, by signal %d", row->name, -control);
        reached += control != EPERM && control != ENOSYS;
    }
    print_message("%zu calls refused, %zu of them reach the kernel without the filter\n", tried, reached);
    assert_true(tried > 100);
    assert_true(reached > tried / 2); /* more for root */
}

static int fork_and_wait(const void *unused)
{
    (void)unused;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : waitpid(pid, NULL, 0) == pid ? 0 : ECHILD;
}

TEST(fork_is_refused)
{
    assert_int_equal(inside(&filtered, fork_and_wait, NULL), EPERM);
    assert_int_equal(inside(&unfiltered, fork_and_wait, NULL), 0);
}

/* Calls through which a reader of a file may change it are allowed only if files are protected by another layer. */
TEST(metadata_calls_pass_only_where_files_are_read_only)
{
    static const char *const names[] = {"fchmod", "fchown", "utimensat"};
    struct sandbox_options protected = filtered;
    protected.readonly = true;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct attempt call = {seccomp_syscall_resolve_name(names[i]), {-1, 0, 0, 0}}; /* no descriptor */
        assert_int_equal(inside(&filtered, attempt, &call), EPERM);
        assert_int_equal(inside(&protected, attempt, &call), EBADF);
    }
}

TEST(other_system_call_tables_are_refused)
{
#ifdef __x86_64__
    struct attempt x32 = {0x40000000 | SYS_getppid, {0}};
    assert_int_equal(inside(&filtered, attempt, &x32), -SIGSYS);
    assert_true(inside(&unfiltered, attempt, &x32) >= 0);
#endif
}

/* ---- arguments ---- */

/* Each pair differs in the one argument that the filter checks. Upper halves of ints hold garbage, which the kernel
 * does not read: they must neither hide a forbidden value nor make an allowed one fail. */
#define GARBAGE 0x7fff00000000

static void expect(struct attempt call, const char *what, int expected)
{
    int got = inside(&filtered, attempt, &call), control = inside(&unfiltered, attempt, &call);
    if (got != expected)
        fail_msg("%s: expected %d, got %d", what, expected, got);
    if (control == EPERM)
        fail_msg("%s is refused without the filter too", what);
}

#define REFUSED(name, ...)       expect((struct attempt){SYS_##name, {__VA_ARGS__}}, #name " " #__VA_ARGS__, EPERM)
#define REACHED(name, code, ...) expect((struct attempt){SYS_##name, {__VA_ARGS__}}, #name " " #__VA_ARGS__, code)

TEST(calls_are_refused_by_their_arguments)
{
    REACHED(fcntl, EBADF, -1, F_GETFL);
    REACHED(fcntl, EBADF, -1, GARBAGE | F_SETFL, 0);
    REFUSED(fcntl, -1, F_SETPIPE_SZ, 1 << 20);
    REFUSED(fcntl, -1, GARBAGE | F_SETPIPE_SZ, 1 << 20);
    REFUSED(fcntl, -1, F_SETOWN, 1);
    REFUSED(fcntl, -1, F_SETSIG, 9);
    REFUSED(fcntl, -1, F_NOTIFY, 1);
    REFUSED(fcntl, -1, F_SETLEASE, F_RDLCK);
    REFUSED(fcntl, -1, F_ADD_SEALS, 1);

    REACHED(ioctl, EBADF, -1, TCGETS, 0);
    REACHED(ioctl, EBADF, -1, FIONREAD, 0);
    REFUSED(ioctl, -1, TIOCSTI, 0);
    REFUSED(ioctl, -1, GARBAGE | TIOCSTI, 0);
    REFUSED(ioctl, -1, TIOCSCTTY, 0);
    REFUSED(ioctl, -1, TIOCLINUX, 0);

    REACHED(mmap, EBADF, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1, 0);
    REFUSED(mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REFUSED(mmap, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REACHED(mprotect, EINVAL, 1, 4096, PROT_READ);
    REFUSED(mprotect, 1, 4096, PROT_READ | PROT_EXEC);

    /* CLONE_THREAD without the flags that it requires is EINVAL. */
    REACHED(clone, EINVAL, CLONE_THREAD);
    REFUSED(clone, CLONE_THREAD | CLONE_NEWUSER);
    REFUSED(clone, CLONE_THREAD | CLONE_NEWNET);
    REFUSED(clone, CLONE_THREAD | CLONE_PTRACE);
    REFUSED(clone, CLONE_SIGHAND);

    REACHED(prlimit64, EINVAL, 0, 999, 0, 0);
    REFUSED(prlimit64, 0, RLIMIT_NOFILE, 8, 0);
    REFUSED(prlimit64, 0, RLIMIT_NOFILE, GARBAGE, 0);
    REFUSED(prlimit64, 0x3fffffff, RLIMIT_NOFILE, 0, 0);

    REACHED(socketpair, EFAULT, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, -1);
    REFUSED(socketpair, AF_UNIX, SOCK_DGRAM, 0, -1);
    REFUSED(socketpair, AF_UNIX, SOCK_SEQPACKET, 0, -1);
    REFUSED(socketpair, AF_INET, SOCK_STREAM, 0, -1);
    REFUSED(socketpair, GARBAGE | AF_NETLINK, SOCK_STREAM, 0, -1);
    REACHED(sendto, EBADF, -1, 0, 0, 0, 0, 0);
    REFUSED(sendto, -1, 0, 0, 0, 0x1000, 16);
    REFUSED(sendto, -1, 0, 0, 0, GARBAGE, 16);

    REACHED(close_range, EINVAL, 9, 8, 0);
    REFUSED(close_range, 9, 8, 2);
    REFUSED(prctl, PR_SET_NO_NEW_PRIVS, 1);
    REFUSED(prctl, PR_SET_DUMPABLE, 1);
    REFUSED(prctl, PR_SET_PDEATHSIG, 0);
}

static int signal_self(const void *unused)
{
    (void)unused;
    return syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0) < 0 ? errno : 0;
}

static int signal_parent(const void *unused)
{
    (void)unused;
    return syscall(SYS_tgkill, getppid(), getppid(), 0) < 0 ? errno : 0;
}

static int end_by_abort(const void *unused)
{
    (void)unused;
    signal(SIGABRT, SIG_DFL);
    abort();
}

TEST(signals_go_to_oneself)
{
    assert_int_equal(inside(&filtered, signal_self, NULL), 0);
    assert_int_equal(inside(&filtered, signal_parent, NULL), EPERM);
    assert_int_equal(inside(&unfiltered, signal_parent, NULL), 0);
    assert_int_equal(inside(&filtered, end_by_abort, NULL), -SIGABRT);
}

/* ---- allowed calls ---- */

static void *answer(void *given)
{
    return given;
}

static int start_thread(const void *unused)
{
    (void)unused;
    pthread_t thread;
    void *got = NULL;
    int failed = pthread_create(&thread, NULL, answer, &work);
    return failed ? failed : pthread_join(thread, &got) != 0 || got != &work;
}

static int talk_to_oneself(const void *unused)
{
    (void)unused;
    int ends[2];
    char c = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 || send(ends[0], "x", 1, 0) != 1 ||
        recv(ends[1], &c, 1, 0) != 1)
        return errno;
    return c == 'x' ? 0 : EPROTO;
}

TEST(threads_and_sockets_work)
{
    assert_int_equal(inside(&filtered, start_thread, NULL), 0);
    assert_int_equal(inside(&filtered, talk_to_oneself, NULL), 0);
}

TEST_GROUP(setup, teardown)
