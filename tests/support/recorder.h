#pragma once
/* An emitter for tests: it keeps what was emitted.
 *
 *     struct recorder recorder;
 *     recorder_init(&recorder);
 *     …code that emits to &recorder.emitter, or pushes to recorder.queue…
 *     assert_string_equal(recorder_text(&recorder), "workspace.create - {…}\n");
 *     recorder_release(&recorder); */

#include "base/arena.h"
#include "base/strbuf.h"
#include "event/emitter.h"

struct recorder {
    struct emitter emitter;
    struct event_queue *queue; /* emptied into `events` before every lookup */
    struct arena arena;
    struct event **events; /* copies, in order */
    size_t count, room;
    struct strbuf text;
};

void recorder_init(struct recorder *recorder);
void recorder_release(struct recorder *recorder);
void recorder_forget(struct recorder *recorder); /* drops everything recorded so far */
/* Returns the last event of this type, or NULL. */
const struct event *recorder_last(struct recorder *recorder, enum event_type type);
size_t recorder_count(struct recorder *recorder, enum event_type type);
/* Returns a line for each event: "started p1 CMD CWD tty", "output p1 TEXT", "input p1 TEXT", "ended p1 CODE WHY",
 * "CALL HOST PORT bytes|nothing" of a connection, "OP ERROR ATTRS" of a workspace, else its type. "-" stands for a
 * missing field. */
const char *recorder_text(struct recorder *recorder);
