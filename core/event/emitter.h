#pragma once
/* Turns a fact into an event. Code that knows a fact has a `struct emitter *` and emits it, instead of passing the
 * fact up through callbacks.
 *
 * Only the loop thread emits. A fact learned on a pool thread goes into an event_queue. The loop empties the queue
 * before it continues with the job, so events keep their order. */

#include "event.h"

/* The turn of an emitter that belongs to the session: the turn that runs, or 0 between turns. */
#define EMITTER_RUNNING (-1)

struct emitter {
    /* 0: all events are recorded, with their seq and t. -1: none is; the caller must not act on them. */
    int (*emit)(struct emitter *self, struct event *events, size_t count);
    int64_t turn;
};

/* Events from pool threads, in the order they were pushed. */
struct event_queue;
struct event_queue *event_queue_new(void);
void event_queue_free(struct event_queue *queue); /* drops events that were not emitted */
/* Any thread; copies the event. */
void event_queue_push(struct event_queue *queue, const struct event *event);
/* Loop thread: emits everything pushed so far. `emitter` NULL: drops it. */
void event_queue_emit(struct event_queue *queue, struct emitter *emitter);

/* Borrows the texts of the event until it returns. `emitter` NULL: not recorded, returns 0. */
static inline int emit(struct emitter *emitter, struct event *event)
{
    return emitter ? emitter->emit(emitter, event, 1) : 0;
}
