/* Decodes a line into an event. This code knows no types: event.def has the names, kinds and offsets of fields.
 *
 * One pass over the line collects its members. Then the type is known, wherever it was, and each member is looked up
 * in the layout of the type. Our own lines have their fields in the order of the table, so each search starts after
 * the field found last. Records inside the line are read the same way, directly from their slice of the line.
 *
 * Lines are untrusted. The cost of one line is bounded: EVENT_WHOLE bytes and EVENT_ITEMS_MAX items in all its
 * lists. */

#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "event.h"
#include <stddef.h>
#include <string.h>

/* ---- values ---- */

/* More members than any type has; a line with more takes the rest from the arena. */
#define MEMBERS_ON_STACK 24
#define VALUES_SHOWN     30000 /* more than the calls of an answer may hold */
#define EVENT_ITEMS_MAX  60000 /* of all lists of a line: three times that */
#define CUT              "… (more is in the file)"

struct decoder {
    struct arena *arena;
    bool shorter;   /* cut long texts and leave out long lists at the top */
    bool nested;    /* inside a record */
    size_t items;   /* of lists so far */
    unsigned loose; /* fields inside records of the wrong type */
};

/* The text between the quotes, without its escapes. */
static char *decode_string(struct arena *arena, const char *text, size_t len, bool escaped)
{
    if (!escaped)
        return arena_memdup0(arena, text, len);
    char *copy = arena_alloc(arena, len + 1);
    copy[json_unescape(copy, text, len)] = '\0';
    return copy;
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
    size_t done = json_unescape(copy, text, at);
    memcpy(copy + done, CUT, sizeof(CUT));
    return copy;
}

static char *decode_json(struct arena *arena, const struct json_member *member)
{
    if (!member->spaced)
        return arena_memdup0(arena, member->value, member->len);
    char *copy = arena_alloc(arena, member->len + 1);
    copy[json_squeeze(copy, member->value, member->len)] = '\0';
    return copy;
}

static bool is_number(const struct json_member *member)
{
    return member->value[0] == '-' || (member->value[0] >= '0' && member->value[0] <= '9');
}

/* Reads plain digits here. json_int, which is exact, reads 3.0, 1e2 and numbers near the limits. */
static bool decode_int(struct arena *arena, const struct json_member *member, int64_t *number)
{
    if (!is_number(member))
        return false;
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
    int64_t exact = json_int(&value, INT64_MIN);
    if (exact == INT64_MIN)
        return false;
    *number = exact;
    return true;
}

static bool decode_num(struct arena *arena, const struct json_member *member, double *number)
{
    if (!is_number(member))
        return false;
    struct json value = {.type = JSON_NUMBER};
    value.text = arena_memdup0(arena, member->value, member->len);
    value.len = member->len;
    double exact = json_num(&value, NAN);
    if (isnan(exact))
        return false;
    *number = exact;
    return true;
}

static bool decode_bool(const struct json_member *member, bool *truth)
{
    if (member->value[0] != 't' && member->value[0] != 'f')
        return false;
    *truth = member->value[0] == 't';
    return true;
}

/* ---- lists and records ---- */

/* Room for one more item of a list that grows in the arena; NULL if the line holds too many. */
static void *next_item(struct decoder *decoder, void **items, size_t count, size_t *room, size_t size)
{
    if (decoder->items++ >= EVENT_ITEMS_MAX)
        return NULL;
    if (count == *room) {
        size_t more = *room ? 2 * *room : 4;
        void *grown = arena_alloc(decoder->arena, more * size);
        if (count)
            memcpy(grown, *items, count * size);
        *items = grown;
        *room = more;
    }
    return (char *)*items + count * size;
}

static void decode_record(struct decoder *decoder, struct event_layout layout, void *body, const char *text,
                          size_t len);

static void decode_item(struct decoder *decoder, enum event_kind kind, struct event_layout layout, void *item,
                        const struct json_member *member)
{
    bool fits = true;
    memset(item, 0, layout.size);
    if (kind == EVENT_KIND_STRS) {
        const char **text = item;
        fits = member->value[0] == '"';
        if (fits)
            *text = decode_string(decoder->arena, member->value + 1, member->len - 2, member->escaped);
    } else if (kind == EVENT_KIND_INTS) {
        fits = decode_int(decoder->arena, member, item);
    } else {
        fits = member->value[0] == '{';
        decode_record(decoder, layout, item, fits ? member->value : "{}", fits ? member->len : 2);
    }
    decoder->loose += !fits;
}

/* An item of the wrong type becomes an empty one, so that counts stay. A line with too many items loses the list. */
static bool decode_list(struct decoder *decoder, const struct event_field *field, const struct json_member *member,
                        void *place)
{
    struct event_layout layout = field->kind == EVENT_KIND_RECS   ? event_record_layout(field->record)
                                 : field->kind == EVENT_KIND_STRS ? (struct event_layout){.size = sizeof(char *)}
                                                                  : (struct event_layout){.size = sizeof(int64_t)};
    struct json_members scan;
    struct json_member item;
    void *items = (void *)(uintptr_t)EVENT_NONE, *next;
    size_t count = 0, room = 0;
    if (member->value[0] != '[')
        return false;
    json_items_begin(&scan, member->value, member->len);
    while (json_members_next(&scan, &item) > 0) {
        if (!(next = next_item(decoder, &items, count, &room, layout.size))) {
            decoder->loose++;
            return true;
        }
        decode_item(decoder, field->kind, layout, next, &item);
        count++;
    }
    memcpy(place, &(struct event_strs){.items = items, .count = count}, sizeof(struct event_strs));
    return true;
}

static bool decode_one_record(struct decoder *decoder, const struct event_field *field,
                              const struct json_member *member, const void **place)
{
    struct event_layout layout = event_record_layout(field->record);
    if (member->value[0] != '{')
        return false;
    void *body = arena_alloc(decoder->arena, layout.size);
    decode_record(decoder, layout, body, member->value, member->len);
    *place = body;
    return true;
}

/* Stores the value in its field; false if it has the wrong kind. null counts as missing: the default stays. */
static bool decode_field(struct decoder *decoder, const struct event_field *field, const struct json_member *member,
                         void *place)
{
    char first = member->value[0];
    if (first == 'n') {
        if (field->kind == EVENT_KIND_JSON && decoder->nested)
            *(const char **)place = "null"; /* an output of null is an output */
        return true;
    }
    bool too_long = decoder->shorter && member->len > EVENT_SHORT;
    const char **text = place;
    switch (field->kind) {
    case EVENT_KIND_STR:
    case EVENT_KIND_NSTR:
        if (first != '"')
            return false;
        *text = too_long && member->len - 2 > EVENT_SHORT
                    ? decode_start(decoder->arena, member->value + 1, member->len - 2)
                    : decode_string(decoder->arena, member->value + 1, member->len - 2, member->escaped);
        return true;
    case EVENT_KIND_JSON:
    case EVENT_KIND_LIST:
    case EVENT_KIND_OBJ:
        if ((field->kind == EVENT_KIND_LIST && first != '[') || (field->kind == EVENT_KIND_OBJ && first != '{'))
            return false;
        *text = too_long && json_count_values(member->value, member->len) > VALUES_SHOWN
                    ? (first == '[' ? "[]" : "{}")
                    : decode_json(decoder->arena, member);
        return true;
    case EVENT_KIND_INT:
    case EVENT_KIND_NINT:
    case EVENT_KIND_OINT:
        return decode_int(decoder->arena, member, place);
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        return decode_num(decoder->arena, member, place);
    case EVENT_KIND_BOOL:
    case EVENT_KIND_YES:
    case EVENT_KIND_FLAG:
        return decode_bool(member, place);
    case EVENT_KIND_STRS:
    case EVENT_KIND_INTS:
    case EVENT_KIND_RECS:
        if (too_long && first == '[' && json_count_values(member->value, member->len) > VALUES_SHOWN)
            return true;
        return decode_list(decoder, field, member, place);
    case EVENT_KIND_OREC:
        return decode_one_record(decoder, field, member, place);
    }
    return false;
}

static void set_defaults(struct event_layout layout, void *body)
{
    for (size_t i = 0; i < layout.count; i++) {
        void *place = (char *)body + layout.fields[i].offset;
        if (layout.fields[i].kind == EVENT_KIND_NINT || layout.fields[i].kind == EVENT_KIND_OINT)
            *(int64_t *)place = EVENT_NULL_INT;
        else if (layout.fields[i].kind == EVENT_KIND_NNUM)
            *(double *)place = NAN;
        else if (layout.fields[i].kind == EVENT_KIND_YES)
            *(bool *)place = true;
    }
}

/* Names are short and most differ in their first letter: a call of strncmp costs more than the comparison. A key holds
 * no NUL, so a name that ends early differs. */
static inline bool same_name(const struct json_member *member, const char *name)
{
    size_t i = 0;
    while (i < member->key_len && name[i] == member->key[i])
        i++;
    return i == member->key_len && name[i] == '\0';
}

/* The index of the member's field, or `count`. */
static size_t find_field(const struct json_member *member, const struct event_field *fields, size_t count, size_t *next)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = *next + i;
        if (at >= count)
            at -= count;
        if (same_name(member, fields[at].name)) {
            *next = at + 1 < count ? at + 1 : 0;
            return at;
        }
    }
    return count;
}

static void decode_key(struct arena *arena, struct json_member *member)
{
    if (!member->key_escaped)
        return;
    member->key = decode_string(arena, member->key, member->key_len, true);
    member->key_len = strlen(member->key);
}

static void decode_record(struct decoder *decoder, struct event_layout layout, void *body, const char *text, size_t len)
{
    struct json_members scan;
    struct json_member member;
    uint64_t present = 0;
    size_t next = 0;
    struct decoder outside = *decoder;
    decoder->shorter = false;
    decoder->nested = true;
    memset(body, 0, layout.size);
    set_defaults(layout, body);
    json_members_begin(&scan, text, len);
    while (json_members_next(&scan, &member) > 0) {
        decode_key(decoder->arena, &member);
        size_t at = find_field(&member, layout.fields, layout.count, &next);
        if (at == layout.count)
            continue;
        if (decode_field(decoder, &layout.fields[at], &member, (char *)body + layout.fields[at].offset))
            present |= (uint64_t)1 << at;
        else
            decoder->loose++;
    }
    memcpy(body, &present, sizeof(present));
    decoder->shorter = outside.shorter;
    decoder->nested = outside.nested;
}

const struct json *event_leaf(struct arena *arena, const char *text)
{
    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

static const char *raw_field(const struct event *event, const char *name, struct arena *arena)
{
    struct json_members scan;
    struct json_member member;
    const char *text = NULL;
    if (!event->raw)
        return NULL;
    json_members_begin(&scan, event->raw, event->raw_len > EVENT_WHOLE ? EVENT_HEAD : event->raw_len);
    while (json_members_next(&scan, &member) > 0) {
        decode_key(arena, &member);
        if (same_name(&member, name) && member.value[0] != 'n')
            text = decode_json(arena, &member);
    }
    return text;
}

const struct json *event_raw_json(const struct event *event, const char *name, struct arena *arena)
{
    if (name)
        return event_leaf(arena, raw_field(event, name, arena));
    return event->raw ? json_parse(arena, event->raw, event->raw_len, NULL) : NULL;
}

/* ---- lines ---- */

struct members {
    struct json_member *items;
    size_t count;
    size_t room;
};

static struct json_member *members_next(struct members *members, struct arena *arena)
{
    if (members->count == members->room) {
        struct json_member *more = arena_alloc(arena, 2 * members->room * sizeof(*more));
        memcpy(more, members->items, members->count * sizeof(*more));
        members->items = more;
        members->room *= 2;
    }
    return &members->items[members->count];
}

static const char *kind_name(enum event_kind kind)
{
    static const char *const names[] = {
        [EVENT_KIND_STR] = "text",
        [EVENT_KIND_NSTR] = "text or null",
        [EVENT_KIND_JSON] = "JSON",
        [EVENT_KIND_LIST] = "a list",
        [EVENT_KIND_OBJ] = "an object",
        [EVENT_KIND_INT] = "an integer",
        [EVENT_KIND_NINT] = "an integer or null",
        [EVENT_KIND_OINT] = "an integer",
        [EVENT_KIND_NUM] = "a number",
        [EVENT_KIND_NNUM] = "a number or null",
        [EVENT_KIND_BOOL] = "true or false",
        [EVENT_KIND_YES] = "true or false",
        [EVENT_KIND_FLAG] = "true or false",
        [EVENT_KIND_STRS] = "a list",
        [EVENT_KIND_INTS] = "a list",
        [EVENT_KIND_OREC] = "an object",
        [EVENT_KIND_RECS] = "a list",
    };
    return names[kind];
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

static int wrong_kind(const struct event *event, const struct event_field *field, const struct json_member *member,
                      struct err *err)
{
    return err_set(err, "%s: \"%s\" must be %s, not %s", event->type_name, field->name, kind_name(field->kind),
                   value_name(member->value[0]));
}

static int set_type(struct event *event, struct arena *arena, const struct json_member *member, struct err *err)
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

/* True for types whose long fields are words of a person or a model, only shown. Other long fields matter for
 * decisions, or their bytes are counted. */
static bool is_said(enum event_type type)
{
    return type == EVENT_TURN_STARTED || type == EVENT_TURN_FINISHED || type == EVENT_TURN_PREPARED ||
           type == EVENT_MODEL_DELTA || type == EVENT_MODEL_RESPONDED || type == EVENT_REFLECTION;
}

#define COMMON_NAME_MAX 4
static const struct event_field common[] = {
    {"seq", EVENT_KIND_INT, EVENT_RECORD_NONE, offsetof(struct event, seq)},
    {"t", EVENT_KIND_INT, EVENT_RECORD_NONE, offsetof(struct event, t)},
    {"turn", EVENT_KIND_INT, EVENT_RECORD_NONE, offsetof(struct event, turn)},
};

static int decode_members(struct event *event, struct decoder *decoder, const struct members *members,
                          const struct json_member *type, struct err *err)
{
    struct event_layout layout = event_layout(event->type);
    char *body = event_body(event);
    uint64_t present = 0;
    size_t next = 0, next_common = 0;
    set_defaults(layout, body);
    for (size_t i = 0; i < members->count; i++) {
        const struct json_member *member = &members->items[i];
        size_t at = member->key_len <= COMMON_NAME_MAX ? find_field(member, common, COUNT_OF(common), &next_common)
                                                       : COUNT_OF(common);
        if (member == type)
            continue;
        if (at < COUNT_OF(common)) {
            if (!decode_field(decoder, &common[at], member, (char *)event + common[at].offset))
                return wrong_kind(event, &common[at], member, err);
            continue;
        }
        at = find_field(member, layout.fields, layout.count, &next);
        if (at == layout.count)
            continue;
        if (!decode_field(decoder, &layout.fields[at], member, body + layout.fields[at].offset))
            return wrong_kind(event, &layout.fields[at], member, err);
        present |= (uint64_t)1 << at;
    }
    if (layout.count)
        memcpy(body, &present, sizeof(present));
    event->loose = decoder->loose;
    return 0;
}

static int decode(struct event *event, struct arena *arena, const char *line, size_t len, bool shorter, struct err *err)
{
    struct json_member stack[MEMBERS_ON_STACK];
    struct members members = {stack, 0, MEMBERS_ON_STACK};
    const struct json_member *type = NULL;
    struct json_members scan;
    struct json_member *member;
    int more;
    json_members_begin(&scan, line, len > EVENT_WHOLE ? EVENT_HEAD : len);
    while ((more = json_members_next(&scan, member = members_next(&members, arena))) > 0) {
        decode_key(arena, member);
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
    struct decoder decoder = {.arena = arena, .shorter = shorter && len > EVENT_SHORT && is_said(event->type)};
    return decode_members(event, &decoder, &members, type, err);
}

int event_decode(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err)
{
    return decode(event, arena, line, len, false, err);
}

int event_decode_short(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err)
{
    return decode(event, arena, line, len, true, err);
}
