#pragma once
/* The one event loop: libuv, wrapped once.
 *
 * Only the thread that runs the loop emits events and changes state. Blocking work goes to the thread pool with
 * copies of its inputs and returns through `done`, on the loop. loop_post_from_thread is the only other way in.
 *
 * Time comes from the clock that the caller passes. With a fake clock the loop runs in virtual time: if nothing is
 * ready and no pool work is in progress, the clock jumps to the next timer. So a test of a 45 s deadline takes no
 * time and runs the same code.
 *
 * Timers, tasks and works are embedded in their owner's struct, zeroed at first. A stopped timer may be freed at
 * once. */

#include "clock.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct uv_loop_s;

struct loop *loop_new(struct clock *clock); /* clock_system() or &fake.base (virtual time) */
/* BUG() if something is still open. Every test ends with this, so leaks of handles cannot hide. */
void loop_free(struct loop *loop);
struct clock *loop_clock(const struct loop *loop);
int64_t loop_now_us(const struct loop *loop);
struct uv_loop_s *loop_uv(struct loop *loop); /* for child.c and the terminal */

/* Runs until loop_stop, or until nothing can happen any more. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

struct loop_timer {
    void (*fire)(struct loop_timer *timer);
    int64_t due_us; /* on the loop's clock */
    size_t place;   /* in the heap, 1-based; 0 while stopped */
};
/* (Re)arms it. It fires once, from the loop, never from within this call. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t due_us, void (*fire)(struct loop_timer *));
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);
static inline bool loop_timer_armed(const struct loop_timer *timer)
{
    return timer->place != 0;
}

/* Calls run(task) from the loop soon, in the order posted, never during this call. Posting a posted task does
 * nothing; loop_unpost removes it. */
struct loop_task {
    void (*run)(struct loop_task *task);
    struct loop_task *next, *prev;
    bool posted;
};
void loop_post(struct loop *loop, struct loop_task *task, void (*run)(struct loop_task *));
void loop_unpost(struct loop *loop, struct loop_task *task);
/* From any thread: calls run(data) on the loop. Until then the caller must keep the loop alive with
 * loop_hold/loop_let_go (on the loop thread). */
void loop_post_from_thread(struct loop *loop, void (*run)(void *data), void *data);
void loop_hold(struct loop *loop);
void loop_let_go(struct loop *loop);

/* Blocking work on the thread pool. `run` on a pool thread, then `done` on the loop, always both. */
struct loop_work {
    void (*run)(struct loop_work *work);
    void (*done)(struct loop_work *work);
    void *impl;
    _Atomic int64_t began_us; /* when a thread started it, on the loop's clock; -1: still queued */
};
void loop_work_start(struct loop *loop, struct loop_work *work, void (*run)(struct loop_work *),
                     void (*done)(struct loop_work *));
/* The owner is about to go away: the work still ends with `done`, and loop_free waits for it. */
void loop_work_disown(struct loop *loop, struct loop_work *work);

/* A file descriptor becoming readable; a signal. NULL-safe to free; they do not keep the loop running. */
struct loop_watch;
struct loop_watch *loop_watch_fd(struct loop *loop, int fd, void (*ready)(void *data), void *data);
struct loop_watch *loop_watch_signal(struct loop *loop, int signum, void (*caught)(void *data), void *data);
void loop_watch_free(struct loop_watch *watch);
/* Sets whether a watch alone keeps loop_run running; off by default. */
void loop_watch_keep(struct loop_watch *watch, bool keep);
