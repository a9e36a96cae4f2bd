/* The lines of a recording that a model is played from.
 *
 * At the start the file is read once for an index: which lines are answers, reflections and deltas, and of which turn.
 * A hand-written file has no turn numbers; there each turn.started begins the next turn. An answer is decoded when it
 * is asked for.
 *
 * What a recorded model says about a write is true only of what was decided then. An answer may therefore have
 * variants: other texts, each for a call whose result holds a certain text ("when": {"c4": "denied"}). The first whose
 * calls all fit the conversation is said instead of the recorded text. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "scripted.h"
#include "scripted_inside.h"
#include <math.h>

static bool mentions(const char *line, size_t len, const char *type)
{
    return memmem(line, len, type, strlen(type)) != NULL;
}

static void add_entry(struct scripted_lines *lines, struct entry entry)
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

/* While they are read. */
struct indexing {
    struct scripted_lines *lines;
    int64_t turn;
    struct entry failed; /* the newest failure */
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
        /* Whoever asks for this answer is told what is wrong with it. */
        if (mentions(text, len, "model.responded"))
            add_entry(lines, (struct entry){.line = line, .turn = at->turn, .kind = ANSWER});
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
        add_entry(lines, (struct entry){.line = line, .turn = own, .step = event.model_responded.step, .kind = ANSWER});
        break;
    case EVENT_MODEL_DELTA:
        add_entry(lines, (struct entry){.line = line, .turn = own, .step = event.model_delta.step, .kind = DELTA});
        break;
    case EVENT_MODEL_FAILED:
        at->failed = (struct entry){.line = line, .turn = own, .step = event.model_failed.step, .kind = TOO_LONG};
        break;
    case EVENT_CONTEXT_COMPACTED: /* behind a failure of its own step it was the answer to that */
        if (at->failed.turn == own && at->failed.step == event.context_compacted.step)
            add_entry(lines, at->failed);
        break;
    case EVENT_TURN_FINISHED:
        if (early_end(event.turn_finished.status))
            add_entry(lines, (struct entry){.line = line,
                                            .turn = own,
                                            .step = event.turn_finished.steps,
                                            .kind = END,
                                            .ends = early_end(event.turn_finished.status)});
        break;
    case EVENT_REFLECTION:
        if (!event.reflection.stub)
            add_entry(lines, (struct entry){.line = line, .turn = own, .kind = REFLECTION});
        break;
    default:
        break;
    }
}

void scripted_lines_init(struct scripted_lines *lines, const struct journal_reader *reader)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct indexing at = {.lines = lines};
    *lines = (struct scripted_lines){.reader = reader, .model = xstrdup("recording")};
    for (size_t line = 0; line < journal_count(reader); line++) {
        arena_reset(&arena);
        index_line(&at, line, &arena);
    }
}

void scripted_lines_release(struct scripted_lines *lines)
{
    free(lines->entries);
    free(lines->model);
}

const struct entry *scripted_lines_next(const struct scripted_lines *lines, int64_t turn, size_t from, enum kind kind)
{
    for (size_t i = from; i < lines->count; i++) {
        const struct entry *entry = &lines->entries[i];
        if (entry->kind == kind && (turn == 0 || entry->turn == turn))
            return entry;
    }
    return NULL;
}

/* What no call may lack; NULL when nothing is wrong. */
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

void scripted_fail(struct model_reply *reply, char *take_error)
{
    model_reply_release(reply);
    *reply = (struct model_reply){.error = take_error, .retry_after_ms = -1};
}

static void fail_line(const struct scripted_lines *lines, const struct entry *entry, const char *why,
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

/* What is wrong with them, NULL when nothing is. A call that a person wrote without an id gets one from its place, so
 * that it has the same one each time. */
static const char *read_calls(const struct entry *entry, const struct event_tool_request_list *calls,
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

/* What is wrong with it, NULL when nothing is. */
static const char *read_reply(const struct entry *entry, const struct event_model_responded *answer,
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

/* Puts the text that fits what really happened in the place of the recorded one; true when there was one. */
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

bool scripted_read_answer(const struct scripted_lines *lines, const struct entry *entry,
                          const struct message_list *messages, struct model_reply *reply, struct arena *arena)
{
    struct err err = ERR_INIT;
    struct event event;
    size_t len;
    journal_line(lines->reader, entry->line, &len);
    /* An answer that may be taken is shorter, even with its text, thinking and arguments spelled in escapes. */
    const char *wrong = len > 2 * MODEL_BYTES_MAX ? "the answer is too long to be taken"
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

/* What the turn had used by the last budget.charged before `line`, which then points to it; false when there is none.
 */
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

/* What a reflection took is not in its event, but the turn was charged for it just before. */
static void charge_reflection(const struct scripted_lines *lines, size_t line, struct model_reply *reply)
{
    struct usage before, after;
    double cost_before, cost_after;
    if (!find_charge(lines, &line, &after, &cost_after) || !find_charge(lines, &line, &before, &cost_before))
        return;
    reply->usage = (struct usage){.input = after.input - before.input, .output = after.output - before.output};
    reply->cost_usd = cost_after - (isnan(cost_before) ? 0 : cost_before);
}

bool scripted_read_reflection(const struct scripted_lines *lines, const struct entry *entry, struct model_reply *reply,
                              struct arena *arena)
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
