/* The calls of an answer: put in waves, checked, started, settled. Every call of the answer gets exactly one outcome
 * and one tool message, in the order of the answer, whatever happens to it or to its siblings.
 *
 * A call is checked when its turn comes, not when it is planned: an earlier wave may have made it a duplicate, blocked
 * its tool or used up the budget. */

#include "base/json.h"
#include "base/mem.h"
#include "turn.h"
#include <string.h>

/* ---- settling ---- */

static void start_wave(struct loop_task *task);

static void wave_check(struct turn *turn)
{
    const struct wave *wave = &turn->waves[turn->wave_index];

    if (turn->launching || turn->unsettled > 0 || turn->next_launch < wave->first + wave->count)
        return;
    turn->wave_index++;
    turn_soon(turn, start_wave); /* from the loop: thousands of denied calls must not nest */
}

static void settled(struct turn *turn, struct turn_call *call)
{
    call->settled = true;
    turn->unsettled--;
    wave_check(turn);
}

static struct dedupe *history_of(struct turn *turn, const struct turn_call *call)
{
    return call->effect == EFFECT_READ_ONLY ? &turn->state.reads : &turn->state.others;
}

void turn_note_outcome(struct turn *turn, struct turn_call *call, const struct outcome *outcome)
{
    struct turn_state *state = &turn->state;
    bool ran = outcome->type != OUTCOME_DENIED || outcome->denied.reason == DENIAL_WRITE_DENIED;
    bool bad = outcome->type == OUTCOME_FAILURE || outcome->type == OUTCOME_TIMEOUT;

    if (call->key[0])
        dedupe_record(history_of(turn, call), call->key, outcome->type);
    if (call->tool && call->effect != EFFECT_READ_ONLY && outcome->type == OUTCOME_RESULT) {
        /* What was read before may read differently now, so it may be read again. */
        dedupe_release(&state->reads);
        dedupe_init(&state->reads);
    }
    if (outcome_blocks_tool(outcome))
        hash_map_put(&state->blocked, call->name, 1);
    if (ran) {
        state->tool_calls++;
        turn_state_tally(state, call->name, bad);
    }
    if (bad) {
        thinking_on_tool_error(engine_thinking(turn->engine));
        strbuf_addf(&state->failures, "%s (%s): %s\n", call->name, call->id,
                    outcome->type == OUTCOME_FAILURE ? outcome->failure.error : "timed out");
    }
}

int turn_emit_outcome(struct turn *turn, const struct turn_call *call, const struct outcome *outcome)
{
    struct event event = {.type = EVENT_TOOL_FINISHED};
    struct event_tool_finished *f = &event.tool_finished;
    struct outcome_record record;

    f->call = call->id;
    f->tool = call->name;
    f->elapsed_ms = outcome->elapsed_ms;
    outcome_to_event(f, &record, outcome);
    return emit(&turn->emitter, &event);
}

static void take_citations(struct turn_call *call)
{
    size_t count;
    const struct citation *citations = bounded_call_citations(call->running, &count);

    for (size_t i = 0; i < count; i++) {
        GROW(call->citations, call->citation_count, call->citation_room);
        call->citations[call->citation_count++] = (struct citation){xstrdup(citations[i].ref), citations[i].web};
    }
}

/* The one outcome of a call: recorded, and made the message that the model reads. bounded_host's `done`. */
static void settle_call(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct turn *turn = CONTAINER_OF(host, struct turn, host);
    struct turn_call *call = data;
    CLEANUP(outcome) struct outcome outcome = *take_outcome;
    struct gate_view view = {.gate = GATE_RESULT,
                             .tool = call->tool,
                             .effect = call->effect,
                             .arguments = call->parsed,
                             .outcome = &outcome};
    CLEANUP(strbuf) struct strbuf message = STRBUF_INIT;
    bool held;

    memset(take_outcome, 0, sizeof(*take_outcome));
    if (call->running)
        take_citations(call);
    call->running = NULL;
    write_call_gone(turn, call);
    turn_emit_outcome(turn, call, &outcome);
    turn_note_outcome(turn, call, &outcome);
    if (outcome.type == OUTCOME_RESULT && outcome.result.output) {
        call->message = outcome.result.output; /* the same text: given on, not copied, once the gate has looked at it */
    } else {
        outcome_message(&message, &outcome);
        call->message = strbuf_detach(&message, NULL);
        call->failed = outcome_failed(&outcome);
    }
    held = turn_hold_at(turn, &view, call, settled);
    if (outcome.type == OUTCOME_RESULT)
        outcome.result.output = NULL;
    if (!held)
        settled(turn, call);
}

/* ---- starting ---- */

/* True when the call may run; else `denied` says why not. */
static bool permitted(struct turn *turn, struct turn_call *call, struct outcome *denied)
{
    const char *id = call->id, *name = call->name;
    const char *near = call->tool ? NULL : registry_nearest(turn->harness->registry, name);
    struct err err = ERR_INIT;

    if (turn->cancelled)
        *denied = outcome_denied(id, name, DENIAL_BLOCKED, "the turn was cancelled");
    else if (near)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "there is no tool %s (did you mean %s?)", name, near);
    else if (!call->tool)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "there is no tool %s", name);
    else if (call->incomplete)
        *denied =
            outcome_denied(id, name, DENIAL_VALIDATION, "arguments: the answer ended before they were complete (%s)",
                           turn->reply.stop ? turn->reply.stop : "nobody knows why");
    else if (!call->parsed)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "arguments: must be a JSON object");
    else if (turn->harness->validate && registry_validate(turn->harness->registry, call->tool, call->parsed, &err) < 0)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "%s", err.text);
    else if (hash_map_has(&turn->state.blocked, name))
        *denied = outcome_denied(id, name, DENIAL_BLOCKED,
                                 "%s is blocked for the rest of this turn after an earlier failure", name);
    else if (budget_expired(&turn->budget))
        *denied = outcome_denied(id, name, DENIAL_DEADLINE, "the time of this turn is used up");
    else {
        dedupe_key(call->key, name, call->parsed);
        if (dedupe_should_skip(history_of(turn, call), call->key, call->tool->spec.idempotent)) {
            call->key[0] = '\0'; /* a refusal is not an outcome of this key */
            *denied = outcome_denied(id, name, DENIAL_DUPLICATE,
                                     "the same call succeeded already in this turn; its result stands above");
        } else if (!budget_claim_tool_call(&turn->budget)) {
            *denied = outcome_denied(id, name, DENIAL_BLOCKED, "the limit of %lld tool calls is used up",
                                     (long long)budget_limit(&turn->budget, BUDGET_TOOL_CALLS));
        } else {
            return true;
        }
    }
    return false;
}

/* Starts the calls of the wave one after the other; a gate may stop it at any of them, and it goes on from there. */
static void launch(struct turn *turn, struct turn_call *none)
{
    const struct wave *wave = &turn->waves[turn->wave_index];

    (void)none;
    turn->launching = true;
    while (turn->next_launch < wave->first + wave->count) {
        struct turn_call *call = &turn->calls[turn->next_launch];
        struct outcome denied;

        if (!call->gated) {
            struct gate_view view = {.gate = GATE_TOOL,
                                     .tool = call->tool,
                                     .effect = call->effect,
                                     .arguments = call->parsed,
                                     .root = turn->harness->root};

            call->gated = true;
            if (turn_hold_at(turn, &view, call, launch)) {
                turn->launching = false;
                return;
            }
        }
        turn->next_launch++;
        if (!permitted(turn, call, &denied)) {
            settle_call(&turn->host, call, &denied);
            continue;
        }
        double cap_s = call->tool->spec.timeout_s > 0 ? call->tool->spec.timeout_s : turn->harness->limits.tool_cap_s;
        if (emit(&turn->emitter,
                 &(struct event){
                     .type = EVENT_TOOL_STARTED,
                     .tool_started = {.call = call->id,
                                      .tool = call->name,
                                      .arguments = call->arguments,
                                      .effect = effect_name(call->effect),
                                      .wave = (int64_t)call->wave_number,
                                      .deadline_ms = (int64_t)(budget_per_tool_s(&turn->budget, cap_s) * 1000)},
                 }) < 0) {
            denied = outcome_denied(call->id, call->name, DENIAL_BLOCKED, "the journal cannot be written");
            settle_call(&turn->host, call, &denied);
            continue;
        }
        call->running = bounded_execute(&turn->host, &(struct bounded_request){.call = call->id,
                                                                               .tool = call->tool,
                                                                               .arguments = call->parsed,
                                                                               .turn_due_us = turn->budget.due_us,
                                                                               .cap_s = cap_s,
                                                                               .data = call});
    }
    turn->launching = false;
    wave_check(turn);
}

void turn_calls_told(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        struct message *message = message_list_take(&turn->messages, ROLE_TOOL, steal(&turn->calls[i].message));

        message->call_id = xstrdup(turn->calls[i].id);
        message->failed = turn->calls[i].failed;
        for (size_t c = 0; c < turn->calls[i].citation_count; c++)
            turn_state_cite(&turn->state, &turn->calls[i].citations[c]);
    }
    turn_calls_release(turn);
}

static void calls_done(struct turn *turn)
{
    turn_calls_told(turn);
    turn_charge(turn);
    turn_reflect(turn);
}

static void start_wave(struct loop_task *task)
{
    struct turn *turn = CONTAINER_OF(task, struct turn, next);
    struct gate_view view = {.gate = GATE_WAVE};

    if (turn->wave_index == turn->wave_count) {
        calls_done(turn);
        return;
    }
    turn->next_launch = turn->waves[turn->wave_index].first;
    turn->unsettled = turn->waves[turn->wave_index].count;
    if (!turn_hold_at(turn, &view, NULL, launch))
        launch(turn, NULL);
}

/* ---- from an answer to waves ---- */

static enum effect effect_of(struct turn *turn, const struct turn_call *call)
{
    return call->tool ? tool_call_effect(call->tool, engine_tool_env(turn->engine), call->id, call->parsed)
                      : EFFECT_UNKNOWN;
}

static void read_arguments(struct turn *turn, struct turn_call *call, const char *text)
{
    const struct json *value = json_parse(&turn->arena, text, strlen(text), NULL);
    CLEANUP(strbuf) struct strbuf compact = STRBUF_INIT;

    /* On one line, whatever the model's line breaks: it goes into the journal. */
    if (value)
        json_write(&compact, value, JSON_COMPACT);
    else
        json_write_str(&compact, text, strlen(text), JSON_COMPACT);
    free(call->arguments);
    call->arguments = strbuf_detach(&compact, NULL);
    /* Parsed again from our own copy: values point into the text they were read from. */
    value = json_parse(&turn->arena, call->arguments, strlen(call->arguments), NULL);
    call->parsed = value && value->type == JSON_OBJECT ? value : NULL;
    call->effect = effect_of(turn, call);
}

/* The tool as the scheduler sees it for this call. */
static const struct tool_spec *spec_of(struct turn *turn, const struct turn_call *call)
{
    struct tool_spec *spec = call->tool ? arena_alloc(&turn->arena, sizeof(*spec)) : NULL;

    if (!spec)
        return NULL;
    *spec = call->tool->spec;
    spec->effect = call->effect;
    return spec;
}

/* What the calls may do is known now, or is not waited for. */
static void effects_known(struct waiter *waiter)
{
    struct turn *turn = CONTAINER_OF(waiter, struct turn, waiter);

    turn->awaited = NULL;
    for (size_t i = 0; i < turn->call_count; i++)
        turn->calls[i].effect = effect_of(turn, &turn->calls[i]);
    turn_run_calls(turn, NULL);
}

void turn_plan_now(struct turn *turn)
{
    if (!turn->awaited)
        return;
    turn->awaited->forget(engine_tool_env(turn->engine), &turn->waiter);
    effects_known(&turn->waiter);
}

/* How the calls are planned must not depend on how long a sandbox takes to come up: `awaited` is set when one of them
 * cannot tell yet what it may do. */
static void read_calls(struct turn *turn)
{
    turn->waiter.wake = effects_known;
    turn->call_count = turn->reply.call_count;
    turn->calls = xcalloc(turn->call_count, sizeof(*turn->calls));
    for (size_t i = 0; i < turn->call_count; i++) {
        struct turn_call *call = &turn->calls[i];
        const struct tool_call *given = &turn->reply.calls[i];

        call->turn = turn;
        call->id = xstrdup(given->id);
        call->name = xstrdup(given->name ? given->name : "");
        call->tool = registry_find(turn->harness->registry, call->name);
        call->incomplete = given->incomplete;
        read_arguments(turn, call, given->arguments ? given->arguments : "{}");
        if (!turn->awaited && !turn->cancelled && call->tool && call->tool->await &&
            call->tool->await(engine_tool_env(turn->engine), call->parsed, &turn->waiter))
            turn->awaited = call->tool;
    }
}

void turn_run_calls(struct turn *turn, struct turn_call *none)
{
    struct wave_call *plan;

    (void)none;
    if (!turn->reply.call_count) {
        if (turn->reply.stop && strcmp(turn->reply.stop, MODEL_PAUSED) == 0)
            turn_next_step(turn);
        else
            turn_end(turn, turn->cancelled ? "cancelled" : "done");
        return;
    }
    if (!turn->calls) { /* also when cancelled: each call gets its outcome */
        arena_reset(&turn->arena);
        read_calls(turn);
    }
    if (turn->awaited)
        return; /* effects_known comes back here */
    plan = arena_calloc(&turn->arena, turn->call_count, sizeof(*plan));
    for (size_t i = 0; i < turn->call_count; i++) {
        struct turn_call *call = &turn->calls[i];

        plan[i] = (struct wave_call){
            .id = call->id, .spec = spec_of(turn, call), .tool = call->name, .arguments = call->parsed};
    }
    turn->waves =
        waves_plan(&turn->arena, plan, turn->call_count, !engine_gates(turn->engine)->serial, &turn->wave_count);
    for (size_t w = 0; w < turn->wave_count; w++)
        for (size_t i = 0; i < turn->waves[w].count; i++) {
            turn->calls[turn->waves[w].first + i].wave = &turn->waves[w];
            turn->calls[turn->waves[w].first + i].wave_number = w + 1;
        }
    emit(&turn->emitter, &(struct event){.type = EVENT_WAVES_PLANNED,
                                         .waves_planned = {.step = turn->step,
                                                           .waves = waves_to_event(&turn->arena, turn->waves,
                                                                                   turn->wave_count, plan)}});
    turn->wave_index = 0;
    turn_soon(turn, start_wave);
}

void turn_calls_release(struct turn *turn)
{
    if (turn->awaited)
        turn->awaited->forget(engine_tool_env(turn->engine), &turn->waiter);
    turn->awaited = NULL;
    for (size_t i = 0; i < turn->call_count; i++) {
        free(turn->calls[i].id);
        free(turn->calls[i].name);
        free(turn->calls[i].arguments);
        free(turn->calls[i].message);
        for (size_t c = 0; c < turn->calls[i].citation_count; c++)
            free(turn->calls[i].citations[c].ref);
        free(turn->calls[i].citations);
    }
    free(turn->calls);
    turn->calls = NULL;
    turn->call_count = 0;
    turn->waves = NULL;
    turn->wave_count = 0;
}

int turn_edit_arguments(struct turn *turn, struct turn_call *call, const char *text, struct err *err)
{
    const struct json *value = json_parse(&turn->arena, text, strlen(text), err);
    CLEANUP(free) char *before = xstrdup(call->arguments);

    if (!value)
        return err_prefix(err, "arguments");
    if (value->type != JSON_OBJECT)
        return err_set(err, "arguments: must be a JSON object");
    if (call->tool && registry_validate(turn->harness->registry, call->tool, value, err) < 0)
        return -1;
    call->incomplete = false;
    read_arguments(turn, call, text);
    emit(&turn->emitter, &(struct event){.type = EVENT_EDITED,
                                         .edited = {.what = edit_what_name(EDIT_ARGUMENTS),
                                                    .call = call->id,
                                                    .before = before,
                                                    .after = call->arguments}});
    return 0;
}

/* ---- what the executor tells ---- */

static void free_when_quiet(struct loop_task *task)
{
    turn_maybe_free(CONTAINER_OF(task, struct turn, next));
}

static void on_quiet(struct bounded_host *host)
{
    struct turn *turn = CONTAINER_OF(host, struct turn, host);

    if (turn->finished) /* from the loop: the executor is not done with its host yet */
        turn_soon(turn, free_when_quiet);
}

static void on_stop(struct bounded_host *host)
{
    turn_cancel(CONTAINER_OF(host, struct turn, host));
}

struct event_strs turn_list_paths(struct arena *arena, const struct change_set *set)
{
    const char **paths = arena_calloc(arena, set->count + 1, sizeof(*paths));

    for (size_t i = 0; i < set->count; i++)
        paths[i] = set->items[i].path;
    return (struct event_strs){paths, set->count};
}

void turn_host_init(struct turn *turn)
{
    turn->host = (struct bounded_host){
        .env = engine_tool_env(turn->engine),
        .emitter = &turn->emitter,
        .trace = &turn->state.trace,
        .clock = &turn->clock,
        .web = turn->harness->web,
        .ask_runs_clock = turn->harness->ask_runs_clock,
        .propose = write_propose,
        .stop_turn = on_stop,
        .done = settle_call,
        .quiet = on_quiet,
    };
}
