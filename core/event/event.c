/* Names, fields and the encoder, all made from event.def.
 *
 * The generated part is two switches. Inside a case of event_fields `self` names the struct of that type, so that a row
 * of the table needs nothing but the name of the field; the members of the union all begin at the same place. */

#include "event.h"
#include "base/json.h"
#include "base/mem.h"
#include "event_scan.h"
#include <stddef.h>
#include <string.h>

struct type_info {
    const char *name;
    size_t len;
    const char *doc;
};

static const struct type_info types[EVENT_TYPE_COUNT] = {
#define F(kind, field)
#define EVENT(ID, member, name, doc, fields) [EVENT_##ID] = {name, sizeof(name) - 1, doc},
#include "event.def"
#undef EVENT
#undef F
};

const char *event_type_name(enum event_type type)
{
    return (unsigned)type < EVENT_TYPE_COUNT ? types[type].name : NULL;
}

const char *event_type_doc(enum event_type type)
{
    return (unsigned)type < EVENT_TYPE_COUNT ? types[type].doc : NULL;
}

enum event_type event_type_from_name(const char *name, size_t len)
{
    for (int type = EVENT_OTHER + 1; type < EVENT_TYPE_COUNT; type++)
        if (types[type].len == len && types[type].name[0] == name[0] && memcmp(types[type].name, name, len) == 0)
            return (enum event_type)type;
    return EVENT_OTHER;
}

#define UNION_OFFSET offsetof(struct event, session_started)

/* How a kind of event.def stands in the table: what it is in C, and the first character its JSON must have. */
#define KIND_STR  EVENT_KIND_STR, 0
#define KIND_JSON EVENT_KIND_JSON, 0
#define KIND_LIST EVENT_KIND_JSON, '['
#define KIND_OBJ  EVENT_KIND_JSON, '{'
#define KIND_INT  EVENT_KIND_INT, 0
#define KIND_NINT EVENT_KIND_NINT, 0
#define KIND_NUM  EVENT_KIND_NUM, 0
#define KIND_NNUM EVENT_KIND_NNUM, 0
#define KIND_BOOL EVENT_KIND_BOOL, 0

const struct event_field *event_fields(enum event_type type, size_t *count)
{
    switch (type) {
#define F(kind, field) {#field, KIND_##kind, UNION_OFFSET + offsetof(self, field)},
#define EVENT(ID, member, name, doc, fields)                                                                           \
    case EVENT_##ID: {                                                                                                 \
        typedef struct event_##member self;                                                                            \
        static const struct event_field table[] = {fields{NULL, KIND_STR, sizeof(self)}};                              \
        *count = COUNT_OF(table) - 1;                                                                                  \
        return table;                                                                                                  \
    }
#include "event.def"
#undef EVENT
#undef F
    case EVENT_OTHER:
    case EVENT_TYPE_COUNT:
        break;
    }
    static const struct event_field none[1];
    *count = 0;
    return none;
}

static void encode_field(struct json_writer *w, const struct event *event, const struct event_field *field)
{
    const char *place = (const char *)event + field->offset;
    const char *text;
    int64_t integer;
    double number;
    bool truth;
    switch (field->kind) {
    case EVENT_KIND_STR:
        memcpy(&text, place, sizeof(text));
        if (text)
            json_add_str(w, field->name, text);
        return;
    case EVENT_KIND_JSON:
        memcpy(&text, place, sizeof(text));
        if (text)
            json_add_raw(w, field->name, text);
        return;
    case EVENT_KIND_INT:
    case EVENT_KIND_NINT:
        memcpy(&integer, place, sizeof(integer));
        if (field->kind == EVENT_KIND_NINT && integer == EVENT_NULL_INT)
            json_add_null(w, field->name);
        else
            json_add_int(w, field->name, integer);
        return;
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        memcpy(&number, place, sizeof(number));
        json_add_num(w, field->name, number);
        return;
    case EVENT_KIND_BOOL:
        memcpy(&truth, place, sizeof(truth));
        json_add_bool(w, field->name, truth);
        return;
    }
}

static void encode_fields(struct strbuf *out, const struct event *event)
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
    size_t count;
    const struct event_field *fields = event_fields(event->type, &count);
    for (size_t i = 0; i < count; i++)
        encode_field(&w, event, &fields[i]);
    json_close(&w, '}');
    json_make_printable(out, begin);
}

void event_encode(struct strbuf *out, const struct event *event)
{
    size_t begin = out->len;
    if (event->raw) {
        strbuf_add(out, event->raw, event->raw_len);
        json_make_printable(out, begin); /* lines of older versions hold such characters as they are */
    } else {
        encode_fields(out, event);
    }
}

static bool is_key(const struct event_member *member, const char *name)
{
    char plain[32]; /* a short name written all in \u0073 forms is shorter */
    const char *key = member->key;
    size_t len = member->key_len;
    if (member->key_escaped && len <= sizeof(plain)) {
        len = event_scan_unescape(plain, key, len);
        key = plain;
    }
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

void event_encode_numbered(struct strbuf *out, const struct event *event)
{
    if (!event->raw) {
        encode_fields(out, event);
        return;
    }
    struct json_writer w = json_begin(out);
    size_t begin = out->len;
    json_open(&w, NULL, '{');
    json_add_int(&w, "seq", event->seq);
    json_add_int(&w, "t", event->t);
    struct event_scan scan;
    struct event_member member;
    event_scan_begin(&scan, event->raw, event->raw_len);
    while (event_scan_next(&scan, &member) > 0) {
        if (is_key(&member, "seq") || is_key(&member, "t"))
            continue;
        strbuf_add(out, ",\"", 2);
        strbuf_add(out, member.key, member.key_len);
        strbuf_add(out, "\":", 2);
        strbuf_grow(out, member.len);
        /* Squeezed, because a line break between the parts of a value would end the line. */
        size_t took = event_scan_squeeze(out->buf + out->len, member.value, member.len);
        strbuf_set_len(out, out->len + took);
    }
    json_close(&w, '}');
    json_make_printable(out, begin);
}
