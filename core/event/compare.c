/* Compares fields of events, for replays that are checked against their recording (compare.h). */

#include "compare.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

/* Members that may differ. An artifact gets a new name each time. A deadline is a time. What a look back took from
 * the cache is not recorded. The ranking of excerpts may improve. A script gets a new name and takes another time in
 * each run. What a write loses depends on the user and the file system. Old recordings lack the effect of a wave;
 * tool.started has it. */
static const struct {
    const char *field, *members;
} ignored[] = {{"artifact", "id path"},
               {"timeout", "deadline_s"},
               {"usage", "cache_read cache_write"},
               {"pack", "score"},
               {"result", "execution_id duration_ms"},
               {"files", "loses"},
               {"waves", "effect"}};

static bool listed(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

/* True for the artifact of a long text, in a member like `stdout_artifact`: it gets a new name each time, as a whole
 * artifact does. */
static bool names_kept_text(const struct json *member)
{
    static const char last[] = "artifact", kept[] = "artifact://art_";
    size_t len = strlen(member->key);
    return len >= strlen(last) && strcmp(member->key + len - strlen(last), last) == 0 &&
           strncmp(json_str(member, ""), kept, strlen(kept)) == 0;
}

/* The state of comparing two values, and their first difference. */
struct event_comparison {
    const char *without; /* members to skip */
    size_t first;        /* number of items skipped at the start of the outermost list */
    bool result;         /* the result of a call: it may name an artifact */
    bool sparse;         /* skip what the recording lacks */
    struct strbuf path;
    const struct json *at_a, *at_b;
};

static bool json_differs(struct event_comparison *c, const struct json *a, const struct json *b);

static bool objects_differ(struct event_comparison *c, const struct json *a, const struct json *b)
{
    size_t len = c->path.len;
    const struct json *other;
    json_each (member, a) {
        if (listed(c->without, member->key))
            continue;
        other = json_get(b, member->key);
        strbuf_addf(&c->path, ".%s", member->key);
        if (!(c->result && names_kept_text(member) && other && names_kept_text(other)) &&
            json_differs(c, member, other))
            return true;
        strbuf_set_len(&c->path, len);
    }
    json_each (member, b) {
        if (c->sparse || listed(c->without, member->key) || json_get(a, member->key))
            continue;
        strbuf_addf(&c->path, ".%s", member->key);
        c->at_a = NULL;
        c->at_b = member;
        return true;
    }
    return false;
}

static bool json_differs(struct event_comparison *c, const struct json *a, const struct json *b)
{
    c->at_a = a;
    c->at_b = b;
    if (!a || !b)
        return a != b;
    if (a->type != b->type)
        return true;
    switch (a->type) {
    case JSON_OBJECT:
        return objects_differ(c, a, b);
    case JSON_ARRAY: {
        size_t len = c->path.len;
        const struct json *x = a->child, *y = b->child;
        size_t i = c->first;
        for (c->first = 0; x || y; i++) {
            strbuf_addf(&c->path, "[%zu]", i);
            if (json_differs(c, x, y))
                return true;
            strbuf_set_len(&c->path, len);
            x = x ? x->next : NULL;
            y = y ? y->next : NULL;
        }
        return false;
    }
    case JSON_NUMBER:
        return json_num(a, 0) != json_num(b, 0);
    case JSON_STRING:
        return strcmp(a->text, b->text) != 0;
    default:
        return false;
    }
}

static const char *source(struct arena *arena, const struct json *value, bool is_text)
{
    if (!value)
        return NULL;
    return is_text ? json_str(value, NULL) : arena_memdup0(arena, value->src, value->src_len);
}

static void comparison_init(struct event_comparison *c, const char *field, const struct json *recorded)
{
    *c = (struct event_comparison){.without = "", .path = STRBUF_INIT};
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        if (strcmp(ignored[i].field, field) == 0)
            c->without = ignored[i].members;
    /* A replay words a denial differently, because the recording denies it. The reason is in write.decided. */
    if (strcmp(field, "denied") == 0 && strcmp(json_str(json_get(recorded, "reason"), ""), "write_denied") == 0)
        c->without = "details";
    /* A call that a person wrote by hand may lack its id; the run has made one. */
    c->sparse = strcmp(field, "tool_calls") == 0;
    c->result = strcmp(field, "result") == 0;
    strbuf_addstr(&c->path, field);
}

/* True for the messages of earlier turns. Old recordings repeat them with their roles; there only system messages and
 * the user's message, the last one, belong to this turn. */
static bool is_earlier(const struct json *message)
{
    const char *role = json_str(json_get(message, "role"), "system");
    return strcmp(role, "system") != 0 && (message->next || strcmp(role, "user") != 0);
}

/* The messages of a turn begin with the prompt, today's date and memory. The prompt's hash is a separate field. None
 * of these belongs to the turn, and neither do the messages of earlier turns. */
static const struct json *own_messages(struct arena *arena, const struct json *messages, bool memory, size_t *left_out)
{
    struct json *own = arena_alloc(arena, sizeof(*own));
    const struct json **end = &own->child;
    size_t place = 0;
    if (!messages)
        return NULL;
    *own = *messages;
    own->child = NULL;
    *left_out = memory ? 3 : 2;
    json_each (message, messages) {
        if (place++ < *left_out || is_earlier(message))
            continue;
        struct json *copy = arena_alloc(arena, sizeof(*copy));
        *copy = *message;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
    }
    return own;
}

static const struct json *field_value(struct arena *arena, const struct event_field *field, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    event_encode_field(&text, field, &event->session_started);
    return text.len ? json_parse(arena, arena_memdup0(arena, text.buf, text.len), text.len, NULL) : NULL;
}

bool event_field_differs(struct arena *arena, const struct event_field *field, struct compared recorded,
                         struct compared got, struct difference *first)
{
    const struct json *a = field_value(arena, field, recorded.event), *b = field_value(arena, field, got.event);
    struct event_comparison c;
    if (!a || a->type == JSON_NULL)
        return false;
    comparison_init(&c, field->name, a);
    if (strcmp(field->name, "messages") == 0) {
        b = own_messages(arena, b, got.memory, &c.first);
        a = own_messages(arena, a, recorded.memory, &c.first);
    }
    bool is_text = field->kind == EVENT_KIND_STR || field->kind == EVENT_KIND_NSTR;
    bool differs = json_differs(&c, a, b);
    if (differs)
        *first = (struct difference){arena_strdup(arena, c.path.buf), source(arena, c.at_a, is_text),
                                     source(arena, c.at_b, is_text)};
    strbuf_release(&c.path);
    return differs;
}
