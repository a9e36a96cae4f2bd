/* From a line to a struct.
 *
 * One walk over the line notes its members; then the type is known, wherever it stood, and each member is looked up in
 * the type's table. Nothing here knows a type: what a field is called, what it may hold and where it goes is in the
 * table. Our own lines have their fields in the order of the table, so the search begins behind the field found last.
 */

#include "base/json.h"
#include "event_scan.h"
#include <stddef.h>
#include <string.h>

/* More members than any type has; a line with more takes the rest from the arena. */
#define MEMBERS_ON_STACK 24
#define VALUES_SHOWN     30000 /* more than the calls of an answer may hold */
#define CUT              "… (more is in the file)"

struct members {
    struct event_member *items;
    size_t count;
    size_t room;
};

enum { COMMON_SEQ, COMMON_T, COMMON_TURN, COMMON_COUNT };
#define COMMON_NAME_MAX 4

static const struct event_field common[COMMON_COUNT] = {
    [COMMON_SEQ] = {"seq", EVENT_KIND_INT, 0, offsetof(struct event, seq)},
    [COMMON_T] = {"t", EVENT_KIND_INT, 0, offsetof(struct event, t)},
    [COMMON_TURN] = {"turn", EVENT_KIND_INT, 0, offsetof(struct event, turn)},
};

/* The place for one more. */
static struct event_member *members_next(struct members *members, struct arena *arena)
{
    if (members->count == members->room) {
        struct event_member *more = arena_alloc(arena, 2 * members->room * sizeof(*more));
        memcpy(more, members->items, members->count * sizeof(*more));
        members->items = more;
        members->room *= 2;
    }
    return &members->items[members->count];
}

/* What stands between the quotes, without its escapes. */
static char *decode_string(struct arena *arena, const char *text, size_t len, bool escaped)
{
    if (!escaped)
        return arena_memdup0(arena, text, len);
    char *copy = arena_alloc(arena, len + 1);
    copy[event_scan_unescape(copy, text, len)] = '\0';
    return copy;
}

static char *decode_json(struct arena *arena, const struct event_member *member)
{
    if (!member->spaced)
        return arena_memdup0(arena, member->value, member->len);
    char *copy = arena_alloc(arena, member->len + 1);
    copy[event_scan_squeeze(copy, member->value, member->len)] = '\0';
    return copy;
}

/* Digits and nothing else are read here; 3.0, 1e2 and numbers near the limits by json_int, which is exact. */
static bool decode_int(struct arena *arena, const struct event_member *member, int64_t *number)
{
    const char *at = member->value, *end = at + member->len;
    bool negative = *at == '-';
    int64_t sum = 0;
    if (member->len <= 18) {
        for (at += negative; at < end && *at >= '0' && *at <= '9'; at++)
            sum = 10 * sum + (*at - '0');
        if (at == end) {
            *number = negative ? -sum : sum;
            return true;
        }
    }
    struct json value = {.type = JSON_NUMBER};
    value.text = arena_memdup0(arena, member->value, member->len);
    value.len = member->len;
    *number = json_int(&value, INT64_MIN);
    return *number != INT64_MIN;
}

static bool decode_num(struct arena *arena, const struct event_member *member, double *number)
{
    struct json value = {.type = JSON_NUMBER};
    value.text = arena_memdup0(arena, member->value, member->len);
    value.len = member->len;
    *number = json_num(&value, NAN);
    return !isnan(*number);
}

static const char *kind_name(const struct event_field *field)
{
    static const char *const names[] = {
        [EVENT_KIND_STR] = "text",           [EVENT_KIND_JSON] = "JSON",
        [EVENT_KIND_INT] = "an integer",     [EVENT_KIND_NINT] = "an integer or null",
        [EVENT_KIND_NUM] = "a number",       [EVENT_KIND_NNUM] = "a number or null",
        [EVENT_KIND_BOOL] = "true or false",
    };
    return field->shape == '[' ? "a list" : field->shape == '{' ? "an object" : names[field->kind];
}

static const char *value_name(char first)
{
    switch (first) {
    case '"':
        return "text";
    case '{':
        return "an object";
    case '[':
        return "a list";
    case 't':
    case 'f':
        return "true or false";
    case 'n':
        return "null";
    default:
        return "this number";
    }
}

static void set_default(struct event *event, const struct event_field *field)
{
    static const int64_t null_int = EVENT_NULL_INT;
    static const double null_num = NAN;
    char *place = (char *)event + field->offset;
    if (field->kind == EVENT_KIND_NINT)
        memcpy(place, &null_int, sizeof(null_int));
    else if (field->kind == EVENT_KIND_NNUM)
        memcpy(place, &null_num, sizeof(null_num));
}

/* The beginning of a string, in whole characters and escapes. */
static char *decode_start(struct arena *arena, const char *text, size_t len)
{
    size_t at = 0;
    while (at < EVENT_SHORT)
        at += text[at] != '\\' ? 1 : text[at + 1] == 'u' ? 6 : 2;
    while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    char *copy = arena_alloc(arena, at + sizeof(CUT));
    size_t done = event_scan_unescape(copy, text, at);
    memcpy(copy + done, CUT, sizeof(CUT));
    return copy;
}

/* Puts the value into the struct; false when it is of the wrong kind. null counts as missing: the default stays. */
static bool set_field(struct event *event, struct arena *arena, const struct event_field *field,
                      const struct event_member *member, bool shorter)
{
    char *place = (char *)event + field->offset;
    char first = member->value[0];
    bool is_number = first == '-' || (first >= '0' && first <= '9');
    const char *text;
    int64_t integer;
    double number;
    bool truth;
    if (first == 'n')
        return true;
    switch (field->kind) {
    case EVENT_KIND_STR:
        if (first != '"')
            return false;
        text = shorter && member->len - 2 > EVENT_SHORT
                   ? decode_start(arena, member->value + 1, member->len - 2)
                   : decode_string(arena, member->value + 1, member->len - 2, member->escaped);
        memcpy(place, &text, sizeof(text));
        return true;
    case EVENT_KIND_JSON:
        if (field->shape && first != field->shape)
            return false;
        if (shorter && member->len > EVENT_SHORT && json_count_values(member->value, member->len) > VALUES_SHOWN)
            text = first == '[' ? "[]" : "{}";
        else
            text = decode_json(arena, member);
        memcpy(place, &text, sizeof(text));
        return true;
    case EVENT_KIND_INT:
    case EVENT_KIND_NINT:
        if (!is_number || !decode_int(arena, member, &integer))
            return false;
        memcpy(place, &integer, sizeof(integer));
        return true;
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        if (!is_number || !decode_num(arena, member, &number))
            return false;
        memcpy(place, &number, sizeof(number));
        return true;
    case EVENT_KIND_BOOL:
        if (first != 't' && first != 'f')
            return false;
        truth = first == 't';
        memcpy(place, &truth, sizeof(truth));
        return true;
    }
    return false;
}

/* Names are short and most differ in their first letter: a call of strncmp costs more than the comparison. A key holds
 * no NUL, so a name that ends early differs. */
static inline bool same_name(const struct event_member *member, const char *name)
{
    size_t i = 0;
    while (i < member->key_len && name[i] == member->key[i])
        i++;
    return i == member->key_len && name[i] == '\0';
}

static const struct event_field *find_field(const struct event_member *member, const struct event_field *fields,
                                            size_t count, size_t *next)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = *next + i;
        if (at >= count)
            at -= count;
        if (same_name(member, fields[at].name)) {
            *next = at + 1 < count ? at + 1 : 0;
            return &fields[at];
        }
    }
    return NULL;
}

static int wrong_kind(const struct event *event, const struct event_field *field, const struct event_member *member,
                      struct err *err)
{
    return err_set(err, "%s: \"%s\" must be %s, not %s", event->type_name, field->name, kind_name(field),
                   value_name(member->value[0]));
}

static int set_type(struct event *event, struct arena *arena, const struct event_member *member, struct err *err)
{
    if (!member || member->value[0] == 'n')
        return err_set(err, "\"type\" is missing");
    if (member->value[0] != '"')
        return err_set(err, "\"type\" must be text, not %s", value_name(member->value[0]));
    const char *text = member->value + 1;
    size_t len = member->len - 2;
    if (member->escaped) {
        text = decode_string(arena, text, len, true);
        len = strlen(text);
    }
    event->type = event_type_from_name(text, len);
    event->type_name = event->type == EVENT_OTHER ? arena_memdup0(arena, text, len) : event_type_name(event->type);
    return 0;
}

/* Shown as what somebody said. Whatever else is long is decided about, or its bytes are counted. */
static bool is_said(enum event_type type)
{
    return type == EVENT_TURN_STARTED || type == EVENT_TURN_FINISHED || type == EVENT_TURN_PREPARED ||
           type == EVENT_MODEL_DELTA || type == EVENT_MODEL_RESPONDED || type == EVENT_REFLECTION;
}

static int decode(struct event *event, struct arena *arena, const char *line, size_t len, bool shorter, struct err *err)
{
    struct event_member stack[MEMBERS_ON_STACK];
    struct members members = {stack, 0, MEMBERS_ON_STACK};
    const struct event_member *type = NULL;
    struct event_scan scan;
    struct event_member *member;
    int more;

    event_scan_begin(&scan, line, len > EVENT_WHOLE ? EVENT_HEAD : len);
    while ((more = event_scan_next(&scan, member = members_next(&members, arena))) > 0) {
        if (member->key_escaped) {
            member->key = decode_string(arena, member->key, member->key_len, true);
            member->key_len = strlen(member->key);
        }
        members.count++;
    }
    if (more < 0 && len <= EVENT_WHOLE)
        return err_set(err, "this is not one JSON object: %s (byte %zu)", scan.wrong,
                       (size_t)(scan.at - scan.start) + 1);

    /* Of equal names the last one counts. */
    for (size_t i = 0; i < members.count; i++)
        if (same_name(&members.items[i], "type"))
            type = &members.items[i];
    memset(event, 0, sizeof(*event));
    event->seq = -1;
    event->t = -1;
    event->raw = line;
    event->raw_len = len;
    if (set_type(event, arena, type, err) < 0)
        return -1;

    size_t count, next = 0, next_common = 0;
    const struct event_field *fields = event_fields(event->type, &count);
    shorter = shorter && len > EVENT_SHORT && is_said(event->type);
    for (size_t i = 0; i < count; i++)
        set_default(event, &fields[i]);
    for (size_t i = 0; i < members.count; i++) {
        const struct event_member *it = &members.items[i];
        const struct event_field *field = NULL;
        if (it == type)
            continue;
        if (it->key_len <= COMMON_NAME_MAX)
            field = find_field(it, common, COMMON_COUNT, &next_common);
        if (!field)
            field = find_field(it, fields, count, &next);
        if (field && !set_field(event, arena, field, it, shorter))
            return wrong_kind(event, field, it, err);
    }
    return 0;
}

int event_decode(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err)
{
    return decode(event, arena, line, len, false, err);
}

int event_decode_short(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err)
{
    return decode(event, arena, line, len, true, err);
}
