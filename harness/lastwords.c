/* Reports that a script ran out of memory or stack.
 *
 * It prepares all text beforehand: the signal handler runs without free memory, on its own stack. A script may replace
 * the handlers, and other threads have no second stack. Then the supervisor reports only the signal. */

#include "lastwords.h"
#include "pyhost.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)64 << 10)
/* A frame may begin this far below the end of the stack. */
#define FRAME_MAX ((uintptr_t)1 << 20)

static struct {
    int events;
    uintptr_t stack_top, stack_size;
    char memory[64], memory_end[160];
} words = {.events = -1, .memory = "Script ran out of memory"};

static const char stack_end[] =
    "\nX{\"message\":\"Script crashed the interpreter (SIGSEGV): too deep a recursion used up "
    "its stack\",\"traceback\":\"\"}\n";

static void say_and_end(const char *end)
{
    size_t len = strlen(end);

    if (write(words.events, end, len) == (ssize_t)len)
        _exit(0);
}

static bool is_of_stack(uintptr_t at)
{
    return at < words.stack_top && at + words.stack_size + FRAME_MAX > words.stack_top;
}

static void on_death(int number, siginfo_t *info, void *context)
{
    (void)context;
    signal(number, SIG_DFL);
    if (pyhost_starved())
        say_and_end(words.memory_end);
    if (number == SIGSEGV && info->si_code > 0 && is_of_stack((uintptr_t)info->si_addr))
        say_and_end(stack_end);
    raise(number); /* delivered when this handler returns */
}

void last_words_prepare(int events)
{
    static char stack[STACK_SIZE];
    struct sigaction action = {.sa_sigaction = on_death, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct rlimit limit;

    words.events = events;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(words.memory, sizeof(words.memory), "Script ran out of memory (%llu MB)",
                 (unsigned long long)limit.rlim_cur >> 20);
    snprintf(words.memory_end, sizeof(words.memory_end), "\nX{\"message\":\"%s\",\"traceback\":\"\"}\n", words.memory);
    words.stack_top = (uintptr_t)&limit;
    words.stack_size = getrlimit(RLIMIT_STACK, &limit) == 0 ? (uintptr_t)limit.rlim_cur : 0;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}

const char *last_words_memory(void)
{
    return words.memory;
}
