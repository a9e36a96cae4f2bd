/* Rebuilds a turn that a recording left unfinished, and continues it: after a fork or a crash.
 *
 * resume_apply applies the events one by one to a turn that does not run. At the end it knows what the running turn
 * knew: the messages from turn.prepared on with every answer and outcome, the used budget, which calls are duplicates
 * and which tools are blocked. Two things are in no event and stay unknown: what a call had cited, and what a
 * reflection cost.
 *
 * resume_turn continues. A call without an outcome gets one ("not run"), because the model needs a message for each
 * call. The next action is the one that would have followed: a reflection, or a request to the model. */

#include "base/json.h"
#include "base/mem.h"
#include "turn.h"
#include <string.h>

/* ---- recalling ---- */

static struct turn_call *find_call(struct turn *turn, const char *id)
{
    for (size_t i = 0; id && i < turn->call_count; i++)
        if (strcmp(turn->calls[i].id, id) == 0)
            return &turn->calls[i];
    return NULL;
}

static void resume_prompt(struct turn *turn, const char *after)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *text = json_str(event_leaf(&arena, after), NULL);
    if (!text)
        return;
    free(turn->prompt);
    turn->prompt = xstrdup(text);
    for (size_t i = turn->messages.count; i-- > 0;)
        if (turn->messages.items[i].role == ROLE_USER) {
            message_set_text(&turn->messages.items[i], xstrdup(text));
            return;
        }
}

static void resume_edit(struct turn *turn, const struct event_edited *edited)
{
    struct turn_call *call = find_call(turn, edited->call);
    if (!edited->what || !edited->after)
        return;
    if (strcmp(edited->what, edit_what_name(EDIT_PROMPT)) == 0) {
        resume_prompt(turn, edited->after);
    } else if (call && call->message && strcmp(edited->what, edit_what_name(EDIT_RESULT)) == 0) {
        free(call->message);
        call->message = xstrdup(edited->after);
        call->failed = false;
    }
}

static void resume_limits(struct turn *turn, const struct event_budget_values *values)
{
    struct budget_limits limits = turn->config->limits;
    budget_limits_from_event(&limits, values);
    if (!turn->budget.clock)
        budget_open(&turn->budget, &limits, &turn->clock);
    else
        budget_set_limits(&turn->budget, &limits);
}

static void resume_prepared(struct turn *turn, const struct event_turn_prepared *prepared)
{
    message_list_release(&turn->messages);
    message_list_init(&turn->messages);
    message_list_read_with(&turn->messages, &prepared->messages, engine_history(turn->engine));
    free((void *)turn->tools);
    turn->tools = xcalloc(prepared->tools.count + 1, sizeof(*turn->tools));
    turn->tool_count = 0;
    for (size_t i = 0; i < prepared->tools.count; i++) {
        const char *name = prepared->tools.items[i];
        const struct tool *tool = registry_find(turn->config->registry, name ? name : "");
        if (tool)
            turn->tools[turn->tool_count++] = tool;
    }
    turn->left.prepared = turn->messages.count > 0;
}

static void resume_calls(struct turn *turn, struct message *message, const struct event_tool_request_list *calls)
{
    turn->calls = calls->count ? xcalloc(calls->count, sizeof(*turn->calls)) : NULL;
    for (size_t i = 0; i < calls->count; i++) {
        struct turn_call *call = &turn->calls[turn->call_count++];
        message_read_call(message, &calls->items[i]);
        call->turn = turn;
        call->id = xstrdup(message->calls[message->call_count - 1].id);
        call->name = xstrdup(message->calls[message->call_count - 1].name);
        call->tool = registry_find(turn->config->registry, call->name);
        call->effect = call->tool ? call->tool->spec.effect : EFFECT_UNKNOWN;
        free(tally_call_id(&turn->tally, call->id));
    }
}

static void resume_answer(struct turn *turn, const struct event_model_responded *answer)
{
    const char *text = answer->text ? answer->text : "";
    struct usage usage = usage_from_event(answer->usage);
    for (size_t i = 0; i < answer->tool_calls.count; i++)
        if (answer->tool_calls.items[i].id)
            message_list_free_id(&turn->messages, answer->tool_calls.items[i].id);
    struct message *message = message_list_add(&turn->messages, ROLE_ASSISTANT, text);
    message->opaque = answer->opaque ? xstrdup(answer->opaque) : NULL;
    strbuf_reset(&turn->partial);
    resume_calls(turn, message, &answer->tool_calls);
    turn->step = answer->step > turn->step ? (int)answer->step : turn->step + 1;
    turn->tally.context_seen = usage.input;
    turn->tally.usage.input += usage.input;
    turn->tally.usage.output += usage.output;
    turn->tally.usage.cache_read += usage.cache_read;
    turn->tally.usage.cache_write += usage.cache_write;
    if (turn->budget.clock) {
        budget_claim_step(&turn->budget);
        budget_charge(&turn->budget, &usage, answer->cost_usd);
    }
    if (*text) {
        free(turn->tally.final_text);
        turn->tally.final_text = xstrdup(text);
    }
    turn->left.answered = true;
    turn->left.final = turn->call_count == 0 && !(answer->stop && strcmp(answer->stop, MODEL_PAUSED) == 0);
}

static void resume_started(struct turn *turn, const struct event_tool_started *started)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct turn_call *call = find_call(turn, started->call);
    const char *arguments = started->arguments ? started->arguments : "{}";
    if (turn->budget.clock)
        budget_claim_tool_call(&turn->budget);
    if (!call)
        return;
    call->gated = true;
    if (started->effect)
        call->effect = effect_from_name(started->effect);
    if (call->tool)
        dedupe_key(call->key, call->name, event_leaf(&arena, arguments));
}

static void give_message(struct turn_call *call, const struct outcome *outcome)
{
    struct strbuf message = STRBUF_INIT;
    if (outcome->type == OUTCOME_RESULT)
        strbuf_addstr(&message, outcome->result.output);
    else
        outcome_message(&message, outcome);
    free(call->message);
    call->message = strbuf_detach(&message, NULL);
    call->failed = outcome_failed(outcome);
    call->settled = true;
}

/* The limit that stopped a call; -1: none did. The recording has only the reason of the denial. */
static int limit_of(const struct turn *turn, const struct turn_call *call, const struct outcome *outcome)
{
    if (outcome->type != OUTCOME_DENIED || !turn->budget.clock)
        return -1;
    if (outcome->denied.reason == DENIAL_DEADLINE)
        return BUDGET_WALL_MS;
    return outcome->denied.reason == DENIAL_BLOCKED && !hash_map_has(&turn->tally.blocked, call->name) &&
                   budget_reached(&turn->budget, BUDGET_TOOL_CALLS)
               ? BUDGET_TOOL_CALLS
               : -1;
}

static void resume_finished(struct turn *turn, const struct event_tool_finished *finished)
{
    struct turn_call *call = find_call(turn, finished->call);
    CLEANUP(outcome) struct outcome outcome = {0};
    if (!call || call->settled)
        return;
    outcome = outcome_from_event(call->id, call->name, finished);
    outcome.elapsed_ms = finished->elapsed_ms;
    int limit = limit_of(turn, call, &outcome);
    if (limit >= 0) {
        turn->skipped++;
        turn->reached = limit;
    }
    turn_note_outcome(turn, call, &outcome);
    give_message(call, &outcome);
}

static void resume_reflection(struct turn *turn, const struct event_reflection *reflection)
{
    turn_calls_reported(turn);
    if (turn->budget.clock)
        budget_claim_reflection(&turn->budget);
    if (!reflection->stub)
        message_list_add(&turn->messages, ROLE_ASSISTANT, reflection->text ? reflection->text : "");
    thinking_reflected(engine_thinking(turn->engine));
    strbuf_reset(&turn->tally.failures);
    turn->left.answered = false;
}

static void resume_used(struct turn *turn, const struct event_budget_values *used)
{
    if (used && used->wall_ms >= 0 && used->wall_ms < 1e15)
        turn->left.wall_us = (int64_t)used->wall_ms * 1000;
}

void resume_apply(struct turn *turn, const struct event *event)
{
    int key;
    switch (event->type) {
    case EVENT_BUDGET_OPENED:
        resume_limits(turn, event->budget_opened.limits);
        break;
    case EVENT_BUDGET_CHARGED:
        resume_used(turn, event->budget_charged.used);
        break;
    case EVENT_BUDGET_WARNED:
        key = event->budget_warned.key ? budget_key_from_name(event->budget_warned.key) : -1;
        if (key >= 0)
            turn->budget.warned[key] = true;
        break;
    case EVENT_TURN_PREPARED:
        resume_prepared(turn, &event->turn_prepared);
        break;
    case EVENT_EDITED:
        resume_edit(turn, &event->edited);
        break;
    case EVENT_CONTEXT_COMPACTED:
        turn_calls_reported(turn);
        turn->left.answered = false;
        resume_compacted(turn, &event->context_compacted);
        break;
    case EVENT_MODEL_REQUESTED:
        turn_calls_reported(turn);
        undo_notes_write(&turn->engine->untold, &turn->messages);
        undo_notes_release(&turn->engine->untold);
        turn->left.answered = false;
        strbuf_reset(&turn->partial);
        break;
    case EVENT_MODEL_DELTA:
        strbuf_addstr(&turn->partial, event->model_delta.text ? event->model_delta.text : "");
        break;
    case EVENT_MODEL_RESPONDED:
        turn_calls_reported(turn);
        resume_answer(turn, &event->model_responded);
        break;
    case EVENT_WRITE_UNDONE:
    case EVENT_WRITE_REDONE:
        tally_forget_calls(&turn->tally);
        break;
    case EVENT_TOOL_STARTED:
        resume_started(turn, &event->tool_started);
        break;
    case EVENT_TOOL_FINISHED:
        resume_finished(turn, &event->tool_finished);
        break;
    case EVENT_REFLECTION:
        resume_reflection(turn, &event->reflection);
        break;
    default:
        break;
    }
}

/* ---- continuing ---- */

static const char why[] = "the recording ended here";

/* Closes questions and holds that were open when the recording ended. */
static void close_what_is_open(struct turn *turn, const struct session *session)
{
    if (session->held_gate)
        emit(&turn->emitter,
             &(struct event){.type = EVENT_RELEASED,
                             .released = {.gate = session_name(session, session->held_gate), .by = "fork"}});
    while (session->open_question != SESSION_NONE) {
        uint32_t open = session->open_question;
        emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_DECIDED,
                                             .write_decided = {.ask = session_name(session, session->asks[open].id),
                                                               .decision = decision_name(DECISION_DENIED),
                                                               .by = decider_name(BY_POLICY),
                                                               .reason = why}});
        if (session->open_question == open)
            break; /* recording failed */
    }
}

static void settle_rest(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        struct turn_call *call = &turn->calls[i];
        CLEANUP(outcome) struct outcome outcome = {0};
        if (call->settled)
            continue;
        outcome = outcome_failure(call->id, call->name, true,
                                  call->gated ? "interrupted: %s while it ran; call it again if needed"
                                              : "not run: %s before it started; call it again if needed",
                                  why);
        turn_emit_outcome(turn, call, &outcome);
        give_message(call, &outcome);
    }
}

/* A call without an outcome in the lines: hand-written ones may lack it, and others stop before it. */
void turn_recall_end(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++)
        if (!turn->calls[i].message)
            turn->calls[i].message = xasprintf("no outcome: %s", why);
    turn_calls_reported(turn);
}

void resume_turn(struct turn *turn)
{
    const struct session *session = engine_session(turn->engine);
    bool called = turn->call_count > 0;
    gates_turn_started(engine_gates_mutable(turn->engine));
    close_what_is_open(turn, session);
    settle_rest(turn);
    turn_calls_reported(turn);
    if (!turn->left.prepared) {
        turn_load(turn);
        return;
    }
    if (!turn->budget.clock)
        budget_open(&turn->budget, &turn->config->limits, &turn->clock);
    budget_set_wall_used(&turn->budget, turn->left.wall_us);
    turn->started_us -= turn->left.wall_us;
    turn_watch_deadline(turn);
    if (turn->left.answered && turn->left.final)
        turn_end(turn, "done");
    else if (turn->left.answered && called)
        turn_reflect(turn);
    else
        turn_next_step(turn);
}
