#pragma once
/* Measuring as a ratio: the value and its floor come from the same run on the same machine, the best of several rounds
 * of each, taken in turns so that a busy moment hits both. One line per measure:
 *     NAME value unit floor ratio limit ok|MISS                                                                      */

#include <stdbool.h>
#include <stdint.h>

/* Seconds of one round of `run(data)`, the best of `rounds`. */
struct bench_pair {
    double value_s, floor_s;
};
struct bench_pair bench_compare(int rounds, void (*value)(void *data), void (*floor)(void *data), void *data);
/* The same with something that is done before each round of either and not counted. */
struct bench_pair bench_compare_after(int rounds, void (*before)(void *data), void (*value)(void *data),
                                      void (*floor)(void *data), void *data);
/* The same for what does not repeat itself, as a disk that is fast until it has taken so much: not the best rounds but
 * all of them, and each is first in turn. */
struct bench_pair bench_compare_sums(int rounds, void (*before)(void *data), void (*value)(void *data),
                                     void (*floor)(void *data), void *data);

/* Prints the line; remembers a miss. */
void bench_report(const char *name, double value, const char *unit, double floor, double limit);
/* A value with a plain upper limit and no floor. */
void bench_report_max(const char *name, double value, const char *unit, double limit);
/* A value beside others, for the reader: no limit. */
void bench_note(const char *name, double value, const char *unit);
/* 1 when anything was missed. */
int bench_status(void);

double bench_now_s(void);
/* Bytes of memory that only this process has. */
int64_t bench_private_bytes(void);
/* Runs a program, output to /dev/null; its wall time, or -1 when it did not end with 0…max_status. */
double bench_run_program(const char *const *argv, int max_status);
/* Writes a journal of at least `events` events: turns of four steps with three calls each, one of them a write. */
void bench_write_journal(const char *path, int64_t events);
/* CPU seconds of this process. */
double bench_cpu_s(void);
