#pragma once
/* Takes secrets out of events before they are recorded. Files, tools and models keep the real bytes.
 *
 * Some texts arrive in pieces (model deltas, output). While the end of a piece may be the beginning of a secret, it is
 * held back. It goes out with the next piece, or before the event that ends its stream. */

#include "emitter.h"

struct held_back;

struct redact_events {
    struct arena arena; /* copies for the event that passes */
    struct held_back *held_back;
};

void redact_events_release(struct redact_events *redact);
/* True when every event passes unchanged: no secret is known and no text is held back. */
bool redact_events_idle(const struct redact_events *redact);
/* Emits the event to `out` without secrets, and before it the held-back texts whose streams it ends. An event whose
 * whole text is held back is not emitted now. Sets seq, t and raw of `event`. Returns what `out` returns. */
int redact_events_emit(struct redact_events *redact, struct event *event, struct emitter *out);
