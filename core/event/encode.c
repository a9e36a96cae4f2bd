/* Encodes an event as its line. This code knows no types: event.def has the names, kinds and offsets of fields. */

#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "event.h"
#include <stddef.h>
#include <string.h>

static void encode_record(struct json_writer *w, struct event_layout layout, const void *body);

static void encode_records(struct json_writer *w, const struct event_field *field, const void *place)
{
    struct event_layout layout = event_record_layout(field->record);
    struct event_strs list; /* all lists have this shape */
    memcpy(&list, place, sizeof(list));
    if (!list.items)
        return;
    json_open(w, field->name, '[');
    for (size_t i = 0; i < list.count; i++) {
        json_open(w, NULL, '{');
        encode_record(w, layout, (const char *)list.items + i * layout.size);
        json_close(w, '}');
    }
    json_close(w, ']');
}

static void encode_strs(struct json_writer *w, const char *name, const struct event_strs *list)
{
    if (!list->items)
        return;
    json_open(w, name, '[');
    for (size_t i = 0; i < list->count; i++)
        json_add_str(w, NULL, list->items[i]);
    json_close(w, ']');
}

static void encode_ints(struct json_writer *w, const char *name, const struct event_ints *list)
{
    if (!list->items)
        return;
    json_open(w, name, '[');
    for (size_t i = 0; i < list->count; i++)
        json_add_int(w, NULL, list->items[i]);
    json_close(w, ']');
}

static void encode_field(struct json_writer *w, const struct event_field *field, const void *place)
{
    const char *const *text = place;
    const int64_t *integer = place;
    const bool *truth = place;
    switch (field->kind) {
    case EVENT_KIND_STR:
        if (*text)
            json_add_str(w, field->name, *text);
        break;
    case EVENT_KIND_NSTR:
        json_add_str(w, field->name, *text);
        break;
    case EVENT_KIND_JSON:
    case EVENT_KIND_LIST:
    case EVENT_KIND_OBJ:
        if (*text)
            json_add_raw(w, field->name, *text);
        break;
    case EVENT_KIND_INT:
        json_add_int(w, field->name, *integer);
        break;
    case EVENT_KIND_NINT:
    case EVENT_KIND_OINT:
        if (*integer != EVENT_NULL_INT)
            json_add_int(w, field->name, *integer);
        else if (field->kind == EVENT_KIND_NINT)
            json_add_null(w, field->name);
        break;
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        json_add_num(w, field->name, *(const double *)place);
        break;
    case EVENT_KIND_BOOL:
    case EVENT_KIND_YES:
        json_add_bool(w, field->name, *truth);
        break;
    case EVENT_KIND_FLAG:
        if (*truth)
            json_add_bool(w, field->name, true);
        break;
    case EVENT_KIND_STRS:
        encode_strs(w, field->name, place);
        break;
    case EVENT_KIND_INTS:
        encode_ints(w, field->name, place);
        break;
    case EVENT_KIND_OREC:
        if (*(const void *const *)place) {
            json_open(w, field->name, '{');
            encode_record(w, event_record_layout(field->record), *(const void *const *)place);
            json_close(w, '}');
        }
        break;
    case EVENT_KIND_RECS:
        encode_records(w, field, place);
        break;
    }
}

/* A decoded record is written with the fields it had. */
static void encode_record(struct json_writer *w, struct event_layout layout, const void *body)
{
    const uint64_t *present = body;
    for (size_t i = 0; i < layout.count; i++)
        if (!*present || *present & (uint64_t)1 << i)
            encode_field(w, &layout.fields[i], (const char *)body + layout.fields[i].offset);
}

void event_encode_field(struct strbuf *out, const struct event_field *field, const void *body)
{
    CLEANUP(strbuf) struct strbuf object = STRBUF_INIT;
    struct json_writer w = json_begin(&object);
    json_open(&w, NULL, '{');
    encode_field(&w, field, (const char *)body + field->offset);
    json_close(&w, '}');
    size_t name = strlen(field->name) + 4; /* {"name": */
    if (object.len > name)
        strbuf_add(out, object.buf + name, object.len - name - 1);
}

static void encode_new(struct strbuf *out, const struct event *event)
{
    struct json_writer w = json_begin(out);
    size_t begin = out->len;
    json_open(&w, NULL, '{');
    if (event->seq >= 0)
        json_add_int(&w, "seq", event->seq);
    if (event->t >= 0)
        json_add_int(&w, "t", event->t);
    json_add_int(&w, "turn", event->turn);
    const char *name = event_type_name(event->type);
    json_add_str(&w, "type", name ? name : event->type_name ? event->type_name : "");
    struct event_layout layout = event_layout(event->type);
    for (size_t i = 0; i < layout.count; i++)
        encode_field(&w, &layout.fields[i], (const char *)&event->session_started + layout.fields[i].offset);
    json_close(&w, '}');
    json_make_printable(out, begin);
}

void event_encode(struct strbuf *out, const struct event *event)
{
    size_t begin = out->len;
    if (event->raw) {
        strbuf_add(out, event->raw, event->raw_len);
        json_make_printable(out, begin); /* lines of older versions may hold such characters unescaped */
    } else {
        encode_new(out, event);
    }
}

static bool is_key(const struct json_member *member, const char *name)
{
    char plain[32]; /* a short name written all in \u0073 forms is shorter */
    const char *key = member->key;
    size_t len = member->key_len;
    if (member->key_escaped && len <= sizeof(plain)) {
        len = json_unescape(plain, key, len);
        key = plain;
    }
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

void event_encode_numbered(struct strbuf *out, const struct event *event)
{
    if (!event->raw) {
        encode_new(out, event);
        return;
    }
    struct json_writer w = json_begin(out);
    size_t begin = out->len;
    json_open(&w, NULL, '{');
    json_add_int(&w, "seq", event->seq);
    json_add_int(&w, "t", event->t);
    struct json_members scan;
    struct json_member member;
    json_members_begin(&scan, event->raw, event->raw_len);
    while (json_members_next(&scan, &member) > 0) {
        if (is_key(&member, "seq") || is_key(&member, "t"))
            continue;
        strbuf_add(out, ",\"", 2);
        strbuf_add(out, member.key, member.key_len);
        strbuf_add(out, "\":", 2);
        strbuf_grow(out, member.len);
        /* Squeezed, because a line break between the parts of a value would end the line. */
        size_t took = json_squeeze(out->buf + out->len, member.value, member.len);
        strbuf_set_len(out, out->len + took);
    }
    json_close(&w, '}');
    json_make_printable(out, begin);
}
