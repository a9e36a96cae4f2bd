#include "deadline.h"
#include <math.h>

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
    return fmax(DEADLINE_FLOOR_S, fmin(remaining_s, cap_s)); /* the floor wins over a smaller cap: D25 */
}
