/* One line of a harness. Texts without a backslash, which is nearly all of them, are used as they stand; others are
 * decoded into the arena. */

#include "wire.h"
#include "base/arena.h"
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

/* ---- what they say ---- */

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
