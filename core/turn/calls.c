/* Runs the calls of an answer: plans waves, checks, starts and settles calls.
 *
 * Every call of the answer gets exactly one outcome and one tool message, in the order of the answer, whatever
 * happens to it or to its siblings. A call is checked when it starts, not when it is planned: an earlier wave may
 * have made it a duplicate, blocked its tool or used up the budget. The last part edits arguments, results and
 * prompts at a gate. */

#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
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
    return call->effect == EFFECT_READ_ONLY ? &turn->tally.reads : &turn->tally.others;
}

void turn_note_outcome(struct turn *turn, struct turn_call *call, const struct outcome *outcome)
{
    struct tally *state = &turn->tally;
    bool ran = outcome->type != OUTCOME_DENIED || outcome->denied.reason == DENIAL_WRITE_DENIED;
    bool bad = outcome->type == OUTCOME_FAILURE || outcome->type == OUTCOME_TIMEOUT;
    if (call->key[0])
        dedupe_record(history_of(turn, call), call->key, outcome->type);
    if (call->tool && call->effect != EFFECT_READ_ONLY && outcome->type == OUTCOME_RESULT) {
        /* The write may have changed what earlier calls read, so they may read it again. */
        dedupe_release(&state->reads);
        dedupe_init(&state->reads);
    }
    if (outcome_blocks_tool(outcome))
        hash_map_put(&state->blocked, call->name, 1);
    if (ran)
        state->tool_calls++;
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

/* Records the one outcome of a call and makes it the message for the model. bounded_host's `done`. */
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
    memset(take_outcome, 0, sizeof(*take_outcome));
    if (call->running)
        take_citations(call);
    call->running = NULL;
    write_call_gone(turn, call);
    turn_emit_outcome(turn, call, &outcome);
    turn_note_outcome(turn, call, &outcome);
    if (outcome.type == OUTCOME_RESULT && outcome.result.output) {
        call->message = outcome.result.output; /* moved, not copied, after the gate */
    } else {
        outcome_message(&message, &outcome);
        call->message = strbuf_detach(&message, NULL);
        call->failed = outcome_failed(&outcome);
    }
    bool held = turn_hold_at(turn, &view, call, settled);
    if (outcome.type == OUTCOME_RESULT)
        outcome.result.output = NULL;
    if (!held)
        settled(turn, call);
}

/* ---- starting ---- */

/* Returns true if the call may run; otherwise `denied` gets the reason, and `limit` the limit that was reached. */
static bool permitted(struct turn *turn, struct turn_call *call, struct outcome *denied, int *limit)
{
    const char *id = call->id, *name = call->name;
    const char *near = call->tool ? NULL : registry_nearest(turn->config->registry, name);
    struct err err = ERR_INIT;
    *limit = -1;
    if (turn->cancelled)
        *denied = outcome_denied(id, name, DENIAL_BLOCKED, "the turn was canceled");
    else if (near)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "unknown tool %s (did you mean %s?)", name, near);
    else if (!call->tool)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "unknown tool %s", name);
    else if (call->incomplete)
        *denied =
            outcome_denied(id, name, DENIAL_VALIDATION, "arguments: the answer ended before they were complete (%s)",
                           turn->reply.stop ? turn->reply.stop : "no reason given");
    else if (!call->parsed)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "arguments: must be a JSON object");
    else if (turn->config->validate && registry_validate(turn->config->registry, call->tool, call->parsed, &err) < 0)
        *denied = outcome_denied(id, name, DENIAL_VALIDATION, "%s", err.text);
    else if (hash_map_has(&turn->tally.blocked, name))
        *denied = outcome_denied(id, name, DENIAL_BLOCKED,
                                 "%s is blocked for the rest of this turn after an earlier failure", name);
    else if (budget_expired(&turn->budget)) {
        *limit = BUDGET_WALL_MS;
        *denied = outcome_denied(id, name, DENIAL_DEADLINE, "the turn is out of time");
    } else {
        dedupe_key(call->key, name, call->parsed);
        if (dedupe_should_skip(history_of(turn, call), call->key, call->tool->spec.idempotent)) {
            call->key[0] = '\0'; /* a skipped call must not count as a result of this key */
            *denied = outcome_denied(id, name, DENIAL_DUPLICATE,
                                     "this call already succeeded in this turn; use its result above");
        } else if (!budget_claim_tool_call(&turn->budget)) {
            call->key[0] = '\0';
            *limit = BUDGET_TOOL_CALLS;
            *denied = outcome_denied(id, name, DENIAL_BLOCKED, "the limit of %lld tool calls is reached",
                                     (long long)budget_limit(&turn->budget, BUDGET_TOOL_CALLS));
        } else {
            return true;
        }
    }
    return false;
}

/* The end of the turn for its calls, on the hold clock. A user is asked at the end and can continue, so no call is cut
 * short there. */
static int64_t calls_due_us(const struct turn *turn)
{
    return turn->config->interactive ? INT64_MAX / 4 : turn->budget.due_us;
}

static void launch(struct turn *turn, struct turn_call *held);

static void launch_parked(struct turn *turn)
{
    launch(turn, NULL);
}

/* Starts the calls of the wave one by one. A gate may pause it at any call; it continues from there, with that call as
 * `held`. NULL: the wave begins, whose gate holds no single call. */
static void launch(struct turn *turn, struct turn_call *held)
{
    const struct wave *wave = &turn->waves[turn->wave_index];
    (void)held; /* next_launch still names it */
    turn->launching = true;
    while (turn->next_launch < wave->first + wave->count) {
        struct turn_call *call = &turn->calls[turn->next_launch];
        struct outcome denied;
        int limit;
        if (!call->gated && !turn->stopping) {
            struct gate_view view = {.gate = GATE_TOOL,
                                     .tool = call->tool,
                                     .effect = call->effect,
                                     .arguments = call->parsed,
                                     .root = turn->config->root};
            call->gated = true;
            if (turn_hold_at(turn, &view, call, launch)) {
                turn->launching = false;
                return;
            }
        }
        bool runs = permitted(turn, call, &denied, &limit);
        if (limit >= 0 && turn_reach_limit(turn, (enum budget_key)limit, call, launch_parked)) {
            outcome_release(&denied);
            turn->launching = false;
            return;
        }
        turn->next_launch++;
        turn->skipped += limit >= 0;
        if (!runs) {
            settle_call(&turn->host, call, &denied);
            continue;
        }
        int64_t due_us = calls_due_us(turn);
        double left_s = (double)(due_us - hold_clock_now(&turn->clock)) / 1e6;
        double cap_s = budget_cap_s(&turn->budget.limits, call->tool->spec.timeout_s, left_s);
        if (emit(&turn->emitter,
                 &(struct event){
                     .type = EVENT_TOOL_STARTED,
                     .tool_started = {.call = call->id,
                                      .tool = call->name,
                                      .arguments = call->arguments,
                                      .effect = effect_name(call->effect),
                                      .wave = (int64_t)call->wave_number,
                                      .deadline_ms = (int64_t)(deadline_per_tool_s(left_s, cap_s) * 1000)},
                 }) < 0) {
            denied = outcome_denied(call->id, call->name, DENIAL_BLOCKED, "cannot write the journal");
            settle_call(&turn->host, call, &denied);
            continue;
        }
        call->running = bounded_execute(&turn->host, &(struct bounded_request){.call = call->id,
                                                                               .tool = call->tool,
                                                                               .arguments = call->parsed,
                                                                               .turn_due_us = due_us,
                                                                               .cap_s = cap_s,
                                                                               .data = call});
    }
    turn->launching = false;
    wave_check(turn);
}

void turn_calls_reported(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        struct message *message = message_list_take(&turn->messages, ROLE_TOOL, steal(&turn->calls[i].message));
        message->call_id = xstrdup(turn->calls[i].id);
        message->failed = turn->calls[i].failed;
        for (size_t c = 0; c < turn->calls[i].citation_count; c++)
            tally_cite(&turn->tally, &turn->calls[i].citations[c]);
    }
    turn_calls_release(turn);
}

static void calls_done(struct turn *turn)
{
    turn_calls_reported(turn);
    turn_charge(turn);
    if (turn->stopping && !turn->cancelled)
        turn_end(turn, "budget");
    else
        turn_reflect(turn);
}

static void begin_wave(struct turn *turn)
{
    struct gate_view view = {.gate = GATE_WAVE};
    if (turn_at_limit(turn)) { /* time ran out during the wave before */
        turn->parked = begin_wave;
        return;
    }
    if (turn->wave_index == turn->wave_count) {
        calls_done(turn);
        return;
    }
    turn->next_launch = turn->waves[turn->wave_index].first;
    turn->unsettled = turn->waves[turn->wave_index].count;
    if (turn->stopping || !turn_hold_at(turn, &view, NULL, launch))
        launch(turn, NULL);
}

static void start_wave(struct loop_task *task)
{
    begin_wave(CONTAINER_OF(task, struct turn, next));
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
    /* The journal needs one line, without the model's line breaks. */
    if (value)
        json_write(&compact, value, JSON_COMPACT);
    else
        json_write_str(&compact, text, strlen(text), JSON_COMPACT);
    free(call->arguments);
    call->arguments = strbuf_detach(&compact, NULL);
    /* Parsed again from our copy, because values point into the text they came from. */
    value = json_parse(&turn->arena, call->arguments, strlen(call->arguments), NULL);
    call->parsed = value && value->type == JSON_OBJECT ? value : NULL;
    call->effect = effect_of(turn, call);
}

/* The tool's specification for this call, for the scheduler. */
static const struct tool_spec *spec_of(struct turn *turn, const struct turn_call *call)
{
    struct tool_spec *spec = call->tool ? arena_alloc(&turn->arena, sizeof(*spec)) : NULL;
    if (!spec)
        return NULL;
    *spec = call->tool->spec;
    spec->effect = call->effect;
    return spec;
}

/* The effects of the calls are known, or the turn no longer waits for them. */
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

/* The plan must not depend on how long a sandbox takes to start. Sets `awaited` if the effect of a call is not known
 * yet. */
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
        call->tool = registry_find(turn->config->registry, call->name);
        call->incomplete = given->incomplete;
        read_arguments(turn, call, given->arguments ? given->arguments : "{}");
        if (!turn->awaited && !turn->cancelled && call->tool && call->tool->await &&
            call->tool->await(engine_tool_env(turn->engine), call->parsed, &turn->waiter))
            turn->awaited = call->tool;
    }
}

void turn_run_calls(struct turn *turn, struct turn_call *held)
{
    struct wave_call *plan;
    (void)held;
    if (!turn->reply.call_count) {
        if (turn->reply.stop && strcmp(turn->reply.stop, MODEL_PAUSED) == 0)
            turn_next_step(turn);
        else
            turn_end(turn, turn->cancelled ? "cancelled" : "done");
        return;
    }
    if (!turn->calls) { /* even if canceled, because each call needs an outcome */
        arena_reset(&turn->arena);
        read_calls(turn);
    }
    if (turn->awaited)
        return; /* effects_known calls this function again */
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

void turn_calls_cancel(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++)
        if (turn->calls[i].running)
            bounded_cancel(turn->calls[i].running);
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

static int turn_edit_arguments(struct turn *turn, struct turn_call *call, const char *text, struct err *err)
{
    const struct json *value = json_parse(&turn->arena, text, strlen(text), err);
    CLEANUP(free) char *before = xstrdup(call->arguments);
    if (!value)
        return err_prefix(err, "arguments");
    if (value->type != JSON_OBJECT)
        return err_set(err, "arguments: must be a JSON object");
    if (call->tool && registry_validate(turn->config->registry, call->tool, value, err) < 0)
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

/* ---- callbacks of the executor ---- */

static void free_when_quiet(struct loop_task *task)
{
    turn_maybe_free(CONTAINER_OF(task, struct turn, next));
}

static void on_quiet(struct bounded_host *host)
{
    struct turn *turn = CONTAINER_OF(host, struct turn, host);
    if (turn->finished) /* from the loop, because the executor still uses its host */
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
        .trace = &turn->tally.trace,
        .clock = &turn->clock,
        .web = turn->config->web,
        .clock_runs_while_asking = turn->config->clock_runs_while_asking,
        .propose = write_propose,
        .stop_turn = on_stop,
        .done = settle_call,
        .quiet = on_quiet,
    };
}

/* ---- call edit ---- */

/* Edits by the user while the turn is paused at a gate: the prompt, the arguments of a call, or the result the model
 * will read. Each edit is an event with the text before and after. */

const char *edit_what_name(enum edit_what what)
{
    static const char *const names[] = {"arguments", "result", "prompt"};
    return names[what];
}

static struct message *newest_prompt(struct turn *turn)
{
    struct message *message = NULL;
    for (size_t i = 0; i < turn->messages.count; i++)
        if (turn->messages.items[i].role == ROLE_USER)
            message = &turn->messages.items[i];
    return message;
}

/* The text that the edit replaces. */
static const char *edited_text(struct turn *turn, const struct hold *hold, enum edit_what what)
{
    const struct message *prompt = newest_prompt(turn);
    const char *text = what == EDIT_PROMPT   ? (prompt ? prompt->text : NULL)
                       : !hold->call         ? NULL
                       : what == EDIT_RESULT ? hold->call->message
                                             : hold->call->arguments;
    return text ? text : "";
}

static int edit_prompt(struct turn *turn, const char *text)
{
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct message *message = newest_prompt(turn);
    if (!message)
        return -1;
    json_write_str(&before, message->text, strlen(message->text), JSON_COMPACT);
    json_write_str(&after, text, strlen(text), JSON_COMPACT);
    message_set_text(message, xstrdup(text));
    /* Also the turn's own copy, because memory and later turns must have the text that the model read. */
    free(turn->prompt);
    turn->prompt = xstrdup(text);
    emit(&turn->emitter,
         &(struct event){.type = EVENT_EDITED,
                         .edited = {.what = edit_what_name(EDIT_PROMPT), .before = before.buf, .after = after.buf}});
    return 0;
}

static int edit_result(struct turn *turn, struct turn_call *call, const char *text, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = json_parse(&arena, text, strlen(text), err);
    CLEANUP(free) char *before = call->message;
    struct strbuf after = STRBUF_INIT;
    if (!value) {
        call->message = steal(&before);
        return err_prefix(err, "result");
    }
    json_write(&after, value, JSON_COMPACT);
    call->message = strbuf_detach(&after, NULL);
    call->failed = false; /* a text from the user is a result */
    emit(&turn->emitter, &(struct event){.type = EVENT_EDITED,
                                         .edited = {.what = edit_what_name(EDIT_RESULT),
                                                    .call = call->id,
                                                    .before = before,
                                                    .after = call->message}});
    return 0;
}

int turn_edit(struct turn *turn, const struct intent *intent, struct err *err)
{
    struct hold *hold = turn ? turn->holds : NULL;
    CLEANUP(strbuf) struct strbuf real = STRBUF_INIT;
    const char *text = intent->edit.text;
    if (!hold)
        return err_set(err, "the turn is not paused");
    /* The user saw the text with secrets redacted; the edit puts their values back. */
    if (redact_any() && text) {
        redact_restore(&real, text, edited_text(turn, hold, intent->edit.what), intent->edit.what != EDIT_PROMPT);
        text = real.buf;
    }
    switch (intent->edit.what) {
    case EDIT_ARGUMENTS:
        if (hold->gate != GATE_TOOL)
            return err_set(err, "edit arguments before the call runs");
        return turn_edit_arguments(turn, hold->call, text, err);
    case EDIT_RESULT:
        if (hold->gate != GATE_RESULT)
            return err_set(err, "edit a result after its call ends");
        return edit_result(turn, hold->call, text, err);
    case EDIT_PROMPT:
        if (hold->gate != GATE_MODEL || !*text)
            return err_set(err, "edit the prompt before the model request; it must not be empty");
        return edit_prompt(turn, text) < 0 ? err_set(err, "the turn has no prompt") : 0;
    }
    return err_set(err, "nothing to edit here");
}
