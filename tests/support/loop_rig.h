#pragma once
/* What tests of the loop share: a loop, virtual or real, and a trace with one letter per event. A program tests one
 * loop at a time, so there is one of each. */

#include "base/loop.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000)

static struct loop *loop;
static struct fake_clock fake;
static char trace[4096]; /* one letter per event */
static size_t traced;

static inline void note(char c)
{
    assert_true(traced + 1 < sizeof(trace));
    trace[traced++] = c;
    trace[traced] = '\0';
}

static inline void begin(bool virtual_time)
{
    fake_clock_init(&fake);
    loop = loop_new(virtual_time ? &fake.base : clock_system());
    traced = 0;
    trace[0] = '\0';
}

static inline void end(void)
{
    loop_free(loop);
    loop = NULL;
}

struct named_timer {
    struct loop_timer timer;
    char name;
    struct named_timer *other; /* for callbacks that act on another timer */
    int64_t fired_us;
};

struct named_task {
    struct loop_task task;
    char name;
    struct named_task *other;
};

static inline void fire_note(struct loop_timer *timer)
{
    struct named_timer *named = (struct named_timer *)timer;
    assert_false(loop_timer_armed(timer));
    assert_true(loop_now_us(loop) >= timer->due_us);
    named->fired_us = loop_now_us(loop);
    note(named->name);
}

static inline void run_note(struct loop_task *task)
{
    assert_false(task->posted);
    note(((struct named_task *)task)->name);
}
