#pragma once
/* A session whose tools run real programs in bubblewrap: a turn_rig on the system's clock, with a runtime below its
 * scratch folder.
 *
 *     struct runtime_rig rig;
 *     runtime_rig_init(&rig);                         rig.options may be changed now
 *     runtime_rig_open(&rig);
 *     runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo hi\"}");    the next answer of the model
 *     runtime_rig_turn(&rig);                         until the turn is over; programs may keep running
 *     runtime_rig_release(&rig);                      ends the session: nothing may be left of it */

#include "event/workspace_state.h"
#include "sandbox/engines.h"
#include "tools/runtime.h"
#include "turn_check.h"

struct runtime_rig {
    struct turn_rig turn;
    struct sandbox_engines engines;
    struct runtime_options options;
    char *folders[4]; /* of the options */
    struct loop_timer look;
    bool (*holds)(struct runtime_rig *rig);
    struct workspace_content content;
    bool ended;   /* the test has ended the session itself */
    bool resumed; /* the rig saw only the end of a session, so the order of events cannot be checked */
};

void runtime_rig_init(struct runtime_rig *rig);
void runtime_rig_open(struct runtime_rig *rig);
void runtime_rig_call(struct runtime_rig *rig, const char *call, const char *tool, const char *arguments);
/* Runs a turn to its end, late threads included. */
void runtime_rig_turn(struct runtime_rig *rig);
/* Runs the loop until `holds` returns true; aborts if that takes too long. */
void runtime_rig_await(struct runtime_rig *rig, bool (*holds)(struct runtime_rig *rig));
/* Submits INTENT_END. Checks that no folder of the workspace is left and that the order of events is correct. */
void runtime_rig_release(struct runtime_rig *rig);
/* Set-up and tear-down for cmocka, whose state is the rig. Tear-down does nothing if the test released the rig itself
 * or was skipped. */
int runtime_rig_set_up(void **state);
int runtime_rig_tear_down(void **state);
/* Returns the result of a call that the model got: JSON. */
const char *runtime_rig_result(struct runtime_rig *rig, const char *call);
/* Returns a member of it, as text. */
const char *runtime_rig_of(struct runtime_rig *rig, const char *call, const char *path);
/* Returns what all states of the workspace together say. Valid until the next call. */
const struct event_workspace_state *runtime_rig_state(struct runtime_rig *rig);
/* Returns the failure of a call. */
const char *runtime_rig_error(struct runtime_rig *rig, const char *call);
