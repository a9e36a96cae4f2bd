/* The walk over the members is here; what a value is and where it ends says json_check. Texts without a backslash,
 * which is nearly all of them, are used as they stand; others are decoded into the arena. */

#include "wire.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include <string.h>

/* ---- members ---- */

static const struct {
    const char *name;
    size_t len, offset;
} fields[] = {
#define FIELD(name)                                                                                                    \
    {                                                                                                                  \
#name, sizeof(#name) - 1, offsetof(struct wire_event, name)                                                    \
    }
    FIELD(type), FIELD(execution_id), FIELD(label), FIELD(data), FIELD(level), FIELD(message), FIELD(traceback),
#undef FIELD
};

/* Room for the longest name above with every letter written as an escape. */
#define ESCAPED_NAME_MAX (6 * (sizeof("execution_id") - 1))

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static void set_field(struct wire_event *event, const char *name, size_t len, struct wire_field value)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].len == len && memcmp(fields[i].name, name, len) == 0)
            memcpy((char *)event + fields[i].offset, &value, sizeof(value));
}

/* A member whose quoted name is `name`. */
static void set_member(struct wire_event *event, struct wire_field name, struct wire_field value)
{
    if (!memchr(name.src, '\\', name.len)) {
        set_field(event, name.src + 1, name.len - 2, value);
    } else if (name.len - 2 <= ESCAPED_NAME_MAX) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        const struct json *text = json_parse(&arena, name.src, name.len, NULL);
        set_field(event, text->text, text->len, value);
    }
}

bool wire_read(struct wire_event *event, const char *line, size_t len)
{
    const char *end = line + len, *at = skip_space(line, end);
    *event = (struct wire_event){.line = at};
    if (at == end || *at != '{')
        return false;
    at = skip_space(at + 1, end);
    for (bool first = true; at < end && (!first || *at != '}'); first = false) {
        struct wire_field name = {.src = at, .len = *at == '"' ? json_check(at, (size_t)(end - at), 0) : 0};
        at = skip_space(at + name.len, end);
        if (!name.len || at == end || *at != ':')
            return false;
        at = skip_space(at + 1, end);
        struct wire_field value = {.src = at, .len = json_check(at, (size_t)(end - at), WIRE_DEPTH_MAX - 1)};
        if (!value.len)
            return false;
        set_member(event, name, value);
        at = skip_space(at + value.len, end);
        if (at == end || *at != ',')
            break;
        at = skip_space(at + 1, end);
        if (at < end && *at == '}') /* a comma before it */
            return false;
    }
    if (at == end || *at != '}')
        return false;
    event->len = (size_t)(at + 1 - event->line);
    return skip_space(at + 1, end) == end;
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
    const struct json *value = json_parse(arena, field.src, field.len, NULL);
    return (struct wire_field){value->text, value->len};
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
