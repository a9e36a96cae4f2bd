#pragma once
/* How hard the model is asked to think, and when it looks back. */

#include <stdbool.h>
#include <stdint.h>

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
/* Counts the turn and forgets what the one before saw. */
void thinking_on_turn_start(struct thinking *thinking);
void thinking_on_tool_error(struct thinking *thinking);
bool thinking_should_reflect(const struct thinking *thinking);
void thinking_reflected(struct thinking *thinking);
