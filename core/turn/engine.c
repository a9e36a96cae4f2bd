/* The engine of a session: takes intents, runs turns, emits events.
 *
 * The engine holds only state that outlives a turn: the journal, the fold, the gates, the conversation so far. The
 * engine_config never changes. */

#include "engine.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tools/checkpoint.h"
#include "tools/protected.h"
#include "tools/registry.h"
#include "tools/runtime.h"
#include "turn.h"
#include <stdio.h>
#include <string.h>

struct engine_config engine_config_defaults(void)
{
    return (struct engine_config){
        .limits = budget_defaults(),
        .web = WEB_AUTO,
        .thinking = THINKING_OFF,
        .reflect_on_tool_error = true,
        .parallel = true,
        .show_citations = true,
        .validate = true,
        .project_instructions = true,
        .compact = true,
        .model_attempts = 3,
    };
}

/* ---- emission ---- */

static void cancel_broken(struct loop_task *task)
{
    struct engine *engine = CONTAINER_OF(task, struct engine, broke);
    if (engine->turn)
        turn_cancel(engine->turn);
}

static int record_all(struct engine *engine, struct event *events, size_t count)
{
    struct err err = ERR_INIT;
    if (journal_append_all(engine->journal, events, count, &err) < 0) {
        log_error("journal: %s", err.text);
        engine->failure = xstrdup(err.text);
        loop_post(engine->config->loop, &engine->broke, cancel_broken);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        session_apply(&engine->session, &events[i]);
        for (struct sink *sink = engine->sinks; sink; sink = sink->next)
            sink->event(sink, &events[i], &engine->session);
    }
    return 0;
}

static int record(struct emitter *recorder, struct event *events, size_t count)
{
    return record_all(CONTAINER_OF(recorder, struct engine, recorder), events, count);
}

int engine_record(struct engine *engine, int64_t turn, struct event *events, size_t count)
{
    if (engine->failure)
        return -1;
    for (size_t i = 0; i < count; i++) {
        events[i].turn = turn;
        events[i].type_name = event_type_name(events[i].type);
    }
    if (redact_events_idle(&engine->redact))
        return record_all(engine, events, count);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = redact_events_emit(&engine->redact, &events[i], &engine->recorder);
    return result;
}

static int emit_in_session(struct emitter *emitter, struct event *events, size_t count)
{
    struct engine *engine = CONTAINER_OF(emitter, struct engine, emitter);
    return engine_record(engine, engine->turn ? engine->turn->number : 0, events, count);
}

struct emitter *engine_emitter(struct engine *engine)
{
    return &engine->emitter;
}

static void models_init(struct models *models, struct provider *first, const char *name);
static void models_release(struct models *models);
static int models_switch(struct models *models, struct model_source *source, const char *name, struct err *err) CHECKED;
static struct event_model_info models_to_event(const struct models *models);

static int emit_started(struct engine *engine, struct err *err)
{
    const struct engine_config *h = engine->config;
    struct clock *clock = loop_clock(h->loop);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event_model_info model = models_to_event(&engine->models);
    static const char *const not_captured[] = {"file contents outside of tool results", "environment"};
    char created[CLOCK_STAMP_MAX];
    clock_stamp(clock->wall_us(clock), created);
    if (emit(&engine->emitter, &(struct event){.type = EVENT_SESSION_STARTED,
                                               .session_started = {
                                                   .v = 1,
                                                   .session = h->session,
                                                   .created = created,
                                                   .app = "keyturn " KEYTURN_VERSION,
                                                   .workspace = beneath_path(h->root),
                                                   .model = &model,
                                                   .tools = registry_to_event(h->registry, &arena),
                                                   .engine = h->engine_name ? h->engine_name : "none",
                                                   .not_captured = {not_captured, COUNT_OF(not_captured)},
                                               }}) < 0)
        return err_set(err, "%s", engine->failure);
    return 0;
}

/* ---- life ---- */

static char *pack_context(struct context_source *source, const char *query, size_t limit, const atomic_bool *cancelled)
{
    struct engine *engine = CONTAINER_OF(source, struct engine, context);
    struct context_pack pack = context_load(engine->config->root, query, limit, cancelled);
    struct strbuf text = STRBUF_INIT;
    context_pack_write(&text, &pack);
    context_pack_release(&pack);
    return strbuf_detach(&text, NULL);
}

static struct engine *engine_make(const struct engine_config *config, struct journal *journal, struct sink *sinks)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));
    engine->config = config;
    engine->journal = journal;
    engine->sinks = sinks;
    engine->recorder.emit = record;
    engine->emitter = (struct emitter){.emit = emit_in_session, .turn = EMITTER_RUNNING};
    models_init(&engine->models, config->provider, config->model_name);
    engine->redacted = gate_redact_new();
    session_init(&engine->session);
    gates_init(&engine->gates);
    engine->gates.serial = !config->parallel;
    thinking_init(&engine->thinking, config->thinking);
    engine->thinking.reflect_on_tool_error = config->reflect_on_tool_error;
    engine->thinking.reflect_every = config->reflect_every;
    message_list_init(&engine->history);
    engine->context.pack = pack_context;
    engine->env = (struct tool_env){
        .loop = config->loop,
        .root = config->root,
        .artifacts = config->artifacts,
        .session = config->session,
        .context = &engine->context,
        .web_endpoint = config->web_endpoint,
        .http = config->http,
        .pool = config->pool,
        .runtime = config->runtime,
    };
    runtime_emit_to(config->runtime, &engine->emitter);
    return engine;
}

struct engine *engine_new(const struct engine_config *config, struct journal *take_journal, struct sink *sinks,
                          struct err *err)
{
    struct engine *engine = engine_make(config, take_journal, sinks);
    if (emit_started(engine, err) < 0) {
        engine_free(engine);
        return NULL;
    }
    return engine;
}

/* Ends a recorded turn that will not continue: the conversation keeps what was recorded of it. */
static void leave_turn(struct engine *engine, const char *status)
{
    struct turn *left = steal(&engine->left);
    if (!left)
        return;
    turn_recall_end(left);
    history_add_turn(&engine->history, left, status);
    turn_free(left);
}

/* Switches back to the model that the recorded session had last, if it is available. */
static void resume_model(struct engine *engine, const char *name)
{
    struct err err = ERR_INIT;
    if (!name || engine->config->model_chosen || !engine->config->models)
        return;
    if (models_switch(&engine->models, engine->config->models, name, &err) < 0)
        log_warn("cannot use the model %.60s of this session: %s", name, err.text);
}

static void tell_undone(struct engine *engine);

/* Applies a recorded event to the state that later turns need. */
static void resume_event(struct engine *engine, const struct event *event)
{
    uint64_t ask;
    switch (event->type) {
    case EVENT_TURN_STARTED:
        leave_turn(engine, NULL);
        engine->turns = event->turn > engine->turns ? event->turn : engine->turns + 1;
        tell_undone(engine);
        thinking_on_turn_start(&engine->thinking);
        engine->left = turn_make(engine, engine->config, engine->turns,
                                 event->turn_started.prompt ? event->turn_started.prompt : "");
        break;
    case EVENT_TURN_FINISHED:
        leave_turn(engine, event->turn_finished.status ? event->turn_finished.status : "");
        break;
    case EVENT_WRITES_CLOSED:
        if (engine->left)
            engine->left->ending = true; /* nothing is left to do but to end it */
        break;
    case EVENT_WRITE_PROPOSED:
        /* Not every numbered question was recorded. */
        ask = event->write_proposed.ask && event->write_proposed.ask[0] == 'a'
                  ? strtoull(event->write_proposed.ask + 1, NULL, 10)
                  : 0;
        engine->asks = ask > engine->asks ? ask : engine->asks + 1;
        break;
    case EVENT_CHECKPOINT_SAVED:
        if (engine->config->checkpoints && event->checkpoint_saved.checkpoint)
            checkpoints_number_from(engine->config->checkpoints, event->checkpoint_saved.checkpoint);
        break;
    case EVENT_WRITE_UNDONE:
    case EVENT_WRITE_REDONE:
        undo_notes_add(&engine->untold, &engine->session, event);
        break;
    default:
        break;
    }
}

/* New programs get numbers above those in the recording. */
static void resume_program_names(struct engine *engine)
{
    const struct session *session = &engine->session;
    unsigned most = 0, number;
    for (uint32_t row = 0; row < session->program_count; row++)
        if (sscanf(session_name(session, session->programs[row].id), "p%u", &number) == 1 && number > most)
            most = number;
    runtime_number_from(engine->config->runtime, most);
}

static int emit_resumed(struct engine *engine, struct err *err)
{
    struct clock *clock = loop_clock(engine->config->loop);
    char created[CLOCK_STAMP_MAX];
    clock_stamp(clock->wall_us(clock), created);
    if (emit(&engine->emitter,
             &(struct event){.type = EVENT_SESSION_RESUMED,
                             .session_resumed = {.created = created, .app = "keyturn " KEYTURN_VERSION}}) < 0)
        return err_set(err, "%s", engine->failure);
    return 0;
}

struct engine *engine_resume(const struct engine_config *config, struct journal *take_journal,
                             const struct journal_reader *reader, struct sink *sinks, struct err *err)
{
    struct engine *engine = engine_make(config, take_journal, sinks);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *changed = NULL;
    struct event event;
    for (size_t i = 0; i < journal_count(reader); i++) {
        if (journal_event(reader, i, &event, &arena, err) < 0) {
            engine_free(engine);
            return NULL;
        }
        session_apply(&engine->session, &event);
        resume_event(engine, &event);
        if (event.type == EVENT_MODEL_CHANGED && event.model_changed.model) {
            free(changed);
            changed = event.model_changed.model->as ? xstrdup(event.model_changed.model->as) : NULL;
        }
        if (engine->left)
            resume_apply(engine->left, &event);
        arena_reset(&arena);
    }
    resume_model(engine, changed);
    engine->left_programs = engine->session.program_count;
    resume_program_names(engine);
    if (config->same_session && emit_resumed(engine, err) < 0) {
        engine_free(engine);
        return NULL;
    }
    return engine;
}

static void free_turns(struct turn *turn)
{
    while (turn) {
        struct turn *older = turn->older;
        turn_free(turn);
        turn = older;
    }
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    runtime_emit_to(engine->config->runtime, NULL);
    loop_unpost(engine->config->loop, &engine->broke);
    /* If threads still run, the process is about to exit: memory they use is not freed. */
    if (engine_idle(engine)) {
        free_turns(engine->turn);
        free_turns(engine->late);
    }
    turn_free(engine->left);
    models_release(&engine->models);
    session_release(&engine->session);
    gates_release(&engine->gates);
    message_list_release(&engine->history);
    undo_notes_release(&engine->untold);
    redact_events_release(&engine->redact);
    gate_redact_free(engine->redacted);
    journal_close(engine->journal);
    free(engine->failure);
    free(engine->refused);
    free(engine);
}

/* ---- what turns need ---- */

struct gates *engine_gates_mutable(struct engine *engine)
{
    return &engine->gates;
}

const struct gates *engine_gates(const struct engine *engine)
{
    return &engine->gates;
}

struct provider *engine_provider(const struct engine *engine)
{
    return engine->models.now;
}

struct thinking *engine_thinking(struct engine *engine)
{
    return &engine->thinking;
}

const struct tool_env *engine_tool_env(const struct engine *engine)
{
    return &engine->env;
}

const struct message_list *engine_history(const struct engine *engine)
{
    return &engine->history;
}

uint64_t engine_next_ask(struct engine *engine)
{
    return ++engine->asks;
}

#define REFUSED_LISTED 20

void engine_note_refused(struct engine *engine, const char *write)
{
    if (engine->refused_count++ >= REFUSED_LISTED)
        return;
    char *all = xasprintf("%s%s%s", engine->refused ? engine->refused : "", engine->refused ? "\n" : "", write);
    free(engine->refused);
    engine->refused = all;
}

static void turn_over(struct engine *engine)
{
    if (engine->turn_ended)
        engine->turn_ended(engine->turn_ended_data);
}

void engine_turn_finished(struct engine *engine, struct turn *turn)
{
    history_add_turn(&engine->history, turn, turn->status);
    engine->turn = NULL;
    turn->older = engine->late;
    engine->late = turn;
    if (!engine_repeat_undos(engine, turn->number, UNDO_AFTER_TURN, turn_over))
        turn_over(engine);
}

void engine_turn_freed(struct engine *engine, struct turn *turn)
{
    struct turn **link = &engine->late;
    while (*link && *link != turn)
        link = &(*link)->older;
    if (*link)
        *link = turn->older;
    turn_free(turn);
}

/* ---- looking ---- */

const struct session *engine_session(const struct engine *engine)
{
    return &engine->session;
}

bool engine_idle(const struct engine *engine)
{
    return !engine->turn && !engine->late && !engine->undo;
}

bool engine_turn_running(const struct engine *engine)
{
    return engine->turn != NULL;
}

bool engine_turn_left(const struct engine *engine)
{
    return engine->left && !engine->left->ending;
}

void engine_on_turn_end(struct engine *engine, void (*ended)(void *data), void *data)
{
    engine->turn_ended = ended;
    engine->turn_ended_data = data;
}

void engine_on_revised(struct engine *engine, void (*revised)(void *data), void *data)
{
    engine->revised = revised;
    engine->revised_data = data;
}

void engine_question_revised(struct engine *engine)
{
    if (engine->revised)
        engine->revised(engine->revised_data);
}

const char *engine_failed(const struct engine *engine)
{
    return engine->failure;
}

bool engine_nobody_asked(const struct engine *engine)
{
    return engine->refused_count > 0;
}

const char *engine_refused(const struct engine *engine, size_t *more)
{
    *more = engine->refused_count > REFUSED_LISTED ? engine->refused_count - REFUSED_LISTED : 0;
    return engine->refused;
}

const struct question *engine_question(const struct engine *engine)
{
    const struct question *question = engine->turn ? engine->turn->question : NULL;
    return question && question->state == Q_OPEN ? question : NULL;
}

bool engine_held(const struct engine *engine, struct held_view *out)
{
    const struct hold *hold = engine->turn ? engine->turn->holds : NULL;
    if (!hold)
        return false;
    *out = (struct held_view){
        .gate = hold->gate,
        .why = hold->why,
        .limit = hold->limit,
        .adds = hold->limit >= 0 ? budget_adds(&engine->turn->budget, (enum budget_key)hold->limit) : 0,
        .breakpoint = hold->breakpoint,
        .call = hold->call ? hold->call->id : NULL,
        .tool = hold->call ? hold->call->tool : NULL,
        .effect = hold->call ? hold->call->effect : EFFECT_UNKNOWN,
        .arguments = hold->call ? hold->call->arguments : NULL,
        .result = hold->call ? hold->call->message : NULL,
        .messages = hold->gate == GATE_MODEL ? &engine->turn->messages : NULL,
    };
    gate_redact(engine->redacted, out);
    return true;
}

/* ---- models ---- */

/* `first` is borrowed. */
static void models_init(struct models *models, struct provider *first, const char *name)
{
    *models = (struct models){.now = first, .name = name ? xstrdup(name) : NULL};
}

static void models_release(struct models *models)
{
    for (size_t i = 0; i < models->count; i++)
        provider_free(models->opened[i]);
    free(models->opened);
    free(models->name);
}

static const char *model_of(const struct provider *provider)
{
    return provider->ops->model(provider);
}

/* Switches to the model `name`. On -1 nothing has changed. */
static int models_switch(struct models *models, struct model_source *source, const char *name, struct err *err)
{
    if (!source)
        return err_set(err, "the model of this session cannot be changed");
    if (!name || !*name)
        return err_set(err, "name a model");
    if (models->name && strcmp(models->name, name) == 0)
        return err_set(err, "already using the model %.60s", name);
    struct provider *opened = source->open(source, name, err);
    if (!opened)
        return -1;
    GROW(models->opened, models->count, models->room);
    models->opened[models->count++] = opened;
    models->now = opened;
    free(models->name);
    models->name = xstrdup(name);
    return 0;
}

/* The current model, and the name the user switched to, if any. */
static struct event_model_info models_to_event(const struct models *models)
{
    return (struct event_model_info){
        .provider = models->now->ops->name, .name = model_of(models->now), .as = models->count ? models->name : NULL};
}

/* ---- engine intents ---- */

/* Handles the user's intents: each one is acted upon, or refused with a sentence. */

static void undo_ended(struct engine *engine)
{
    struct undo_repeat place = engine->repeat;
    engine->undo = NULL;
    engine->repeat.then = NULL;
    if (place.then && !engine_repeat_undos(engine, place.turn, place.step, place.then))
        place.then(engine);
}

bool engine_repeat_undos(struct engine *engine, int64_t turn, int64_t step, void (*then)(struct engine *engine))
{
    struct undo_source *source = engine->config->undos;
    bool redo = false;
    uint32_t row = SESSION_NONE;
    if (!engine->undo && source && engine->config->checkpoints)
        row = source->next(source, &engine->session, turn, step, &redo);
    if (row != SESSION_NONE)
        engine->undo = undo_start(engine, engine->config, engine->turn ? engine->turns : 0, row, redo, undo_ended);
    if (source && engine->undo) /* maybe one of the user: this place comes after it */
        engine->repeat = (struct undo_repeat){turn, step, then};
    return source && engine->undo;
}

void engine_restored(struct engine *engine, const struct event *event)
{
    undo_notes_add(&engine->untold, &engine->session, event);
    if (engine->turn)
        tally_forget_calls(&engine->turn->tally);
    if (engine->turn && engine->turn->holds && engine->turn->holds->gate == GATE_MODEL)
        turn_note_undone(engine->turn); /* the gate shows the messages */
}

/* Between turns the message is the newest of the conversation: later turns keep it. */
static void tell_undone(struct engine *engine)
{
    undo_notes_write(&engine->untold, &engine->history);
    undo_notes_release(&engine->untold);
}

/* ---- models ---- */

static void emit_model(struct engine *engine, const char *by)
{
    struct event_model_info model = models_to_event(&engine->models);
    emit(&engine->emitter, &(struct event){.type = EVENT_MODEL_CHANGED, .model_changed = {.model = &model, .by = by}});
}

/* A running request continues with its model; the next request uses this one. */
static int change_model(struct engine *engine, const char *name, struct err *err)
{
    if (models_switch(&engine->models, engine->config->models, name, err) < 0)
        return -1;
    emit_model(engine, "key");
    return 0;
}

/* A resumed session uses the model that this process was started with. Records that before the first request. */
static void emit_changed_model(struct engine *engine)
{
    const struct provider *now = engine->models.now;
    const struct session *session = &engine->session;
    if (strcmp(session_name(session, session->provider), now->ops->name) != 0 ||
        strcmp(session_name(session, session->model), now->ops->model(now)) != 0)
        emit_model(engine, "resume");
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

/* Updates the registry before a turn and records the change. Revokes rules that allow a tool which was replaced. */
static void adopt_tools(struct engine *engine)
{
    const struct engine_config *h = engine->config;
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

/* Records the ends of programs that a resumed session left running, before it does anything else. */
static void end_left_programs(struct engine *engine)
{
    process_input_end_left(engine, engine->left_programs);
    engine->left_programs = 0;
}

static int start_turn(struct engine *engine, const struct intent *intent, struct err *err)
{
    const char *prompt = intent->start.prompt;
    if (engine->turn)
        return err_set(err, "a turn is running");
    if (!prompt || !*prompt)
        return err_set(err, "the prompt is empty");
    leave_turn(engine, NULL);
    end_left_programs(engine);
    emit_changed_model(engine);
    adopt_tools(engine);
    tell_undone(engine);
    engine->turns++;
    engine->turn = turn_start(engine, engine->config, engine->turns, prompt);
    return 0;
}

static int continue_turn(struct engine *engine, struct err *err)
{
    if (engine->turn)
        return err_set(err, "a turn is running");
    if (!engine_turn_left(engine))
        return err_set(err, "no unfinished turn");
    end_left_programs(engine);
    engine->turn = steal(&engine->left);
    emit_changed_model(engine);
    resume_turn(engine->turn);
    return 0;
}

static int release_gate(struct engine *engine, enum stepping stepping, const char *by, struct err *err)
{
    const struct hold *hold = engine->turn ? engine->turn->holds : NULL;
    if (engine_question(engine))
        return err_set(err, "approve or deny the waiting write first");
    /* At a limit the intent ends the turn. It says nothing about where the next turn pauses. */
    if (!hold || hold->gate != GATE_BUDGET || hold->limit < 0) {
        engine->gates.stepping = stepping;
        engine->gates.pause = false;
    }
    if (hold)
        turn_release(engine->turn, by);
    return 0;
}

/* A turn that ended at a limit cannot be reopened: what it recorded last is its end. A new turn continues its work,
 * with limits of its own. */
static int continue_after_limit(struct engine *engine, struct err *err)
{
    const struct session_turn *last = session_turn(&engine->session);
    if (!last || strcmp(session_name(&engine->session, last->status), "budget") != 0)
        return err_set(err, "no turn is running");
    return start_turn(engine, &(struct intent){.type = INTENT_START, .start = {ENGINE_CONTINUE_PROMPT}}, err);
}

static int extend_budget(struct engine *engine, const struct intent *intent, struct err *err)
{
    struct turn *turn = engine->turn;
    double share = intent->extend.share;
    if (!turn)
        return intent->extend.to > 0 ? err_set(err, "no turn is running") : continue_after_limit(engine, err);
    if (!turn->budget.clock)
        return err_set(err, "the turn is still starting");
    if (turn->ending || turn->stopping)
        return err_set(err, "the turn is ending; it needs no higher limits");
    if (intent->extend.to > 0)
        share = (intent->extend.to - budget_limit(&turn->budget, intent->extend.key)) /
                budget_adds(&turn->budget, intent->extend.key);
    if (!(share > 0))
        return err_set(err, "a budget can only be raised");
    budget_extend(&turn->budget, intent->extend.key, share);
    struct event_budget_values limits = budget_limits_to_event(&turn->budget);
    emit(&turn->emitter, &(struct event){.type = EVENT_BUDGET_OPENED, .budget_opened = {.limits = &limits}});
    turn_charge(turn);
    turn_clock_changed(turn);
    if (turn->holds && turn->holds->limit >= 0 && !budget_reached(&turn->budget, (enum budget_key)turn->holds->limit))
        turn_release(turn, "extend");
    return 0;
}

static int undo_write(struct engine *engine, const struct intent *intent, struct err *err)
{
    bool redo = intent->type == INTENT_REDO;
    if (!engine->config->checkpoints)
        return err_set(err, "checkpoints are off in this session");
    if (engine->undo)
        return err_set(err, "an undo is in progress");
    uint32_t row = undo_find(&engine->session, intent->undo.what, redo, err);
    if (row == SESSION_NONE)
        return -1;
    engine->undo = undo_start(engine, engine->config, engine->turn ? engine->turns : 0, row, redo, undo_ended);
    return 0;
}

/* ---- the session ---- */

/* A name is one line that fits a list and a command line. */
static int name_session(struct engine *engine, const char *name, struct err *err)
{
    size_t len = name ? strlen(name) : 0;
    if (!len || len > SESSION_NAME_MAX)
        return err_set(err, "a session name has 1 to %d bytes", SESSION_NAME_MAX);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    utf8_sanitize(&shown, name, len, UTF8_KEEP_NOTHING);
    if (strcmp(shown.buf, name) != 0 || strspn(name, " ") == len)
        return err_set(err, "a session name is one line of visible text");
    emit(&engine->emitter, &(struct event){.type = EVENT_SESSION_NAMED, .session_named = {.name = name}});
    return 0;
}

static int end_session(struct engine *engine, const char *reason, struct err *err)
{
    if (engine->turn)
        return err_set(err, "a turn is running; cancel it first");
    if (engine->undo)
        return err_set(err, "an undo is in progress");
    runtime_end(engine->config->runtime);
    engine->ended = true;
    emit(&engine->emitter,
         &(struct event){.type = EVENT_SESSION_ENDED, .session_ended = {.reason = reason ? reason : "quit"}});
    return 0;
}

/* Returns the protected.def row of a file. The open question knows its files' real paths; otherwise the path is all
 * there is. */
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

static int change_permission(struct engine *engine, const struct intent *intent, struct err *err)
{
    const char *tool = intent->allow.tool, *path = intent->allow.path;
    const struct guarded *guarded = path ? protected_path(engine, path) : NULL;
    const struct question *question = path ? NULL : engine_question(engine);
    if (intent->allow.revoke)
        return rules_revoke(engine->config->rules, tool, path) ? 0 : err_set(err, "unknown permission");
    if (guarded)
        return err_set(err, "%.200s is protected (%s): every write to it needs approval", path, guarded->why);
    if (question && question->named && strcmp(question->tool, tool) == 0)
        return err_set(err, "this call %s: it needs approval every time", question->named);
    rules_allow(engine->config->rules, tool, path);
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
        return start_turn(engine, intent, err);
    case INTENT_RESUME_TURN:
        return continue_turn(engine, err);
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
        return change_permission(engine, intent, err);
    case INTENT_STEP:
        return release_gate(engine, STEP_INTO, "step", err);
    case INTENT_STEP_WAVE:
        return release_gate(engine, STEP_WAVE, "step over", err);
    case INTENT_CONTINUE:
        return release_gate(engine, STEP_RUN, "continue", err);
    case INTENT_PAUSE:
        engine->gates.pause = true;
        return 0;
    case INTENT_BREAK:
        return gates_break(&engine->gates, intent->breakpoint.spec, err) < 0 ? -1 : 0;
    case INTENT_UNBREAK:
        return gates_remove(&engine->gates, intent->unbreak.id) ? 0 : err_set(err, "unknown breakpoint");
    case INTENT_ENABLE_BREAK:
        return gates_enable(&engine->gates, intent->arm.id, intent->arm.enabled) ? 0
                                                                                 : err_set(err, "unknown breakpoint");
    case INTENT_TOUCH:
        if (!engine_question(engine))
            return err_set(err, "no write is waiting for approval");
        write_touch(engine->turn);
        return 0;
    case INTENT_SERIAL:
        engine->gates.serial = intent->serial.on;
        return 0;
    case INTENT_EDIT:
        return turn_edit(engine->turn, intent, err);
    case INTENT_EXTEND:
        return extend_budget(engine, intent, err);
    case INTENT_UNDO:
    case INTENT_REDO:
        return undo_write(engine, intent, err);
    case INTENT_PROGRAM_INPUT:
        return process_input_write(engine, engine->config, intent, err);
    case INTENT_PROGRAM_KILL:
        return process_input_kill(engine, engine->config, intent, err);
    case INTENT_MODEL:
        return change_model(engine, intent->model.name, err);
    case INTENT_NAME:
        return name_session(engine, intent->naming.name, err);
    case INTENT_END:
        return end_session(engine, intent->end.reason, err);
    }
    return err_set(err, "unknown intent");
}
