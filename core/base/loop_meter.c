/* Measures the loop's callbacks (loop_meter.h). */

#include "loop_meter.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

bool loop_metered;

static int64_t limit_us; /* 0: none */
static const char *report;
static void (*tell_inside)(int inside); /* the interposer of the tests; NULL: not loaded */

static struct {
    int64_t us;
    const char *kind;
    uintptr_t callback;
} longest;

/* Of the callback that runs on this thread. */
static _Thread_local int depth;
static _Thread_local int64_t began_us;
static _Thread_local const char *now_kind;
static _Thread_local uintptr_t now_callback;

static int64_t cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* "task at keyturn+0x1234", which addr2line reads. */
static void name_callback(char *out, size_t size, const char *kind, uintptr_t callback)
{
    Dl_info info;
    if (callback && dladdr((const void *)callback, &info) && info.dli_fname) // NOLINT(performance-no-int-to-ptr)
        snprintf(out, size, "%s at %s+0x%lx", kind, info.dli_fname,
                 (unsigned long)(callback - (uintptr_t)info.dli_fbase));
    else
        snprintf(out, size, "%s", kind ? kind : "none");
}

static void write_report(void)
{
    char name[512];
    FILE *file = report ? fopen(report, "ae") : NULL;
    if (!file)
        return;
    name_callback(name, sizeof(name), longest.kind, longest.callback);
    fprintf(file, "%s: longest callback %lld.%03lld ms, %s\n", program_invocation_short_name,
            (long long)longest.us / 1000, (long long)longest.us % 1000, name);
    fclose(file);
}

static void read_environment(void)
{
    const char *limit = getenv("KEYTURN_LOOP_LIMIT_MS");
    report = getenv("KEYTURN_LOOP_REPORT");
    limit_us = limit ? strtoll(limit, NULL, 10) * 1000 : 0;
    loop_metered = limit_us > 0 || report;
    if (!loop_metered)
        return;
    *(void **)&tell_inside = dlsym(RTLD_DEFAULT, "keyturn_loop_inside");
    if (report)
        atexit(write_report);
}

void loop_meter_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

void loop_meter_enter(const char *kind, uintptr_t callback)
{
    if (depth++)
        return;
    now_kind = kind;
    now_callback = callback;
    if (tell_inside)
        tell_inside(1);
    began_us = cpu_us();
}

void loop_meter_leave(void)
{
    if (--depth)
        return;
    int64_t used_us = cpu_us() - began_us;
    if (tell_inside)
        tell_inside(0);
    if (used_us <= longest.us)
        return;
    longest.us = used_us;
    longest.kind = now_kind;
    longest.callback = now_callback;
    if (!limit_us || used_us <= limit_us)
        return;
    char name[512];
    name_callback(name, sizeof(name), now_kind, now_callback);
    fprintf(stderr, "keyturn: a callback of the loop used %lld ms of processor time, more than %lld: %s\n",
            (long long)used_us / 1000, (long long)limit_us / 1000, name);
    write_report();
    abort();
}

void loop_meter_away(bool away)
{
    if (depth && tell_inside)
        tell_inside(!away);
}
