#pragma once
/* Deadlines of one tool call, on the turn's hold clock.
 *
 * Two times, as the specification has it: the hard wait of the executor never falls below DEADLINE_FLOOR_S, while the
 * token that the tool can look at tells the truth, min(turn deadline, now + cap), so a cooperative tool ends in time
 * (decisions D25 and D26). The cancel flag may be read from any thread. */

#include "base/clock.h"
#include <stdatomic.h>
#include <stdbool.h>

#define DEADLINE_FLOOR_S 5.0
#define DEADLINE_CAP_S   45.0
#define DEADLINE_LAST_WORD_S \
    0.5 /* what a program or script gets less than its call, so that how it ended is still told */

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
