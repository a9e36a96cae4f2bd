/* The recorded model: plays the answers of a transcript.
 *
 * scripted_new reads the file once for an index: which lines are answers, reflections and deltas, and of which turn. A
 * hand-written file has no turn numbers; there each turn.started begins the next turn. An answer is decoded when it is
 * needed, and counts as used when it was delivered: a request that was canceled gets the same answer the next time.
 *
 * A recorded text about a write is true only of the decision of that time. An answer may therefore have variants: other
 * texts, each for a call whose result holds a certain text ("when": {"c4": "denied"}). The first whose calls all match
 * the conversation replaces the recorded text.
 *
 * Failures are not played, with one exception: a request that was too long and was made again with less.
 *
 * With a speed, the answer takes its recorded time and arrives in pieces: the recorded deltas where there are any, else
 * the text itself, a few words at a time, on one timer. A callback calls the listener last, because a listener may
 * cancel or free the provider. */

#include "scripted.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include <math.h>
#include <string.h>

/* ---- the index of a recording ---- */

enum kind { ANSWER, REFLECTION, DELTA, TOO_LONG, END };

/* A line that the model plays. */
struct scripted_entry {
    size_t line;
    int64_t turn, step;
    enum kind kind;
    const char *ends; /* of an END: how the turn ended, before or while the model was asked */
};

/* All such lines, in order. */
struct scripted_lines {
    const struct journal_reader *reader;
    char *model; /* its name */
    struct scripted_entry *entries;
    size_t count, room;
};

static bool mentions(const char *line, size_t len, const char *type)
{
    return memmem(line, len, type, strlen(type)) != NULL;
}

static void add_entry(struct scripted_lines *lines, struct scripted_entry entry)
{
    GROW(lines->entries, lines->count, lines->room);
    lines->entries[lines->count++] = entry;
}

static void read_model(struct scripted_lines *lines, const struct event_model_info *model)
{
    if (model && model->name && *model->name) {
        free(lines->model);
        lines->model = xstrdup(model->name);
    }
}

/* Only lines that mention one of these types are decoded. */
static bool worth_decoding(const char *line, size_t len)
{
    static const char *const types[] = {"model.responded", "model.delta",  "turn.started",      "reflection",
                                        "session.started", "model.failed", "context.compacted", "turn.finished"};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (mentions(line, len, types[i]))
            return true;
    return false;
}

/* Returns how a turn ended without an answer if the model was not the cause; otherwise NULL. */
static const char *early_end(const char *status)
{
    static const char *const ends[] = {"cancelled", "budget"};
    for (size_t i = 0; status && i < COUNT_OF(ends); i++)
        if (strcmp(status, ends[i]) == 0)
            return ends[i];
    return NULL;
}

/* State while reading the lines. */
struct indexing {
    struct scripted_lines *lines;
    int64_t turn;
    struct scripted_entry failed; /* the newest failure */
};

static void index_line(struct indexing *at, size_t line, struct arena *arena)
{
    struct scripted_lines *lines = at->lines;
    size_t len;
    const char *text = journal_line(lines->reader, line, &len);
    struct event event;
    if (!worth_decoding(text, len))
        return;
    if (journal_event(lines->reader, line, &event, arena, NULL)) {
        /* The request for this answer gets the error. */
        if (mentions(text, len, "model.responded"))
            add_entry(lines, (struct scripted_entry){.line = line, .turn = at->turn, .kind = ANSWER});
        return;
    }
    int64_t own = event.turn > 0 ? event.turn : at->turn;
    switch (event.type) {
    case EVENT_SESSION_STARTED:
        read_model(lines, event.session_started.model);
        break;
    case EVENT_TURN_STARTED:
        at->turn = event.turn > 0 ? event.turn : at->turn + 1;
        break;
    case EVENT_MODEL_RESPONDED:
        add_entry(lines, (struct scripted_entry){
                             .line = line, .turn = own, .step = event.model_responded.step, .kind = ANSWER});
        break;
    case EVENT_MODEL_DELTA:
        add_entry(lines,
                  (struct scripted_entry){.line = line, .turn = own, .step = event.model_delta.step, .kind = DELTA});
        break;
    case EVENT_MODEL_FAILED:
        at->failed =
            (struct scripted_entry){.line = line, .turn = own, .step = event.model_failed.step, .kind = TOO_LONG};
        break;
    case EVENT_CONTEXT_COMPACTED: /* after a failure of its own step: the reaction to it */
        if (at->failed.turn == own && at->failed.step == event.context_compacted.step)
            add_entry(lines, at->failed);
        break;
    case EVENT_TURN_FINISHED:
        if (early_end(event.turn_finished.status))
            add_entry(lines, (struct scripted_entry){.line = line,
                                                     .turn = own,
                                                     .step = event.turn_finished.steps,
                                                     .kind = END,
                                                     .ends = early_end(event.turn_finished.status)});
        break;
    case EVENT_REFLECTION:
        if (!event.reflection.stub)
            add_entry(lines, (struct scripted_entry){.line = line, .turn = own, .kind = REFLECTION});
        break;
    default:
        break;
    }
}

static void scripted_lines_init(struct scripted_lines *lines, const struct journal_reader *reader)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct indexing at = {.lines = lines};
    *lines = (struct scripted_lines){.reader = reader, .model = xstrdup("recording")};
    for (size_t line = 0; line < journal_count(reader); line++) {
        arena_reset(&arena);
        index_line(&at, line, &arena);
    }
}

static void scripted_lines_release(struct scripted_lines *lines)
{
    free(lines->entries);
    free(lines->model);
}

static const struct scripted_entry *scripted_lines_next(const struct scripted_lines *lines, int64_t turn, size_t from,
                                                        enum kind kind)
{
    for (size_t i = from; i < lines->count; i++) {
        const struct scripted_entry *entry = &lines->entries[i];
        if (entry->kind == kind && (turn == 0 || entry->turn == turn))
            return entry;
    }
    return NULL;
}

/* Returns what a call lacks, or NULL. */
static const char *call_wrong(const struct event_tool_request *call)
{
    return call->name && *call->name ? NULL : "a tool call has no name";
}

int scripted_check_event(const struct event *event, struct err *err)
{
    size_t count = event->type == EVENT_MODEL_RESPONDED ? event->model_responded.tool_calls.count : 0;
    for (size_t i = 0; i < count; i++) {
        const char *wrong = call_wrong(&event->model_responded.tool_calls.items[i]);
        if (wrong)
            return err_set(err, "model.responded: %s", wrong);
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

static void scripted_fail(struct model_reply *reply, char *take_error)
{
    model_reply_release(reply);
    *reply = (struct model_reply){.error = take_error, .retry_after_ms = -1};
}

static void fail_line(const struct scripted_lines *lines, const struct scripted_entry *entry, const char *why,
                      struct model_reply *reply)
{
    long number = journal_line_number(lines->reader, entry->line);
    scripted_fail(reply, xasprintf("line %ld of the recording: %s", number, why));
}

static char *copy_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static char *read_arguments(const char *json)
{
    return json && strcmp(json, "null") != 0 ? arguments_from_event(json) : xstrdup("{}");
}

/* Returns what is wrong with the calls, or NULL. A hand-written call without an id gets one from its place, so that the
 * id is always the same. */
static const char *read_calls(const struct scripted_entry *entry, const struct event_tool_request_list *calls,
                              struct model_reply *reply)
{
    reply->calls = calls->count ? xcalloc(calls->count, sizeof(*reply->calls)) : NULL;
    for (size_t i = 0; i < calls->count; i++) {
        const struct event_tool_request *call = &calls->items[i];
        if (call_wrong(call))
            return call_wrong(call);
        reply->calls[reply->call_count++] = (struct tool_call){
            .id = call->id && *call->id ? xstrdup(call->id) : xasprintf("call_%zu_%zu", entry->line + 1, i + 1),
            .name = xstrdup(call->name),
            .arguments = read_arguments(call->arguments),
            .incomplete = call->incomplete,
        };
    }
    return NULL;
}

/* Returns what is wrong with the reply, or NULL. */
static const char *read_reply(const struct scripted_entry *entry, const struct event_model_responded *answer,
                              struct model_reply *reply)
{
    *reply = (struct model_reply){
        .retry_after_ms = -1,
        .text = copy_or_null(answer->text),
        .thinking = copy_or_null(answer->thinking),
        .stop = copy_or_null(answer->stop),
        .usage = usage_from_event(answer->usage),
        .cost_usd = answer->cost_usd,
        .latency_ms = answer->latency_ms > 0 ? answer->latency_ms : 0,
    };
    const char *wrong = read_calls(entry, &answer->tool_calls, reply);
    if (!wrong && !reply->stop)
        reply->stop = xstrdup(reply->call_count ? "tool_use" : "end_turn");
    return wrong;
}

/* Returns true if the newest result of this call in the conversation holds the text. */
static bool result_holds(const struct message_list *messages, const char *call, const char *text)
{
    for (size_t i = messages->count; i > 0; i--) {
        const struct message *message = &messages->items[i - 1];
        if (message->role == ROLE_TOOL && message->call_id && strcmp(message->call_id, call) == 0)
            return message->text && strstr(message->text, text);
    }
    return false;
}

static bool fits(const struct event_variant *variant, const struct message_list *messages, struct arena *arena)
{
    const struct json *when = event_leaf(arena, variant->when);
    if (!when || !when->count || !variant->text)
        return false;
    json_each (condition, when) {
        const char *text = json_str(condition, NULL);
        if (!text || !result_holds(messages, condition->key, text))
            return false;
    }
    return true;
}

/* Replaces the recorded text with the variant that matches the conversation. Returns true if there was one. */
static bool choose_variant(const struct event_variant_list *variants, const struct message_list *messages,
                           struct model_reply *reply, struct arena *arena)
{
    for (size_t i = 0; messages && i < variants->count; i++) {
        if (!fits(&variants->items[i], messages, arena))
            continue;
        free(reply->text);
        reply->text = xstrdup(variants->items[i].text);
        return true;
    }
    return false;
}

static bool scripted_read_answer(const struct scripted_lines *lines, const struct scripted_entry *entry,
                                 const struct message_list *messages, struct model_reply *reply, struct arena *arena)
{
    struct err err = ERR_INIT;
    struct event event;
    size_t len;
    journal_line(lines->reader, entry->line, &len);
    /* An acceptable answer is shorter, even if its text, thinking and arguments are escaped. */
    const char *wrong = len > 2 * MODEL_BYTES_MAX ? "the answer is too long"
                        : journal_event(lines->reader, entry->line, &event, arena, &err)
                            ? err.text
                            : read_reply(entry, &event.model_responded, reply);
    if (wrong) {
        fail_line(lines, entry, wrong, reply);
        return false;
    }
    return choose_variant(&event.model_responded.variants, messages, reply, arena);
}

static int64_t whole_tokens(double tokens)
{
    return tokens > 0 && tokens < (double)INT64_MAX ? (int64_t)tokens : 0;
}

/* Finds the usage of the turn in the last budget.charged before `line`, and sets `line` to it; false if there is
 * none. */
static bool find_charge(const struct scripted_lines *lines, size_t *line, struct usage *used, double *cost_usd)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    for (size_t at = *line; at-- > 0; arena_reset(&arena)) {
        size_t len;
        const char *text = journal_line(lines->reader, at, &len);
        if (mentions(text, len, "turn.started"))
            return false;
        if (!mentions(text, len, "budget.charged") || journal_event(lines->reader, at, &event, &arena, NULL) ||
            event.type != EVENT_BUDGET_CHARGED || !event.budget_charged.used)
            continue;
        const struct event_budget_values *values = event.budget_charged.used;
        *used =
            (struct usage){.input = whole_tokens(values->input_tokens), .output = whole_tokens(values->output_tokens)};
        *cost_usd = values->cost_usd;
        *line = at;
        return true;
    }
    return false;
}

/* A reflection's event has no usage, but the turn was charged for it just before. */
static void charge_reflection(const struct scripted_lines *lines, size_t line, struct model_reply *reply)
{
    struct usage before, after;
    double cost_before, cost_after;
    if (!find_charge(lines, &line, &after, &cost_after) || !find_charge(lines, &line, &before, &cost_before))
        return;
    reply->usage = (struct usage){.input = after.input - before.input, .output = after.output - before.output};
    reply->cost_usd = cost_after - (isnan(cost_before) ? 0 : cost_before);
}

static bool scripted_read_reflection(const struct scripted_lines *lines, const struct scripted_entry *entry,
                                     struct model_reply *reply, struct arena *arena)
{
    struct event event;
    if (journal_event(lines->reader, entry->line, &event, arena, NULL))
        return false;
    const char *text = event.reflection.text ? event.reflection.text : "";
    *reply = (struct model_reply){
        .retry_after_ms = -1,
        .text = xasprintf("%s%s", event.reflection.should_continue ? "" : "STOP ", text),
        .stop = xstrdup("end_turn"),
        .cost_usd = NAN,
    };
    charge_reflection(lines, entry->line, reply);
    return true;
}

/* ---- playing ---- */

#define TICK_US 40000 /* between two pieces: about a frame */

struct scripted_piece {
    char *text, *thinking; /* one of them, or both */
};

struct scripted {
    struct provider base;
    struct loop *loop;
    struct scripted_lines lines;
    double speed;
    int64_t turn;       /* whose answers are played; 0: all of them, in order */
    size_t next_answer; /* index into lines.entries; earlier ones are used up */
    size_t next_reflection;

    /* The running request. */
    struct model_listener *listener; /* NULL: idle */
    size_t *cursor;                  /* the cursor to advance on delivery */
    size_t after;                    /* … and its new value */
    struct model_reply reply;
    struct scripted_piece *pieces;
    size_t piece_count, piece_room, piece_next;
    int64_t start_us, length_us;
    struct loop_timer timer;
    struct loop_task task;
};

static struct scripted *self_of(const struct provider *provider)
{
    return (struct scripted *)provider;
}

static void add_piece(struct scripted *self, const char *text, const char *thinking)
{
    if ((!text || !*text) && (!thinking || !*thinking))
        return;
    GROW(self->pieces, self->piece_count, self->piece_room);
    self->pieces[self->piece_count++] = (struct scripted_piece){
        .text = text ? xstrdup(text) : NULL,
        .thinking = thinking ? xstrdup(thinking) : NULL,
    };
}

/* The recorded deltas of an answer are between the previous answer and this one. */
static void add_recorded_pieces(struct scripted *self, const struct scripted_entry *answer, struct arena *arena)
{
    size_t end = (size_t)(answer - self->lines.entries), first = end;
    while (first > 0 && self->lines.entries[first - 1].kind != ANSWER)
        first--;
    for (size_t i = first; i < end; i++) {
        const struct scripted_entry *entry = &self->lines.entries[i];
        struct event event;
        if (entry->kind != DELTA || entry->turn != answer->turn || entry->step != answer->step)
            continue;
        if (journal_event(self->lines.reader, entry->line, &event, arena, NULL) == 0)
            add_piece(self, event.model_delta.text, event.model_delta.thinking);
    }
}

/* Cuts the text into at most `most` pieces of whole words. */
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

static void make_pieces(struct scripted *self, const struct scripted_entry *answer, bool recorded, struct arena *arena)
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

static void on_scripted_timer(struct loop_timer *timer);

/* Spreads the pieces evenly. The answer itself comes at the end of its time, after the last piece. */
static void arm(struct scripted *self)
{
    double share =
        self->piece_next < self->piece_count ? (double)(self->piece_next + 1) / (double)(self->piece_count + 1) : 1.0;
    int64_t due = self->start_us + (int64_t)((double)self->length_us * share);
    loop_timer_start(self->loop, &self->timer, due, on_scripted_timer);
}

static void on_scripted_timer(struct loop_timer *timer)
{
    struct scripted *self = CONTAINER_OF(timer, struct scripted, timer);
    if (self->piece_next >= self->piece_count) {
        deliver(self);
        return;
    }
    /* Move the piece out first: the listener may cancel, which clears the list. */
    struct scripted_piece piece = self->pieces[self->piece_next];
    self->pieces[self->piece_next++] = (struct scripted_piece){NULL, NULL};
    struct model_listener *listener = self->listener;
    arm(self);
    listener->delta(listener, piece.text, piece.thinking);
    free(piece.text);
    free(piece.thinking);
}

/* A request that was too long when recorded fails again. Otherwise the compaction that followed it would not happen. */
static bool prepare_too_long(struct scripted *self, const struct scripted_entry *answer, struct arena *arena)
{
    const struct scripted_entry *entry = scripted_lines_next(&self->lines, self->turn, self->next_answer, TOO_LONG);
    struct event event;
    if (!entry || entry > answer || journal_event(self->lines.reader, entry->line, &event, arena, NULL))
        return false;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->lines.entries) + 1;
    scripted_fail(&self->reply, xstrdup(event.model_failed.error ? event.model_failed.error : "too long"));
    self->reply.too_long = true;
    return true;
}

/* There is no answer: the recorded turn ended before it, or the recording is over. */
static void prepare_end(struct scripted *self, int64_t step)
{
    const struct scripted_entry *end = self->turn ? scripted_lines_next(&self->lines, self->turn, 0, END) : NULL;
    if (end)
        self->reply = (struct model_reply){.retry_after_ms = -1, .ends = end->ends, .unasked = step > end->step};
    else
        scripted_fail(&self->reply, xstrdup("the recording ends here"));
}

static void prepare_answer(struct scripted *self, const struct model_request *request, struct arena *arena)
{
    const struct scripted_entry *entry = scripted_lines_next(&self->lines, self->turn, self->next_answer, ANSWER);
    if (!entry) {
        prepare_end(self, request->step);
        return;
    }
    if (prepare_too_long(self, entry, arena))
        return;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->lines.entries) + 1;
    bool varied = scripted_read_answer(&self->lines, entry, request->messages, &self->reply, arena);
    if (self->reply.error || !(self->speed > 0) || !self->reply.latency_ms)
        return;
    double length = (double)self->reply.latency_ms * 1000 / self->speed;
    self->length_us = length < 1e15 ? (int64_t)length : (int64_t)1e15;
    if (self->listener->delta)
        make_pieces(self, entry, !varied, arena);
}

static void prepare_reflection(struct scripted *self, struct arena *arena)
{
    const struct scripted_entry *entry =
        scripted_lines_next(&self->lines, self->turn, self->next_reflection, REFLECTION);
    if (!entry || !scripted_read_reflection(&self->lines, entry, &self->reply, arena)) {
        scripted_fail(&self->reply, xstrdup("the recording has no reflection here"));
        return;
    }
    self->cursor = &self->next_reflection;
    self->after = (size_t)(entry - self->lines.entries) + 1;
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
    return self_of(provider)->lines.model;
}

static void scripted_free(struct provider *provider)
{
    struct scripted *self = self_of(provider);
    clear_request(self);
    free(self->pieces);
    scripted_lines_release(&self->lines);
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
    self->speed = speed;
    scripted_lines_init(&self->lines, reader);
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
