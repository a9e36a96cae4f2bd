/* Clocks, numbers and output that all benchmarks share (bench/bench.h). */

#include "bench/bench.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static bool missed;

double bench_now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double bench_cpu_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double one_round(void (*run)(void *), void (*before)(void *), void *data)
{
    if (before)
        before(data);
    double start = bench_now_s();
    run(data);
    return bench_now_s() - start;
}

struct bench_pair bench_compare_after(int rounds, void (*before)(void *data), void (*value)(void *data),
                                      void (*floor)(void *data), void *data)
{
    struct bench_pair best = {1e9, 1e9};
    for (int i = 0; i < rounds; i++) {
        double f = one_round(floor, before, data), v = one_round(value, before, data);
        best.floor_s = f < best.floor_s ? f : best.floor_s;
        best.value_s = v < best.value_s ? v : best.value_s;
    }
    return best;
}

struct bench_pair bench_compare_sums(int rounds, void (*before)(void *data), void (*value)(void *data),
                                     void (*floor)(void *data), void *data)
{
    struct bench_pair sum = {0, 0};
    for (int i = 0; i < rounds; i++) {
        double first = one_round(i & 1 ? value : floor, before, data),
               second = one_round(i & 1 ? floor : value, before, data);
        sum.floor_s += i & 1 ? second : first;
        sum.value_s += i & 1 ? first : second;
    }
    return sum;
}

struct bench_pair bench_compare(int rounds, void (*value)(void *data), void (*floor)(void *data), void *data)
{
    return bench_compare_after(rounds, NULL, value, floor, data);
}

void bench_report(const char *name, double value, const char *unit, double floor, double limit)
{
    double ratio = value / floor;
    bool ok = ratio <= limit;
    printf("%-24s %10.3f %-5s %10.3f %8.2f %8.2f %s\n", name, value, unit, floor, ratio, limit, ok ? "ok" : "MISS");
    fflush(stdout);
    missed |= !ok;
}

void bench_report_max(const char *name, double value, const char *unit, double limit)
{
    bool ok = value <= limit;
    printf("%-24s %10.3f %-5s %10s %8s %8.2f %s\n", name, value, unit, "-", "-", limit, ok ? "ok" : "MISS");
    fflush(stdout);
    missed |= !ok;
}

void bench_note(const char *name, double value, const char *unit)
{
    printf("%-24s %10.3f %-5s %10s %8s %8s ok\n", name, value, unit, "-", "-", "-");
    fflush(stdout);
}

int bench_status(void)
{
    return missed;
}

int64_t bench_private_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long long kb, sum = 0;
    if (!file)
        return -1;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "Anonymous: %lld", &kb) == 1)
            sum += kb;
    fclose(file);
    return sum * 1024;
}

double bench_run_program(const char *const *argv, int max_status)
{
    posix_spawn_file_actions_t files;
    double start = bench_now_s();
    int status;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)argv, environ) != 0)
        return -1;
    posix_spawn_file_actions_destroy(&files);
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > max_status)
        return -1;
    return bench_now_s() - start;
}
