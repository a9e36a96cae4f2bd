#pragma once
/* Thinking level and reflection: the parts of a request to the model that need no turn. */

#include "budget.h"
#include "model/provider.h"
#include <stdbool.h>
#include <stdint.h>

/* The thinking level of requests, and when to reflect. */

enum thinking_level { THINKING_OFF, THINKING_LOW, THINKING_MEDIUM, THINKING_HIGH };
const char *thinking_level_name(enum thinking_level level);     /* "OFF" … */
enum thinking_level thinking_level_from_name(const char *name); /* any case; unknown: OFF */
int thinking_tokens(enum thinking_level level);                 /* 0, 500, 2000, 5000 */

struct thinking {
    enum thinking_level level;
    bool reflect_on_tool_error; /* default true */
    int64_t reflect_every;      /* turns; 0: never */
    int64_t turn;               /* counter */
    bool error_seen;            /* a tool failed since the last reflection */
};
void thinking_init(struct thinking *thinking, enum thinking_level level);
/* Counts the turn and clears the state of the one before. */
void thinking_on_turn_start(struct thinking *thinking);
void thinking_on_tool_error(struct thinking *thinking);
bool thinking_should_reflect(const struct thinking *thinking);
void thinking_reflected(struct thinking *thinking);

/* Reflection: one look back at the step, if budget and time allow. Always ends in a result. */

struct reflection {
    char *text;
    bool should_continue;
    bool stub; /* no model was asked, or it failed */
};
void reflection_release(struct reflection *reflection);

/* Decides before a request: claims a slot, then checks the deadline. Returns true with a stub in *out if reflection
 * ends here. Otherwise the caller asks the model and waits at most *timeout_s. */
bool reflect_early(struct budget *budget, struct reflection *out, int *timeout_s);
/* min(30, max(5, whole seconds left)) */
int reflect_timeout_s(double remaining_s);
/* The result of the model's reply; a failed reply gives a stub. An answer that begins with STOP ends the turn. */
struct reflection reflect_result(const struct model_reply *reply);
/* The messages of the request: the turn so far and what failed. */
void reflect_messages(struct message_list *out, const struct message_list *turn, const char *failures);
