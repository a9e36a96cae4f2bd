#pragma once
/* A whole session to run turns in: harness and engine in a scratch folder, a fake model, virtual time.
 *
 *     struct turn_rig rig;
 *     turn_rig_init(&rig);                       built-in tools; nothing runs yet
 *     turn_rig_file(&rig, "a.txt", "old\n");     in the workspace
 *     turn_rig_add_tool(&rig, &my_tool);         before turn_rig_open
 *     rig.harness.limits.steps = 2;              likewise: the harness does not change after
 *     turn_rig_open(&rig);
 *     fake_answer_call(fake_provider_answer(rig.model), "c1", "write_file", "…");
 *     rig.answer = turn_rig_say_yes;             who answers questions about writes
 *     turn_rig_turn(&rig, "do it");              runs until nothing is under way, late threads included
 *     turn_rig_release(&rig);                    BUG()s when something of the loop is left open
 *
 * Every event is kept decoded and as its line. What the rig itself cannot do (make a folder) aborts. */

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "support/fake_provider.h"
#include "support/scratch.h"
#include "turn/engine.h"

struct turn_rig {
    struct fake_clock clock;
    struct loop *loop;
    struct scratch scratch; /* work/ is the workspace; artifacts/, checkpoints/ */
    struct fake_provider *model;
    struct harness harness;
    struct engine *engine; /* NULL before turn_rig_open */

    /* Asked on the loop, never from within an emission, `answer_after_us` after a question was opened. NULL: nobody
     * answers. It may submit an intent, or not. */
    void (*answer)(struct turn_rig *rig, const struct question *question);
    int64_t answer_after_us;
    void *data;       /* the test's own */
    size_t questions; /* asked so far */

    struct sink sink;
    struct arena arena;   /* of the events */
    struct event *events; /* all of them, in order; `raw` is their line */
    size_t event_count, event_room;
    struct loop_timer answer_timer;
    struct loop_timer stop_timer;
};

void turn_rig_init(struct turn_rig *rig);
/* On another clock: clock_system() where real programs run. NULL: in virtual time. */
void turn_rig_init_on(struct turn_rig *rig, struct clock *clock);
void turn_rig_release(struct turn_rig *rig);
void turn_rig_add_tool(struct turn_rig *rig, const struct tool *tool);
/* Takes all tools away again, the built-in ones too, so that a fake can have the name of one. */
void turn_rig_no_tools(struct turn_rig *rig);
void turn_rig_open(struct turn_rig *rig);

/* Starts a turn and lets it go on until everything is quiet. */
void turn_rig_turn(struct turn_rig *rig, const char *prompt);
/* An intent that must be taken; turn_rig_run lets it take effect. */
void turn_rig_submit(struct turn_rig *rig, const struct intent *intent);
/* Lets the loop run until nothing can happen any more, or for so long on its clock. */
void turn_rig_run(struct turn_rig *rig);
void turn_rig_run_for(struct turn_rig *rig, int64_t us);

/* Answers for `answer`. */
void turn_rig_say_yes(struct turn_rig *rig, const struct question *question);
void turn_rig_say_no(struct turn_rig *rig, const struct question *question);

/* Files of the workspace: written (folders made), read (NULL when there is none; the caller's). */
void turn_rig_file(struct turn_rig *rig, const char *path, const char *content);
char *turn_rig_read(const struct turn_rig *rig, const char *path);

/* Looking back. Events of one type, counted, or the n-th of it (from 0, NULL when there are fewer). */
size_t turn_rig_count(const struct turn_rig *rig, enum event_type type);
const struct event *turn_rig_event(const struct turn_rig *rig, enum event_type type, size_t n);
/* The tool.finished of a call, NULL before it. */
const struct event *turn_rig_finished(const struct turn_rig *rig, const char *call);
/* The messages of the newest request to the model that was a step. */
const struct message_list *turn_rig_messages(const struct turn_rig *rig);
