/* Undo: a write like any other, only that a person asked for it. The bytes it will replace are kept first, so an undo
 * can be undone by the checkpoint it leaves. */

#include "base/mem.h"
#include "tools/checkpoint.h"
#include "turn.h"

struct undo {
    struct loop_work work;
    struct engine *engine;
    const struct harness *harness;
    int64_t turn;
    int64_t started_us;
    char *checkpoint; /* what is brought back */
    char *kept;       /* the checkpoint of the undo itself */
    struct change_set *changes;
    struct err err;
    bool failed;
    void (*ended)(struct engine *engine);
};

static int report(struct undo *undo, struct event event)
{
    return engine_record(undo->engine, undo->turn, &event, 1);
}

static void finish(struct undo *undo)
{
    struct engine *engine = undo->engine;
    void (*ended)(struct engine *) = undo->ended;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (undo->failed) {
        int64_t elapsed_us = loop_now_us(undo->harness->loop) - undo->started_us;

        report(undo, (struct event){
                         .type = EVENT_WORKSPACE_OP,
                         .workspace_op = {.op = "undo", .elapsed_ms = elapsed_us / 1000, .error = undo->err.text}});
    } else {
        report(undo, (struct event){.type = EVENT_WRITE_UNDONE,
                                    .write_undone = {.checkpoint = undo->checkpoint,
                                                     .paths = turn_list_paths(&arena, undo->changes)}});
    }
    change_set_free(undo->changes);
    free(undo->checkpoint);
    free(undo->kept);
    free(undo);
    ended(engine);
}

static void commit(struct loop_work *work)
{
    struct undo *undo = (struct undo *)work;

    undo->failed = change_set_commit(undo->changes, undo->harness->root, &undo->err) < 0;
}

static void committed(struct loop_work *work)
{
    finish((struct undo *)work);
}

/* What is not in the record is of no use to anybody. */
static void discard(struct loop_work *work)
{
    struct undo *undo = (struct undo *)work;

    checkpoint_discard(undo->harness->checkpoints, undo->kept);
}

static void keep(struct loop_work *work)
{
    struct undo *undo = (struct undo *)work;

    undo->changes = checkpoint_undo(undo->harness->checkpoints, undo->harness->root, undo->checkpoint, &undo->err);
    if (undo->changes)
        undo->kept = checkpoint_save(undo->harness->checkpoints, "undo", undo->changes, &undo->err);
    undo->failed = !undo->kept;
}

static void kept(struct loop_work *work)
{
    struct undo *undo = (struct undo *)work;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (undo->failed) {
        finish(undo);
        return;
    }
    undo->failed =
        report(undo, (struct event){.type = EVENT_CHECKPOINT_SAVED,
                                    .checkpoint_saved = {.checkpoint = undo->kept,
                                                         .paths = turn_list_paths(&arena, undo->changes)}}) < 0;
    loop_work_start(undo->harness->loop, &undo->work, undo->failed ? discard : commit, committed);
}

struct undo *undo_start(struct engine *engine, const struct harness *harness, int64_t turn, const char *checkpoint,
                        void (*ended)(struct engine *engine))
{
    struct undo *undo = xcalloc(1, sizeof(*undo));

    undo->engine = engine;
    undo->harness = harness;
    undo->turn = turn;
    undo->started_us = loop_now_us(harness->loop);
    undo->checkpoint = xstrdup(checkpoint);
    undo->ended = ended;
    loop_work_start(harness->loop, &undo->work, keep, kept);
    return undo;
}
