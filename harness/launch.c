/* keyturn-launch: starts one program inside its sandbox and kills every process it leaves behind.
 *
 *     keyturn-launch [--control] [--mark] [--memory MB] [--watch-memory] [--pids N] [--cpu SECONDS] [--files MB]
 *                    [--cwd DIR] [--network [--network-socket PATH]] [--filter FD | --filter-variable]
 *                    [--close-proc] -- PROGRAM [ARG…]
 *     keyturn-launch --control --wait -- -
 *
 * It is process 1 of the sandbox's process namespace, or without such a namespace the subreaper. So every process the
 * program starts, in any session, ends up as its child. The program gets the limits and its own session. If standard
 * input is a terminal, that becomes its controlling terminal. A bare name is looked up in the program's PATH. The
 * program's environment is the part of ours whose names begin with LAUNCH_PREFIX. The engine in between has its own
 * environment, and neither may affect the other.
 *
 * --filter FD reads a system call filter from FD and loads it first. --filter-variable reads it from the variable
 * LAUNCH_FILTER, for engines that pass no descriptors on. --close-proc forbids writing to /proc and /sys.
 *
 * With --control, descriptor 3 is the control line to the host. The host sends T to ask the program to end, and K to
 * kill everything. Closing the line also kills everything. The launcher sends one line each:
 *
 *     network PORT       with a listening socket attached, on which the host accepts (--network, launch_network.c);
 *                        sent on another line if --network-socket names one
 *     started            the program runs; sent only on a control line
 *     error ERRNO        the program could not be started
 *     crowd N            the program made more than N processes and is killed
 *     memory MB          the program held MB of memory, more than its limit, and is killed
 *     unseen             the launcher can no longer watch the program's memory and kills it
 *     left PID NAME      this process was still running when the program ended, and was killed
 *     survivor PID NAME  this process could not be killed
 *     exit CODE | signal NUMBER
 *
 * With --wait, nothing begins before the host sends an order on the control line: a struct launch_order, then as many
 * bytes of NUL-terminated texts, which are options, "--" and the program as above, and then the program's environment.
 * So a sandbox can stand ready before it is known what will run in it. The end of the line ends the launcher.
 *
 * With --mark, the launcher writes a line LAUNCH_MARK to standard error before the program begins: earlier text is the
 * engine's. Without a control line it also writes a line LAUNCH_LAST when no process of the program is left. The lines
 * above follow it, each after LAUNCH_WORD.
 *
 *     keyturn-launch --guard -- COMMAND [ARG…]
 *
 * starts nothing while the control line is open. If the line ends without the word that all is done, the host has died.
 * Then the launcher runs the command until it succeeds. The command stops what an engine keeps running, for engines
 * that do not notice the host's end.
 *
 *     keyturn-launch --as UID --as-group GID [--show PATH | --lend PATH]… -- COMMAND [ARG…]
 *
 * is how root starts an engine: the command runs as that user, who can reach each PATH (launch_as.c).
 *
 * It uses only libc and is linked statically where possible, because it is bound into images with unknown contents. */

#include "launch.h"
#include "base/launcher.h"
#include "base/processes.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEFT_TOLD_MAX 64
#define WORDS_MAX     8192
#define KILL_MS       2000 /* until killed processes must be gone */
#define WATCH_MIN_MS  20   /* between counts while new processes appear … */
#define WATCH_MAX_MS  160  /* … and while none do */

struct launch_settings {
    unsigned long memory_mb, pids, cpu_s, files_mb, as_uid, as_gid, filter_fd;
    const char *cwd, *network_socket;
    bool control, mark, guard, watch_memory, network, filter_variable, close_proc, wait;
    char **argv;
};

static struct launch_settings settings;
static bool whole_namespace; /* we are process 1: every process we see belongs to the program */
static char **environment;
static pid_t program;

/* ---- the command line ---- */

static _Noreturn void fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("keyturn-launch: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(LAUNCH_FAILED);
}

static void read_number(const char *name, const char *text, unsigned long *number)
{
    char *end;
    errno = 0;
    *number = strtoul(text, &end, 10);
    if (errno || *end || end == text || *text == '-')
        fail("%s takes a number, not '%s'", name, text);
}

static bool read_flag(const char *name)
{
    static const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--control", &settings.control}, {"--mark", &settings.mark},
                 {"--guard", &settings.guard},     {"--watch-memory", &settings.watch_memory},
                 {"--network", &settings.network}, {"--close-proc", &settings.close_proc},
                 {"--wait", &settings.wait},       {"--filter-variable", &settings.filter_variable}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        if (strcmp(flags[i].name, name) == 0)
            return *flags[i].flag = true;
    return false;
}

static void read_value(const char *name, char *value)
{
    static const struct {
        const char *name;
        unsigned long *number;
    } numbers[] = {{"--memory", &settings.memory_mb}, {"--pids", &settings.pids}, {"--cpu", &settings.cpu_s},
                   {"--files", &settings.files_mb},   {"--as", &settings.as_uid}, {"--as-group", &settings.as_gid},
                   {"--filter", &settings.filter_fd}};
    if (!value)
        fail("%s takes a value", name);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (strcmp(numbers[i].name, name) == 0) {
            read_number(name, value, numbers[i].number);
            return;
        }
    if (strcmp(name, "--cwd") == 0)
        settings.cwd = value;
    else if (strcmp(name, "--network-socket") == 0)
        settings.network_socket = value;
    else if (strcmp(name, "--show") == 0 || strcmp(name, "--lend") == 0)
        launch_as_show(value, name[2] == 'l');
    else
        fail("unknown option %s", name);
}

static void read_settings(char **argv)
{
    for (argv++; *argv && strcmp(*argv, "--") != 0; argv++)
        if (!read_flag(*argv)) {
            read_value(argv[0], argv[1]);
            argv++;
        }
    if (!*argv || !argv[1])
        fail("no program to start");
    settings.argv = argv + 1;
}

/* Takes the program's variables out of ours. */
static void read_environment(void)
{
    size_t count = 0, prefix = strlen(LAUNCH_PREFIX);
    for (char **at = environ; *at; at++)
        count++;
    environment = calloc(count + 1, sizeof(*environment));
    if (!environment)
        fail("no memory");
    count = 0;
    for (char **at = environ; *at; at++)
        if (strncmp(*at, LAUNCH_PREFIX, prefix) == 0)
            environment[count++] = *at + prefix;
}

/* ---- an order of the host ---- */

/* Ends the launcher if the host ends the line instead. */
static void read_control(void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        struct pollfd ready = {.fd = LAUNCH_CONTROL_FD, .events = POLLIN};
        ssize_t got = poll(&ready, 1, -1) < 0 ? -1 : read(LAUNCH_CONTROL_FD, (char *)bytes + at, len - at);
        if (got > 0)
            at += (size_t)got;
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            exit(LAUNCH_FAILED);
    }
}

/* Splits `count` texts off and returns them as a list. */
static char **split_texts(char **at, const char *end, unsigned count)
{
    char **list = calloc((size_t)count + 1, sizeof(*list));
    for (unsigned i = 0; list && i < count; i++) {
        if (*at >= end)
            fail("the order is too short");
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    if (!list)
        fail("no memory");
    return list;
}

/* Options that the engine gave us stay. */
static void wait_for_order(void)
{
    struct launch_order order;
    read_control(&order, sizeof(order));
    char *bytes = order.len > LAUNCH_ORDER_MAX ? NULL : malloc((size_t)order.len + 1), *at = bytes;
    if (!bytes)
        fail("an order of %u bytes is too long", order.len);
    read_control(bytes, order.len);
    bytes[order.len] = '\0';
    read_settings(split_texts(&at, bytes + order.len, order.args));
    environment = split_texts(&at, bytes + order.len, order.variables);
}

/* ---- reports to the host ---- */

/* The report for standard error, used without a control line. */
static struct {
    int fd; /* our own standard error; -1: no report is wanted */
    char text[WORDS_MAX];
    size_t len;
} words = {.fd = -1};

static void put(int fd, const char *text, size_t len)
{
    /* Ignore a failure: if the host is gone, the control line ends too, and that kills everything. */
    if (write(fd, text, len) < 0)
        return;
}

static void report_start(const char *fmt, ...)
{
    char line[256];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (len <= 0 || (size_t)len >= sizeof(line))
        return;
    if (settings.control)
        put(LAUNCH_CONTROL_FD, line, (size_t)len);
    else if (words.len + strlen(LAUNCH_WORD) + (size_t)len < sizeof(words.text))
        words.len += (size_t)sprintf(words.text + words.len, LAUNCH_WORD "%s", line);
}

static void begin_words(void)
{
    if (settings.mark)
        put(STDERR_FILENO, LAUNCH_MARK, strlen(LAUNCH_MARK));
    if (!settings.mark || settings.control)
        return;
    words.fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, LAUNCH_CONTROL_FD + 1);
    words.len = (size_t)sprintf(words.text, "%s", LAUNCH_LAST);
}

static void say_words(void)
{
    if (words.fd >= 0)
        put(words.fd, words.text, words.len);
}

/* ---- the program ---- */

static bool is_program(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* Searches the PATH of the program's environment. An empty part is the folder it starts in; an empty PATH finds
 * nothing. Returns NULL with errno on failure. */
static const char *find_program(const char *name)
{
    static char file[4096];
    const char *path = "";
    if (strchr(name, '/'))
        return name;
    for (char **at = environment; *at; at++)
        if (strncmp(*at, "PATH=", 5) == 0)
            path = *at + 5;
    for (bool more = *path != '\0'; more;) {
        size_t len = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)(len ? len : 1), len ? path : ".", name);
        if (is_program(file))
            return file;
        more = path[len] == ':';
        path += len + more;
    }
    errno = ENOENT;
    return NULL;
}

static void limit(__rlimit_resource_t resource, unsigned long value)
{
    struct rlimit now;
    if (!value || getrlimit(resource, &now))
        return;
    rlim_t wanted = now.rlim_max != RLIM_INFINITY && now.rlim_max < value ? now.rlim_max : value;
    /* One second above the soft limit, whose signal names the reason. */
    rlim_t hard = resource == RLIMIT_CPU && wanted == value ? wanted + 1 : wanted;
    struct rlimit both = {wanted, now.rlim_max != RLIM_INFINITY && now.rlim_max < hard ? now.rlim_max : hard};
    setrlimit(resource, &both);
}

/* Counts the threads that this user already has, for where RLIMIT_NPROC counts those too. */
static unsigned long tasks_of_user(void)
{
    unsigned long count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        char path[300];
        struct stat st;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%s/task", entry->d_name);
        if (stat(path, &st) == 0 && st.st_uid == getuid())
            count += st.st_nlink - 2;
    }
    if (proc)
        closedir(proc);
    return count;
}

/* A container that root started has no user namespace of its own. There RLIMIT_NPROC counts every task of this user on
 * the machine, even in other containers, and the launcher cannot see those. */
static bool in_first_user_namespace(void)
{
    unsigned long inside = 1, outside = 1, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool whole =
        map && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 && !inside && !outside && count == UINT32_MAX;
    if (map)
        fclose(map);
    return whole;
}

/* Returns the task limit that leaves the program `pids` tasks; 0 if RLIMIT_NPROC cannot be used. */
static unsigned long task_limit(unsigned long pids)
{
    if (!pids || !whole_namespace)
        return pids ? pids + tasks_of_user() : 0;
    return in_first_user_namespace() ? 0 : pids; /* the container's own limit applies, and watch_count counts too */
}

static void put_limits(void)
{
    limit(RLIMIT_DATA, settings.memory_mb << 20);
    limit(RLIMIT_CPU, settings.cpu_s);
    limit(RLIMIT_FSIZE, settings.files_mb << 20);
    limit(RLIMIT_NPROC, task_limit(settings.pids));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

static _Noreturn void become_program(int told)
{
    sigset_t nothing;
    sigemptyset(&nothing);
    setsid();
    if (isatty(0))
        ioctl(0, TIOCSCTTY, 0);
    if (!whole_namespace)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int signum = 1; signum < NSIG; signum++)
        signal(signum, SIG_DFL);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    const char *file = NULL;
    if (!settings.cwd || chdir(settings.cwd) == 0)
        file = find_program(settings.argv[0]);
    put_limits();
    if (file)
        execve(file, settings.argv, environment);
    int code = errno;
    _exit(write(told, &code, sizeof(code)) == sizeof(code) ? LAUNCH_FAILED : LAUNCH_FAILED + 1);
}

/* Returns 0 or the errno of the failure. */
static int start_program(void)
{
    int ends[2], code = 0;
    if (pipe2(ends, O_CLOEXEC) || (program = fork()) < 0)
        return errno;
    if (program == 0)
        become_program(ends[1]);
    close(ends[1]);
    while (read(ends[0], &code, sizeof(code)) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    return code;
}

/* ---- all processes of the program ---- */

static struct processes all;

/* Every process of the program is a child of ours or descends from one. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Fills `all` with the living descendants and returns their number. */
static size_t find_descendants(void)
{
    pid_t self = getpid();
    if (!has_children())
        return 0;
    processes_read(&all);
    for (size_t i = 0; i < all.count; i++)
        all.items[i].ours = whole_namespace ? all.items[i].pid != self : all.items[i].parent == self;
    if (!whole_namespace)
        processes_mark_below(&all);
    processes_keep_ours(&all);
    return all.count;
}

static void signal_all(int signum)
{
    if (whole_namespace) {
        kill(-1, signum);
        return;
    }
    size_t count = find_descendants();
    for (size_t i = 0; i < count; i++)
        kill(all.items[i].pid, signum);
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* Kills until no process is left. The next round catches processes that were started meanwhile. */
static void end_all(void)
{
    reap();
    size_t count = find_descendants();
    for (size_t i = 0; i < count && i < LEFT_TOLD_MAX; i++)
        report_start("left %d %s\n", all.items[i].pid, all.items[i].name);
    for (long until = now_ms() + KILL_MS; count && now_ms() < until; count = find_descendants()) {
        signal_all(SIGKILL);
        poll(NULL, 0, 1);
        reap();
    }
    for (size_t i = 0; i < count && i < LEFT_TOLD_MAX; i++)
        report_start("survivor %d %s\n", all.items[i].pid, all.items[i].name);
}

static _Noreturn void launch_leave(int status)
{
    end_all();
    if (WIFSIGNALED(status)) {
        report_start("signal %d\n", WTERMSIG(status));
        say_words();
        exit(128 + WTERMSIG(status));
    }
    report_start("exit %d\n", WEXITSTATUS(status));
    say_words();
    exit(WEXITSTATUS(status));
}

/* ---- while the program runs ---- */

static void bury(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == program)
            launch_leave(status);
}

static void hear_signal(int fd)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo != SIGCHLD)
        signal_all((int)info.ssi_signo);
    bury();
}

static void hear_host(void)
{
    char letter;
    ssize_t got = read(LAUNCH_CONTROL_FD, &letter, 1);
    if (got == 1 && letter == LAUNCH_ASK)
        signal_all(SIGTERM);
    else if (got == 1 && letter == LAUNCH_KILL)
        signal_all(SIGKILL);
    else if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        end_all();
        exit(LAUNCH_FAILED);
    }
}

/* Returns the number of the newest process, which shows whether any started since. */
static long newest_process(void)
{
    char text[128];
    long newest = 0;
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *last = strrchr(text, ' ');
    if (last)
        newest = strtol(last, NULL, 10);
    return newest;
}

/* Kills the program if it has too many processes. RLIMIT_NPROC is not used in root's containers (task_limit), and
 * elsewhere it only makes fork fail. Returns the time until the next check. */
static int watch_count(void)
{
    static long newest;
    static int pause = WATCH_MIN_MS;
    if (!settings.pids || !whole_namespace)
        return -1;
    long now = newest_process();
    pause = now != newest ? WATCH_MIN_MS : pause * 2 < WATCH_MAX_MS ? pause * 2 : WATCH_MAX_MS;
    if (now != newest && find_descendants() > settings.pids) {
        report_start("crowd %lu\n", settings.pids);
        signal_all(SIGKILL);
    }
    newest = now;
    return pause;
}

static const struct processes *find_program_processes(void)
{
    if (!find_descendants())
        all.count = 0;
    return &all;
}

static void begin_memory_watch(void)
{
    struct memory_watch watch = {.limit_mb = settings.watch_memory ? settings.memory_mb : 0,
                                 .find = find_program_processes,
                                 .newest = whole_namespace ? newest_process : NULL,
                                 .own_tmpfs = whole_namespace};
    launch_memory_begin(&watch);
}

/* Kills the program if it exceeds a limit. Returns the time until the next check of any limit. */
static int watch_program(void)
{
    int wait = watch_count();
    unsigned long held = launch_memory_over(&wait);
    if (held) {
        if (held == MEMORY_UNSEEN)
            report_start("unseen\n");
        else
            report_start("memory %lu\n", held);
        signal_all(SIGKILL);
    }
    return wait;
}

/* Gives up the terminal so that the program can take it. The kernel sends SIGHUP to the session leader that does so;
 * that signal is not meant for the program. */
static void give_up_terminal(void)
{
    signal(SIGHUP, SIG_IGN);
    if (isatty(0))
        ioctl(0, TIOCNOTTY);
    signal(SIGHUP, SIG_DFL);
}

static int watch_signals(void)
{
    static const int heard[] = {SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(heard) / sizeof(*heard); i++)
        sigaddset(&set, heard[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
    (void)argc;
    read_settings(argv);
    if (settings.guard)
        return launch_guard(settings.argv);
    if (settings.as_uid || settings.as_gid)
        launch_as((uid_t)settings.as_uid, (gid_t)settings.as_gid, settings.argv);
    read_environment();
    whole_namespace = getpid() == 1;
    prctl(PR_SET_DUMPABLE, 0); /* the program must not reach the control line through our memory or descriptors */
    if (!whole_namespace)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!whole_namespace && settings.control)
        prctl(PR_SET_PDEATHSIG, 0); /* the end of the control line replaces this signal and leaves time to clean up */
    if (settings.control && fcntl(LAUNCH_CONTROL_FD, F_SETFD, FD_CLOEXEC))
        fail("no descriptor %d", LAUNCH_CONTROL_FD);
    if (settings.wait)
        wait_for_order();
    if (settings.filter_fd && launch_filter_load((int)settings.filter_fd))
        fail("cannot load the system call filter of descriptor %lu: %s", settings.filter_fd, strerror(errno));
    if (settings.filter_variable && launch_filter_load_text(getenv(LAUNCH_FILTER)))
        fail("cannot load the system call filter of %s: %s", LAUNCH_FILTER, strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    if (settings.network && launch_network(&environment, LAUNCH_CONTROL_FD, settings.network_socket))
        fail("cannot open the port to the host's forwarder: %s", strerror(errno));
    give_up_terminal();
    int signals = watch_signals();
    if (settings.close_proc && !launch_proc_close()) /* applies to the program too; the host shows the message */
        fputs(
            "keyturn-launch: this kernel lacks Landlock (Linux 5.19 has it): a program may write to files of /proc and "
            "/sys that the engine leaves open\n",
            stderr);
    begin_words();
    begin_memory_watch();
    int wrong = start_program();
    if (wrong) {
        report_start("error %d\n", wrong);
        say_words();
        return LAUNCH_FAILED;
    }
    if (settings.control)
        report_start("started\n");
    launch_close_standard();
    for (;;) {
        struct pollfd ready[2] = {{.fd = signals, .events = POLLIN},
                                  {.fd = settings.control ? LAUNCH_CONTROL_FD : -1, .events = POLLIN}};
        if (poll(ready, 2, watch_program()) < 0 && errno != EINTR)
            return LAUNCH_FAILED;
        if (ready[0].revents)
            hear_signal(signals);
        if (ready[1].revents)
            hear_host();
    }
}
