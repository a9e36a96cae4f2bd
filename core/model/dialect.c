#include "dialect.h"
#include "base/mem.h"

#define COUNT_MAX 1000000000000 /* tokens: sums of them stay numbers */

const char dialect_no_result[] = "There is no result: the call was not run.";
const char dialect_go_on[] = "Go on.";

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

/* Words that stand for a state of the server that passes. */
static bool passes(const char *type)
{
    static const char *const words[] = {"overloaded", "rate_limit",   "api_error",
                                        "timeout",    "server_error", "unavailable"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strstr(type, words[i]))
            return true;
    return false;
}

/* "type", or whatever else the server names its error by. */
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

/* The words by which servers tell that a request has more tokens than the model can read: there is no number for it. */
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
        strbuf_addstr(&text, "without a word why");
    answer_fail(answer, retryable, "the API ended its answer: %s", text.buf);
    answer->too_long = dialect_too_long(event);
}
