/* Messages own their texts. A list grows by doubling, so the pointer that message_list_add gives is good only until the
 * next one is added. */

#include "message.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

const char *role_name(enum role role)
{
    switch (role) {
    case ROLE_SYSTEM:
        return "system";
    case ROLE_USER:
        return "user";
    case ROLE_ASSISTANT:
        return "assistant";
    case ROLE_TOOL:
        return "tool";
    }
    BUG("role %d", (int)role);
}

void message_list_init(struct message_list *list)
{
    *list = (struct message_list){0};
}

void message_list_release(struct message_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct message *message = &list->items[i];
        free(message->text);
        free(message->call_id);
        free(message->opaque);
        tool_calls_free(message->calls, message->call_count);
    }
    free(list->items);
    message_list_init(list);
}

struct message *message_list_add(struct message_list *list, enum role role, const char *text)
{
    return message_list_take(list, role, xstrdup(text ? text : ""));
}

struct message *message_list_take(struct message_list *list, enum role role, char *take_text)
{
    GROW(list->items, list->count, list->room);
    struct message *message = &list->items[list->count++];
    *message = (struct message){.role = role, .text = take_text};
    return message;
}

void message_list_copy(struct message_list *to, const struct message_list *from)
{
    message_list_init(to);
    for (size_t i = 0; i < from->count; i++) {
        const struct message *old = &from->items[i];
        struct message *copy = message_list_add(to, old->role, old->text);
        copy->meaning = old->meaning;
        copy->call_id = old->call_id ? xstrdup(old->call_id) : NULL;
        copy->failed = old->failed;
        copy->opaque = old->opaque ? xstrdup(old->opaque) : NULL;
        for (size_t k = 0; k < old->call_count; k++)
            message_add_call(copy, old->calls[k].id, old->calls[k].name, old->calls[k].arguments);
    }
}

void message_list_append(struct message_list *to, struct message_list *take_from)
{
    for (size_t i = 0; i < take_from->count; i++) {
        GROW(to->items, to->count, to->room);
        to->items[to->count++] = take_from->items[i];
    }
    free(take_from->items);
    message_list_init(take_from);
}

void message_add_call(struct message *message, const char *id, const char *name, const char *arguments)
{
    /* The count is the room: an answer has a handful of calls. */
    message->calls = xreallocarray(message->calls, message->call_count + 1, sizeof(*message->calls));
    message->calls[message->call_count++] = (struct tool_call){
        .id = xstrdup(id), .name = xstrdup(name), .arguments = xstrdup(arguments ? arguments : "{}")};
}

void tool_calls_free(struct tool_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(calls[i].id);
        free(calls[i].name);
        free(calls[i].arguments);
    }
    free(calls);
}

/* Arguments come from a model and may be anything: what is no JSON object is recorded as the text it is, so that it
 * reads back the same. */
static void write_arguments(struct json_writer *w, const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = json_parse(&arena, arguments, strlen(arguments), NULL);
    if (value && value->type == JSON_OBJECT)
        json_add_value(w, "arguments", value);
    else
        json_add_str(w, "arguments", arguments);
}

static void write_calls(struct json_writer *w, const struct message *message)
{
    json_open(w, "tool_calls", '[');
    for (size_t i = 0; i < message->call_count; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "id", message->calls[i].id);
        json_add_str(w, "name", message->calls[i].name);
        write_arguments(w, message->calls[i].arguments);
        json_close(w, '}');
    }
    json_close(w, ']');
}

void message_list_write(struct strbuf *out, const struct message_list *list)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct message *message = &list->items[i];
        json_open(&w, NULL, '{');
        json_add_str(&w, "role", role_name(message->role));
        json_add_str(&w, "text", message->text);
        if (message->call_count)
            write_calls(&w, message);
        if (message->opaque)
            json_add_raw(&w, "opaque", message->opaque);
        if (message->call_id)
            json_add_str(&w, "call", message->call_id);
        if (message->failed)
            json_add_bool(&w, "failed", true);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}

void message_read_call(struct message *message, const struct json *call)
{
    const struct json *arguments = json_get(call, "arguments");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (arguments && arguments->type == JSON_STRING)
        strbuf_add(&text, arguments->text, arguments->len); /* it was no JSON when the model said it */
    else if (arguments)
        json_write(&text, arguments, JSON_COMPACT);
    message_add_call(message, json_str(json_get(call, "id"), ""), json_str(json_get(call, "name"), ""),
                     text.len ? text.buf : NULL);
}

void message_list_read(struct message_list *list, const struct json *value)
{
    json_each(item, value)
    {
        const char *role = json_str(json_get(item, "role"), ""), *call = json_str(json_get(item, "call"), NULL);
        int found = -1;
        for (int i = ROLE_SYSTEM; i <= ROLE_TOOL && found < 0; i++)
            if (strcmp(role, role_name((enum role)i)) == 0)
                found = i;
        if (found < 0)
            continue;
        struct message *message = message_list_add(list, (enum role)found, json_str(json_get(item, "text"), ""));
        message->call_id = call ? xstrdup(call) : NULL;
        message->failed = json_bool(json_get(item, "failed"), false);
        const struct json *opaque = json_get(item, "opaque");
        if (opaque && opaque->type == JSON_OBJECT)
            message->opaque = xmemdup0(opaque->src, opaque->src_len);
        json_each(each, json_get(item, "tool_calls")) message_read_call(message, each);
    }
}
