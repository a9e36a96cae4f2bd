/* Finds calls that block inside a callback of the loop. Tests preload this library into the real programs.
 *
 * The loop's meter (core/base/loop_meter.h) says when a callback begins and ends. In between, on that thread, a call
 * is blocking if it waits for another party: it sleeps, waits for a child, a thread, a lock or a name, opens a
 * FIFO, or reads or writes a pipe, socket or terminal that is neither ready nor non-blocking. With
 * KEYTURN_LOOP_LIMIT_MS set the first one aborts the program with a sentence.
 *
 * Not counted: regular files, which no peer can hold up (the journal is appended and synced on the loop, by design:
 * an event is in the file before anyone acts on it); standard output and error, whose reader is the user; and what
 * libuv does, which makes its own descriptors non-blocking and waits only until a child that we start has called exec.
 * Nor is the user's own terminal: ncurses waits a moment behind an Esc for the rest of a key, and a frame until it is
 * taken. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
/* The real function that this one replaces. */
#define NEXT(name)                             \
    ({                                         \
        static __typeof__(&name) next_;        \
        if (!next_)                            \
            *(void **)&next_ = next_of(#name); \
        next_;                                 \
    })
#define CALLER __builtin_return_address(0)

static _Thread_local int inside;
static bool limited;

static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

/* The programs under test start children in sandboxes, where this library is missing; shells and servers pass it on. */
__attribute__((constructor)) static void begin(void)
{
    static const char *const passing[] = {"bash", "sh", "dash", "env", "timeout", "tmux", "script", "setsid", "su"};
    const char *name = program_invocation_short_name;
    limited = getenv("KEYTURN_LOOP_LIMIT_MS") != NULL;
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
        if (strncmp(name, passing[i], strlen(passing[i])) == 0)
            return;
    unsetenv("LD_PRELOAD");
}

EXPORT void keyturn_loop_inside(int yes);
EXPORT void keyturn_loop_inside(int yes)
{
    inside = yes;
}

static bool is_trusted(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname &&
           (strstr(info.dli_fname, "libuv") || strstr(info.dli_fname, "libtinfo") ||
            strstr(info.dli_fname, "libncurses"));
}

/* The fields of a wait for the user's own terminal or pipe. */
static bool is_output(const struct pollfd *fds, nfds_t count)
{
    return count == 1 && fds->fd <= STDERR_FILENO && fds->events == POLLOUT;
}

static void blocks(const char *call, const void *caller)
{
    Dl_info info = {0};
    if (!inside || is_trusted(caller))
        return;
    inside = 0; /* calls made for the message do not count */
    dladdr(caller, &info);
    fprintf(stderr, "keyturn: %s may block inside a callback of the loop, called at %s+0x%lx\n", call,
            info.dli_fname ? info.dli_fname : "?",
            (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
    const char *report = getenv("KEYTURN_LOOP_REPORT");
    FILE *file = report ? fopen(report, "ae") : NULL;
    if (file) {
        fprintf(file, "%s: blocking call of %s at %s+0x%lx\n", program_invocation_short_name, call,
                info.dli_fname ? info.dli_fname : "?",
                (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
        fclose(file);
    }
    if (limited)
        abort();
    inside = 1;
}

/* Returns true if reading (or writing) now would wait for the other end. */
static bool would_wait(int fd, short events)
{
    struct stat st;
    if (!inside || fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
        return false;
    if (S_ISCHR(st.st_mode) && (events == POLLOUT || major(st.st_rdev) == 1))
        return false;
    if (events == POLLOUT && fd <= STDERR_FILENO)
        return false;
    int flags = NEXT(fcntl)(fd, F_GETFL);
    struct pollfd ready = {.fd = fd, .events = events};
    return flags >= 0 && !(flags & O_NONBLOCK) && NEXT(poll)(&ready, 1, 0) == 0;
}

#define READS(events)                 \
    do {                              \
        if (would_wait(fd, events))   \
            blocks(__func__, CALLER); \
    } while (0)

EXPORT ssize_t read(int fd, void *buf, size_t len)
{
    READS(POLLIN);
    return NEXT(read)(fd, buf, len);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
    READS(POLLIN);
    return NEXT(readv)(fd, parts, count);
}

EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    if (!(flags & MSG_DONTWAIT))
        READS(POLLIN);
    return NEXT(recv)(fd, buf, len, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    if (!(flags & MSG_DONTWAIT))
        READS(POLLIN);
    return NEXT(recvmsg)(fd, message, flags);
}

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
    READS(POLLOUT);
    return NEXT(write)(fd, buf, len);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    READS(POLLOUT);
    return NEXT(writev)(fd, parts, count);
}

EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    if (!(flags & MSG_DONTWAIT))
        READS(POLLOUT);
    return NEXT(send)(fd, buf, len, flags);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!(flags & MSG_DONTWAIT))
        READS(POLLOUT);
    return NEXT(sendmsg)(fd, message, flags);
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    if (inside && !(NEXT(fcntl)(fd, F_GETFL) & O_NONBLOCK))
        blocks("connect", CALLER);
    return NEXT(connect)(fd, address, len);
}

EXPORT int accept(int fd, struct sockaddr *address, socklen_t *len)
{
    READS(POLLIN);
    return NEXT(accept)(fd, address, len);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    READS(POLLIN);
    return NEXT(accept4)(fd, address, len, flags);
}

EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    READS(POLLIN);
    return NEXT(pread)(fd, buf, len, at);
}

EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    READS(POLLOUT);
    return NEXT(pwrite)(fd, buf, len, at);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (inside && timeout != 0 && !is_output(fds, count))
        blocks("poll", CALLER);
    return NEXT(poll)(fds, count, timeout);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    if (inside && !(timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0))
        blocks("ppoll", CALLER);
    return NEXT(ppoll)(fds, count, timeout, mask);
}

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *timeout)
{
    if (inside && !(timeout && timeout->tv_sec == 0 && timeout->tv_usec == 0))
        blocks("select", CALLER);
    return NEXT(select)(count, in, out, bad, timeout);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
    if (inside && timeout != 0)
        blocks("epoll_wait", CALLER);
    return NEXT(epoll_wait)(fd, events, count, timeout);
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    blocks("nanosleep", CALLER);
    return NEXT(nanosleep)(wanted, left);
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    blocks("clock_nanosleep", CALLER);
    return NEXT(clock_nanosleep)(clock, flags, wanted, left);
}

EXPORT int usleep(useconds_t us)
{
    blocks("usleep", CALLER);
    return NEXT(usleep)(us);
}

EXPORT unsigned sleep(unsigned seconds)
{
    blocks("sleep", CALLER);
    return NEXT(sleep)(seconds);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    if (!(options & WNOHANG))
        blocks("waitpid", CALLER);
    return NEXT(waitpid)(pid, status, options);
}

EXPORT pid_t wait(int *status)
{
    blocks("wait", CALLER);
    return NEXT(wait)(status);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    if (!(options & WNOHANG))
        blocks("waitid", CALLER);
    return NEXT(waitid)(type, id, info, options);
}

EXPORT int flock(int fd, int operation)
{
    if (!(operation & (LOCK_NB | LOCK_UN)))
        blocks("flock", CALLER);
    return NEXT(flock)(fd, operation);
}

EXPORT int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (command == F_SETLKW || command == F_OFD_SETLKW)
        blocks("fcntl of a lock", CALLER);
    return NEXT(fcntl)(fd, command, argument);
}

static void check_open(int folder, const char *path, int flags, const void *caller)
{
    struct stat st;
    if (inside && !(flags & (O_NONBLOCK | O_PATH)) && (flags & O_ACCMODE) != O_RDWR &&
        fstatat(folder, path, &st, 0) == 0 && S_ISFIFO(st.st_mode))
        blocks("open of a FIFO", caller);
}

#define OPEN_MODE(mode)                    \
    mode_t mode = 0;                       \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list args;                      \
        va_start(args, flags);             \
        mode = va_arg(args, mode_t);       \
        va_end(args);                      \
    }

EXPORT int open(const char *path, int flags, ...)
{
    OPEN_MODE(mode)
    check_open(AT_FDCWD, path, flags, CALLER);
    return NEXT(open)(path, flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
    OPEN_MODE(mode)
    check_open(folder, path, flags, CALLER);
    return NEXT(openat)(folder, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    bool both = strchr(mode, '+') != NULL;
    check_open(AT_FDCWD, path, both ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY, CALLER);
    return NEXT(fopen)(path, mode);
}

EXPORT int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    blocks("getaddrinfo", CALLER);
    return NEXT(getaddrinfo)(node, service, hints, found);
}

EXPORT int system(const char *command)
{
    blocks("system", CALLER);
    return NEXT(system)(command);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
    blocks("popen", CALLER);
    return NEXT(popen)(command, mode);
}

/* A join of a thread that is about to end takes a moment: curl's name lookup. */
EXPORT int pthread_join(pthread_t thread, void **result)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (inside && pthread_timedjoin_np(thread, result, &until) == 0)
        return 0;
    blocks("pthread_join", CALLER);
    return NEXT(pthread_join)(thread, result);
}

EXPORT int sem_wait(sem_t *semaphore)
{
    blocks("sem_wait", CALLER);
    return NEXT(sem_wait)(semaphore);
}

/* The old version of these two has another layout, and dlsym may find it. */
EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *);
    if (!next)
        *(void **)&next = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    blocks("pthread_cond_wait", CALLER);
    return next(condition, mutex);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!next)
        *(void **)&next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    blocks("pthread_cond_timedwait", CALLER);
    return next(condition, mutex, until);
}
