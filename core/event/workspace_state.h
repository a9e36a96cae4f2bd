#pragma once
/* workspace.state over several events: a full one, and after it deltas that say what changed.
 *
 *     workspace_state_changes(&before, &now, &delta, arena)        the writer: false if nothing changed
 *
 *     workspace_content_begin(&content, full);                     the reader, in the order of the events
 *     workspace_content_apply(&content, delta);
 *     … content.state, content.entry_from[i] …
 *     workspace_content_release(&content);
 *
 * After WORKSPACE_DELTAS_MAX deltas the writer emits a full state again, so that a reader needs few events. */

#include "base/hash.h"
#include "event.h"
#include <stdbool.h>
#include <stddef.h>

#define WORKSPACE_DELTAS_MAX 64

struct arena;

/* `delta` borrows from both states and from the arena. */
bool workspace_state_changes(const struct event_workspace_state *before, const struct event_workspace_state *now,
                             struct event_workspace_state *delta, struct arena *arena);

/* Where an item of a list was recorded: the event and the place in its list. */
struct workspace_origin {
    const struct event *event;
    size_t index;
};

struct workspace_content {
    struct event_workspace_state state; /* what the events say together; borrows from them */
    struct workspace_origin *entry_from;
    const struct event *inputs_from, *outputs_from, *skills_from;
    /* internal */
    struct event_workspace_entry *entries;
    struct hash_map places; /* path → index in `entries` */
    size_t room;
};

/* The events must outlive the content. */
void workspace_content_begin(struct workspace_content *content, const struct event *full);
void workspace_content_apply(struct workspace_content *content, const struct event *delta);
void workspace_content_release(struct workspace_content *content);
