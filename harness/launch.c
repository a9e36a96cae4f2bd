/* keyturn-launch: starts one program inside its sandbox and sees to it that nothing is left of it.
 *
 *     keyturn-launch [--control] [--mark] [--memory MB] [--pids N] [--cpu SECONDS] [--files MB] [--cwd DIR]
 *                    -- PROGRAM [ARG…]
 *
 * It is process 1 of the sandbox's process namespace, or where there is none the one that orphans are given to, so
 * whatever a program starts, in whatever session, ends up here. The program gets the limits, a session of its own and,
 * where standard input is a terminal, that terminal as its own; bare names are looked up in the program's PATH. Its
 * environment is what ours holds behind LAUNCH_PREFIX: the engine in between has an environment of its own, and neither
 * may touch the other.
 *
 * With --control, descriptor 3 is a line to the host. From there: T asks the program to end, K ends everything, and so
 * does the end of the line. To there, a line each:
 *
 *     started            it runs; with a line to the host alone
 *     error ERRNO        it could not be started
 *     crowd N            it made more than N processes and is killed
 *     left PID NAME      it was still running when the program ended, and was killed
 *     survivor PID NAME  it could not be killed
 *     exit CODE | signal NUMBER
 *
 * With --mark, standard error has a line of LAUNCH_MARK before the program begins: what stands before it is the
 * engine's. Where there is no line to the host it has one of LAUNCH_LAST too, when nothing of the program is left, and
 * behind it the lines above, each behind LAUNCH_WORD.
 *
 *     keyturn-launch --guard -- COMMAND [ARG…]
 *
 * starts nothing while the line lasts. One that ends without the word that all is done is the end of the host: then the
 * command is run, which stops what an engine keeps where nobody hears of that, until it succeeds.
 *
 * Nothing but libc, linked statically where that is possible: it is bound into images that hold who knows what. */

#include "base/launch.h"
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

#define LEFT_TOLD_MAX  64
#define WORDS_MAX      8192
#define KILL_MS        2000 /* for what was left to be gone */
#define GUARD_TRIES    40   /* what is to be stopped may only be about to begin … */
#define GUARD_PAUSE_MS 250  /* … so that is tried again */
#define WATCH_MIN_MS   20   /* between counts while processes come … */
#define WATCH_MAX_MS   160  /* … and while none do */

struct settings {
    unsigned long memory_mb, pids, cpu_s, files_mb;
    const char *cwd;
    bool control, mark, guard;
    char **argv;
};

static struct settings settings;
static bool whole_namespace; /* we are process 1: everything there is belongs to the program */
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

static void read_settings(char **argv)
{
    static const struct {
        const char *name;
        unsigned long *number;
    } numbers[] = {{"--memory", &settings.memory_mb},
                   {"--pids", &settings.pids},
                   {"--cpu", &settings.cpu_s},
                   {"--files", &settings.files_mb}};
    for (argv++; *argv && strcmp(*argv, "--") != 0; argv++) {
        size_t i = 0;
        if (strcmp(*argv, "--control") == 0) {
            settings.control = true;
            continue;
        }
        if (strcmp(*argv, "--mark") == 0) {
            settings.mark = true;
            continue;
        }
        if (strcmp(*argv, "--guard") == 0) {
            settings.guard = true;
            continue;
        }
        if (!argv[1])
            fail("%s takes a value", *argv);
        while (i < sizeof(numbers) / sizeof(*numbers) && strcmp(numbers[i].name, *argv) != 0)
            i++;
        if (i < sizeof(numbers) / sizeof(*numbers))
            read_number(*argv, argv[1], numbers[i].number);
        else if (strcmp(*argv, "--cwd") == 0)
            settings.cwd = argv[1];
        else
            fail("there is no option %s", *argv);
        argv++;
    }
    if (!*argv || !argv[1])
        fail("there is no program to start");
    settings.argv = argv + 1;
}

/* The program's variables out of ours. */
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

/* ---- telling the host ---- */

/* What is told at the end where there is no line to the host. */
static struct {
    int fd; /* our own standard error; -1: nobody wants it */
    char text[WORDS_MAX];
    size_t len;
} words = {.fd = -1};

static void put(int fd, const char *text, size_t len)
{
    /* A host that is gone is met at the end of the line, where everything is ended. */
    if (write(fd, text, len) < 0)
        return;
}

static void tell(const char *fmt, ...)
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

/* In the PATH of its environment; an empty part is the folder it starts in, an empty PATH is nowhere. errno when there
 * is none. */
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
    /* A second more than the soft limit, which kills by a signal that tells why. */
    rlim_t hard = resource == RLIMIT_CPU && wanted == value ? wanted + 1 : wanted;
    struct rlimit both = {wanted, now.rlim_max != RLIM_INFINITY && now.rlim_max < hard ? now.rlim_max : hard};
    setrlimit(resource, &both);
}

/* Threads that this user has already, where its others count too. */
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

static void put_limits(void)
{
    limit(RLIMIT_DATA, settings.memory_mb << 20);
    limit(RLIMIT_CPU, settings.cpu_s);
    limit(RLIMIT_FSIZE, settings.files_mb << 20);
    limit(RLIMIT_NPROC, settings.pids && !whole_namespace ? settings.pids + tasks_of_user() : settings.pids);
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

/* 0, or the errno of what went wrong. */
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

/* ---- everything that came of it ---- */

static struct processes all;

/* Whatever there is of it is a child of ours, or hangs from one. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Those that live, in `all`; how many. */
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

/* Kills until nothing is left; what starts others meanwhile is met in the next round. */
static void end_all(void)
{
    reap();
    size_t count = find_descendants();
    for (size_t i = 0; i < count && i < LEFT_TOLD_MAX; i++)
        tell("left %d %s\n", all.items[i].pid, all.items[i].name);
    for (long until = now_ms() + KILL_MS; count && now_ms() < until; count = find_descendants()) {
        signal_all(SIGKILL);
        poll(NULL, 0, 1);
        reap();
    }
    for (size_t i = 0; i < count && i < LEFT_TOLD_MAX; i++)
        tell("survivor %d %s\n", all.items[i].pid, all.items[i].name);
}

static _Noreturn void leave(int status)
{
    end_all();
    if (WIFSIGNALED(status)) {
        tell("signal %d\n", WTERMSIG(status));
        say_words();
        exit(128 + WTERMSIG(status));
    }
    tell("exit %d\n", WEXITSTATUS(status));
    say_words();
    exit(WEXITSTATUS(status));
}

/* ---- until it ends ---- */

static void bury(void)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == program)
            leave(status);
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

/* The number of the newest process: whether any came since. */
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

/* The kernel counts no processes of root's, and inside a sandbox of root's ours are. Whoever makes more than it may is
 * ended; returns how long until the next look. */
static int watch_count(void)
{
    static long newest;
    static int pause = WATCH_MIN_MS;
    if (!settings.pids || !whole_namespace)
        return -1;
    long now = newest_process();
    pause = now != newest ? WATCH_MIN_MS : pause * 2 < WATCH_MAX_MS ? pause * 2 : WATCH_MAX_MS;
    if (now != newest && find_descendants() > settings.pids) {
        tell("crowd %lu\n", settings.pids);
        signal_all(SIGKILL);
    }
    newest = now;
    return pause;
}

/* Else the program could not have it. Who leads the terminal's session is hung up on by giving it up, and that is not
 * meant for the program. */
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

/* Whoever reads the program's output waits for its end: ours must not be in the way. */
static void close_standard(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            close(fd);
    if (null > 2)
        close(null);
}

/* ---- guarding ---- */

static bool run_command(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(settings.argv[0], settings.argv);
        _exit(LAUNCH_FAILED);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int guard(void)
{
    char letter;
    ssize_t got;
    prctl(PR_SET_PDEATHSIG, 0);
    setsid(); /* whoever kills the host's group does not mean us */
    close_standard();
    if (fcntl(LAUNCH_CONTROL_FD, F_SETFD, FD_CLOEXEC))
        return LAUNCH_FAILED;
    do {
        poll(&(struct pollfd){.fd = LAUNCH_CONTROL_FD, .events = POLLIN}, 1, -1);
        got = read(LAUNCH_CONTROL_FD, &letter, 1);
    } while ((got == 1 && letter != LAUNCH_DONE) || (got < 0 && (errno == EINTR || errno == EAGAIN)));
    if (got == 1)
        return 0;
    for (int i = 0; i < GUARD_TRIES && !run_command(); i++)
        poll(NULL, 0, GUARD_PAUSE_MS);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    read_settings(argv);
    if (settings.guard)
        return guard();
    read_environment();
    whole_namespace = getpid() == 1;
    prctl(PR_SET_DUMPABLE, 0); /* the program must not reach into us for the line to the host */
    if (!whole_namespace)
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!whole_namespace && settings.control)
        prctl(PR_SET_PDEATHSIG, 0); /* the end of the line tells, and leaves time to clean up */
    if (settings.control && fcntl(LAUNCH_CONTROL_FD, F_SETFD, FD_CLOEXEC))
        fail("there is no descriptor %d", LAUNCH_CONTROL_FD);
    signal(SIGPIPE, SIG_IGN);
    give_up_terminal();
    int signals = watch_signals();
    begin_words();
    int wrong = start_program();
    if (wrong) {
        tell("error %d\n", wrong);
        say_words();
        return LAUNCH_FAILED;
    }
    if (settings.control)
        tell("started\n");
    close_standard();
    for (;;) {
        struct pollfd ready[2] = {{.fd = signals, .events = POLLIN},
                                  {.fd = settings.control ? LAUNCH_CONTROL_FD : -1, .events = POLLIN}};
        if (poll(ready, 2, watch_count()) < 0 && errno != EINTR)
            return LAUNCH_FAILED;
        if (ready[0].revents)
            hear_signal(signals);
        if (ready[1].revents)
            hear_host();
    }
}
