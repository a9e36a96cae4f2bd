#pragma once
/* Time, as something that is handed in. Monotonic microseconds for everything that is measured or awaited; wall time
 * only for what people read. A test brings a clock of its own and no test sleeps.
 *
 * A hold clock runs with another clock but can be made to stand still: deadlines of a turn are points on it, so time
 * that a person spends deciding is never the agent's. */

#include <stdint.h>

struct clock {
    int64_t (*now_us)(struct clock *clock);  /* monotonic */
    int64_t (*wall_us)(struct clock *clock); /* since 1970 */
};

struct clock *clock_system(void);

/* A clock that moves only when told to. Starts at 0, wall at 2026-01-01T00:00:00Z. */
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
int64_t hold_clock_held(const struct hold_clock *hold); /* total time it stood still, the present hold included */
void hold_clock_stop(struct hold_clock *hold);
void hold_clock_go(struct hold_clock *hold);

/* "2026-11-16T12:39:42Z" */
#define CLOCK_STAMP_MAX 32
void clock_stamp(int64_t wall_us, char out[CLOCK_STAMP_MAX]);
/* "2026-11-16" of the day `days` after. */
void clock_date(int64_t wall_us, int days, char out[CLOCK_STAMP_MAX]);
