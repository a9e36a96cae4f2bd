#pragma once
/* A session that is recorded, and its recording run again: the recorded model, the recorded decisions, real tools where
 * there are any and stand-ins where there are none, every event compared. */

#include "support/fake_tools.h"
#include "support/turn_check.h"
#include "turn/departure.h"
#include "turn/replay.h"

struct again {
    struct turn_rig rig;
    struct recording *recording;
    struct departures *departures;
    struct sink sink;
};

/* Everything as the program sets it up, up to the files. */
void again_init(struct again *again, const char *path);
void again_run(struct again *again);
void again_release(struct again *again);
/* Fails with the first departure. */
void again_check_none(const struct again *again);
/* The files that were there when it was recorded. */
void again_copy_files(struct again *again);

struct made {
    struct turn_rig rig;
    struct fake_tool look, slow, bad, foreign;
    char *path;
};

/* One more answer of the recorded model. */
struct fake_answer *replay_answer(struct turn_rig *rig);
void made_init(struct made *made);
void made_release(struct made *made);
/* Answers a question by the name of its call: no…, part…, edit…, late… (nobody), any other yes. */
void made_decide(struct turn_rig *rig, const struct question *question);
/* Two turns in which all of it happens, and the end of the session. */
void made_everything(struct made *made);
