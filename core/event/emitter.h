#pragma once
/* How a fact becomes an event. Code that knows a fact has a `struct emitter *` and emits it; nobody passes facts up
 * through callbacks of their own.
 *
 * Only the loop thread emits. A fact learned on a pool thread goes into an event_queue, which the loop empties before
 * it continues with the job, so events keep their order. */

#include "event.h"

/* The turn of an emitter that belongs to the session: the turn that runs, or 0 between turns. */
#define EMITTER_RUNNING (-1)

struct emitter {
    /* 0: all events are recorded, with their seq and t. -1: none is; the caller must not act on them. */
    int (*emit)(struct emitter *self, struct event *events, size_t count);
    int64_t turn;
};

/* Texts of the event are borrowed until this returns. */
static inline int emit(struct emitter *emitter, struct event *event)
{
    return emitter->emit(emitter, event, 1);
}
