/* What people want of a session, each wish refused with a sentence or acted upon. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "engine_inside.h"
#include "tools/place.h"
#include "tools/protected.h"
#include "tools/source.h"
#include <string.h>

static void undo_ended(struct engine *engine)
{
    engine->undo = NULL;
}

/* ---- models ---- */

static void tell_model(struct engine *engine, const char *by)
{
    struct event_model_info model = models_to_event(&engine->models);

    emit(&engine->emitter, &(struct event){.type = EVENT_MODEL_CHANGED, .model_changed = {.model = &model, .by = by}});
}

/* What runs goes on with the model that was asked; the next request is for this one. */
static int change_model(struct engine *engine, const char *name, struct err *err)
{
    if (models_switch(&engine->models, engine->harness->models, name, err) < 0)
        return -1;
    tell_model(engine, "key");
    return 0;
}

/* A session that is gone on with has the model that this program was started with: the journal says so before anything
 * is asked of it. */
static void tell_other_model(struct engine *engine)
{
    const struct provider *now = engine->models.now;
    const struct session *session = &engine->session;

    if (strcmp(session_name(session, session->provider), now->ops->name) != 0 ||
        strcmp(session_name(session, session->model), now->ops->model(now)) != 0)
        tell_model(engine, "resume");
}

/* ---- tools ---- */

static struct event_strs list_changes(struct arena *arena, const struct tool_changes *changes, enum tool_fate what)
{
    const char **names = arena_calloc(arena, changes->count + 1, sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].what == what)
            names[count++] = changes->items[i].name;
    return (struct event_strs){names, count};
}

/* The registry is brought up to date before a turn, and the journal says so. What was allowed to a tool that is another
 * one now is not allowed any more. */
static void adopt_tools(struct engine *engine)
{
    const struct harness *h = engine->harness;
    struct tool_changes changes = {0};
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (h->tools)
        h->tools->adopt(h->tools, h->registry, engine->turns + 1, &changes);
    if (changes.count) {
        for (size_t i = 0; i < changes.count; i++)
            if (changes.items[i].what != TOOL_ADDED)
                rules_forget(h->rules, changes.items[i].name);
        emit(&engine->emitter,
             &(struct event){.type = EVENT_TOOLS_CHANGED,
                             .tools_changed = {.tools = registry_to_event(h->registry, &arena),
                                               .added = list_changes(&arena, &changes, TOOL_ADDED),
                                               .changed = list_changes(&arena, &changes, TOOL_CHANGED),
                                               .removed = list_changes(&arena, &changes, TOOL_REMOVED)}});
    }
    tool_changes_release(&changes);
}

/* ---- intents ---- */

/* What is to be said before a session that was gone on with does anything. */
static void tell_left(struct engine *engine)
{
    typing_end_left(engine, engine->left_programs);
    engine->left_programs = 0;
}

static int start(struct engine *engine, const struct intent *intent, struct err *err)
{
    const char *prompt = intent->start.prompt;

    if (engine->turn)
        return err_set(err, "a turn is running");
    if (!prompt || !*prompt)
        return err_set(err, "the prompt is empty");
    turn_free(steal(&engine->left));
    tell_left(engine);
    tell_other_model(engine);
    adopt_tools(engine);
    engine->turns++;
    engine->turn = turn_start(engine, engine->harness, engine->turns, prompt);
    return 0;
}

static int go_on_with_turn(struct engine *engine, struct err *err)
{
    if (engine->turn)
        return err_set(err, "a turn is running");
    if (!engine->left)
        return err_set(err, "no turn was left in the middle");
    tell_left(engine);
    engine->turn = steal(&engine->left);
    tell_other_model(engine);
    turn_go_on(engine->turn);
    return 0;
}

static int go_on(struct engine *engine, enum stepping stepping, const char *by, struct err *err)
{
    if (engine_question(engine))
        return err_set(err, "a write waits: approve or deny it");
    engine->gates.stepping = stepping;
    engine->gates.pause = false;
    if (engine->turn && engine->turn->holds)
        turn_release(engine->turn, by);
    return 0;
}

static int extend(struct engine *engine, const struct intent *intent, struct err *err)
{
    struct turn *turn = engine->turn;

    if (!turn || !turn->budget.clock || turn->ending)
        return err_set(err, "no turn is running");
    if (!(intent->extend.share > 0))
        return err_set(err, "a budget can only be raised");
    budget_extend(&turn->budget, intent->extend.key, intent->extend.share);
    struct event_budget_values limits = budget_limits_to_event(&turn->budget);
    emit(&turn->emitter, &(struct event){.type = EVENT_BUDGET_OPENED, .budget_opened = {.limits = &limits}});
    turn_charge(turn);
    turn_clock_changed(turn);
    if (turn->holds && turn->holds->gate == GATE_BUDGET && budget_exhausted(&turn->budget) < 0) {
        turn->state.timed_out = false;
        turn_release(turn, "extend");
    }
    return 0;
}

static int undo(struct engine *engine, const struct intent *intent, struct err *err)
{
    const struct session *session = &engine->session;
    const char *checkpoint = intent->undo.checkpoint;

    if (!engine->harness->checkpoints)
        return err_set(err, "this session keeps no checkpoints");
    if (engine->undo)
        return err_set(err, "an undo is under way");
    for (uint32_t i = session->ask_count; !checkpoint && i > 0; i--) {
        const struct session_ask *ask = &session->asks[i - 1];

        if (ask->applied_seq && !ask->undone_seq && ask->checkpoint)
            checkpoint = session_name(session, ask->checkpoint);
    }
    if (!checkpoint)
        return err_set(err, "there is no write to undo");
    if (session_find_checkpoint(session, checkpoint) == SESSION_NONE)
        return err_set(err, "there is no checkpoint %.40s", checkpoint);
    engine->undo = undo_start(engine, engine->harness, engine->turn ? engine->turns : 0, checkpoint, undo_ended);
    return 0;
}

static int end(struct engine *engine, const char *reason, struct err *err)
{
    if (engine->turn)
        return err_set(err, "a turn is running: cancel it first");
    if (engine->undo)
        return err_set(err, "an undo is under way");
    place_end(engine->harness->place);
    engine->ended = true;
    emit(&engine->emitter,
         &(struct event){.type = EVENT_SESSION_ENDED, .session_ended = {.reason = reason ? reason : "quit"}});
    return 0;
}

/* The row of a protected file: the open question knows where its files really are, else the path alone tells. */
static const struct guarded *protected_path(const struct engine *engine, const char *path)
{
    const struct question *question = engine_question(engine);

    for (size_t i = 0; question && i < question->changes->count; i++) {
        const struct change *change = &question->changes->items[i];

        if (strcmp(change->path, path) == 0 && change_protected(change))
            return change->guard;
    }
    return protected_find(path);
}

static int allow(struct engine *engine, const struct intent *intent, struct err *err)
{
    const char *tool = intent->allow.tool, *path = intent->allow.path;
    const struct guarded *place = path ? protected_path(engine, path) : NULL;
    const struct question *question = path ? NULL : engine_question(engine);

    if (intent->allow.revoke)
        return rules_revoke(engine->harness->rules, tool, path) ? 0 : err_set(err, "there is no such permission");
    if (place)
        return err_set(err, "%.200s is protected (%s): Keyturn asks about every write to it", path, place->why);
    if (question && question->named && strcmp(question->tool, tool) == 0)
        return err_set(err, "this call %s: Keyturn asks about it every time", question->named);
    rules_allow(engine->harness->rules, tool, path);
    return 0;
}

int engine_submit(struct engine *engine, const struct intent *intent, struct err *err)
{
    if (engine->failure)
        return err_set(err, "%s", engine->failure);
    if (engine->ended)
        return err_set(err, "the session has ended");
    switch (intent->type) {
    case INTENT_START:
        return start(engine, intent, err);
    case INTENT_GO_ON:
        return go_on_with_turn(engine, err);
    case INTENT_CANCEL:
        if (!engine->turn)
            return err_set(err, "no turn is running");
        turn_cancel(engine->turn);
        return 0;
    case INTENT_ANSWER:
        return write_answer(engine->turn, intent->answer.question, intent->answer.digest, intent->answer.revision,
                            &intent->answer.decision, err);
    case INTENT_REVISE:
        return write_revise(engine->turn, intent->revise.question, intent->revise.version, err);
    case INTENT_ALLOW:
        return allow(engine, intent, err);
    case INTENT_STEP:
        return go_on(engine, STEP_INTO, "step", err);
    case INTENT_STEP_WAVE:
        return go_on(engine, STEP_WAVE, "step over", err);
    case INTENT_CONTINUE:
        return go_on(engine, STEP_RUN, "continue", err);
    case INTENT_PAUSE:
        engine->gates.pause = true;
        return 0;
    case INTENT_BREAK:
        return gates_break(&engine->gates, intent->breakpoint.spec, err) < 0 ? -1 : 0;
    case INTENT_UNBREAK:
        return gates_remove(&engine->gates, intent->unbreak.id) ? 0 : err_set(err, "there is no such breakpoint");
    case INTENT_ARM:
        return gates_enable(&engine->gates, intent->arm.id, intent->arm.enabled)
                   ? 0
                   : err_set(err, "there is no such breakpoint");
    case INTENT_ATTEND:
        if (!engine_question(engine))
            return err_set(err, "no write waits for an answer");
        write_touch(engine->turn);
        return 0;
    case INTENT_SERIAL:
        engine->gates.serial = intent->serial.on;
        return 0;
    case INTENT_EDIT:
        return turn_edit(engine->turn, intent, err);
    case INTENT_EXTEND:
        return extend(engine, intent, err);
    case INTENT_UNDO:
        return undo(engine, intent, err);
    case INTENT_PROGRAM_INPUT:
        return typing_input(engine, engine->harness, intent, err);
    case INTENT_PROGRAM_KILL:
        return typing_kill(engine, engine->harness, intent, err);
    case INTENT_MODEL:
        return change_model(engine, intent->model.name, err);
    case INTENT_END:
        return end(engine, intent->end.reason, err);
    }
    return err_set(err, "unknown intent");
}
