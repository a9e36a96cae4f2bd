/* The system call filter for programs, row by row: the engine refuses every row of program_syscalls.def, and its
 * control, the same call without a filter, is not. The calls are in try_calls.def, and try_call makes them.
 *
 *     sandbox_test_calls ['*' ENGINE IMAGE]      bubblewrap without an argument */

#include "base/file.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "sandbox/syscall_filter.h"
#include "support/program_rig.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* ---- the tables ---- */

enum when { ALWAYS, UNGROUPED };

enum row_number {
#define REFUSE(row, ...) ROW_##row,
#include "sandbox/program_syscalls.def"
    ROWS
};

static const struct row {
    const char *name, *reason;
    int answer;
    enum when when;
} rows[] = {
#define REFUSE(row, call, answer, when, reason, ...) {#row, reason, answer, when},
#include "sandbox/program_syscalls.def"
};

#define BAD  (-1l)
#define HIGH 0x7fff00000000l

static const struct attempt {
    int row; /* ROWS: no row refuses it */
    int call;
    const char *text;
    long arguments[6];
} attempts[] = {
#define TRY(row, call, ...) {ROW_##row, SCMP_SYS(call), #call " " #__VA_ARGS__, {__VA_ARGS__}},
#define PASS(call, ...)     {ROWS, SCMP_SYS(call), #call " " #__VA_ARGS__, {__VA_ARGS__}},
#include "try_calls.def"
};

#define X32     0x40000000l
#define EXTRAS  2 /* after the attempts: calls of other architectures */
#define ANSWERS (COUNT_OF(attempts) + EXTRAS)

static const char *engine = "bwrap";
static struct programs_options options;
static char *folder; /* of this program, and of try_call */

/* ---- making the calls ---- */

static void write_lines(struct strbuf *out)
{
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        const long *a = attempts[i].arguments;
        /* A call that this machine lacks becomes getpid, so that the line numbers stay. */
        strbuf_addf(out, "%d %ld %ld %ld %ld %ld %ld\n", attempts[i].call < 0 ? SYS_getpid : attempts[i].call, a[0],
                    a[1], a[2], a[3], a[4], a[5]);
    }
    strbuf_addf(out, "%ld 0 0 0 0 0 0\ni386 20\n", X32 | SYS_getppid);
}

static void read_answers(const char *text, int *answers)
{
    for (size_t i = 0; i < ANSWERS; i++) {
        if (sscanf(text, "%d", &answers[i]) != 1)
            fail_msg("try_call tells %zu of %zu: %s", i, ANSWERS, text);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
}

/* Runs the filter in a process of this program; NULL: no filter. */
static void load_filter(const bool *ungrouped)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    if (!ungrouped)
        return;
    int fd = syscall_filter_open(*ungrouped, NULL);
    if (fd < 0 || strbuf_read(&bytes, fd, 0))
        _exit(120);
    struct sock_fprog program = {(unsigned short)(bytes.len / sizeof(struct sock_filter)),
                                 (struct sock_filter *)(void *)bytes.buf};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(121);
}

static void make_bare(const bool *ungrouped, int *answers)
{
    CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT, out = STRBUF_INIT;
    CLEANUP(free) char *tool = xasprintf("%s/try_call", folder);
    CLEANUP(free) char *input = file_make_temp_dir(NULL, "keyturn-calls-", NULL);
    CLEANUP(free) char *file = xasprintf("%s/lines", input);
    int ends[2];
    write_lines(&lines);
    assert_int_equal(file_replace(file, lines.buf, lines.len, 0600, NULL), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        dup2(fd, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        load_filter(ungrouped);
        execl(tool, "try_call", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(strbuf_read(&out, ends[0], 0), 0);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    assert_int_equal(file_remove_tree(input, NULL), 0);
    read_answers(out.buf, answers);
}

static void make_inside(int *answers)
{
    static struct program_rig rig;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT;
    CLEANUP(free) char *tool = xasprintf("%s/try_call", folder);
    const char *visible[] = {folder, NULL};
    struct programs_options own = options;
    own.visible = visible;
    write_lines(&lines);
    program_rig_open(&rig, engine, &own);
    struct program_spec spec = {.cmd = tool, .input = lines.buf, .input_len = lines.len, .timeout_ms = 60000};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
    if (rig.result.end.exit_code != 0)
        fail_msg("try_call: %s%s", rig.result.err.buf, rig.result.end.why ? rig.result.end.why : "");
    read_answers(rig.result.out.buf, answers);
    program_rig_close(&rig);
}

/* ---- expected results ---- */

static bool refuses(const struct attempt *attempt, bool ungrouped)
{
    return attempt->row != ROWS && attempt->call >= 0 && (rows[attempt->row].when == ALWAYS || ungrouped);
}

/* `more`: another filter refuses more than ours. */
static void check(const int *answers, const int *bare, bool ungrouped, bool more)
{
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        bool refused = refuses(attempt, ungrouped);
        int expected = refused ? rows[attempt->row].answer : bare[i];
        if (!refused && more && (answers[i] == EPERM || answers[i] == ENOSYS))
            continue;
        if (answers[i] != expected)
            fail_msg("%s: expected %d (%s), got %d. %s", attempt->text, expected, strerror(expected), answers[i],
                     attempt->row == ROWS ? "No row refuses it." : rows[attempt->row].reason);
    }
#ifdef __x86_64__
    assert_int_equal(answers[COUNT_OF(attempts)], -SIGSYS);
    assert_int_equal(answers[COUNT_OF(attempts) + 1], -SIGSYS);
#endif
}

/* Whether this process has every privilege that the kernel checks, and no filter. */
static bool may_all(void)
{
    CLEANUP(strbuf) struct strbuf status = STRBUF_INIT;
    static const int wanted[] = {16, 17, 18, 20, 21, 22, 25, 34, 38, 39}; /* module rawio chroot pacct admin boot … */
    unsigned long long held = 0;
    assert_int_equal(file_read("/proc/self/status", &status, 0, NULL), 0);
    const char *caps = strstr(status.buf, "CapEff:"), *filter = strstr(status.buf, "Seccomp:");
    if (!caps || sscanf(caps, "CapEff: %llx", &held) != 1)
        return false;
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!(held >> wanted[i] & 1))
            return false;
    return !filter || strstr(filter, "Seccomp:\t0") == filter;
}

/* In a container, only the filter of programs is tested. */
static void skip_in_a_container(void)
{
    if (options.image)
        skip();
}

TEST(each_row_has_a_call)
{
    skip_in_a_container();
    bool has[ROWS] = {false};
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if (attempts[i].row != ROWS)
            has[attempts[i].row] = true;
    for (size_t i = 0; i < ROWS; i++)
        if (!has[i])
            fail_msg("no call in try_calls.def for the row %s", rows[i].name);
}

/* Without a filter no row gives its answer. Two kinds of calls prove nothing here, and are listed: calls for which the
 * kernel checks a privilege before the arguments, and calls that this kernel lacks. */
TEST(controls_succeed_without_a_filter)
{
    skip_in_a_container();
    int bare[ANSWERS];
    size_t lacking = 0, privileged = 0;
    make_bare(NULL, bare);
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        const struct attempt *attempt = &attempts[i];
        int answer = attempt->row == ROWS ? 0 : rows[attempt->row].answer;
        if (attempt->row == ROWS || attempt->call < 0 || bare[i] != answer)
            continue;
        if (answer == EPERM && !may_all())
            privileged++;
        else if (answer == ENOSYS)
            lacking++;
        else
            fail_msg("%s is refused where nothing filters it", attempt->text);
        print_message("no control here: %s (%s)\n", attempt->text, strerror(answer));
    }
    print_message("%zu calls; %zu need a privilege first, %zu are not in this kernel\n", COUNT_OF(attempts), privileged,
                  lacking);
    assert_true(privileged + lacking < COUNT_OF(attempts) / 3);
#ifdef __x86_64__
    assert_int_not_equal(bare[COUNT_OF(attempts)], -SIGSYS);
    assert_int_not_equal(bare[COUNT_OF(attempts) + 1], -SIGSYS);
#endif
}

TEST(both_filter_variants_match_the_table)
{
    skip_in_a_container();
    int bare[ANSWERS], answers[ANSWERS];
    make_bare(NULL, bare);
    for (int variant = 0; variant < 2; variant++) {
        bool ungrouped = variant;
        make_bare(&ungrouped, answers);
        check(answers, bare, ungrouped, false);
    }
}

/* Whether a control group limits the memory of a program in the engine, on this machine and for this user. */
static bool memory_is_grouped(void)
{
    struct sandbox_engines engines;
    struct cgroup *group = cgroup_new("keyturn-try-calls", &(struct cgroup_limits){.memory_mb = 64});
    assert_int_equal(sandbox_engines_load(&engines, NULL, NULL), 0);
    const struct sandbox_engine *found = sandbox_engines_find(&engines, engine);
    bool grouped = found->program->cgroup ? cgroup_holds_memory(group) : sandbox_program_bounds_whole(found);
    grouped = grouped || sandbox_program_holder(found) == HOLDER_SCOPE;
    cgroup_free(group);
    sandbox_engines_release(&engines);
    return grouped;
}

TEST(programs_run_with_the_filter)
{
    int bare[ANSWERS], answers[ANSWERS];
    make_bare(NULL, bare);
    make_inside(answers);
    check(answers, bare, !memory_is_grouped(), strcmp(engine, "bwrap") != 0);
}

/* keyturn-launch refuses to start a program if its filter cannot be installed. */
TEST(no_program_without_its_filter)
{
    skip_in_a_container();
    static const char *const texts[] = {NULL, "", "0", "xx", "0600000000000", "0600000000000000ff"};
    CLEANUP(free) char *launcher = launcher_path();
    for (size_t i = 0; i <= COUNT_OF(texts); i++) {
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            unsetenv(LAUNCH_FILTER);
            if (i < COUNT_OF(texts) && texts[i])
                setenv(LAUNCH_FILTER, texts[i], 1);
            close(9);
            dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
            if (i < COUNT_OF(texts))
                execl(launcher, "keyturn-launch", "--filter-variable", "--", "true", (char *)NULL);
            else
                execl(launcher, "keyturn-launch", "--filter", "9", "--", "true", (char *)NULL);
            _exit(1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), LAUNCH_FAILED);
    }
}

static int prepare(void **state)
{
    (void)state;
    folder = file_program_dir();
    return 0;
}

static int clean(void **state)
{
    (void)state;
    free(folder);
    return 0;
}

void test_begin(void)
{
    if (test_program_arguments[0] && test_program_arguments[1]) {
        engine = test_program_arguments[0];
        options.image = test_program_arguments[1];
    }
}

TEST_GROUP(prepare, clean)
