/* Lists of messages, and messages as JSON.
 *
 * Messages own their texts. A list grows by doubling, so a pointer from message_list_add is valid only until the next
 * message is added. */

#include "message.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/json_scan.h"
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
    for (size_t i = 0; i < list->count; i++)
        message_release(&list->items[i]);
    free(list->items);
    message_list_init(list);
}

void message_release(struct message *message)
{
    free(message->text);
    free(message->call_id);
    free(message->opaque);
    tool_calls_free(message->calls, message->call_count);
}

void message_changed(struct message *message)
{
    static _Atomic uint64_t newest;
    message->stamp = ++newest;
    message->tokens = 0;
}

void message_set_text(struct message *message, char *take_text)
{
    free(message->text);
    message->text = take_text;
    message_changed(message);
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
    message_changed(message);
    return message;
}

void message_list_add_copies(struct message_list *to, const struct message_list *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct message *old = &from->items[i];
        struct message *copy = message_list_add(to, old->role, old->text);
        copy->meaning = old->meaning;
        copy->call_id = old->call_id ? xstrdup(old->call_id) : NULL;
        copy->failed = old->failed;
        copy->opaque = old->opaque ? xstrdup(old->opaque) : NULL;
        for (size_t k = 0; k < old->call_count; k++)
            message_add_call(copy, old->calls[k].id, old->calls[k].name, old->calls[k].arguments);
        copy->stamp = old->stamp;
        copy->tokens = old->tokens;
    }
}

void message_list_copy(struct message_list *to, const struct message_list *from)
{
    message_list_init(to);
    message_list_add_copies(to, from);
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
    /* Grow by one: an answer has a handful of calls. */
    message->calls = xreallocarray(message->calls, message->call_count + 1, sizeof(*message->calls));
    message->calls[message->call_count++] = (struct tool_call){
        .id = xstrdup(id), .name = xstrdup(name), .arguments = xstrdup(arguments ? arguments : "{}")};
    message_changed(message);
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

/* ---- earlier turns ---- */

const char message_history[] = "history";

bool message_is_earlier(const struct message *message)
{
    return message->meaning && strcmp(message->meaning, message_history) == 0;
}

static char **find_id(const struct message_list *list, const char *id, size_t *at)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].call_count; k++)
            if (strcmp(list->items[i].calls[k].id, id) == 0) {
                *at = i;
                return &list->items[i].calls[k].id;
            }
    return NULL;
}

/* The list has grown since the last id was made for it, so the first try is almost always new. */
static char *unused_id(const struct message_list *list, const char *id)
{
    size_t at;
    for (size_t n = list->count + 1;; n++) {
        char *other = xasprintf("%s#%zu", id, n);
        if (!find_id(list, other, &at))
            return other;
        free(other);
    }
}

void message_list_free_id(struct message_list *list, const char *id)
{
    size_t at;
    char **call = find_id(list, id, &at);
    if (!call)
        return;
    CLEANUP(free) char *old = *call;
    *call = unused_id(list, old);
    message_changed(&list->items[at]);
    for (size_t i = at + 1; i < list->count && list->items[i].role == ROLE_TOOL; i++)
        if (list->items[i].call_id && strcmp(list->items[i].call_id, old) == 0) {
            free(list->items[i].call_id);
            list->items[i].call_id = xstrdup(*call);
            message_changed(&list->items[i]);
            return;
        }
}

struct usage usage_from_event(const struct event_usage *usage)
{
    if (!usage)
        return (struct usage){0};
    return (struct usage){usage->input, usage->output, usage->cache_read, usage->cache_write};
}

struct event_usage usage_to_event(const struct usage *usage)
{
    return (struct event_usage){.input = usage->input,
                                .output = usage->output,
                                .cache_read = usage->cache_read,
                                .cache_write = usage->cache_write};
}

/* Arguments come from a model and may be anything. Invalid JSON, or a value other than a required object, is recorded
 * as a string, so that it reads back the same. */
const char *arguments_to_event(struct arena *arena, const char *arguments, bool objects_only)
{
    CLEANUP(arena) struct arena scratch = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *value = json_parse(&scratch, arguments, strlen(arguments), NULL);
    if (value && (value->type == JSON_OBJECT || !objects_only))
        json_write(&text, value, JSON_COMPACT);
    else
        json_write_str(&text, arguments, strlen(arguments), JSON_COMPACT);
    return arena_memdup0(arena, text.buf, text.len);
}

static struct event_tool_request_list calls_to_event(struct arena *arena, const struct message *message)
{
    struct event_tool_request *items = arena_calloc(arena, message->call_count, sizeof(*items));
    for (size_t i = 0; i < message->call_count; i++) {
        const struct tool_call *call = &message->calls[i];
        items[i] = (struct event_tool_request){
            .id = call->id, .name = call->name, .arguments = arguments_to_event(arena, call->arguments, true)};
    }
    return (struct event_tool_request_list){message->call_count ? items : NULL, message->call_count};
}

static struct event_message message_to_event(struct arena *arena, const struct message *message)
{
    return (struct event_message){.role = role_name(message->role),
                                  .text = message->text,
                                  .tool_calls = calls_to_event(arena, message),
                                  .opaque = message->opaque,
                                  .call = message->call_id,
                                  .failed = message->failed,
                                  .earlier = message_is_earlier(message)};
}

struct event_message_list message_list_to_event(struct arena *arena, const struct message_list *list)
{
    struct event_message *items = arena_calloc(arena, list->count + 1, sizeof(*items));
    for (size_t i = 0; i < list->count; i++)
        items[i] = message_to_event(arena, &list->items[i]);
    return (struct event_message_list){items, list->count};
}

static const char role_earlier[] = "earlier";

struct event_message_list message_list_to_event_briefly(struct arena *arena, const struct message_list *list)
{
    struct event_message *items = arena_calloc(arena, list->count + 1, sizeof(*items)), *place = NULL;
    size_t count = 0, earlier = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!message_is_earlier(&list->items[i])) {
            items[count++] = message_to_event(arena, &list->items[i]);
            continue;
        }
        earlier++;
        place = place ? place : &items[count++];
    }
    if (place)
        *place = (struct event_message){
            .role = role_earlier,
            .text = arena_printf(arena, "%zu message%s of earlier turns", earlier, earlier == 1 ? "" : "s")};
    return (struct event_message_list){items, count};
}

void message_read_call(struct message *message, const struct event_tool_request *call)
{
    CLEANUP(free) char *text = arguments_from_event(call->arguments);
    message_add_call(message, call->id ? call->id : "", call->name ? call->name : "", text);
}

char *arguments_from_event(const char *json)
{
    if (!json)
        return NULL;
    if (json[0] != '"')
        return xstrdup(json);
    size_t len = strlen(json) - 2;
    char *text = xmalloc(len + 1);
    text[json_unescape(text, json + 1, len)] = '\0';
    return text;
}

static int role_from_name(const char *name)
{
    for (int role = ROLE_SYSTEM; name && role <= ROLE_TOOL; role++)
        if (strcmp(name, role_name((enum role)role)) == 0)
            return role;
    return -1;
}

void message_list_read_with(struct message_list *list, const struct event_message_list *events,
                            const struct message_list *history)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct event_message *item = &events->items[i];
        int role = role_from_name(item->role);
        if (role < 0) {
            if (history && item->role && strcmp(item->role, role_earlier) == 0) {
                message_list_add_copies(list, history);
                history = NULL; /* once: a forged recording must not multiply it */
            }
            continue;
        }
        struct message *message = message_list_add(list, (enum role)role, item->text);
        message->call_id = item->call ? xstrdup(item->call) : NULL;
        message->failed = item->failed;
        message->meaning = item->earlier ? message_history : NULL;
        message->opaque = item->opaque ? xstrdup(item->opaque) : NULL;
        for (size_t k = 0; k < item->tool_calls.count; k++)
            message_read_call(message, &item->tool_calls.items[k]);
    }
}

void message_list_read(struct message_list *list, const struct event_message_list *events)
{
    message_list_read_with(list, events, NULL);
}
