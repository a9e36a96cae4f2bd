#pragma once
/* Measures a value and its floor in the same run on the same machine. The best of several rounds of each counts; the
 * rounds alternate, so that a busy moment hits both. Prints one line per measure:
 *     NAME value unit floor ratio limit ok|MISS */

#include <stdbool.h>
#include <stdint.h>

/* Seconds of one round of `run(data)`, the best of `rounds`. */
struct bench_pair {
    double value_s, floor_s;
};
struct bench_pair bench_compare(int rounds, void (*value)(void *data), void (*floor)(void *data), void *data);
/* The same, with a preparation before each round that is not measured. */
struct bench_pair bench_compare_after(int rounds, void (*before)(void *data), void (*value)(void *data),
                                      void (*floor)(void *data), void *data);
/* The same for work that does not repeat well, such as a disk with a write cache: the sum of all rounds, in alternating
 * order. */
struct bench_pair bench_compare_sums(int rounds, void (*before)(void *data), void (*value)(void *data),
                                     void (*floor)(void *data), void *data);

/* Prints the line; remembers a miss. */
void bench_report(const char *name, double value, const char *unit, double floor, double limit);
/* A value with a plain upper limit and no floor. */
void bench_report_max(const char *name, double value, const char *unit, double limit);
/* A value for the reader, without a limit. */
void bench_note(const char *name, double value, const char *unit);
/* 1 when anything was missed. */
int bench_status(void);

double bench_now_s(void);
/* Bytes of private memory of this process. */
int64_t bench_private_bytes(void);
/* Runs a program with output to /dev/null. Returns its wall time, or -1 if its exit status is above max_status. */
double bench_run_program(const char *const *argv, int max_status);
/* Writes a journal of at least `events` events: turns of four steps with three calls each, one of them a write. */
void bench_write_journal(const char *path, int64_t events);
/* CPU seconds of this process. */
double bench_cpu_s(void);
