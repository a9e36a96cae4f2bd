/* Reads lines of a harness: events, and the list of tools in `ready` (wire.h).
 *
 * Texts without a backslash, nearly all of them, are used in place; others are decoded into the arena. */

#include "wire.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include <string.h>

/* ---- members ---- */

static const struct {
    const char *name;
    size_t len, offset;
} fields[] = {
#define FIELD(name)                                                 \
    {                                                               \
#name, sizeof(#name) - 1, offsetof(struct wire_event, name) \
    }
    FIELD(type), FIELD(execution_id), FIELD(label), FIELD(data), FIELD(level), FIELD(message), FIELD(traceback),
#undef FIELD
};

/* Room for the longest name above with every letter written as an escape. */
#define ESCAPED_NAME_MAX (6 * (sizeof("execution_id") - 1))

static void set_field(struct wire_event *event, const char *name, size_t len, struct wire_field value)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].len == len && memcmp(fields[i].name, name, len) == 0)
            memcpy((char *)event + fields[i].offset, &value, sizeof(value));
}

static void set_member(struct wire_event *event, const struct json_member *member)
{
    struct wire_field value = {member->value, member->len};
    char name[ESCAPED_NAME_MAX];
    if (!member->key_escaped)
        set_field(event, member->key, member->key_len, value);
    else if (member->key_len <= sizeof(name))
        set_field(event, name, json_unescape(name, member->key, member->key_len), value);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool wire_read(struct wire_event *event, const char *line, size_t len)
{
    struct json_members scan;
    struct json_member member;
    int more;
    while (len && is_blank(line[0])) {
        line++;
        len--;
    }
    while (len && is_blank(line[len - 1]))
        len--;
    *event = (struct wire_event){.line = line, .len = len};
    json_members_begin(&scan, line, len);
    scan.depth = WIRE_DEPTH_MAX - 1;
    while ((more = json_members_next(&scan, &member)) > 0)
        set_member(event, &member);
    return more == 0;
}

/* ---- values ---- */

static bool is_string(struct wire_field field)
{
    return field.src && *field.src == '"';
}

static struct wire_field decode(struct wire_field field, struct arena *arena)
{
    if (!memchr(field.src, '\\', field.len))
        return (struct wire_field){field.src + 1, field.len - 2};
    char *text = arena_alloc(arena, field.len);
    return (struct wire_field){text, json_unescape(text, field.src + 1, field.len - 2)};
}

bool wire_is(struct wire_field field, const char *text, size_t len, struct arena *arena)
{
    if (!is_string(field))
        return false;
    struct wire_field plain = decode(field, arena);
    return plain.len == len && memcmp(plain.src, text, len) == 0;
}

enum wire_type wire_type_of(const struct wire_event *event, struct arena *arena)
{
    static const char *const names[] = {
        [WIRE_LOG] = "log",     [WIRE_INTERMEDIATE] = "intermediate", [WIRE_FINAL_RESULT] = "final_result",
        [WIRE_ERROR] = "error", [WIRE_SCRIPT_DONE] = "script_done",
    };
    for (size_t i = WIRE_LOG; i < COUNT_OF(names); i++)
        if (wire_is(event->type, names[i], strlen(names[i]), arena))
            return (enum wire_type)i;
    return WIRE_OTHER;
}

struct wire_field wire_text(struct wire_field field, const char *otherwise, struct arena *arena)
{
    if (!field.src || *field.src == 'n')
        return (struct wire_field){otherwise, strlen(otherwise)};
    return is_string(field) ? decode(field, arena) : field;
}

/* ---- the tools of the ready event ---- */

void toolset_read(struct toolset *set, const struct json *ready)
{
    const struct json *names = json_get(ready, "tools"), *effects = json_get(ready, "effects");
    toolset_release(set);
    set->told = true;
    set->chosen = effects && effects->type == JSON_OBJECT;
    if (!names || names->type != JSON_ARRAY || !names->count)
        return;
    set->items = xcalloc(names->count, sizeof(*set->items));
    json_each (name, names)
        if (name->type == JSON_STRING)
            set->items[set->count++] =
                (struct toolset_tool){xstrdup(name->text), xstrdup(json_str(json_get(effects, name->text), ""))};
}

void toolset_release(struct toolset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].name);
        free(set->items[i].effect);
    }
    free(set->items);
    *set = (struct toolset){0};
}

const struct toolset_tool *toolset_find(const struct toolset *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}
