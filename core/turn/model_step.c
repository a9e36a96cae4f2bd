/* Asks the model: requests, deltas, failures and retries, reflection.
 *
 * turn_ask_model sends a request. Deltas are coalesced and recorded; on_model_reply takes the reply, retries a
 * failure, or passes the answer to turn_take_reply, which charges the budget and runs its calls. The last parts decide
 * when to reflect and how hard the model thinks. */

#include "model_step.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "model/provider.h"
#include "turn.h"
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define DELTA_US  33000               /* one frame: faster pieces become one event */
#define DELTA_MAX ((size_t)512 << 10) /* bytes of an answer recorded as deltas; the rest comes with its end */

static void send_request(struct turn *turn);
static void listen_to_model(struct turn *turn);

/* ---- deltas ---- */

static void flush_deltas(struct turn *turn)
{
    loop_timer_stop(turn->config->loop, &turn->delta_timer);
    if (turn->delta_text.len == 0 && turn->delta_thinking.len == 0)
        return;
    emit(&turn->emitter,
         &(struct event){.type = EVENT_MODEL_DELTA,
                         .model_delta = {.step = turn->step,
                                         .text = turn->delta_text.len ? turn->delta_text.buf : NULL,
                                         .thinking = turn->delta_thinking.len ? turn->delta_thinking.buf : NULL}});
    strbuf_add(&turn->partial, turn->delta_text.buf, turn->delta_text.len);
    strbuf_reset(&turn->delta_text);
    strbuf_reset(&turn->delta_thinking);
    turn->shown = true;
}

static void delta_due(struct loop_timer *timer)
{
    flush_deltas(CONTAINER_OF(timer, struct turn, delta_timer));
}

static void on_delta(struct model_listener *listener, const char *text, const char *thinking)
{
    struct turn *turn = CONTAINER_OF(listener, struct turn, listener);
    size_t len = (text ? strlen(text) : 0) + (thinking ? strlen(thinking) : 0);
    /* The journal has each piece twice: as a delta and in the answer. An answer without end must not fill the disk. */
    if (turn->reflecting || len > DELTA_MAX - turn->delta_bytes) {
        turn->delta_bytes = DELTA_MAX;
        return;
    }
    turn->delta_bytes += len;
    if (text)
        strbuf_addstr(&turn->delta_text, text);
    if (thinking)
        strbuf_addstr(&turn->delta_thinking, thinking);
    if (!loop_timer_armed(&turn->delta_timer))
        loop_timer_start(turn->config->loop, &turn->delta_timer, loop_now_us(turn->config->loop) + DELTA_US, delta_due);
}

/* ---- answers ---- */

static struct event_tool_request_list calls_to_event(struct arena *arena, const struct model_reply *reply)
{
    struct event_tool_request *items = arena_calloc(arena, reply->call_count + 1, sizeof(*items));
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct tool_call *call = &reply->calls[i];
        items[i] = (struct event_tool_request){
            .id = call->id,
            .name = call->name,
            .arguments = arguments_to_event(arena, call->arguments ? call->arguments : "{}", false),
            .incomplete = call->incomplete};
    }
    return (struct event_tool_request_list){items, reply->call_count};
}

static void charge_reply(struct turn *turn, const struct model_reply *reply)
{
    turn->tally.usage.input += reply->usage.input;
    turn->tally.usage.output += reply->usage.output;
    turn->tally.usage.cache_read += reply->usage.cache_read;
    turn->tally.usage.cache_write += reply->usage.cache_write;
    budget_charge(&turn->budget, &reply->usage, reply->cost_usd);
}

/* The journal holds valid UTF-8 only. The names that run must be the names that were recorded. */
static void scrub(char **text)
{
    struct strbuf clean = STRBUF_INIT;
    if (!*text || utf8_valid(*text, strlen(*text)))
        return;
    utf8_scrub(&clean, *text, strlen(*text));
    free(*text);
    *text = strbuf_detach(&clean, NULL);
}

static void scrub_reply(struct model_reply *reply)
{
    scrub(&reply->text);
    scrub(&reply->thinking);
    for (size_t i = 0; i < reply->call_count; i++) {
        scrub(&reply->calls[i].id);
        scrub(&reply->calls[i].name);
        scrub(&reply->calls[i].arguments);
    }
}

/* ---- failures ---- */

static void turn_retry(struct turn *turn)
{
    turn->attempt++;
    send_request(turn);
}

static void retry_due(struct loop_timer *timer)
{
    struct turn *turn = CONTAINER_OF(timer, struct turn, wait_timer);
    turn->asking = false;
    if (turn->holds)
        turn->parked = turn_retry; /* no request runs while the user decides whether to continue */
    else
        turn_retry(turn);
}

/* The longest delay that a server may ask for. A user can extend the turn's time once more by its limit; without a
 * user only the time left counts. */
static int64_t patience_ms(const struct turn *turn)
{
    double left_ms = budget_remaining_s(&turn->budget) * 1000;
    return (int64_t)(turn->config->interactive ? left_ms + budget_limit(&turn->budget, BUDGET_WALL_MS) : left_ms);
}

/* Adds advice for the user that depends on the turn. */
static void add_advice(struct strbuf *error, const struct turn *turn, bool too_late)
{
    if (turn->reply.too_long)
        strbuf_addstr(error, " (context already compacted; shorten the prompt or use a model with a larger context)");
    else if (too_late)
        strbuf_addf(error, " (retry after %lld s, but the turn has %lld s left; raise --budget wall_s)",
                    (long long)(turn->reply.retry_after_ms + 999) / 1000, (long long)budget_remaining_s(&turn->budget));
}

static void ask_again(struct turn *turn, struct turn_call *held)
{
    (void)held; /* NULL: the gate before a request holds no call */
    if (turn->cancelled)
        turn_end(turn, "cancelled");
    else
        turn_retry(turn);
}

/* A request whose answer broke off after parts of it were shown is not repeated automatically: the user decides. */
static void failed(struct turn *turn)
{
    const struct model_reply *reply = &turn->reply;
    struct compacted smaller;
    bool less = reply->too_long && turn->shortened != turn->step && turn_make_smaller(turn, &smaller);
    bool worth = reply->retryable && turn->attempt < turn->config->model_attempts && !budget_expired(&turn->budget);
    bool too_late = worth && reply->retry_after_ms > patience_ms(turn);
    bool again = less || (worth && !too_late);
    bool held = again && !less && turn->shown && turn->config->interactive;
    int64_t wait_ms = less || held ? 0 : retry_delay_ms(reply, turn->attempt, turn->config->model_jitter);
    CLEANUP(strbuf) struct strbuf error = STRBUF_INIT;
    strbuf_addstr(&error, reply->error);
    if (!again)
        add_advice(&error, turn, too_late);
    emit(&turn->emitter, &(struct event){.type = EVENT_MODEL_FAILED,
                                         .model_failed = {.step = turn->step,
                                                          .error = error.buf,
                                                          .attempt = turn->attempt,
                                                          .retry_in_ms = again ? wait_ms : EVENT_NULL_INT}});
    if (less) {
        turn->shortened = turn->step;
        turn_tell_compacted(turn, turn->step, &smaller);
    }
    if (!again) {
        turn_end(turn, "failed");
        return;
    }
    if (held) {
        turn_hold(turn,
                  &(struct hold){
                      .gate = GATE_MODEL, .why = (char *)"the answer was interrupted", .limit = -1, .go = ask_again});
        return;
    }
    turn->asking = true; /* still true: the deadline ends this wait too */
    loop_timer_start(turn->config->loop, &turn->wait_timer, loop_now_us(turn->config->loop) + wait_ms * 1000,
                     retry_due);
}

/* The recorded turn was stopped by its user, who is not here to do it again. If it stopped at the gate before the
 * request, that step does not count. */
static void end_as_recorded(struct turn *turn)
{
    if (turn->reply.unasked)
        turn->step--;
    turn_end(turn, turn->reply.ends);
}

/* The length in the journal, where one character may take six bytes. */
static size_t printed_length(const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return len && len <= MODEL_BYTES_MAX ? json_printed_length(text, len) : len;
}

/* An answer that is too large to process at once is an error, and none of its calls run. Recorded answers too. */
static void bound_reply(struct model_reply *reply)
{
    size_t bytes, values = 0;
    char *error = NULL;
    if (reply->error)
        return;
    bytes = printed_length(reply->text) + printed_length(reply->thinking);
    for (size_t i = 0; i < reply->call_count && i < MODEL_CALLS_MAX && bytes <= MODEL_BYTES_MAX; i++) {
        const char *arguments = reply->calls[i].arguments ? reply->calls[i].arguments : "";
        size_t len = strlen(arguments);
        bytes += len <= MODEL_BYTES_MAX ? len + json_printable_growth(arguments, len) : len;
        values += bytes <= MODEL_BYTES_MAX ? json_count_values(arguments, len) : 0;
    }
    if (reply->call_count > MODEL_CALLS_MAX)
        error = xasprintf(MODEL_TOO_MANY_CALLS, MODEL_CALLS_MAX);
    else if (bytes > MODEL_BYTES_MAX)
        error = xasprintf("the answer exceeds %zu MB", MODEL_BYTES_MAX >> 20);
    else if (values > MODEL_VALUES_MAX)
        error = xasprintf("the calls of the answer have more than %d values; none was run", MODEL_VALUES_MAX);
    if (!error)
        return;
    model_reply_release(reply);
    *reply = (struct model_reply){.error = error, .retry_after_ms = -1, .cost_usd = NAN};
}

static void turn_take_reply(struct turn *turn)
{
    struct model_reply *reply = &turn->reply;
    struct gate_view view = {.gate = GATE_ANSWER};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bound_reply(reply);
    if (turn->cancelled || reply->ends || reply->error) {
        if (turn->cancelled)
            turn_end(turn, "cancelled");
        else if (reply->ends)
            end_as_recorded(turn);
        else
            failed(turn);
        return;
    }
    struct event_usage usage = usage_to_event(&reply->usage);
    scrub_reply(reply);
    for (size_t i = 0; i < reply->call_count; i++) {
        char *id = tally_call_id(&turn->tally, reply->calls[i].id);
        free(reply->calls[i].id);
        reply->calls[i].id = id;
    }
    emit(&turn->emitter, &(struct event){.type = EVENT_MODEL_RESPONDED,
                                         .model_responded = {.step = turn->step,
                                                             .text = reply->text,
                                                             .thinking = reply->thinking,
                                                             .tool_calls = calls_to_event(&arena, reply),
                                                             .stop = reply->stop,
                                                             .usage = &usage,
                                                             .cost_usd = reply->cost_usd,
                                                             .latency_ms = reply->latency_ms,
                                                             .opaque = reply->opaque}});
    charge_reply(turn, reply);
    turn->tally.context_seen = reply->usage.input;
    turn_charge(turn);

    strbuf_reset(&turn->partial);
    for (size_t i = 0; i < reply->call_count; i++) /* an earlier turn may have used the id */
        message_list_free_id(&turn->messages, reply->calls[i].id);
    struct message *message = message_list_add(&turn->messages, ROLE_ASSISTANT, reply->text ? reply->text : "");
    message->opaque = steal(&reply->opaque);
    for (size_t i = 0; i < reply->call_count; i++)
        message_add_call(message, reply->calls[i].id, reply->calls[i].name, reply->calls[i].arguments);
    if (reply->text && *reply->text) {
        free(turn->tally.final_text);
        turn->tally.final_text = xstrdup(reply->text);
    }
    if (!turn_hold_at(turn, &view, NULL, turn_run_calls))
        turn_run_calls(turn, NULL);
}

/* ---- reflection ---- */

static void reflected(struct turn *turn, struct reflection *reflection)
{
    bool go_on = reflection->should_continue;
    turn->reflecting = false;
    emit(&turn->emitter, &(struct event){.type = EVENT_REFLECTION,
                                         .reflection = {.step = turn->step,
                                                        .text = reflection->text,
                                                        .should_continue = reflection->should_continue,
                                                        .stub = reflection->stub}});
    if (!reflection->stub)
        message_list_add(&turn->messages, ROLE_ASSISTANT, reflection->text);
    if (!go_on && !turn->tally.final_text)
        turn->tally.final_text = xstrdup(reflection->text);
    thinking_reflected(engine_thinking(turn->engine));
    strbuf_reset(&turn->tally.failures);
    reflection_release(reflection);
    if (!go_on)
        turn_end(turn, turn->cancelled ? "cancelled" : "done");
    else
        turn_next_step(turn);
}

static void reflection_timed_out(struct loop_timer *timer)
{
    struct turn *turn = CONTAINER_OF(timer, struct turn, wait_timer);
    struct model_reply late = {.error = (char *)"the request timed out"};
    struct reflection reflection = reflect_result(&late);
    turn->asked->ops->cancel(turn->asked);
    turn->asking = false;
    reflected(turn, &reflection);
}

/* The turn's tools, as sent to the model. */
static struct tool_offer *make_offers(const struct turn *turn)
{
    struct tool_offer *offers = xcalloc(turn->tool_count + 1, sizeof(*offers));
    for (size_t i = 0; i < turn->tool_count; i++) {
        const struct tool_spec *spec = &turn->tools[i]->spec;
        offers[i] = (struct tool_offer){spec->name, spec->description ? spec->description : "",
                                        spec->parameters ? spec->parameters : "{\"type\":\"object\"}"};
    }
    return offers;
}

static void reflect_now(struct turn *turn, struct turn_call *held)
{
    struct reflection early;
    struct message_list question;
    CLEANUP(free) struct tool_offer *offers = make_offers(turn);
    int timeout_s;
    (void)held; /* NULL: the gate before reflection holds no call */
    if (turn->cancelled) {
        turn_end(turn, "cancelled");
        return;
    }
    if (reflect_early(&turn->budget, &early, &timeout_s)) {
        reflected(turn, &early);
        return;
    }
    turn->reflecting = true;
    turn->asking = true;
    listen_to_model(turn);
    message_list_init(&question);
    turn_note_undone(turn);
    reflect_messages(&question, &turn->messages, turn->tally.failures.buf);
    turn_drop_undo_note(turn); /* the next step tells it for good */
    loop_timer_start(turn->config->loop, &turn->wait_timer,
                     loop_now_us(turn->config->loop) + (int64_t)timeout_s * 1000000, reflection_timed_out);
    turn->asked->ops->ask(
        turn->asked,
        &(struct model_request){.step = turn->step,
                                .reflection = true,
                                .messages = &question,
                                .tools = offers, /* models do not understand a conversation with calls without them */
                                .tool_count = turn->tool_count,
                                .timeout_ms = (int64_t)timeout_s * 1000},
        &turn->listener);
    message_list_release(&question);
}

void turn_reflect(struct turn *turn)
{
    struct gate_view view = {.gate = GATE_REFLECT};
    if (turn->cancelled || !thinking_should_reflect(engine_thinking(turn->engine))) {
        strbuf_reset(&turn->tally.failures);
        turn_next_step(turn);
        return;
    }
    if (!turn_hold_at(turn, &view, NULL, reflect_now))
        reflect_now(turn, NULL);
}

/* ---- requests ---- */

static void on_model_reply(struct model_listener *listener, struct model_reply *take_reply)
{
    struct turn *turn = CONTAINER_OF(listener, struct turn, listener);
    turn->asking = false;
    loop_timer_stop(turn->config->loop, &turn->wait_timer);
    if (turn->reflecting) {
        struct reflection reflection = reflect_result(take_reply);
        if (!take_reply->error) {
            charge_reply(turn, take_reply);
            turn_charge(turn);
        }
        model_reply_release(take_reply);
        reflected(turn, &reflection);
        return;
    }
    flush_deltas(turn);
    model_reply_release(&turn->reply);
    turn->reply = *take_reply;
    memset(take_reply, 0, sizeof(*take_reply));
    if (turn->holds)
        turn->parked = turn_take_reply; /* the wall clock ran out and the user is deciding */
    else
        turn_take_reply(turn);
}

/* Remembers the model of this request: a cancel must reach this one, even if the next request uses another. */
static void listen_to_model(struct turn *turn)
{
    turn->asked = engine_provider(turn->engine);
    turn->listener = (struct model_listener){.delta = on_delta, .done = on_model_reply};
}

static void send_request(struct turn *turn)
{
    CLEANUP(free) struct tool_offer *offers = make_offers(turn);
    turn_note_undone(turn);
    turn->noted = false; /* it stays: this request tells it */
    undo_notes_release(&turn->engine->untold);
    turn->asking = true;
    turn->shown = false;
    turn->delta_bytes = 0;
    strbuf_reset(&turn->partial);
    listen_to_model(turn);
    emit(&turn->emitter, &(struct event){.type = EVENT_MODEL_REQUESTED, .model_requested = {.step = turn->step}});
    turn->asked->ops->ask(turn->asked,
                          &(struct model_request){
                              .step = turn->step,
                              .messages = &turn->messages,
                              .tools = offers,
                              .tool_count = turn->tool_count,
                              .parallel = !engine_gates(turn->engine)->serial,
                              .thinking_tokens = thinking_tokens(engine_thinking(turn->engine)->level),
                              .timeout_ms = (int64_t)(budget_remaining_s(&turn->budget) * 1000),
                          },
                          &turn->listener);
}

void turn_ask_model(struct turn *turn, struct turn_call *held)
{
    (void)held;
    if (turn->cancelled) {
        turn_end(turn, "cancelled");
        return;
    }
    if (!budget_claim_step(&turn->budget)) {
        turn->reached = BUDGET_STEPS;
        turn_end(turn, "budget");
        return;
    }
    turn->step++;
    turn->attempt = 1;
    send_request(turn);
}

void turn_stop_asking(struct turn *turn)
{
    flush_deltas(turn);
    loop_timer_stop(turn->config->loop, &turn->wait_timer);
    if (turn->asking && turn->asked)
        turn->asked->ops->cancel(turn->asked);
    turn->asking = false;
    turn->reflecting = false;
}

/* ---- reflect ---- */

/* Reflection, except for the waiting, which the engine does. Every path ends in a struct reflection: a missing slot,
 * a passed deadline or a failing model give a stub, and a stub always lets the turn continue. */

#define TIMEOUT_MAX_S 30
#define TIMEOUT_MIN_S 5

void reflection_release(struct reflection *reflection)
{
    free(reflection->text);
    *reflection = (struct reflection){0};
}

static struct reflection stub(char *take_text)
{
    return (struct reflection){.text = take_text, .should_continue = true, .stub = true};
}

int reflect_timeout_s(double remaining_s)
{
    if (!(remaining_s > TIMEOUT_MIN_S))
        return TIMEOUT_MIN_S;
    return remaining_s < TIMEOUT_MAX_S ? (int)remaining_s : TIMEOUT_MAX_S;
}

bool reflect_early(struct budget *budget, struct reflection *out, int *timeout_s)
{
    if (!budget_claim_reflection(budget)) {
        *out = stub(xstrdup("[budget exhausted]"));
        return true;
    }
    if (budget_expired(budget)) {
        *out = stub(xstrdup("[deadline expired]"));
        return true;
    }
    *timeout_s = reflect_timeout_s(budget_remaining_s(budget));
    return false;
}

/* Returns the text after the word STOP, or NULL if the answer does not begin with it. "STOPPING" is another word. The
 * word is not part of the text: should_continue holds it, and a recording restores both. */
static const char *after_stop(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    if (strncmp(text, "STOP", 4) != 0)
        return NULL;
    text += 4;
    if (isalnum((unsigned char)*text) || *text == '_')
        return NULL;
    while (isspace((unsigned char)*text) || (*text && strchr(".,:;!-", *text)))
        text++;
    return text;
}

struct reflection reflect_result(const struct model_reply *reply)
{
    if (reply->error)
        return stub(xasprintf("[reflection failed: %s]", reply->error));
    const char *text = reply->text ? reply->text : "";
    const char *rest = after_stop(text);
    return (struct reflection){.text = xstrdup(rest ? rest : text), .should_continue = !rest};
}

void reflect_messages(struct message_list *out, const struct message_list *turn, const char *failures)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    message_list_copy(out, turn);
    strbuf_addstr(&text, "Review your last step before you continue. ");
    if (failures && *failures)
        strbuf_addf(&text, "These calls failed:\n%s%s", failures, failures[strlen(failures) - 1] == '\n' ? "" : "\n");
    strbuf_addstr(&text,
                  "In at most three sentences: what did you learn, and what will you do differently? Call no tool. "
                  "If continuing cannot help, begin your answer with the word STOP and say why.");
    message_list_add(out, ROLE_USER, text.buf)->meaning = "reflection";
}

/* ---- thinking ---- */

static const struct {
    const char *name;
    int tokens;
} levels[] = {
    [THINKING_OFF] = {"OFF", 0},
    [THINKING_LOW] = {"LOW", 500},
    [THINKING_MEDIUM] = {"MEDIUM", 2000},
    [THINKING_HIGH] = {"HIGH", 5000},
};

const char *thinking_level_name(enum thinking_level level)
{
    return levels[level].name;
}

enum thinking_level thinking_level_from_name(const char *name)
{
    for (int level = THINKING_OFF; name && level <= THINKING_HIGH; level++)
        if (strcasecmp(name, levels[level].name) == 0)
            return (enum thinking_level)level;
    return THINKING_OFF;
}

int thinking_tokens(enum thinking_level level)
{
    return levels[level].tokens;
}

void thinking_init(struct thinking *thinking, enum thinking_level level)
{
    *thinking = (struct thinking){.level = level, .reflect_on_tool_error = true};
}

void thinking_on_turn_start(struct thinking *thinking)
{
    thinking->turn++;
    thinking->error_seen = false;
}

void thinking_on_tool_error(struct thinking *thinking)
{
    thinking->error_seen = true;
}

bool thinking_should_reflect(const struct thinking *thinking)
{
    if (thinking->level == THINKING_OFF)
        return false;
    if (thinking->error_seen && thinking->reflect_on_tool_error)
        return true;
    return thinking->reflect_every > 0 && thinking->turn % thinking->reflect_every == 0;
}

void thinking_reflected(struct thinking *thinking)
{
    thinking->error_seen = false;
}
