/* Builds, tests and enters the sandbox layers of a child.
 *
 * The order in sandbox_enter is fixed. no_new_privs comes first, because Landlock and the filter need it. The filter
 * comes last, because it forbids the calls that enter the other layers. `struct sandbox` holds everything a child needs
 * beforehand: between fork and script the child neither allocates nor opens a file.
 *
 * libseccomp builds the filter from syscalls.def once. Every child loads it as plain instructions, several times faster
 * than building it again. One instruction differs between children: a process may send signals only to itself. So the
 * filter holds a number that is never a process id, and a child writes its own id over it before loading. */

#include "sandbox.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "files.h"
#include "landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
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
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHADOW_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOW_MEMORY true
#endif
#endif
#ifndef SHADOW_MEMORY
#define SHADOW_MEMORY false /* a sanitizer's shadow takes terabytes of address space, so that is not limited */
#endif

enum layer { NO_NEW_PRIVS, RLIMITS, LANDLOCK, SECCOMP, LAYERS };
static const char *const layer_names[LAYERS] = {"no_new_privs", "rlimits", "landlock", "seccomp"};

struct sandbox {
    bool on[LAYERS];   /* to be entered: wanted, and it works here */
    char lacking[400]; /* which wanted layers do not work, and why; "" if all do */
    rlim_t memory, file, files;
    bool readonly;         /* everything but the workspace is read-only */
    uint64_t workspace_mb; /* size of the workspace; 0: unbounded */
    int abi, rules;        /* Landlock's version, and the descriptor of the rules or -1 */
    struct sock_filter *filter;
    size_t length, own_pid; /* number of instructions; index of the one that compares with the child's own id */
};

static const size_t thread_stack = 1 << 20, main_stack = 8 << 20;

/* Records that a wanted layer does not work. */
static void lack(struct sandbox *sandbox, enum layer layer, const char *why)
{
    size_t len = strlen(sandbox->lacking);
    sandbox->on[layer] = false;
    snprintf(sandbox->lacking + len, sizeof(sandbox->lacking) - len, "%s%s: %s", len ? "; " : "", layer_names[layer],
             why);
}

/* ---- the filter ---- */

enum rule { RULE_ALLOW, RULE_NOSYS, RULE_DENY, RULE_KILL, RULE_READONLY };

struct test { /* (argument & mask) == value; mask 0 ends a list */
    unsigned arg;
    uint64_t mask, value;
};

struct layer_row {
    const char *name;
    enum rule rule;
    struct test tests[3];
};

#define ALLOW   \
    RULE_ALLOW, \
    {           \
        {       \
            0   \
        }       \
    }
#define ALLOW_IF(...) \
    RULE_ALLOW,       \
    {                 \
        __VA_ARGS__   \
    }
#define READONLY(...) \
    RULE_READONLY,    \
    {                 \
        __VA_ARGS__   \
    }
#define NOSYS   \
    RULE_NOSYS, \
    {           \
        {       \
            0   \
        }       \
    }
#define DENY   \
    RULE_DENY, \
    {          \
        {      \
            0  \
        }      \
    }
#define KILL   \
    RULE_KILL, \
    {          \
        {      \
            0  \
        }      \
    }
#define IS(arg, value)                     \
    {                                      \
        arg, UINT32_MAX, (uint32_t)(value) \
    }
#define BITS(arg, mask, value)                   \
    {                                            \
        arg, (uint32_t)(mask), (uint32_t)(value) \
    }
#define NONE(arg)          \
    {                      \
        arg, UINT64_MAX, 0 \
    }
#define CLONE_NEW_ANY \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define OWN_PID                  0x7a6b5c4d /* above any process id */
#define SYSCALL(name, rule, why) {#name, rule},
static const struct layer_row rows[] = {
#include "syscalls.def"
};

static int add_row(scmp_filter_ctx ctx, const struct layer_row *row, bool readonly)
{
    static const uint32_t actions[] = {SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(ENOSYS), SCMP_ACT_ERRNO(EPERM),
                                       SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW};
    struct scmp_arg_cmp tests[COUNT_OF(row->tests)];
    unsigned count = 0;
    int number = seccomp_syscall_resolve_name(row->name);
    if (row->rule == RULE_DENY || (row->rule == RULE_READONLY && !readonly) || number == __NR_SCMP_ERROR)
        return 0; /* the default action applies */
    for (; count < COUNT_OF(tests) && row->tests[count].mask; count++)
        tests[count] = (struct scmp_arg_cmp){row->tests[count].arg, SCMP_CMP_MASKED_EQ, row->tests[count].mask,
                                             row->tests[count].value};
    int failed = seccomp_rule_add_array(ctx, actions[row->rule], number, count, tests);
    return failed == -EDOM ? 0 : failed; /* the call exists elsewhere, not on this architecture */
}

static int export_filter(struct sandbox *sandbox, scmp_filter_ctx ctx, struct err *err)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(fd) int fd = memfd_create("filter", MFD_CLOEXEC);
    size_t found = 0;
    if (fd < 0)
        return err_set_errno(err, errno, "memory for the filter of system calls");
    int failed = seccomp_export_bpf(ctx, fd);
    if (failed < 0)
        return err_set_errno(err, -failed, "the filter of system calls");
    if (lseek(fd, 0, SEEK_SET) < 0 || strbuf_read(&bytes, fd, 0) < 0)
        return err_set_errno(err, errno, "the filter of system calls");
    sandbox->length = bytes.len / sizeof(*sandbox->filter);
    sandbox->filter = (struct sock_filter *)(void *)strbuf_detach(&bytes, NULL);
    for (size_t i = 0; i < sandbox->length; i++)
        if (sandbox->filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && sandbox->filter[i].k == OWN_PID) {
            sandbox->own_pid = i;
            found++;
        }
    if (found != 1)
        BUG("%zu places for a process's own number in the filter", found);
    return 0;
}

static int build_filter(struct sandbox *sandbox, struct err *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int failed = ctx ? seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;
    for (size_t i = 0; i < COUNT_OF(rows) && failed == 0; i++) {
        failed = add_row(ctx, &rows[i], sandbox->readonly);
        if (failed < 0)
            err_set_errno(err, -failed, "the rule for the system call %s", rows[i].name);
    }
    if (failed == 0)
        failed = export_filter(sandbox, ctx, err);
    else if (!ctx)
        err_set_errno(err, -failed, "the filter of system calls");
    seccomp_release(ctx);
    return failed < 0 ? -1 : 0;
}

static int load_filter(struct sandbox *sandbox, struct err *err)
{
    struct sock_fprog program = {(unsigned short)sandbox->length, sandbox->filter};
    sandbox->filter[sandbox->own_pid].k = (uint32_t)getpid();
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_set_errno(err, errno, "the filter of system calls");
    return 0;
}

/* ---- limits ---- */

/* Lowers a limit for good; keeps it if it is lower already. */
static int limit(pid_t pid, __rlimit_resource_t what, rlim_t soft, rlim_t hard, const char *name, struct err *err)
{
    struct rlimit now;
    if (prlimit(pid, what, NULL, &now) < 0)
        return err_set_errno(err, errno, "the limit on %s", name);
    now.rlim_max = now.rlim_max < hard ? now.rlim_max : hard;
    now.rlim_cur = now.rlim_max < soft ? now.rlim_max : soft;
    if (prlimit(pid, what, &now, NULL) < 0)
        return err_set_errno(err, errno, "the limit on %s", name);
    return 0;
}

int sandbox_limit_cpu(const struct sandbox *sandbox, pid_t pid, unsigned cpu_s, struct err *err)
{
    return sandbox->on[RLIMITS] ? limit(pid, RLIMIT_CPU, cpu_s, (rlim_t)cpu_s + 1, "processor time", err) : 0;
}

static int put_limits(const struct sandbox *sandbox, unsigned cpu_s, struct err *err)
{
    /* Writing beyond the limit must give an error that a script can read, not a signal. */
    signal(SIGXFSZ, SIG_IGN);
    if (!SHADOW_MEMORY && limit(0, RLIMIT_AS, sandbox->memory, sandbox->memory, "memory", err) < 0)
        return -1;
    if (limit(0, RLIMIT_FSIZE, sandbox->file, sandbox->file, "file size", err) < 0 ||
        limit(0, RLIMIT_NOFILE, sandbox->files, sandbox->files, "open files", err) < 0 ||
        limit(0, RLIMIT_STACK, main_stack, main_stack, "the stack", err) < 0 ||
        limit(0, RLIMIT_CORE, 0, 0, "core dumps", err) < 0)
        return -1;
    return cpu_s ? sandbox_limit_cpu(sandbox, 0, cpu_s, err) : 0;
}

static void make_threads_small(void)
{
    pthread_attr_t attr;
    mallopt(M_ARENA_MAX, 1);
    if (pthread_attr_init(&attr) != 0)
        return;
    if (pthread_attr_setstacksize(&attr, thread_stack) == 0)
        pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

/* ---- all of them ---- */

static int make_rules(struct sandbox *sandbox, const struct sandbox_options *options, struct err *err)
{
    const struct landlock_path paths[] = {
        {"/usr", LANDLOCK_READ, false},
        {"/lib", LANDLOCK_READ, false},
        {"/lib64", LANDLOCK_READ, false},
        {options->no_devices ? NULL : "/dev/null", LANDLOCK_READ_WRITE, false},
        {options->no_devices ? NULL : "/dev/urandom", LANDLOCK_READ, false},
        {options->tools, LANDLOCK_READ, false},
        {options->workspace, LANDLOCK_WORK, true},
    };
    sandbox->abi = landlock_abi();
    if (sandbox->abi == 0) {
        lack(sandbox, LANDLOCK, strerror(errno));
        return 0;
    }
    sandbox->rules = landlock_rules(sandbox->abi, paths, COUNT_OF(paths), err);
    return sandbox->rules < 0 ? -1 : 0;
}

struct sandbox *sandbox_prepare(const struct sandbox_options *options, struct err *err)
{
    struct sandbox *sandbox = xcalloc(1, sizeof(*sandbox));
    sandbox->rules = -1;
    sandbox->memory = (rlim_t)(options->memory_mb ? options->memory_mb : 512) << 20;
    sandbox->file = (rlim_t)(options->file_mb ? options->file_mb : 16) << 20;
    sandbox->files = options->files ? options->files : 64;
    sandbox->readonly = options->readonly;
    sandbox->workspace_mb = workspace_bound_mb(options->workspace);
    sandbox->on[NO_NEW_PRIVS] = true;
    sandbox->on[RLIMITS] = !options->no_rlimits;
    sandbox->on[LANDLOCK] = !options->no_landlock;
    sandbox->on[SECCOMP] = !options->no_seccomp;
    if ((sandbox->on[LANDLOCK] && make_rules(sandbox, options, err) < 0) ||
        (sandbox->on[SECCOMP] && build_filter(sandbox, err) < 0)) {
        sandbox_free(sandbox);
        return NULL;
    }
    if (sandbox->on[RLIMITS])
        make_threads_small();
    return sandbox;
}

void sandbox_free(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->rules >= 0)
        close(sandbox->rules);
    free(sandbox->filter);
    free(sandbox);
}

/* Enters one layer after the other; `at` is the one that failed. */
static int enter(struct sandbox *sandbox, unsigned cpu_s, enum layer *at, struct err *err)
{
    *at = NO_NEW_PRIVS;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set_errno(err, errno, "no new privileges");
    *at = RLIMITS;
    if (sandbox->on[RLIMITS] && put_limits(sandbox, cpu_s, err) < 0)
        return -1;
    *at = LANDLOCK;
    if (sandbox->rules >= 0 && !sandbox->on[LANDLOCK])
        close(sandbox->rules);
    if (sandbox->on[LANDLOCK] && landlock_enter(sandbox->rules, err) < 0)
        return -1;
    sandbox->rules = -1;
    *at = SECCOMP;
    return sandbox->on[SECCOMP] ? load_filter(sandbox, err) : 0;
}

int sandbox_enter(struct sandbox *sandbox, unsigned cpu_s, struct err *err)
{
    enum layer at;
    return enter(sandbox, cpu_s, &at, err);
}

/* ---- testing ---- */

/* What the test child reports, in one write to a pipe. */
struct report {
    bool entered;
    enum layer failed;
    bool holds[LAYERS];
    struct err err;
};

static bool holds(const struct sandbox *sandbox, enum layer layer, int fd)
{
    switch (layer) {
    case NO_NEW_PRIVS:
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    case RLIMITS:
        return fcntl(fd, F_DUPFD_CLOEXEC, (int)sandbox->files) < 0 &&
               (SHADOW_MEMORY ||
                mmap(NULL, sandbox->memory, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    case LANDLOCK:
        return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0 && errno == EACCES;
    case SECCOMP: /* EFAULT means that the kernel read the pointer: the call passed */
        return syscall(SYS_memfd_create, NULL, 0) < 0 && errno == EPERM;
    default:
        return false;
    }
}

static _Noreturn void try_inside(struct sandbox *sandbox, int fd)
{
    struct report report = {0};
    report.entered = enter(sandbox, 1, &report.failed, &report.err) == 0;
    for (enum layer layer = 0; layer < LAYERS && report.entered; layer++)
        report.holds[layer] = holds(sandbox, layer, fd);
    _exit(write(fd, &report, sizeof(report)) == (ssize_t)sizeof(report) ? 0 : 1);
}

static int try_once(struct sandbox *sandbox, struct report *report, struct err *err)
{
    int ends[2], status;
    ssize_t got;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, errno, "a pipe");
    pid_t pid = fork();
    if (pid == 0)
        try_inside(sandbox, ends[1]);
    close(ends[1]);
    do
        got = pid < 0 ? 0 : read(ends[0], report, sizeof(*report));
    while (got < 0 && errno == EINTR);
    close(ends[0]);
    if (pid < 0)
        return err_set_errno(err, errno, "a process to test the layers");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (got != (ssize_t)sizeof(*report))
        return WIFSIGNALED(status)
                   ? err_set(err, "the process that tests the layers was killed by signal %d", WTERMSIG(status))
                   : err_set(err, "the process that tests the layers returned nothing");
    return 0;
}

int sandbox_try(struct sandbox *sandbox, struct err *err)
{
    struct report report;
    do { /* until the remaining layers can be entered */
        if (try_once(sandbox, &report, err) < 0)
            return -1;
        if (!report.entered && report.failed == NO_NEW_PRIVS)
            return err_set(err, "%s", report.err.text); /* this layer is mandatory */
        if (!report.entered)
            lack(sandbox, report.failed, report.err.text);
    } while (!report.entered);
    for (enum layer layer = 0; layer < LAYERS; layer++)
        if (sandbox->on[layer] && !report.holds[layer])
            lack(sandbox, layer, "active, but it did not block the test");
    return sandbox->lacking[0] ? err_set(err, "%s", sandbox->lacking) : 0;
}

void sandbox_describe(struct strbuf *out, const struct sandbox *sandbox)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    for (enum layer layer = 0; layer < LAYERS; layer++)
        if (layer == LANDLOCK)
            json_add_int(&w, layer_names[layer], sandbox->on[layer] ? sandbox->abi : 0);
        else
            json_add_bool(&w, layer_names[layer], sandbox->on[layer]);
    json_add_bool(&w, "readonly", sandbox->readonly);
    json_add_int(&w, "workspace_mb", (int64_t)sandbox->workspace_mb);
    if (sandbox->lacking[0])
        json_add_str(&w, "degraded", sandbox->lacking);
    json_close(&w, '}');
}
