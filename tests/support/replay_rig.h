#pragma once
/* Records a session and runs the recording again, with the recorded model and decisions. It uses real tools if there
 * are any, and recorded ones otherwise, and compares every event. */

#include "fake_tools.h"
#include "turn/divergence.h"
#include "turn/replay.h"
#include "turn_check.h"

struct again {
    struct turn_rig rig;
    struct recording *recording;
    struct divergences *divergences;
    struct sink sink;
};

/* Sets up everything as the program does, except the files. */
void again_init(struct again *again, const char *path);
void again_run(struct again *again);
void again_release(struct again *again);
/* Fails with the first divergence. */
void again_check_none(const struct again *again);
/* Copies the files that existed when the session was recorded. */
void again_copy_files(struct again *again);

struct made {
    struct turn_rig rig;
    struct fake_tool look, slow, bad, foreign;
    char *path;
};

/* Adds an answer of the recorded model. */
struct fake_answer *replay_answer(struct turn_rig *rig);
void made_init(struct made *made);
void made_release(struct made *made);
/* Answers a question by the name of its call: no…, part…, edit…, late… (no answer), any other yes. */
void made_decide(struct turn_rig *rig, const struct question *question);
/* Runs two turns with every kind of event, and ends the session. */
void made_everything(struct made *made);
