/* Collects an answer from the events of its stream. Also holds what the dialects share to write requests and read
 * errors. */

#include "answer.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <math.h>
#include <stdarg.h>

/* Blocks are searched one by one, and every request sends each of them back. */
#define BLOCKS_MAX 2048

void answer_init(struct answer *answer)
{
    *answer = (struct answer){.text = STRBUF_INIT, .thinking = STRBUF_INIT, .cost_usd = NAN};
}

void answer_release(struct answer *answer)
{
    for (size_t i = 0; i < answer->call_count; i++) {
        free(answer->calls[i].id);
        free(answer->calls[i].name);
        strbuf_release(&answer->calls[i].arguments);
    }
    for (size_t i = 0; i < answer->block_count; i++) {
        strbuf_release(&answer->blocks[i].text);
        strbuf_release(&answer->blocks[i].signature);
        strbuf_release(&answer->blocks[i].input);
    }
    free(answer->calls);
    free(answer->blocks);
    free(answer->stop);
    free(answer->error);
    strbuf_release(&answer->text);
    strbuf_release(&answer->thinking);
    arena_release(&answer->arena);
    answer_init(answer);
}

bool answer_keep(struct answer *answer, size_t len)
{
    if (len <= MODEL_BYTES_MAX - answer->kept) {
        answer->kept += len;
        return true;
    }
    answer_fail(answer, false, "the answer exceeds %zu MB", MODEL_BYTES_MAX >> 20);
    return false;
}

bool answer_add_text(struct answer *answer, const char *text, size_t len)
{
    if (!len)
        return true;
    if (!answer_keep(answer, json_printed_length(text, len)))
        return false;
    strbuf_add(&answer->text, text, len);
    return !answer->delta || answer->delta(answer->user, text, NULL);
}

bool answer_add_thinking(struct answer *answer, const char *text, size_t len)
{
    if (!len)
        return true;
    if (!answer_keep(answer, json_printed_length(text, len)))
        return false;
    strbuf_add(&answer->thinking, text, len);
    return !answer->delta || answer->delta(answer->user, NULL, text);
}

struct answer_call *answer_find_call(struct answer *answer, int64_t index)
{
    for (size_t i = answer->call_count; i-- > 0;)
        if (answer->calls[i].index == index)
            return &answer->calls[i];
    return NULL;
}

struct answer_call *answer_add_call(struct answer *answer, int64_t index, const char *id, const char *name)
{
    if (answer->call_count == MODEL_CALLS_MAX) {
        answer_fail(answer, false, MODEL_TOO_MANY_CALLS, MODEL_CALLS_MAX);
        return NULL;
    }
    if (!answer_keep(answer, (id ? strlen(id) : 0) + (name ? strlen(name) : 0)))
        return NULL;
    GROW(answer->calls, answer->call_count, answer->call_room);
    struct answer_call *call = &answer->calls[answer->call_count++];
    *call = (struct answer_call){.index = index,
                                 .id = id && *id ? xstrdup(id) : NULL,
                                 .name = name && *name ? xstrdup(name) : NULL,
                                 .arguments = STRBUF_INIT};
    return call;
}

bool answer_add_arguments(struct answer *answer, struct answer_call *call, const char *text, size_t len)
{
    if (!answer_keep(answer, len + json_printable_growth(text, len)))
        return false;
    strbuf_add(&call->arguments, text, len);
    return true;
}

struct answer_block *answer_find_block(struct answer *answer, int64_t index)
{
    for (size_t i = answer->block_count; i-- > 0;)
        if (answer->blocks[i].index == index)
            return &answer->blocks[i];
    return NULL;
}

struct answer_block *answer_add_block(struct answer *answer, int64_t index, enum block_kind kind)
{
    if (answer->block_count == BLOCKS_MAX) {
        answer_fail(answer, false, "the answer has more than %d blocks", BLOCKS_MAX);
        return NULL;
    }
    GROW(answer->blocks, answer->block_count, answer->block_room);
    struct answer_block *block = &answer->blocks[answer->block_count++];
    *block = (struct answer_block){
        .kind = kind, .index = index, .text = STRBUF_INIT, .signature = STRBUF_INIT, .input = STRBUF_INIT};
    return block;
}

void answer_set_stop(struct answer *answer, const char *stop)
{
    if (answer->stop && strcmp(answer->stop, stop) == 0)
        return;
    free(answer->stop);
    answer->stop = xstrdup(stop);
}

void answer_fail(struct answer *answer, bool retryable, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    if (answer->error)
        return;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    answer->error = strbuf_detach(&text, NULL);
    answer->retryable = retryable;
}

/* One invalid character must not lose a whole answer: \u0000 becomes \ufffd. After an odd number of backslashes it is
 * an escape; after an even number it is text about an escape. */
static void mend(struct strbuf *out, const char *data, size_t len)
{
    utf8_scrub(out, data, len);
    for (size_t i = 0; i + 5 < out->len; i++) {
        if (out->buf[i] != '\\')
            continue;
        if (memcmp(out->buf + i + 1, "u0000", 5) == 0)
            memcpy(out->buf + i + 2, "fffd", 4);
        i++; /* skip the escaped character: an escaped backslash starts no escape */
    }
}

const struct json *answer_parse(struct answer *answer, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    arena_reset(&answer->arena);
    if (len > MODEL_VALUES_MAX && json_count_values(data, len) > MODEL_VALUES_MAX) {
        answer_fail(answer, false, "a stream event has more than %d values", MODEL_VALUES_MAX);
        return NULL;
    }
    const struct json *value = json_parse(&answer->arena, data, len, &err);
    if (!value) {
        CLEANUP(strbuf) struct strbuf mended = STRBUF_INIT;
        mend(&mended, data, len);
        const char *kept = arena_memdup0(&answer->arena, mended.buf, mended.len);
        value = json_parse(&answer->arena, kept, mended.len, NULL);
    }
    if (!value)
        answer_fail(answer, true, "a stream event is not JSON: %s", err.text);
    else if (value->type != JSON_OBJECT) {
        answer_fail(answer, true, "a stream event is not a JSON object");
        value = NULL;
    }
    return value;
}

static bool was_cut(const struct answer *answer)
{
    const char *stop = answer->stop ? answer->stop : "";
    return answer->refused || strcmp(stop, "max_tokens") == 0 || strcmp(stop, "model_context_window_exceeded") == 0;
}

static void finish_calls(struct answer *answer, struct model_reply *reply)
{
    bool cut = was_cut(answer);
    reply->calls = answer->call_count ? xcalloc(answer->call_count, sizeof(*reply->calls)) : NULL;
    for (size_t i = 0; i < answer->call_count; i++) {
        struct answer_call *call = &answer->calls[i];
        bool incomplete = cut || !call->closed;
        if (!call->arguments.len && !incomplete)
            strbuf_addstr(&call->arguments, "{}");
        reply->calls[reply->call_count++] = (struct tool_call){
            .id = call->id ? steal(&call->id) : xasprintf("call_%zu", i + 1),
            .name = call->name ? steal(&call->name) : xstrdup(""),
            .arguments = strbuf_detach(&call->arguments, NULL),
            .incomplete = incomplete,
        };
    }
}

void answer_finish(struct answer *answer, struct model_reply *reply)
{
    *reply = (struct model_reply){.retry_after_ms = -1, .cost_usd = NAN};
    if (!answer->error && !answer->ended)
        answer_fail(answer, true, "the answer ended early");
    if (!answer->error && answer->refused && !answer->text.len && !answer->call_count)
        answer_fail(answer, false, "the model refused to answer");
    if (answer->error) {
        reply->error = steal(&answer->error);
        reply->retryable = answer->retryable;
        reply->too_long = answer->too_long;
        return;
    }
    finish_calls(answer, reply);
    reply->text = answer->text.len ? strbuf_detach(&answer->text, NULL) : NULL;
    reply->thinking = answer->thinking.len ? strbuf_detach(&answer->thinking, NULL) : NULL;
    reply->stop = answer->stop ? steal(&answer->stop) : xstrdup(reply->call_count ? "tool_use" : "end_turn");
    reply->usage = answer->usage;
    reply->cost_usd = answer->cost_usd;
}

#define COUNT_MAX 1000000000000 /* tokens: sums of them do not overflow */

const char dialect_no_result[] = "The call was not run.";
const char dialect_go_on[] = "Continue.";

const struct dialect *const dialects[] = {&dialect_anthropic, &dialect_openai, NULL};

const struct dialect *dialect_find(const char *name)
{
    for (size_t i = 0; dialects[i]; i++)
        if (strcmp(dialects[i]->name, name) == 0)
            return dialects[i];
    return NULL;
}

bool dialect_said(const struct dialect_request *ask, const char *field)
{
    return json_get(ask->options, field) != NULL;
}

void dialect_write_options(struct json_writer *w, const struct dialect_request *ask)
{
    json_each (option, ask->options)
        if (option->type != JSON_NULL)
            json_add_value(w, option->key, option);
}

size_t dialect_system_count(const struct message_list *messages)
{
    size_t count = 0;
    while (count < messages->count && messages->items[count].role == ROLE_SYSTEM)
        count++;
    return count;
}

bool dialect_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n")] == '\0';
}

const struct json *dialect_arguments(struct arena *arena, const char *arguments)
{
    const struct json *value = json_parse(arena, arguments, strlen(arguments), NULL);
    if (value && value->type == JSON_OBJECT)
        return value;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    if (*arguments)
        json_add_str(&w, "invalid_arguments", arguments);
    json_close(&w, '}');
    const char *kept = arena_memdup0(arena, text.buf, text.len);
    return json_parse(arena, kept, text.len, NULL);
}

size_t dialect_results(const struct message_list *messages, size_t from)
{
    size_t count = 0;
    while (from + count < messages->count && messages->items[from + count].role == ROLE_TOOL)
        count++;
    return count;
}

const struct message *dialect_result(const struct message_list *messages, size_t from, const char *id)
{
    size_t end = from + dialect_results(messages, from);
    for (size_t i = from; i < end; i++)
        if (messages->items[i].call_id && strcmp(messages->items[i].call_id, id) == 0)
            return &messages->items[i];
    return NULL;
}

int64_t dialect_count(const struct json *usage, const char *field, int64_t otherwise)
{
    int64_t count = json_int(json_get(usage, field), otherwise);
    return count >= 0 && count <= COUNT_MAX ? count : otherwise;
}

/* Error types that name a temporary state of the server. */
static bool passes(const char *type)
{
    static const char *const words[] = {"overloaded", "rate_limit",   "api_error",
                                        "timeout",    "server_error", "unavailable"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strstr(type, words[i]))
            return true;
    return false;
}

/* Returns "type", or the field that this server uses instead. */
static const char *type_of(const struct json *error)
{
    const struct json *type = json_get(error, "type"), *code = json_get(error, "code");
    const char *name = json_str(type, NULL);
    return name && *name ? name : json_str(code, "");
}

bool dialect_error(const struct json *body, struct strbuf *out, bool *retryable)
{
    const struct json *error = json_get(body, "error");
    if (error && error->type == JSON_STRING) {
        strbuf_addstr(out, error->text);
        return true;
    }
    if (!error || error->type != JSON_OBJECT)
        error = body;
    const char *message = json_str(json_get(error, "message"), NULL);
    if (!message)
        message = json_str(json_get(error, "detail"), NULL);
    if (!message)
        return false;
    const char *type = type_of(error), *code = json_str(json_get(error, "code"), "");
    int64_t number = json_int(json_get(error, "code"), 0);
    if (*type)
        strbuf_addf(out, "%s: ", type);
    strbuf_addstr(out, message);
    *retryable = passes(type) || number == 429 || number >= 500;
    if (strcmp(type, "insufficient_quota") == 0 || strcmp(code, "insufficient_quota") == 0)
        *retryable = false;
    return true;
}

/* Recognizes the wordings with which servers report that a request has more tokens than the model can read. No status
 * code means that. */
bool dialect_too_long(const struct json *body)
{
    static const char *const words[] = {"context_length_exceeded", "exceed_context_size", "request_too_large",
                                        "prompt is too long",      "context length",      "context window",
                                        "context limit",           "context size"};
    const struct json *error = json_get(body, "error");
    if (!error)
        error = body;
    const char *told[] = {json_str(error, ""), json_str(json_get(error, "type"), ""),
                          json_str(json_get(error, "code"), ""), json_str(json_get(error, "message"), "")};
    for (size_t i = 0; i < COUNT_OF(told); i++)
        for (size_t k = 0; k < COUNT_OF(words); k++)
            if (strstr(told[i], words[k]))
                return true;
    return false;
}

void dialect_fail(struct answer *answer, const struct json *event)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool retryable = true;
    if (!dialect_error(event, &text, &retryable))
        strbuf_addstr(&text, "no reason given");
    answer_fail(answer, retryable, "the API closed the stream: %s", text.buf);
    answer->too_long = dialect_too_long(event);
}
