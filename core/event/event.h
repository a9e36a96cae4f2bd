#pragma once
/* An event: a fact, in the past tense, immutable. event.def is the list.
 *
 * One JSON object per line: seq, t, turn, type, then the fields of the type. In memory an event is a struct whose texts
 * are borrowed: from the caller while it is being emitted, from an arena after decoding. JSON fields are compact JSON
 * text, parsed by whoever needs to look inside; that a list is a list and an object an object is checked by then. */

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_NULL_INT INT64_MIN

enum event_type {
    EVENT_OTHER = 0, /* a type this version does not know: kept and shown */
#define F(kind, field)
#define EVENT(ID, member, name, doc, fields) EVENT_##ID,
#include "event.def"
#undef EVENT
#undef F
    EVENT_TYPE_COUNT
};

#define EVENT_C_STR    const char *
#define EVENT_C_JSON   const char *
#define EVENT_C_LIST   const char *
#define EVENT_C_OBJ    const char *
#define EVENT_C_INT    int64_t
#define EVENT_C_NINT   int64_t
#define EVENT_C_NUM    double
#define EVENT_C_NNUM   double
#define EVENT_C_BOOL   bool
#define F(kind, field) EVENT_C_##kind field;
#define EVENT(ID, member, name, doc, fields)                                                                           \
    struct event_##member {                                                                                            \
        char none_;                                                                                                    \
        fields                                                                                                         \
    };
#include "event.def"
#undef EVENT
#undef F

struct event {
    int64_t seq;  /* 1, 2, 3 …; 0 until the journal gave one */
    int64_t t;    /* microseconds since the session began */
    int64_t turn; /* 0 outside turns */
    enum event_type type;
    const char *type_name; /* also of a type this version does not know */
    const char *raw;       /* the line it was decoded from (not terminated), NULL for a new one */
    size_t raw_len;
    union {
#define F(kind, field)
#define EVENT(ID, member, name, doc, fields) struct event_##member member;
#include "event.def"
#undef EVENT
#undef F
    };
};

/* "turn.started"; NULL for EVENT_OTHER. */
const char *event_type_name(enum event_type type);
const char *event_type_doc(enum event_type type);
enum event_type event_type_from_name(const char *name, size_t len);

/* Appends the line, without its newline. An event that was decoded is written as its raw line, so that fields this
 * version does not know survive. */
void event_encode(struct strbuf *out, const struct event *event);
/* Reads a line. Texts go to the arena. Unknown types and fields are fine; text that is no JSON object, a missing type,
 * or a known field of the wrong kind is an error that names the field. Missing seq, t and turn are -1, -1 and 0: the
 * reader of the file fills them in. A missing or null field has its zero value (NULL, 0, EVENT_NULL_INT, NaN, false).
 *
 * A line longer than EVENT_WHOLE would hold everything else up. Only its first EVENT_HEAD bytes are read: the fields
 * before the long one. No event of ours is that long; other versions and other programs may write one. */
#define EVENT_WHOLE ((size_t)12 << 20)
#define EVENT_HEAD  ((size_t)64 << 10)
int event_decode(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;
/* The same for who only shows it: of what a model or a user said, texts longer than EVENT_SHORT are cut, and say so,
 * and JSON of more values than the calls of an answer may have is left out. Whatever is decided about is whole. */
#define EVENT_SHORT ((size_t)256 << 10)
int event_decode_short(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;

/* The fields of a type, for tables and comparison. */
enum event_kind {
    EVENT_KIND_STR,
    EVENT_KIND_JSON,
    EVENT_KIND_INT,
    EVENT_KIND_NINT,
    EVENT_KIND_NUM,
    EVENT_KIND_NNUM,
    EVENT_KIND_BOOL
};
struct event_field {
    const char *name;
    enum event_kind kind;
    char shape;    /* of JSON: '[' a list, '{' an object, 0 anything */
    size_t offset; /* within struct event */
};
const struct event_field *event_fields(enum event_type type, size_t *count);
/* One line for lists: "c4 src/lines.c +4 -1". Not sanitised. */
void event_summary(struct strbuf *out, const struct event *event);
