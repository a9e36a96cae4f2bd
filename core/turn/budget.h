#pragma once
/* The limits of a turn: one deadline on the turn's hold clock, and counters that are claimed before use. Claims are
 * atomic: tool threads may claim too, and together they never pass a limit. */

#include "base/clock.h"
#include "event/event.h"
#include "event/session.h"
#include <stdatomic.h>

#define BUDGET_UNLIMITED (-1)
#define BUDGET_AS_STEPS  (-2) /* of tool_calls: as many as steps */

/* Whole numbers below 0 and NaN are no limit. */
struct budget_limits {
    double wall_s;
    int64_t steps;
    int64_t tool_calls;
    int64_t reflections;
    int64_t context_tokens;
    int64_t input_tokens;
    int64_t output_tokens;
    double cost_usd;
    double tool_cap_s;
    double tool_share; /* of the time left, the most that one call may take, unless the user set tool_cap_s */
    unsigned set;      /* the keys that the user set, see budget_limits_set */
};
/* The defaults of the specification, which a session without a command line has: 60 s, 6 steps and as many calls. */
struct budget_limits budget_defaults(void);
/* The defaults of the command line. A user can continue at each limit, so the limits of an interactive session are
 * points to ask at; without a user they end the turn. */
struct budget_limits budget_defaults_for(bool interactive);
/* Takes each limit that the user did not set from `defaults`. */
void budget_limits_fill(struct budget_limits *limits, const struct budget_limits *defaults);
/* Parses one --budget option: "steps=9", "wall_s=2.5". The specification fixes the keys. */
int budget_limits_set(struct budget_limits *limits, const char *assignment, struct err *err) CHECKED;
/* Whether the user set this key of --budget. */
bool budget_user_set(const struct budget_limits *limits, const char *name);

/* Overwrites the limits with those of budget.opened; NULL changes nothing. */
void budget_limits_from_event(struct budget_limits *limits, const struct event_budget_values *values);

struct budget {
    const struct hold_clock *clock;
    int64_t start_us, due_us;                    /* on the hold clock */
    struct budget_limits limits, first;          /* current limits, and those at the start of the turn */
    atomic_llong steps, tool_calls, reflections; /* claimed */
    struct usage_sum {
        int64_t input, output, cache_read, cache_write;
        double cost_usd;
        bool cost_known;
    } used;
    int64_t context_tokens; /* of the newest request */
    bool warned[BUDGET_KEY_COUNT];
};

void budget_open(struct budget *budget, const struct budget_limits *limits, const struct hold_clock *clock);
/* Sets other limits for an open budget, and the time that a resumed turn used before. */
void budget_set_limits(struct budget *budget, const struct budget_limits *limits);
void budget_set_wall_used(struct budget *budget, int64_t used_us);
double budget_remaining_s(const struct budget *budget); /* 0 once it has passed */
bool budget_expired(const struct budget *budget);
bool budget_claim_step(struct budget *budget);
bool budget_claim_tool_call(struct budget *budget);
bool budget_claim_reflection(struct budget *budget);
double budget_per_tool_s(const struct budget *budget, double cap_s);
/* The cap of one call of a tool with this time limit of its own (0: none). A cap that the user set binds every tool.
 * Otherwise the tool's own limit replaces the default cap, but the call leaves a part of the turn's time. */
double budget_cap_s(const struct budget_limits *limits, double own_s, double left_s);
struct usage;
void budget_charge(struct budget *budget, const struct usage *usage, double cost_usd);

/* Used amount and limit of a key in the units of the events; limit NaN: none. */
double budget_used(const struct budget *budget, enum budget_key key);
double budget_limit(const struct budget *budget, enum budget_key key);
/* Whether all of a key is used up. */
bool budget_reached(const struct budget *budget, enum budget_key key);
/* The first key that is used up, checked before the next request; -1: the turn may continue. Reflections never end a
 * turn. Tool calls are checked before each call, because an answer without calls may follow. */
int budget_exhausted(const struct budget *budget);
/* The next key that has passed `share` (0.8) for the first time; -1: none. */
int budget_warning(struct budget *budget, double share);
/* What a share of 1 adds: the limit at the start of the turn, but not 0; NaN: it had no limit. */
double budget_adds(const struct budget *budget, enum budget_key key);
/* Raises the limit of a key by `share` of its first value, because the user chose to continue. */
void budget_extend(struct budget *budget, enum budget_key key, double share);

/* The values of the events. */
struct event_budget_values budget_limits_to_event(const struct budget *budget);
struct event_budget_values budget_used_to_event(const struct budget *budget);
