#pragma once
/* Time as a parameter: clocks, hold clocks, deadlines. Monotonic microseconds for everything measured or awaited; wall
 * time only for what people read. A test passes its own clock, and no test sleeps.
 *
 * A hold clock follows another clock but can be stopped: the deadlines of a turn are points on it, so the time the
 * user spends deciding is never the agent's. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct clock {
    int64_t (*now_us)(struct clock *clock);  /* monotonic */
    int64_t (*wall_us)(struct clock *clock); /* since 1970 */
};

struct clock *clock_system(void);

/* A clock that moves only when the test advances it. Starts at 0, wall at 2026-01-01T00:00:00Z. */
struct fake_clock {
    struct clock base;
    _Atomic int64_t now_us; /* pool threads look at it too */
};
void fake_clock_init(struct fake_clock *fake);
void fake_clock_advance(struct fake_clock *fake, int64_t us);

struct hold_clock {
    struct clock *under;
    int64_t held_us;  /* sum of the holds that ended */
    int64_t since_us; /* when the present hold began, on `under` */
    int depth;        /* holds nest */
};
void hold_clock_init(struct hold_clock *hold, struct clock *under);
int64_t hold_clock_now(const struct hold_clock *hold);
int64_t hold_clock_held(const struct hold_clock *hold); /* total held time, including the current hold */
void hold_clock_stop(struct hold_clock *hold);
void hold_clock_go(struct hold_clock *hold);

/* "2026-11-16T12:39:42Z" */
#define CLOCK_STAMP_MAX 32
void clock_stamp(int64_t wall_us, char out[CLOCK_STAMP_MAX]);
/* "2026-11-16" of the day `days` after. */
void clock_date(int64_t wall_us, int days, char out[CLOCK_STAMP_MAX]);

/* Deadlines of one tool call, on the turn's hold clock.
 *
 * There are two times, as the specification requires. The hard wait of the executor is never below DEADLINE_FLOOR_S.
 * The token that the tool can read has the real deadline, min(turn deadline, now + cap), so that a cooperative tool
 * ends in time. Any thread may read the cancel flag. */

#define DEADLINE_FLOOR_S 5.0
#define DEADLINE_CAP_S   45.0
#define DEADLINE_LAST_WORD_S \
    1.0 /* a program or script gets this much less than its call, so that its end can still be reported */

struct deadline {
    const struct hold_clock *clock;
    int64_t due_us; /* on the hold clock */
    atomic_bool cancelled;
};

/* `turn_due_us` on the hold clock. */
void deadline_init(struct deadline *deadline, const struct hold_clock *clock, int64_t turn_due_us, double cap_s);
double deadline_remaining_s(const struct deadline *deadline); /* 0 when past; loop thread only */
void deadline_cancel(struct deadline *deadline);
static inline bool deadline_cancelled(const struct deadline *deadline)
{
    return atomic_load_explicit(&((struct deadline *)deadline)->cancelled, memory_order_relaxed);
}
/* max(5, min(remaining, cap)) */
double deadline_per_tool_s(double remaining_s, double cap_s);
