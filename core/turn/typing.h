#pragma once
/* Keys for programs: what a person types into one, and its end before its time. */

#include "engine.h"

/* Types into a program: recorded first, then handed on. Refused while the turn goes on by itself: two at one keyboard
 * understand nothing of what comes back. */
int typing_input(struct engine *engine, const struct harness *harness, const struct intent *intent,
                 struct err *err) CHECKED;
/* Ends a program. At any time: one that runs wild must not have to be waited for. */
int typing_kill(struct engine *engine, const struct harness *harness, const struct intent *intent,
                struct err *err) CHECKED;
/* A recording that is gone on with may have programs in it that never ended: they were gone with whoever ran them. Says
 * so of the first `count` rows, when the session goes on. */
void typing_end_left(struct engine *engine, uint32_t count);
