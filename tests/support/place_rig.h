#pragma once
/* A session whose tools run real programs in bubblewrap: a turn_rig on the system's clock, with a place below its
 * scratch folder.
 *
 *     struct place_rig rig;
 *     place_rig_init(&rig);                         rig.options may be changed now
 *     place_rig_open(&rig);
 *     place_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo hi\"}");    the next answer of the model
 *     place_rig_turn(&rig);                         until the turn is over; programs may go on
 *     place_rig_release(&rig);                      ends the session: nothing may be left of it */

#include "sandbox/engines.h"
#include "support/turn_check.h"
#include "tools/place.h"

struct place_rig {
    struct turn_rig turn;
    struct sandbox_engines engines;
    struct place_options options;
    char *folders[4]; /* of the options */
    struct loop_timer look;
    bool (*holds)(struct place_rig *rig);
    bool ended;   /* the test has ended the session itself */
    bool resumed; /* the rig heard only the end of a session, which keeps no promises */
};

void place_rig_init(struct place_rig *rig);
void place_rig_open(struct place_rig *rig);
void place_rig_call(struct place_rig *rig, const char *call, const char *tool, const char *arguments);
/* Runs a turn to its end, late threads included. */
void place_rig_turn(struct place_rig *rig);
/* Runs the loop until it holds; aborts when that takes too long. */
void place_rig_await(struct place_rig *rig, bool (*holds)(struct place_rig *rig));
/* Submits INTENT_END, and checks that no folder of the workspace is left and the promises were kept. */
void place_rig_release(struct place_rig *rig);
/* Init and release around a test, for cmocka, whose state is the rig; not again where the test has released it itself,
 * nor where it was skipped. */
int place_rig_set_up(void **state);
int place_rig_tear_down(void **state);
/* What the model was told of a call: JSON. */
const char *place_rig_result(struct place_rig *rig, const char *call);
/* A member of it, as text. */
const char *place_rig_of(struct place_rig *rig, const char *call, const char *path);
/* The failure of a call. */
const char *place_rig_error(struct place_rig *rig, const char *call);
