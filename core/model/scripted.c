/* A recording, played as a model.
 *
 * At the start the file is read once for an index: which lines are answers, reflections and deltas, and of which turn.
 * A hand-written file has no turn numbers; there each turn.started begins the next turn. An answer is decoded when it
 * is asked for, and counts as used when it was delivered: a request that was cancelled is answered the same the next
 * time.
 *
 * Failures are not played, but for one: where a request was too long and was made again with less, so it is here.
 *
 * What a recorded model says about a write is true only of what was decided then. An answer may therefore have
 * variants: other texts, each for a call whose result holds a certain text ("when": {"c4": "denied"}). The first whose
 * calls all fit the conversation is said instead of the recorded text.
 *
 * With a speed, the answer takes its recorded time and arrives in pieces: the recorded deltas where there are any, else
 * the text itself, a few words at a time. One timer does it all. The last thing any callback here does is to call the
 * listener, because a listener may cancel or free us. */

#include "scripted.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "journal/journal.h"
#include <math.h>

#define TICK_US 40000 /* between two pieces: about a frame */

enum kind { ANSWER, REFLECTION, DELTA, TOO_LONG, END };

struct entry {
    size_t line;
    int64_t turn, step;
    enum kind kind;
    const char *ends; /* of an END: how the turn ended, while or before the model was asked */
};

struct piece {
    char *text, *thinking; /* one of them, or both */
};

struct scripted {
    struct provider base;
    struct loop *loop;
    const struct journal_reader *reader;
    double speed;
    char *model;
    struct entry *entries;
    size_t entry_count, entry_room;
    int64_t turn;       /* whose answers are played; 0: all of them, in order */
    size_t next_answer; /* index into entries; those before it are used up */
    size_t next_reflection;
    struct entry failed; /* while the lines are read: the newest failure */

    /* The request under way. */
    struct model_listener *listener; /* NULL: idle */
    size_t *cursor;                  /* which of the two moves on when it is delivered */
    size_t after;                    /* … and to where */
    struct model_reply reply;
    struct piece *pieces;
    size_t piece_count, piece_room, piece_next;
    int64_t start_us, length_us;
    struct loop_timer timer;
    struct loop_task task;
};

static struct scripted *self_of(const struct provider *provider)
{
    return (struct scripted *)provider;
}

static bool mentions(const char *line, size_t len, const char *type)
{
    return memmem(line, len, type, strlen(type)) != NULL;
}

static void add_entry(struct scripted *self, struct entry entry)
{
    GROW(self->entries, self->entry_count, self->entry_room);
    self->entries[self->entry_count++] = entry;
}

static void read_model(struct scripted *self, const char *json)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *model = json ? json_parse(&arena, json, strlen(json), NULL) : NULL;
    const char *name = json_str(json_get(model, "name"), NULL);
    if (name && *name) {
        free(self->model);
        self->model = xstrdup(name);
    }
}

/* The lines that matter name one of these types somewhere; only they are decoded. */
static bool worth_decoding(const char *line, size_t len)
{
    static const char *const types[] = {"model.responded", "model.delta",  "turn.started",      "reflection",
                                        "session.started", "model.failed", "context.compacted", "turn.finished"};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (mentions(line, len, types[i]))
            return true;
    return false;
}

/* How a turn ended without an answer, where that was not the model's doing; NULL: otherwise. */
static const char *early_end(const char *status)
{
    static const char *const ends[] = {"cancelled", "budget"};
    for (size_t i = 0; status && i < COUNT_OF(ends); i++)
        if (strcmp(status, ends[i]) == 0)
            return ends[i];
    return NULL;
}

static void index_line(struct scripted *self, size_t line, struct arena *arena, int64_t *turn)
{
    size_t len;
    const char *text = journal_line(self->reader, line, &len);
    struct event event;
    if (!worth_decoding(text, len))
        return;
    if (journal_event(self->reader, line, &event, arena, NULL)) {
        /* Whoever asks for this answer is told what is wrong with it. */
        if (mentions(text, len, "model.responded"))
            add_entry(self, (struct entry){.line = line, .turn = *turn, .kind = ANSWER});
        return;
    }
    int64_t own = event.turn > 0 ? event.turn : *turn;
    switch (event.type) {
    case EVENT_SESSION_STARTED:
        read_model(self, event.session_started.model);
        break;
    case EVENT_TURN_STARTED:
        *turn = event.turn > 0 ? event.turn : *turn + 1;
        break;
    case EVENT_MODEL_RESPONDED:
        add_entry(self, (struct entry){.line = line, .turn = own, .step = event.model_responded.step, .kind = ANSWER});
        break;
    case EVENT_MODEL_DELTA:
        add_entry(self, (struct entry){.line = line, .turn = own, .step = event.model_delta.step, .kind = DELTA});
        break;
    case EVENT_MODEL_FAILED:
        self->failed = (struct entry){.line = line, .turn = own, .step = event.model_failed.step, .kind = TOO_LONG};
        break;
    case EVENT_CONTEXT_COMPACTED: /* behind a failure of its own step it was the answer to that */
        if (self->failed.turn == own && self->failed.step == event.context_compacted.step)
            add_entry(self, self->failed);
        break;
    case EVENT_TURN_FINISHED:
        if (early_end(event.turn_finished.status))
            add_entry(self, (struct entry){.line = line,
                                           .turn = own,
                                           .step = event.turn_finished.steps,
                                           .kind = END,
                                           .ends = early_end(event.turn_finished.status)});
        break;
    case EVENT_REFLECTION:
        if (!event.reflection.stub)
            add_entry(self, (struct entry){.line = line, .turn = own, .kind = REFLECTION});
        break;
    default:
        break;
    }
}

/* What no call may lack; NULL when nothing is wrong. */
static const char *call_wrong(const struct json *call)
{
    if (call->type != JSON_OBJECT)
        return "a tool call must be an object";
    return *json_str(json_get(call, "name"), "") ? NULL : "a tool call has no name";
}

int scripted_check_event(const struct event *event, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *calls = event->type == EVENT_MODEL_RESPONDED ? event->model_responded.tool_calls : NULL;
    json_each (call, calls ? json_parse(&arena, calls, strlen(calls), NULL) : NULL) {
        if (call_wrong(call))
            return err_set(err, "model.responded: %s", call_wrong(call));
    }
    return 0;
}

int scripted_check(const struct journal_reader *reader, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    for (size_t line = 0; line < journal_count(reader); line++, arena_reset(&arena)) {
        if (journal_event(reader, line, &event, &arena, err))
            return -1;
        if (scripted_check_event(&event, err)) {
            err->line = journal_line_number(reader, line);
            return -1;
        }
    }
    return 0;
}

static void index_lines(struct scripted *self)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    int64_t turn = 0;
    for (size_t line = 0; line < journal_count(self->reader); line++) {
        arena_reset(&arena);
        index_line(self, line, &arena, &turn);
    }
}

/* The next entry of this kind that is to be played, NULL when there is none. */
static const struct entry *next_entry(const struct scripted *self, size_t from, enum kind kind)
{
    for (size_t i = from; i < self->entry_count; i++) {
        const struct entry *entry = &self->entries[i];
        if (entry->kind == kind && (self->turn == 0 || entry->turn == self->turn))
            return entry;
    }
    return NULL;
}

static void fail_reply(struct scripted *self, char *take_error)
{
    model_reply_release(&self->reply);
    self->reply = (struct model_reply){.error = take_error, .retry_after_ms = -1};
}

static void fail_line(struct scripted *self, const struct entry *entry, const char *why)
{
    fail_reply(self, xasprintf("line %ld of the recording: %s", journal_line_number(self->reader, entry->line), why));
}

static char *copy_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static char *read_arguments(const struct json *arguments)
{
    struct strbuf text = STRBUF_INIT;
    if (!arguments || arguments->type == JSON_NULL)
        return xstrdup("{}");
    if (arguments->type == JSON_STRING)
        return xmemdup0(arguments->text, arguments->len); /* as the model wrote them, JSON or not */
    json_write(&text, arguments, JSON_COMPACT);
    return strbuf_detach(&text, NULL);
}

/* What is wrong with them, NULL when nothing is. A call that a person wrote without an id gets one from its place, so
 * that it has the same one each time. */
static const char *read_calls(struct scripted *self, const struct entry *entry, const struct json *calls)
{
    struct model_reply *reply = &self->reply;
    if (!calls || calls->type == JSON_NULL)
        return NULL;
    reply->calls = xcalloc(calls->count + 1, sizeof(*reply->calls));
    json_each (call, calls) {
        const char *id = json_str(json_get(call, "id"), "");
        const char *name = json_str(json_get(call, "name"), "");
        if (call_wrong(call))
            return call_wrong(call);
        reply->calls[reply->call_count++] = (struct tool_call){
            .id = *id ? xstrdup(id) : xasprintf("call_%zu_%zu", entry->line + 1, reply->call_count + 1),
            .name = xstrdup(name),
            .arguments = read_arguments(json_get(call, "arguments")),
            .incomplete = json_bool(json_get(call, "incomplete"), false),
        };
    }
    return NULL;
}

static void read_answer(struct scripted *self, const struct entry *entry, const struct event_model_responded *answer,
                        struct arena *arena)
{
    struct model_reply *reply = &self->reply;
    const struct json *calls =
        answer->tool_calls ? json_parse(arena, answer->tool_calls, strlen(answer->tool_calls), NULL) : NULL;
    const struct json *usage = answer->usage ? json_parse(arena, answer->usage, strlen(answer->usage), NULL) : NULL;
    *reply = (struct model_reply){
        .retry_after_ms = -1,
        .text = copy_or_null(answer->text),
        .thinking = copy_or_null(answer->thinking),
        .stop = copy_or_null(answer->stop),
        .usage = {.input = json_int(json_get(usage, "input"), 0),
                  .output = json_int(json_get(usage, "output"), 0),
                  .cache_read = json_int(json_get(usage, "cache_read"), 0),
                  .cache_write = json_int(json_get(usage, "cache_write"), 0)},
        .cost_usd = answer->cost_usd,
        .latency_ms = answer->latency_ms > 0 ? answer->latency_ms : 0,
    };
    const char *wrong = read_calls(self, entry, calls);
    if (wrong) {
        fail_line(self, entry, wrong);
        return;
    }
    if (!reply->stop)
        reply->stop = xstrdup(reply->call_count ? "tool_use" : "end_turn");
}

/* Whether the conversation has a result of this call that holds the text; the newest counts. */
static bool result_holds(const struct message_list *messages, const char *call, const char *text)
{
    for (size_t i = messages->count; i > 0; i--) {
        const struct message *message = &messages->items[i - 1];
        if (message->role == ROLE_TOOL && message->call_id && strcmp(message->call_id, call) == 0)
            return message->text && strstr(message->text, text);
    }
    return false;
}

static bool fits(const struct json *variant, const struct message_list *messages)
{
    const struct json *when = json_get(variant, "when");
    if (!when || when->type != JSON_OBJECT || !when->count || !json_str(json_get(variant, "text"), NULL))
        return false;
    json_each (condition, when) {
        const char *text = json_str(condition, NULL);
        if (!text || !result_holds(messages, condition->key, text))
            return false;
    }
    return true;
}

/* Puts the text that fits what really happened in the place of the recorded one; true when there was one. */
static bool choose_variant(struct scripted *self, const char *variants, const struct message_list *messages,
                           struct arena *arena)
{
    json_each (variant, variants && messages ? json_parse(arena, variants, strlen(variants), NULL) : NULL) {
        if (!fits(variant, messages))
            continue;
        free(self->reply.text);
        self->reply.text = xstrdup(json_str(json_get(variant, "text"), ""));
        return true;
    }
    return false;
}

static void add_piece(struct scripted *self, const char *text, const char *thinking)
{
    if ((!text || !*text) && (!thinking || !*thinking))
        return;
    GROW(self->pieces, self->piece_count, self->piece_room);
    self->pieces[self->piece_count++] = (struct piece){copy_or_null(text), copy_or_null(thinking)};
}

/* The recorded deltas of an answer stand before it, and after the answer before. */
static void add_recorded_pieces(struct scripted *self, const struct entry *answer, struct arena *arena)
{
    size_t end = (size_t)(answer - self->entries), first = end;
    while (first > 0 && self->entries[first - 1].kind != ANSWER)
        first--;
    for (size_t i = first; i < end; i++) {
        const struct entry *entry = &self->entries[i];
        struct event event;
        if (entry->kind != DELTA || entry->turn != answer->turn || entry->step != answer->step)
            continue;
        if (journal_event(self->reader, entry->line, &event, arena, NULL) == 0)
            add_piece(self, event.model_delta.text, event.model_delta.thinking);
    }
}

/* Cuts the text in at most `most` pieces of whole words. */
static void add_words(struct scripted *self, const char *text, bool thinking, size_t most)
{
    size_t len = text ? strlen(text) : 0;
    size_t least = most ? len / most + 1 : len;
    for (size_t at = 0, end; at < len; at = end) {
        end = at + least < len ? at + least : len;
        end += strcspn(text + end, " \n");
        end += strspn(text + end, " \n");
        CLEANUP(free) char *piece = xmemdup0(text + at, end - at);
        add_piece(self, thinking ? NULL : piece, thinking ? piece : NULL);
    }
}

static void make_pieces(struct scripted *self, const struct entry *answer, bool recorded, struct arena *arena)
{
    if (recorded)
        add_recorded_pieces(self, answer, arena);
    if (self->piece_count)
        return;
    size_t ticks = (size_t)(self->length_us / TICK_US);
    size_t text = self->reply.text ? strlen(self->reply.text) : 0;
    size_t thinking = self->reply.thinking ? strlen(self->reply.thinking) : 0;
    if (ticks == 0 || text + thinking == 0)
        return;
    size_t for_thinking = (size_t)((double)ticks * (double)thinking / (double)(text + thinking));
    add_words(self, self->reply.thinking, true, for_thinking);
    add_words(self, self->reply.text, false, ticks - for_thinking);
}

static void clear_request(struct scripted *self)
{
    loop_timer_stop(self->loop, &self->timer);
    loop_unpost(self->loop, &self->task);
    model_reply_release(&self->reply);
    for (size_t i = 0; i < self->piece_count; i++) {
        free(self->pieces[i].text);
        free(self->pieces[i].thinking);
    }
    self->piece_count = self->piece_next = 0;
    self->listener = NULL;
    self->cursor = NULL;
}

static void deliver(struct scripted *self)
{
    struct model_listener *listener = self->listener;
    struct model_reply reply = self->reply;
    self->reply = (struct model_reply){0};
    if (self->cursor)
        *self->cursor = self->after;
    clear_request(self);
    listener->done(listener, &reply);
}

static void on_task(struct loop_task *task)
{
    deliver(CONTAINER_OF(task, struct scripted, task));
}

static void on_timer(struct loop_timer *timer);

/* Pieces are spread evenly; the answer itself comes at the end of its time, after the last piece. */
static void arm(struct scripted *self)
{
    double share =
        self->piece_next < self->piece_count ? (double)(self->piece_next + 1) / (double)(self->piece_count + 1) : 1.0;
    int64_t due = self->start_us + (int64_t)((double)self->length_us * share);
    loop_timer_start(self->loop, &self->timer, due, on_timer);
}

static void on_timer(struct loop_timer *timer)
{
    struct scripted *self = CONTAINER_OF(timer, struct scripted, timer);
    if (self->piece_next >= self->piece_count) {
        deliver(self);
        return;
    }
    /* The piece is moved out first: the listener may cancel, and then it is gone from the list. */
    struct piece piece = self->pieces[self->piece_next];
    self->pieces[self->piece_next++] = (struct piece){NULL, NULL};
    struct model_listener *listener = self->listener;
    arm(self);
    listener->delta(listener, piece.text, piece.thinking);
    free(piece.text);
    free(piece.thinking);
}

/* A request that was too much for the model then is too much now, or what was left out after it would not be. */
static bool prepare_too_long(struct scripted *self, const struct entry *answer, struct arena *arena)
{
    const struct entry *entry = next_entry(self, self->next_answer, TOO_LONG);
    struct event event;
    if (!entry || entry > answer || journal_event(self->reader, entry->line, &event, arena, NULL))
        return false;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->entries) + 1;
    fail_reply(self, xstrdup(event.model_failed.error ? event.model_failed.error : "too long"));
    self->reply.too_long = true;
    return true;
}

/* There is no answer: the recorded turn was ended before there could be one, or the recording is over. */
static void prepare_end(struct scripted *self, int64_t step)
{
    const struct entry *end = self->turn ? next_entry(self, 0, END) : NULL;
    if (end)
        self->reply = (struct model_reply){.retry_after_ms = -1, .ends = end->ends, .unasked = step > end->step};
    else
        fail_reply(self, xstrdup("the recording ends here"));
}

static void prepare_answer(struct scripted *self, const struct model_request *request, struct arena *arena)
{
    const struct entry *entry = next_entry(self, self->next_answer, ANSWER);
    struct err err = ERR_INIT;
    struct event event;
    if (!entry) {
        prepare_end(self, request->step);
        return;
    }
    if (prepare_too_long(self, entry, arena))
        return;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->entries) + 1;
    if (journal_event(self->reader, entry->line, &event, arena, &err)) {
        fail_line(self, entry, err.text);
        return;
    }
    read_answer(self, entry, &event.model_responded, arena);
    bool varied = !self->reply.error && choose_variant(self, event.model_responded.variants, request->messages, arena);
    if (self->reply.error || !(self->speed > 0) || !self->reply.latency_ms)
        return;
    double length = (double)self->reply.latency_ms * 1000 / self->speed;
    self->length_us = length < 1e15 ? (int64_t)length : (int64_t)1e15;
    if (self->listener->delta)
        make_pieces(self, entry, !varied, arena);
}

/* What the turn had used by the last budget.charged before `line`, which then points to it; false when there is none.
 */
static bool find_charge(struct scripted *self, size_t *line, struct usage *used, double *cost_usd)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    for (size_t at = *line; at-- > 0; arena_reset(&arena)) {
        size_t len;
        const char *text = journal_line(self->reader, at, &len);
        if (mentions(text, len, "turn.started"))
            return false;
        if (!mentions(text, len, "budget.charged") || journal_event(self->reader, at, &event, &arena, NULL) ||
            event.type != EVENT_BUDGET_CHARGED || !event.budget_charged.used)
            continue;
        const char *json = event.budget_charged.used;
        const struct json *value = json_parse(&arena, json, strlen(json), NULL);
        *used = (struct usage){.input = json_int(json_get(value, "input_tokens"), 0),
                               .output = json_int(json_get(value, "output_tokens"), 0)};
        *cost_usd = json_num(json_get(value, "cost_usd"), NAN);
        *line = at;
        return true;
    }
    return false;
}

/* What a reflection took is not in its event, but the turn was charged for it just before. */
static void charge_reflection(struct scripted *self, size_t line)
{
    struct usage before, after;
    double cost_before, cost_after;
    if (!find_charge(self, &line, &after, &cost_after) || !find_charge(self, &line, &before, &cost_before))
        return;
    self->reply.usage = (struct usage){.input = after.input - before.input, .output = after.output - before.output};
    self->reply.cost_usd = cost_after - (isnan(cost_before) ? 0 : cost_before);
}

static void prepare_reflection(struct scripted *self, struct arena *arena)
{
    const struct entry *entry = next_entry(self, self->next_reflection, REFLECTION);
    struct event event;
    if (!entry || journal_event(self->reader, entry->line, &event, arena, NULL)) {
        fail_reply(self, xstrdup("the recording has no reflection here"));
        return;
    }
    self->cursor = &self->next_reflection;
    self->after = (size_t)(entry - self->entries) + 1;
    const char *text = event.reflection.text ? event.reflection.text : "";
    self->reply = (struct model_reply){
        .retry_after_ms = -1,
        .text = xasprintf("%s%s", event.reflection.should_continue ? "" : "STOP ", text),
        .stop = xstrdup("end_turn"),
        .cost_usd = NAN,
    };
    charge_reflection(self, entry->line);
}

static void scripted_ask(struct provider *provider, const struct model_request *request,
                         struct model_listener *listener)
{
    struct scripted *self = self_of(provider);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (self->listener)
        BUG("one request at a time");
    self->listener = listener;
    self->length_us = 0;
    self->start_us = loop_now_us(self->loop);
    if (request->reflection)
        prepare_reflection(self, &arena);
    else
        prepare_answer(self, request, &arena);
    if (self->length_us > 0)
        arm(self);
    else
        loop_post(self->loop, &self->task, on_task);
}

static void scripted_cancel(struct provider *provider)
{
    clear_request(self_of(provider));
}

static const char *scripted_model(const struct provider *provider)
{
    return self_of(provider)->model;
}

static void scripted_free(struct provider *provider)
{
    struct scripted *self = self_of(provider);
    clear_request(self);
    free(self->pieces);
    free(self->entries);
    free(self->model);
    free(self);
}

static const struct provider_ops scripted_ops = {
    .name = "scripted",
    .model = scripted_model,
    .ask = scripted_ask,
    .cancel = scripted_cancel,
    .free = scripted_free,
};

struct provider *scripted_new(struct loop *loop, const struct journal_reader *reader, double speed)
{
    struct scripted *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scripted_ops;
    self->loop = loop;
    self->reader = reader;
    self->speed = speed;
    self->model = xstrdup("recording");
    index_lines(self);
    return &self->base;
}

void scripted_turn(struct provider *provider, int64_t turn)
{
    struct scripted *self = self_of(provider);
    if (provider->ops->ask != scripted_ask)
        return;
    self->turn = turn;
    self->next_answer = self->next_reflection = 0;
}
