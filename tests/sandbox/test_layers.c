/* Tests limits, Landlock, and the report about the layers. Each attempt is made twice: with its layer, and without it.
 */

#include "base/mem.h"
#include "base/strbuf.h"
#include "inside.h"
#include "support/scratch.h"
#include "support/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct scratch work, tools, outside;
static struct sandbox_options everything, only_landlock, only_limits, nothing;

static int setup(void **state)
{
    (void)state;
    scratch_init(&work);
    scratch_init(&tools);
    scratch_init(&outside);
    scratch_write(&tools, "tool.py", "def tool(): pass\n");
    scratch_write(&outside, "secret", "s\n");
    everything = (struct sandbox_options){.workspace = work.path, .tools = tools.path};
    only_landlock = only_limits = nothing = everything;
    only_landlock.no_seccomp = only_limits.no_seccomp = nothing.no_seccomp = true;
    only_landlock.no_rlimits = nothing.no_rlimits = true;
    only_limits.no_landlock = nothing.no_landlock = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_release(&work);
    scratch_release(&tools);
    scratch_release(&outside);
    return 0;
}

/* ---- Landlock ---- */

static int read_file(const void *path)
{
    return open(path, O_RDONLY) < 0 ? errno : 0;
}

static int write_file(const void *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return fd < 0 || write(fd, "x", 1) != 1 ? errno : 0;
}

static int append_file(const void *path)
{
    return open(path, O_WRONLY | O_APPEND) < 0 ? errno : 0;
}

static int list_folder(const void *path)
{
    return open(path, O_RDONLY | O_DIRECTORY) < 0 ? errno : 0;
}

static int remove_file(const void *path)
{
    return unlink(path) < 0 ? errno : 0;
}

static int truncate_file(const void *path)
{
    return truncate(path, 0) < 0 ? errno : 0;
}

static int make_fifo(const void *path)
{
    return mkfifo(path, 0600) < 0 ? errno : 0;
}

static int make_link(const void *path)
{
    return symlink("/etc/passwd", path) < 0 ? errno : 0;
}

/* From one folder of the workspace to another. */
static int move_within(const void *unused)
{
    (void)unused;
    CLEANUP(free) char *from = scratch_path(&work, "from"), *to = scratch_path(&work, "sub/to");
    CLEANUP(free) char *sub = scratch_path(&work, "sub");
    return write_file(from) || mkdir(sub, 0700) < 0 || rename(from, to) < 0 || unlink(to) < 0 || rmdir(sub) < 0 ? errno
                                                                                                                : 0;
}

static int run_program(const void *path)
{
    execl(path, path, NULL);
    return errno;
}

static int signal_parent(const void *unused)
{
    (void)unused;
    return kill(getppid(), 0) < 0 ? errno : 0;
}

static int connect_tcp(const void *unused)
{
    (void)unused;
    struct sockaddr_in address = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != ECONNREFUSED ? errno : 0;
}

/* Two attempts at the same thing: refused with Landlock, successful without. */
static void refused(int (*what)(const void *), const char *path, int code)
{
    int got = inside(&only_landlock, what, path), control = inside(&nothing, what, path);
    if (got != code || control != 0)
        fail_msg("%s: %d instead of %d with Landlock, %d instead of 0 without", path ? path : "-", got, code, control);
}

static void allowed(int (*what)(const void *), const char *path)
{
    int got = inside(&only_landlock, what, path);
    if (got != 0)
        fail_msg("%s: %s", path, strerror(got));
}

TEST(allowed_files_can_be_opened)
{
    CLEANUP(free) char *made = scratch_path(&work, "made"), *tool = scratch_path(&tools, "tool.py");
    allowed(write_file, made);
    allowed(read_file, made);
    allowed(truncate_file, made);
    allowed(remove_file, made);
    allowed(move_within, "a file within the workspace");
    allowed(list_folder, work.path);
    allowed(list_folder, tools.path);
    allowed(read_file, tool);
    allowed(read_file, "/dev/urandom");
    allowed(write_file, "/dev/null");
    allowed(list_folder, "/usr");
}

TEST(other_files_are_refused)
{
    CLEANUP(free) char *secret = scratch_path(&outside, "secret"), *tool = scratch_path(&tools, "tool.py");
    CLEANUP(free) char *fifo = scratch_path(&work, "fifo"), *link_name = scratch_path(&work, "link");
    CLEANUP(free) char *program = scratch_path(&work, "program");
    CLEANUP(free) char *climbing = xasprintf("%s/../%s/secret", work.path, strrchr(outside.path, '/') + 1);
    refused(read_file, secret, EACCES);
    refused(read_file, climbing, EACCES);
    refused(append_file, secret, EACCES);
    refused(truncate_file, secret, EACCES);
    refused(append_file, tool, EACCES);
    refused(list_folder, "/", EACCES);
    refused(list_folder, "/proc/self/fd", EACCES);
    refused(read_file, "/proc/self/mem", EACCES);
    refused(read_file, "/proc/self/environ", EACCES);
    refused(run_program, "/usr/bin/true", EACCES);
    scratch_write(&work, "program", "#!/usr/bin/true\n");
    scratch_chmod(&work, "program", 0755);
    refused(run_program, program, EACCES);
    refused(make_fifo, fifo, EACCES);
    refused(make_link, link_name, EACCES);
    refused(read_file, link_name, EACCES); /* the control created it */
    refused(remove_file, secret, EACCES);
}

static int connect_abstract(const void *name)
{
    struct sockaddr_un address = {AF_UNIX, ""};
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&address, length) < 0 ? errno : 0;
}

TEST(abstract_sockets_and_signals_are_blocked)
{
    struct sockaddr_un address = {AF_UNIX, ""};
    socklen_t length = sizeof(address);
    CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char name[sizeof(address.sun_path)] = "";
    /* The kernel chooses an abstract name for an empty one. */
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    memcpy(name, address.sun_path + 1, length - offsetof(struct sockaddr_un, sun_path) - 1);

    refused(connect_abstract, name, EPERM);
    refused(signal_parent, NULL, EPERM);
    refused(connect_tcp, NULL, EACCES);
}

/* ---- limits ---- */

static int take_memory(const void *size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return mmap(NULL, *(const size_t *)size, PROT_NONE, flags, -1, 0) == MAP_FAILED ? errno : 0;
}

static int write_far(const void *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd < 0 || pwrite(fd, "x", 1, (off_t)17 << 20) != 1 ? errno : 0;
}

static int open_many(const void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        if (dup(2) < 0)
            return errno;
    return 0;
}

static int may_dump_core(const void *unused)
{
    (void)unused;
    struct rlimit core;
    return getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max == 0 ? EPERM : 0;
}

static void limited(int (*what)(const void *), const void *argument, int code)
{
    assert_int_equal(inside(&only_limits, what, argument), code);
    assert_int_equal(inside(&nothing, what, argument), 0);
}

TEST(resource_limits_hold)
{
    CLEANUP(free) char *far = scratch_path(&work, "far");
    struct rlimit core;
    limited(open_many, NULL, EMFILE);
    limited(write_far, far, EFBIG);
    if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max > 0)
        limited(may_dump_core, NULL, EPERM);
    size_t size = (size_t)600 << 20;
#ifdef __SANITIZE_ADDRESS__ /* which reserves terabytes of address space */
    assert_int_equal(inside(&only_limits, take_memory, &size), 0);
#else
    limited(take_memory, &size, ENOMEM);
#endif
}

static void *wait_for_a_byte(void *ends)
{
    char c;
    return read(*(int *)ends, &c, 1) < 0 ? NULL : ends;
}

static int start_a_hundred_threads(const void *unused)
{
    (void)unused;
    int ends[2], failed = pipe(ends);
    for (int i = 0; i < 100 && !failed; i++) {
        pthread_t thread;
        failed = pthread_create(&thread, NULL, wait_for_a_byte, ends);
    }
    return failed;
}

TEST(threads_fit_into_memory)
{
    assert_int_equal(inside(&only_limits, start_a_hundred_threads, NULL), 0);
}

static int burn(void)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec < 2);
    return 0;
}

/* The limit on processor time is set from outside, on a child that has already entered all layers. */
TEST(processor_time_is_limited)
{
    struct err err = ERR_INIT;
    struct sandbox *sandbox = sandbox_prepare(&everything, &err);
    int go[2], status;
    char c;
    assert_non_null(sandbox);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0);
        if (sandbox_enter(sandbox, 0, &err) < 0)
            _exit(99);
        _exit(read(go[0], &c, 1) == 1 ? burn() : 98);
    }
    assert_int_equal(sandbox_limit_cpu(sandbox, pid, 1, &err), 0);
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
    close(go[0]);
    close(go[1]);
    sandbox_free(sandbox);
}

/* ---- reports ---- */

static void expect_told(const struct sandbox_options *options, const char *text)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    struct sandbox *sandbox = sandbox_prepare(options, &err);
    if (!sandbox || sandbox_try(sandbox, &err) < 0)
        fail_msg("%s", err.text);
    sandbox_describe(&told, sandbox);
    if (!strstr(told.buf, text))
        fail_msg("expected %s in %s", text, told.buf);
    assert_null(strstr(told.buf, "degraded"));
    sandbox_free(sandbox);
}

TEST(active_layers_are_reported)
{
    expect_told(&everything, "{\"no_new_privs\":true,\"rlimits\":true,\"landlock\":");
    expect_told(&everything, ",\"seccomp\":true,\"readonly\":false,\"workspace_mb\":0}");
    expect_told(&only_landlock, ",\"rlimits\":false,\"landlock\":");
    expect_told(&only_limits,
                ",\"rlimits\":true,\"landlock\":0,\"seccomp\":false,\"readonly\":false,\"workspace_mb\":0}");
    expect_told(&nothing, "{\"no_new_privs\":true,\"rlimits\":false,\"landlock\":0,\"seccomp\":false,\"readonly\":"
                          "false,\"workspace_mb\":0}");
}

TEST(a_missing_workspace_is_reported)
{
    struct sandbox_options options = {.workspace = "/nowhere/at/all"};
    struct err err = ERR_INIT;
    assert_null(sandbox_prepare(&options, &err));
    assert_string_equal(err.text, "/nowhere/at/all: No such file or directory");
}

/* Makes a call fail in this process, as on a kernel that lacks it. */
static void take_away(const char *call, unsigned code)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(code), seccomp_syscall_resolve_name(call), 0) < 0 || seccomp_load(ctx) < 0)
        _exit(97);
    seccomp_release(ctx);
}

/* Returns 0 if the missing layer was reported as expected and the other layers were entered. The child reports by its
 * exit status: a failed assertion in it would continue with the rest of the tests. */
static int without(const char *call, unsigned code, const char *text, const char *why)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct err err = ERR_INIT;
        struct strbuf told = STRBUF_INIT;
        take_away(call, code);
        struct sandbox *sandbox = sandbox_prepare(&everything, &err);
        if (!sandbox || sandbox_try(sandbox, &err) == 0 || !strstr(err.text, why))
            _exit(1);
        sandbox_describe(&told, sandbox);
        if (!strstr(told.buf, text) || !strstr(told.buf, "\"degraded\":\""))
            _exit(2);
        _exit(sandbox_enter(sandbox, 1, &err) < 0 ? 3 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(missing_layers_are_reported)
{
    const char *no_landlock = "\"landlock\":0,\"seccomp\":true";
    assert_int_equal(without("landlock_create_ruleset", ENOSYS, no_landlock, "landlock: Function not implemented"), 0);
    assert_int_equal(without("landlock_restrict_self", E2BIG, no_landlock, "landlock: "), 0);
    assert_int_equal(without("prlimit64", EPERM, "\"rlimits\":false", "rlimits: "), 0);
}

TEST_GROUP(setup, teardown)
