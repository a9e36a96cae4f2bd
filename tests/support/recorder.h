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
    struct event_queue *queue; /* taken over before anything is looked at */
    struct arena arena;
    struct event **events; /* copies, in order */
    size_t count, room;
    struct strbuf text;
};

void recorder_init(struct recorder *recorder);
void recorder_release(struct recorder *recorder);
void recorder_forget(struct recorder *recorder); /* what was recorded until now */
/* The last of this type; NULL: there is none. */
const struct event *recorder_last(struct recorder *recorder, enum event_type type);
size_t recorder_count(struct recorder *recorder, enum event_type type);
/* A line for each event, in a few words: "started p1 CMD CWD tty", "output p1 TEXT", "input p1 TEXT", "ended p1 CODE
 * WHY", "CALL HOST PORT bytes|nothing" of a connection, "OP ERROR ATTRS" of a workspace, else its type. "-" for what is
 * not there. */
const char *recorder_text(struct recorder *recorder);
