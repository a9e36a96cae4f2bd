#pragma once
/* Checks of the events of a turn_rig: the order rules of every run, and shortcuts to what tests look up. A broken rule
 * fails the running test. */

#include "turn_rig.h"

struct json;

/* Checks the order rules of the contract over all events of the rig. Numbers and times go up. Each call of an answer
 * has exactly one tool.finished, nothing else has one. proposed < decided < checkpoint < applied < finished. Nothing is
 * applied that was not allowed. writes.closed, turn.finalized and turn.finished come once each, in that order, and
 * after them only late.suppressed of the turn's calls. Every hold is released. The fold has no fault. `whole` false:
 * the journal broke, so turns may lack their end. */
void turn_check_promises(const struct turn_rig *rig, bool whole);
/* Checks that an event names every checkpoint on disk. Call it while nothing is running. */
void turn_check_checkpoints(const struct turn_rig *rig);
/* Checks order rules, checkpoints and that the engine is idle, and frees everything. The usual end of a test. */
void turn_check_end(struct turn_rig *rig);

/* Opens the rig's engine on a journal in a file (NULL: in memory), instead of turn_rig_open. */
void turn_check_open(struct turn_rig *rig, const char *journal);

/* Returns the types of the events from the `first`-th on, separated by spaces. held and released come with their gate,
 * tool.started and tool.finished with their call. Lives as long as the rig. */
const char *turn_check_story(struct turn_rig *rig, size_t first);
/* Returns the index in rig->events of the n-th event of a type (and of that call, if not NULL); fails if there is
 * none. */
size_t turn_check_place(const struct turn_rig *rig, enum event_type type, const char *call, size_t n);

/* Returns the text of a JSON value at a path ("output.path", "[1].diff"); numbers and words as written, "" if absent.
 * Lives as long as the rig. */
const char *turn_check_json(struct turn_rig *rig, const char *json, const char *path);
const struct json *turn_check_value(struct turn_rig *rig, const char *json, const char *path);
/* Returns "result", "denied:validation", "failure", "timeout", "artifact" of a call; "" before it ended. */
const char *turn_check_outcome(struct turn_rig *rig, const char *call);
/* Returns the tool message for the call in the newest request, or NULL; fails if there are two. */
const char *turn_check_message(const struct turn_rig *rig, const char *call);
/* Returns the end of the newest turn that ended. */
const struct event_turn_finished *turn_check_finished(const struct turn_rig *rig);

/* Submits; returns the text of the refusal, or "" if accepted. Lives until the next call. */
const char *turn_check_submit(struct turn_rig *rig, const struct intent *intent);
/* Submits an intent without parameters, which must be accepted, and lets it take effect. */
void turn_check_do(struct turn_rig *rig, enum intent_type type);
