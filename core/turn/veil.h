#pragma once
/* Between who emits an event and the journal: the one place where secrets are taken out of what is recorded.
 *
 * What passes here is a copy of what happens; files, tools and models keep the real bytes. Of texts that come in pieces
 * the end is held back while it may be the beginning of a secret, and told with the next piece, or before the event that
 * ends its stream. Without secrets everything passes as it is. */

#include "journal/event.h"

struct veil_tail;

struct veil {
    struct arena arena;      /* of the event that passes */
    struct veil_tail *tails; /* of streams under way */
};

struct veil_out {
    int (*emit)(struct veil_out *out, struct event *event);
};

void veil_release(struct veil *veil);
/* Whether everything passes as it is. */
bool veil_is_clear(const struct veil *veil);
/* Gives the event to `out`, after what was held back and belongs before it; not at all when all of it is held back.
 * seq, t and raw are set in `event` too. Returns what `out` says. */
int veil_emit(struct veil *veil, struct event *event, struct veil_out *out);
