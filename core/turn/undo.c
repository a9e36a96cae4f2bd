/* Undoes a write, and passes the user's keys to programs.
 *
 * An undo is a write: it saves a checkpoint of the bytes it replaces, so it can be undone too. */

#include "base/mem.h"
#include "tools/checkpoint.h"
#include "turn.h"
#include "workspace/program_control.h"
#include <string.h>

struct undo {
    struct loop_work work;
    struct engine *engine;
    const struct engine_config *config;
    int64_t turn;
    int64_t started_us;
    char *checkpoint; /* the checkpoint to restore */
    char *kept;       /* the checkpoint of the undo itself */
    struct change_set *changes;
    struct err err;
    bool failed;
    void (*ended)(struct engine *engine);
};

static int record_undo(struct undo *undo, struct event event)
{
    return engine_record(undo->engine, undo->turn, &event, 1);
}

static void finish_undo(struct undo *undo)
{
    struct engine *engine = undo->engine;
    void (*ended)(struct engine *) = undo->ended;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (undo->failed) {
        int64_t elapsed_us = loop_now_us(undo->config->loop) - undo->started_us;
        record_undo(undo, (struct event){.type = EVENT_WORKSPACE_OP,
                                         .workspace_op = {
                                             .op = "undo", .elapsed_ms = elapsed_us / 1000, .error = undo->err.text}});
    } else {
        record_undo(undo, (struct event){.type = EVENT_WRITE_UNDONE,
                                         .write_undone = {.checkpoint = undo->checkpoint,
                                                          .paths = turn_list_paths(&arena, undo->changes)}});
    }
    change_set_free(undo->changes);
    free(undo->checkpoint);
    free(undo->kept);
    free(undo);
    ended(engine);
}

static void commit_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    undo->failed = change_set_commit(undo->changes, undo->config->root, &undo->err) < 0;
}

static void undo_committed(struct loop_work *work)
{
    finish_undo(CONTAINER_OF(work, struct undo, work));
}

/* Removes a checkpoint that is not in the journal, because undo could never find it. */
static void discard_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    checkpoint_discard(undo->config->checkpoints, undo->kept);
}

static void save_undo(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    undo->changes = checkpoint_undo(undo->config->checkpoints, undo->config->root, undo->checkpoint, &undo->err);
    if (undo->changes)
        undo->kept = checkpoint_save(undo->config->checkpoints, "undo", undo->changes, &undo->err);
    undo->failed = !undo->kept;
}

static void undo_saved(struct loop_work *work)
{
    struct undo *undo = CONTAINER_OF(work, struct undo, work);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (undo->failed) {
        finish_undo(undo);
        return;
    }
    undo->failed =
        record_undo(undo, (struct event){.type = EVENT_CHECKPOINT_SAVED,
                                         .checkpoint_saved = {.checkpoint = undo->kept,
                                                              .paths = turn_list_paths(&arena, undo->changes)}}) < 0;
    loop_work_start(undo->config->loop, &undo->work, undo->failed ? discard_undo : commit_undo, undo_committed);
}

struct undo *undo_start(struct engine *engine, const struct engine_config *config, int64_t turn, const char *checkpoint,
                        void (*ended)(struct engine *engine))
{
    struct undo *undo = xcalloc(1, sizeof(*undo));
    undo->engine = engine;
    undo->config = config;
    undo->turn = turn;
    undo->started_us = loop_now_us(config->loop);
    undo->checkpoint = xstrdup(checkpoint);
    undo->ended = ended;
    loop_work_start(config->loop, &undo->work, save_undo, undo_saved);
    return undo;
}

/* ---- process input ---- */

/* Implements program_control.h for the engine. The fold is checked before the runtime, because a resumed session
 * lists programs that no process runs any more. */

static int find_running(const struct engine *engine, const struct engine_config *config, const char *program,
                        struct err *err)
{
    const struct session *session = engine_session(engine);
    uint32_t row = session_find_program(session, program);
    if (row == SESSION_NONE)
        return err_set(err, "unknown program %.40s", program && *program ? program : "without a name");
    if (!session_program_running(session, row))
        return err_set(err, "program %.40s has ended", program);
    if (!config->programs)
        return err_set(err, "this session runs no programs");
    return 0;
}

static bool goes_on_by_itself(const struct engine *engine)
{
    struct held_view held;
    return engine_turn_running(engine) && !engine_question(engine) && !engine_held(engine, &held);
}

/* The text for the journal. A line that the terminal does not echo (a password) is hidden. A single key
 * (Ctrl-C) is recorded verbatim. */
static const char *recorded(struct program_control *control, const char *program, const char *text)
{
    bool key = (unsigned char)text[0] < ' ' && !text[1];
    return !key && control->hides(control, program) ? PROGRAM_INPUT_HIDDEN : text;
}

int process_input_write(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                        struct err *err)
{
    const char *program = intent->program_input.program, *text = intent->program_input.text;
    struct program_control *control = config->programs;
    if (find_running(engine, config, program, err) < 0)
        return -1;
    if (!text || !*text)
        return err_set(err, "nothing was typed");
    if (goes_on_by_itself(engine))
        return err_set(err, "the agent is running; pause the turn, then type");
    if (control->ready(control, program, err) < 0)
        return -1;
    if (emit(engine_emitter(engine),
             &(struct event){
                 .type = EVENT_PROGRAM_INPUT,
                 .program_input = {.program = program, .text = recorded(control, program, text), .by = "key"}}) < 0)
        return err_set(err, "%s", engine_failed(engine));
    control->write(control, program, text, strlen(text));
    return 0;
}

int process_input_kill(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                       struct err *err)
{
    const char *program = intent->program_kill.program;
    if (find_running(engine, config, program, err) < 0)
        return -1;
    return config->programs->kill(config->programs, program, err);
}

void process_input_end_left(struct engine *engine, uint32_t count)
{
    const struct session *session = engine_session(engine);
    for (uint32_t row = 0; row < count && row < session->program_count; row++) {
        const char *program = session_name(session, session->programs[row].id);
        struct event event = {
            .type = EVENT_PROGRAM_ENDED,
            .program_ended = {.program = program, .exit_code = EVENT_NULL_INT, .why = "ended with its session"}};
        if (session_program_running(session, row) && session_find_program(session, program) == row &&
            emit(engine_emitter(engine), &event) < 0)
            return;
    }
}
