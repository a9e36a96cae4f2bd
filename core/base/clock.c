/* Reads and fakes time, stops it for a hold, and computes deadlines. */

#include "clock.h"
#include "err.h"
#include <math.h>
#include <time.h>

#define SECOND_US    ((int64_t)1000000)
#define DAY_US       (86400 * SECOND_US)
#define FAKE_WALL_US (1767225600 * SECOND_US) /* 2026-01-01T00:00:00Z */

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    if (clock_gettime(id, &now))
        BUG("no clock");
    return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

static int64_t system_now(struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_MONOTONIC);
}

static int64_t system_wall(struct clock *clock)
{
    (void)clock;
    return read_us(CLOCK_REALTIME);
}

static int64_t fake_now(struct clock *clock)
{
    return ((struct fake_clock *)clock)->now_us;
}

static int64_t fake_wall(struct clock *clock)
{
    return FAKE_WALL_US + ((struct fake_clock *)clock)->now_us;
}

static void format_wall(int64_t wall_us, const char *format, char out[CLOCK_STAMP_MAX])
{
    int64_t seconds = wall_us / SECOND_US - (wall_us % SECOND_US < 0);
    time_t when = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&when, &parts) || strftime(out, CLOCK_STAMP_MAX, format, &parts) == 0)
        BUG("cannot format the time %lld", (long long)wall_us);
}

struct clock *clock_system(void)
{
    static struct clock clock = {system_now, system_wall};
    return &clock;
}

void fake_clock_init(struct fake_clock *fake)
{
    *fake = (struct fake_clock){.base = {fake_now, fake_wall}};
}

void fake_clock_advance(struct fake_clock *fake, int64_t us)
{
    if (us < 0)
        BUG("time runs forward");
    fake->now_us += us;
}

void hold_clock_init(struct hold_clock *hold, struct clock *under)
{
    *hold = (struct hold_clock){.under = under};
}

int64_t hold_clock_now(const struct hold_clock *hold)
{
    int64_t now = hold->depth ? hold->since_us : hold->under->now_us(hold->under);
    return now - hold->held_us;
}

int64_t hold_clock_held(const struct hold_clock *hold)
{
    if (!hold->depth)
        return hold->held_us;
    return hold->held_us + hold->under->now_us(hold->under) - hold->since_us;
}

void hold_clock_stop(struct hold_clock *hold)
{
    if (hold->depth++ == 0)
        hold->since_us = hold->under->now_us(hold->under);
}

void hold_clock_go(struct hold_clock *hold)
{
    if (hold->depth == 0)
        BUG("the clock was not held");
    if (--hold->depth == 0)
        hold->held_us += hold->under->now_us(hold->under) - hold->since_us;
}

void clock_stamp(int64_t wall_us, char out[CLOCK_STAMP_MAX])
{
    format_wall(wall_us, "%Y-%m-%dT%H:%M:%SZ", out);
}

void clock_date(int64_t wall_us, int days, char out[CLOCK_STAMP_MAX])
{
    format_wall(wall_us + days * DAY_US, "%Y-%m-%d", out);
}

/* ---- deadline ---- */

/* A point `seconds` after `now_us`, however absurd the number. */
static int64_t after(int64_t now_us, double seconds)
{
    double us = (double)now_us + seconds * 1e6;
    if (!(us < (double)INT64_MAX)) /* NaN too */
        return INT64_MAX;
    return us < 0 ? 0 : llround(us);
}

void deadline_init(struct deadline *deadline, const struct hold_clock *clock, int64_t turn_due_us, double cap_s)
{
    int64_t cap_due_us = after(hold_clock_now(clock), cap_s);
    deadline->clock = clock;
    deadline->due_us = turn_due_us < cap_due_us ? turn_due_us : cap_due_us;
    atomic_init(&deadline->cancelled, false);
}

double deadline_remaining_s(const struct deadline *deadline)
{
    int64_t now_us = hold_clock_now(deadline->clock);
    return now_us < deadline->due_us ? (double)(deadline->due_us - now_us) / 1e6 : 0;
}

void deadline_cancel(struct deadline *deadline)
{
    atomic_store_explicit(&deadline->cancelled, true, memory_order_relaxed);
}

double deadline_per_tool_s(double remaining_s, double cap_s)
{
    return fmax(DEADLINE_FLOOR_S, fmin(remaining_s, cap_s)); /* the floor wins over a smaller cap */
}
