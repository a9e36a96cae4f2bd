#pragma once
/* A whole session to run turns in: an engine with its configuration in a scratch folder, a fake model, virtual time.
 *
 *     struct turn_rig rig;
 *     turn_rig_init(&rig);                       built-in tools; nothing runs yet
 *     turn_rig_file(&rig, "a.txt", "old\n");     in the workspace
 *     turn_rig_add_tool(&rig, &my_tool);         before turn_rig_open
 *     rig.config.limits.steps = 2;               also before: it does not change afterwards
 *     turn_rig_open(&rig);
 *     fake_answer_call(fake_provider_answer(rig.model), "c1", "write_file", "…");
 *     rig.answer = turn_rig_say_yes;             answers questions about writes
 *     turn_rig_turn(&rig, "do it");              runs until no event is left, late threads included
 *     turn_rig_release(&rig);                    BUG()s if a timer, task or job of the loop is left
 *
 * The rig keeps every event decoded and as its line. It aborts if it cannot do its own work (make a folder). */

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "fake_provider.h"
#include "scratch.h"
#include "turn/engine.h"

struct turn_rig {
    struct fake_clock clock;
    struct loop *loop;
    struct scratch scratch; /* work/ is the workspace; artifacts/, checkpoints/ */
    struct fake_provider *model;
    struct engine_config config;
    struct engine *engine; /* NULL before turn_rig_open */

    /* Called on the loop, never during an emission, `answer_after_us` after a question was opened. It may submit an
     * intent. NULL: questions stay unanswered. */
    void (*answer)(struct turn_rig *rig, const struct question *question);
    int64_t answer_after_us;
    void *data;       /* the test's own */
    size_t questions; /* questions so far */

    struct sink sink;
    struct arena arena;   /* of the events */
    struct event *events; /* all events, in order; `raw` is their line */
    size_t event_count, event_room;
    struct loop_timer answer_timer;
    struct loop_timer stop_timer;
};

void turn_rig_init(struct turn_rig *rig);
/* Uses another clock: clock_system() for real programs. NULL: virtual time. */
void turn_rig_init_on(struct turn_rig *rig, struct clock *clock);
void turn_rig_release(struct turn_rig *rig);
void turn_rig_add_tool(struct turn_rig *rig, const struct tool *tool);
/* Removes all tools, the built-in ones too, so that a fake can have the name of one. */
void turn_rig_no_tools(struct turn_rig *rig);
void turn_rig_open(struct turn_rig *rig);

/* Starts a turn and runs it until no event is left. */
void turn_rig_turn(struct turn_rig *rig, const char *prompt);
/* Submits an intent, which must be accepted; turn_rig_run lets it take effect. */
void turn_rig_submit(struct turn_rig *rig, const struct intent *intent);
/* Run the loop until no event is left, or for this long on its clock. */
void turn_rig_run(struct turn_rig *rig);
void turn_rig_run_for(struct turn_rig *rig, int64_t us);

/* Functions for `answer`. */
void turn_rig_say_yes(struct turn_rig *rig, const struct question *question);
void turn_rig_say_no(struct turn_rig *rig, const struct question *question);

/* Files of the workspace: write (makes folders), read (the caller frees it; NULL if there is none). */
void turn_rig_file(struct turn_rig *rig, const char *path, const char *content);
char *turn_rig_read(const struct turn_rig *rig, const char *path);

/* Events of one type: their number, or the n-th of them (from 0; NULL if there are fewer). */
size_t turn_rig_count(const struct turn_rig *rig, enum event_type type);
const struct event *turn_rig_event(const struct turn_rig *rig, enum event_type type, size_t n);
/* Returns the tool.finished of a call; NULL before it. */
const struct event *turn_rig_finished(const struct turn_rig *rig, const char *call);
/* Returns the messages of the newest request to the model that was a step. */
const struct message_list *turn_rig_messages(const struct turn_rig *rig);
