#pragma once
/* Looking at what a turn_rig heard: what every run promises, and short ways to the things tests ask for. A broken
 * promise fails the test that runs. */

#include "support/turn_rig.h"

struct json;

/* The order promises of the contract, over everything the rig heard: numbers and times go up; exactly one tool.finished
 * per call of an answer, none for anything else; proposed < decided < checkpoint < applied < finished; nothing is
 * applied that was not allowed; writes.closed before turn.finalized before turn.finished, each once, and nothing of the
 * turn's calls after it but late.suppressed; every hold is released. The fold has no fault. `whole` false: the journal
 * broke, so turns may be left without their end. */
void turn_check_promises(const struct turn_rig *rig, bool whole);
/* Every checkpoint on disk is one that an event names. Where nothing is under way. */
void turn_check_checkpoints(const struct turn_rig *rig);
/* Promises, checkpoints, an idle engine, and everything freed. The usual end of a test. */
void turn_check_end(struct turn_rig *rig);

/* The rig's engine on a journal in a file (NULL: in memory), instead of turn_rig_open. */
void turn_check_open(struct turn_rig *rig, const char *journal);

/* The types of the events from the `first`-th on, with a space between; held and released with their gate, tool.started
 * and tool.finished with their call. Lives as long as the rig. */
const char *turn_check_story(struct turn_rig *rig, size_t first);
/* Place of the n-th event of a type (and, where not NULL, of that call) in rig->events; fails when there is none. */
size_t turn_check_place(const struct turn_rig *rig, enum event_type type, const char *call, size_t n);

/* The text of a JSON value at a path ("output.path", "[1].diff"); numbers and words as written, "" when it is not
 * there. Lives as long as the rig. */
const char *turn_check_json(struct turn_rig *rig, const char *json, const char *path);
const struct json *turn_check_value(struct turn_rig *rig, const char *json, const char *path);
/* "result", "denied:validation", "failure", "timeout", "artifact" of a call; "" before it ended. */
const char *turn_check_outcome(struct turn_rig *rig, const char *call);
/* The tool message for the call in the newest request, NULL when there is none; fails when there are two. */
const char *turn_check_message(const struct turn_rig *rig, const char *call);
/* Of the newest turn that ended. */
const struct event_turn_finished *turn_check_finished(const struct turn_rig *rig);

/* Submits; the text of the refusal, or "" when it was taken. Lives until the next call. */
const char *turn_check_submit(struct turn_rig *rig, const struct intent *intent);
/* An intent without anything more to it, which must be taken, and its effect. */
void turn_check_do(struct turn_rig *rig, enum intent_type type);
