/* A program without descriptors or without a stack fails in the middle of something. So both are looked at first. */

#include "shell_limits.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_FREE   40 /* descriptors: loop, thread pool, store, journal, servers, and a program */
#define FILES_ADVICE 64
#define FILES_WANTED 256         /* what a low soft limit is raised to */
#define STACK_LEAST  (512 << 10) /* bytes: the deepest calls, libraries included, with room to spare */
#define STACK_WANTED (8 << 20)

/* Can so many descriptors be opened? Those that we were started with count too, so trying is the only sure way. */
static bool files_free(void)
{
    int fds[FILES_FREE];
    size_t count = 0;
    while (count < COUNT_OF(fds) && (fds[count] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) >= 0)
        count++;
    bool all = count == COUNT_OF(fds);
    while (count)
        close(fds[--count]);
    return all;
}

/* Raises the soft limit to `wanted`, or to the hard one. */
static void raise_limit(int resource, rlim_t wanted)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit((__rlimit_resource_t)resource, &limit); /* what it comes to is looked at by the caller */
}

static int prepare_files(struct err *err)
{
    struct rlimit limit;
    raise_limit(RLIMIT_NOFILE, FILES_WANTED);
    if (files_free())
        return 0;
    unsigned long long now = getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (unsigned long long)limit.rlim_cur;
    return err_set(err, "cannot open enough files: the limit is %llu (set ulimit -n to %d or more)", now, FILES_ADVICE);
}

/* The stack of this thread grows up to the limit of the moment. Threads that are made without a size of their own take
 * what the limit was when the program began. */
static int prepare_stack(struct err *err)
{
    struct rlimit limit;
    pthread_attr_t attr;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_LEAST)
        return 0;
    raise_limit(RLIMIT_STACK, STACK_WANTED);
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < STACK_LEAST)
        return err_set(err, "the stack is limited to %llu KB (set ulimit -s to %d or more)",
                       (unsigned long long)limit.rlim_cur >> 10, STACK_LEAST >> 10);
    if (pthread_attr_init(&attr) == 0) {
        if (pthread_attr_setstacksize(&attr, STACK_LEAST) == 0)
            pthread_setattr_default_np(&attr);
        pthread_attr_destroy(&attr);
    }
    return 0;
}

int limits_prepare(struct err *err)
{
    signal(SIGXFSZ, SIG_IGN);
    return prepare_stack(err) || prepare_files(err) ? -1 : 0;
}
