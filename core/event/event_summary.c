/* One line about an event, for lists.
 *
 * What a line says is a template per type: parts between bars, each with one $field. A part whose field is missing or
 * empty falls out with the words around it, so the same template serves an outcome that has an error and one that has
 * none. JSON fields are shown by their shape: files as "path +4 -1", other things by their name, texts as a list. */

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event.h"
#include <ctype.h>
#include <string.h>

/* Enough for the widest list; who wants the whole text inspects the event. */
#define TEXT_CHARS  160
#define ITEMS_SHOWN 4

static const char *const templates[EVENT_TYPE_COUNT] = {
    [EVENT_SESSION_STARTED] = "$session|$model|in $workspace",
    [EVENT_TURN_STARTED] = "$prompt",
    [EVENT_CONTEXT_LOADED] = "memory: $memory|pack: $pack",
    [EVENT_BUDGET_OPENED] = "$limits",
    [EVENT_TURN_PREPARED] = "messages: $messages|tools: $tools",
    [EVENT_MODEL_REQUESTED] = "step $step",
    [EVENT_MODEL_DELTA] = "$text|$thinking",
    [EVENT_MODEL_RESPONDED] = "step $step|$tool_calls|$text",
    [EVENT_MODEL_FAILED] = "step $step|attempt $attempt|$error|again in $retry_in_ms ms",
    [EVENT_MODEL_CHANGED] = "$model|by $by",
    [EVENT_TOOLS_CHANGED] = "added: $added|changed: $changed|removed: $removed",
    [EVENT_CONTEXT_COMPACTED] = "step $step|$before tokens|now $after|$how",
    [EVENT_WAVES_PLANNED] = "step $step|$waves",
    [EVENT_TOOL_STARTED] = "$call|$tool|$arguments",
    [EVENT_TOOL_OUTPUT] = "$call|$stream|$text",
    [EVENT_SCRIPT_EVENT] = "$call|$event",
    [EVENT_WRITE_PROPOSED] = "$call|$files",
    [EVENT_WRITE_DECIDED] = "$ask|$decision|by $by|$reason",
    [EVENT_CHECKPOINT_SAVED] = "$call|$checkpoint|$paths",
    [EVENT_WRITE_APPLIED] = "$call|$files",
    [EVENT_WRITE_UNDONE] = "$checkpoint|$paths",
    [EVENT_TOOL_FINISHED] = "$call|$tool|$outcome|$elapsed_ms ms|$failure|$denied|$artifact",
    [EVENT_WORKSPACE_OP] = "$op|$elapsed_ms ms|$attrs|$error",
    [EVENT_WORKSPACE_STATE] = "$exec_id|$used bytes|of $limit|$entries",
    [EVENT_PROGRAM_STARTED] = "$program|$cmd|in $cwd",
    [EVENT_PROGRAM_OUTPUT] = "$program|$text",
    [EVENT_PROGRAM_INPUT] = "$program|by $by|$text",
    [EVENT_PROGRAM_ENDED] = "$program|exit $exit_code|$why",
    [EVENT_NETWORK_CONNECTED] = "$call|$host|port $port|$bytes bytes",
    [EVENT_LATE_SUPPRESSED] = "$call|after $elapsed_ms ms",
    [EVENT_REFLECTION] = "step $step|$text",
    [EVENT_BUDGET_CHARGED] = "$used",
    [EVENT_BUDGET_WARNED] = "$key|$used|of $limit",
    [EVENT_HELD] = "$gate|$call",
    [EVENT_RELEASED] = "$gate|by $by",
    [EVENT_EDITED] = "$what|$call",
    [EVENT_WRITES_CLOSED] = "",
    [EVENT_TURN_FINALIZED] = "citations: $citations",
    [EVENT_TURN_FINISHED] = "$status|$steps steps|$tool_calls calls|$elapsed_ms ms|$text",
    [EVENT_SESSION_ENDED] = "$reason",
};

/* The beginning of a text, with every run of white space as one space; where line breaks matter, one with a break in it
 * is shown as \n. */
static void add_words(struct strbuf *out, const char *text, size_t len, bool breaks)
{
    size_t keep = utf8_prefix(text, len, TEXT_CHARS);
    bool gap = false, any = false, broken = false;
    for (size_t i = 0; i < keep; i++) {
        if (isspace((unsigned char)text[i])) {
            gap = any;
            broken |= breaks && text[i] == '\n';
            continue;
        }
        if (gap)
            strbuf_addstr(out, broken ? "\\n" : " ");
        gap = broken = false;
        any = true;
        strbuf_addch(out, text[i]);
    }
    if (keep < len)
        strbuf_addstr(out, "…");
}

/* Prose, which may be broken anywhere. */
static void add_text(struct strbuf *out, const char *text, size_t len)
{
    add_words(out, text, len, false);
}

/* A value: an argument of two lines is another one than the same on one line. */
static void add_exact(struct strbuf *out, const struct json *value)
{
    add_words(out, value->text, value->len, true);
}

static void add_value(struct strbuf *out, const struct json *value);

/* An object by what it is called, if it is called anything. */
static bool add_named(struct strbuf *out, const struct json *object)
{
    static const char *const keys[] = {"pattern", "query", "command", "path", "name",    "ref",
                                       "id",      "error", "reason",  "text", "message", "type"};
    const struct json *calls = json_get(object, "calls");
    if (calls && calls->type == JSON_ARRAY) { /* a wave */
        add_value(out, calls);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct json *name = json_get(object, keys[i]);
        if (!name || name->type != JSON_STRING)
            continue;
        const struct json *provider = json_get(object, "provider");
        if (provider && provider->type == JSON_STRING) {
            add_exact(out, provider);
            strbuf_addch(out, '/');
        }
        add_exact(out, name);
        const struct json *added = json_get(object, "added"), *removed = json_get(object, "removed");
        if (added && removed)
            strbuf_addf(out, " +%lld -%lld", (long long)json_int(added, 0), (long long)json_int(removed, 0));
        return true;
    }
    return false;
}

static void add_items(struct strbuf *out, const struct json *container)
{
    size_t shown = 0;
    if (container->type == JSON_ARRAY && json_get(container->child, "role")) { /* messages: how many says enough */
        strbuf_addf(out, "%u", container->count);
        return;
    }
    json_each (item, container) {
        if (shown++)
            strbuf_addstr(out, json_get(item, "calls") ? " | " : ", ");
        if (shown > ITEMS_SHOWN) {
            strbuf_addf(out, "%u more", container->count - ITEMS_SHOWN);
            break;
        }
        if (item->key) {
            add_text(out, item->key, strlen(item->key));
            strbuf_addch(out, ' ');
        }
        add_value(out, item);
    }
}

static void add_value(struct strbuf *out, const struct json *value)
{
    switch (value->type) {
    case JSON_STRING:
    case JSON_NUMBER:
        add_exact(out, value);
        return;
    case JSON_NULL:
    case JSON_TRUE:
    case JSON_FALSE:
        strbuf_add(out, value->src, value->src_len);
        return;
    case JSON_OBJECT:
        if (add_named(out, value))
            return;
        /* fall through */
    case JSON_ARRAY:
        if (value->child && value->child->child && value->child->child->child)
            json_write(out, value->child, JSON_COMPACT); /* too deep for words */
        else
            add_items(out, value);
        return;
    }
}

static void add_field(struct strbuf *out, const struct event *event, const struct event_field *field)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (field->kind == EVENT_KIND_STR) {
        const char *prose = *(const char *const *)((const char *)&event->session_started + field->offset);
        if (prose)
            add_text(out, prose, strlen(prose));
        return;
    }
    event_encode_field(&text, field, &event->session_started);
    const struct json *value = text.len ? json_parse(&arena, text.buf, text.len, NULL) : NULL;
    if (!value || (value->type == JSON_NULL && field->kind != EVENT_KIND_JSON))
        return;
    if (value->type == JSON_TRUE || value->type == JSON_FALSE)
        strbuf_addstr(out, value->type == JSON_TRUE ? "yes" : "no");
    else
        add_value(out, value);
}

static const struct event_field *field_named(enum event_type type, const char *name, size_t len)
{
    struct event_layout layout = event_layout(type);
    for (size_t i = 0; i < layout.count; i++)
        if (strlen(layout.fields[i].name) == len && memcmp(layout.fields[i].name, name, len) == 0)
            return &layout.fields[i];
    BUG("the summary of %s names %.*s, which it does not have", event_type_name(type), (int)len, name);
}

void event_summary(struct strbuf *out, const struct event *event)
{
    const char *at = event->type < EVENT_TYPE_COUNT ? templates[event->type] : NULL;
    if (!at) {
        if (event->raw)
            add_text(out, event->raw, event->raw_len);
        return;
    }
    CLEANUP(strbuf) struct strbuf value = STRBUF_INIT;
    bool any = false;
    while (*at) {
        const char *dollar = strchr(at, '$'), *end = strchrnul(at, '|');
        size_t name = strspn(dollar + 1, "abcdefghijklmnopqrstuvwxyz_");
        strbuf_reset(&value);
        add_field(&value, event, field_named(event->type, dollar + 1, name));
        if (value.len) {
            if (any)
                strbuf_addch(out, ' ');
            any = true;
            strbuf_add(out, at, (size_t)(dollar - at));
            strbuf_add(out, value.buf, value.len);
            const char *behind = dollar + 1 + name;
            strbuf_add(out, behind, (size_t)(end - behind));
        }
        at = *end ? end + 1 : end;
    }
}
