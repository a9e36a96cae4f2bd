/* The engine of a session: takes intents, runs turns, emits events.
 *
 * What changes here between turns is only what outlives them: the journal, the fold, the gates, the conversation so
 * far. The harness stays as it was given. */

#include "engine.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine_inside.h"
#include "tools/place.h"
#include <stdio.h>
#include <string.h>

struct harness harness_defaults(void)
{
    return (struct harness){
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
        loop_post(engine->harness->loop, &engine->broke, cancel_broken);
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

static int emit_started(struct engine *engine, struct err *err)
{
    const struct harness *h = engine->harness;
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
    struct context_pack pack = context_load(engine->harness->root, query, limit, cancelled);
    struct strbuf text = STRBUF_INIT;

    context_pack_write(&text, &pack);
    context_pack_release(&pack);
    return strbuf_detach(&text, NULL);
}

static struct engine *engine_make(const struct harness *harness, struct journal *journal, struct sink *sinks)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));

    engine->harness = harness;
    engine->journal = journal;
    engine->sinks = sinks;
    engine->recorder.emit = record;
    engine->emitter = (struct emitter){.emit = emit_in_session, .turn = EMITTER_RUNNING};
    models_init(&engine->models, harness->provider, harness->model_name);
    engine->shown = shown_new();
    session_init(&engine->session);
    gates_init(&engine->gates);
    engine->gates.serial = !harness->parallel;
    thinking_init(&engine->thinking, harness->thinking);
    engine->thinking.reflect_on_tool_error = harness->reflect_on_tool_error;
    engine->thinking.reflect_every = harness->reflect_every;
    message_list_init(&engine->history);
    engine->context.pack = pack_context;
    engine->env = (struct tool_env){
        .loop = harness->loop,
        .root = harness->root,
        .artifacts = harness->artifacts,
        .session = harness->session,
        .context = &engine->context,
        .web_endpoint = harness->web_endpoint,
        .http = harness->http,
        .pool = harness->pool,
        .place = harness->place,
    };
    place_emit_to(harness->place, &engine->emitter);
    return engine;
}

struct engine *engine_new(const struct harness *harness, struct journal *take_journal, struct sink *sinks,
                          struct err *err)
{
    struct engine *engine = engine_make(harness, take_journal, sinks);

    if (emit_started(engine, err) < 0) {
        engine_free(engine);
        return NULL;
    }
    return engine;
}

/* A turn that was cut short may have said nothing; models refuse messages without text. */
static void remember_turn(struct engine *engine, const char *prompt, const char *text, const char *status)
{
    CLEANUP(free) char *nothing = xasprintf("[no answer: %s]", status ? status : "");

    message_list_add(&engine->history, ROLE_USER, prompt)->meaning = "history";
    message_list_add(&engine->history, ROLE_ASSISTANT, text && *text ? text : nothing)->meaning = "history";
}

/* The model that a session was changed to is asked again, where it can be. */
static void resume_model(struct engine *engine, const char *name)
{
    struct err err = ERR_INIT;

    if (!name || engine->harness->model_chosen || !engine->harness->models)
        return;
    if (models_switch(&engine->models, engine->harness->models, name, &err) < 0)
        log_warn("the session had the model %.60s: %s", name, err.text);
}

/* What a recorded event leaves to the turns that follow it. */
static void resume_event(struct engine *engine, const struct event *event, char **prompt)
{
    uint64_t ask;

    switch (event->type) {
    case EVENT_TURN_STARTED:
        free(*prompt);
        *prompt = xstrdup(event->turn_started.prompt ? event->turn_started.prompt : "");
        engine->turns = event->turn > engine->turns ? event->turn : engine->turns + 1;
        thinking_on_turn_start(&engine->thinking);
        turn_free(engine->left);
        engine->left = turn_make(engine, engine->harness, engine->turns, *prompt);
        break;
    case EVENT_EDITED:
        if (event->edited.what && event->edited.after && strcmp(event->edited.what, edit_what_name(EDIT_PROMPT)) == 0) {
            CLEANUP(arena) struct arena arena = ARENA_INIT;
            const char *text = json_str(event_leaf(&arena, event->edited.after), NULL);

            if (text && *prompt) {
                free(*prompt);
                *prompt = xstrdup(text);
            }
        }
        break;
    case EVENT_TURN_FINISHED:
        if (*prompt)
            remember_turn(engine, *prompt, event->turn_finished.text, event->turn_finished.status);
        turn_free(steal(&engine->left));
        break;
    case EVENT_WRITES_CLOSED:
        turn_free(steal(&engine->left)); /* it has nothing left to do but to end */
        break;
    case EVENT_WRITE_PROPOSED:
        /* Not every question that had a number came into the journal. */
        ask = event->write_proposed.ask && event->write_proposed.ask[0] == 'a'
                  ? strtoull(event->write_proposed.ask + 1, NULL, 10)
                  : 0;
        engine->asks = ask > engine->asks ? ask : engine->asks + 1;
        break;
    default:
        break;
    }
}

/* Names of programs go on where the recording left them. */
static void resume_program_names(struct engine *engine)
{
    const struct session *session = &engine->session;
    unsigned most = 0, number;

    for (uint32_t row = 0; row < session->program_count; row++)
        if (sscanf(session_name(session, session->programs[row].id), "p%u", &number) == 1 && number > most)
            most = number;
    place_number_from(engine->harness->place, most);
}

struct engine *engine_resume(const struct harness *harness, struct journal *take_journal,
                             const struct journal_reader *reader, struct sink *sinks, struct err *err)
{
    struct engine *engine = engine_make(harness, take_journal, sinks);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *prompt = NULL;
    CLEANUP(free) char *changed = NULL;
    struct event event;

    for (size_t i = 0; i < journal_count(reader); i++) {
        if (journal_event(reader, i, &event, &arena, err) < 0) {
            engine_free(engine);
            return NULL;
        }
        session_apply(&engine->session, &event);
        resume_event(engine, &event, &prompt);
        if (event.type == EVENT_MODEL_CHANGED && event.model_changed.model) {
            free(changed);
            changed = event.model_changed.model->as ? xstrdup(event.model_changed.model->as) : NULL;
        }
        if (engine->left)
            turn_recall(engine->left, &event);
        arena_reset(&arena);
    }
    resume_model(engine, changed);
    engine->left_programs = engine->session.program_count;
    resume_program_names(engine);
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
    place_emit_to(engine->harness->place, NULL);
    loop_unpost(engine->harness->loop, &engine->broke);
    /* With threads still out there the program is about to end: what they hold is left to them. */
    if (engine_idle(engine)) {
        free_turns(engine->turn);
        free_turns(engine->late);
    }
    turn_free(engine->left);
    models_release(&engine->models);
    session_release(&engine->session);
    gates_release(&engine->gates);
    message_list_release(&engine->history);
    redact_events_release(&engine->redact);
    shown_free(engine->shown);
    journal_close(engine->journal);
    free(engine->failure);
    free(engine->protected);
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

#define PROTECTED_TOLD 20 /* refused writes to protected places that are told at the end */

void engine_set_nobody_asked(struct engine *engine, const char *protected)
{
    engine->nobody_asked = true;
    if (!protected || engine->protected_count++ >= PROTECTED_TOLD)
        return;
    char *all =
        xasprintf("%s%s%s", engine->protected ? engine->protected : "", engine->protected ? "\n" : "", protected);
    free(engine->protected);
    engine->protected = all;
}

void engine_turn_finished(struct engine *engine, struct turn *turn)
{
    remember_turn(engine, turn->prompt, turn->final.text, turn->status);
    engine->turn = NULL;
    turn->older = engine->late;
    engine->late = turn;
    if (engine->turn_ended)
        engine->turn_ended(engine->turn_ended_data);
}

void engine_turn_freed(struct engine *engine, struct turn *turn)
{
    struct turn **place = &engine->late;

    while (*place && *place != turn)
        place = &(*place)->older;
    if (*place)
        *place = turn->older;
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
    return engine->left != NULL;
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
    return engine->nobody_asked;
}

const char *engine_protected(const struct engine *engine)
{
    return engine->protected;
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
        .breakpoint = hold->breakpoint,
        .call = hold->call ? hold->call->id : NULL,
        .tool = hold->call ? hold->call->tool : NULL,
        .effect = hold->call ? hold->call->effect : EFFECT_UNKNOWN,
        .arguments = hold->call ? hold->call->arguments : NULL,
        .result = hold->call ? hold->call->message : NULL,
        .messages = hold->gate == GATE_MODEL ? &engine->turn->messages : NULL,
    };
    shown_veil(engine->shown, out);
    return true;
}
