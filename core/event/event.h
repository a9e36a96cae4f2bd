#pragma once
/* An event: a fact, in the past tense, immutable. event.def is the list.
 *
 * One JSON object per line: seq, t, turn, type, then the fields of the type. In memory an event is a struct. A new
 * event borrows everything it points to while it is emitted. A decoded event owns everything in the arena of its
 * reader. */

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct json;

#define EVENT_NULL_INT INT64_MIN

enum event_type {
    EVENT_OTHER = 0, /* a type this version does not know: kept and shown */
#define F(kind, ...)
#define REC(name, ...)
#define EVENT(ID, member, name, doc, ...) EVENT_##ID,
#include "event.def"
#undef EVENT
#undef REC
    EVENT_TYPE_COUNT
};

enum event_record {
    EVENT_RECORD_NONE = 0,
#define REC(name, ...) EVENT_RECORD_##name,
#define EVENT(ID, member, name, doc, ...)
#include "event.def"
#undef EVENT
#undef REC
#undef F
    EVENT_RECORD_COUNT
};

/* Lists inside events. `items` NULL: the field is absent. EVENT_NONE is the pointer of an empty list. */
struct event_strs {
    const char *const *items;
    size_t count;
};
struct event_ints {
    const int64_t *items;
    size_t count;
};
#define EVENT_NONE ((const void *)"")

#define EVENT_C_STR(field)          const char *field;
#define EVENT_C_NSTR(field)         const char *field;
#define EVENT_C_JSON(field)         const char *field;
#define EVENT_C_LIST(field)         const char *field;
#define EVENT_C_OBJ(field)          const char *field;
#define EVENT_C_INT(field)          int64_t field;
#define EVENT_C_NINT(field)         int64_t field;
#define EVENT_C_OINT(field)         int64_t field;
#define EVENT_C_NUM(field)          double field;
#define EVENT_C_NNUM(field)         double field;
#define EVENT_C_BOOL(field)         bool field;
#define EVENT_C_YES(field)          bool field;
#define EVENT_C_FLAG(field)         bool field;
#define EVENT_C_STRS(field)         struct event_strs field;
#define EVENT_C_INTS(field)         struct event_ints field;
#define EVENT_C_OREC(field, record) const struct event_##record *field;
#define EVENT_C_RECS(field, record) struct event_##record##_list field;
/* Bit i of `present`: the line had the i-th field, or null. 0 in what was not decoded. The fold reads it in records
 * where a missing field differs from null; code that makes such a record sets EVENT_ALL_PRESENT. */
#define EVENT_ALL_PRESENT UINT64_MAX
#define F(kind, ...)      EVENT_C_##kind(__VA_ARGS__)
#define REC(name, ...)                    \
    struct event_##name {                 \
        uint64_t present;                 \
        __VA_ARGS__                       \
    };                                    \
    struct event_##name##_list {          \
        const struct event_##name *items; \
        size_t count;                     \
    };
#define EVENT(ID, member, name, doc, ...) \
    struct event_##member {               \
        uint64_t present;                 \
        __VA_ARGS__                       \
    };
#include "event.def"
#undef EVENT
#undef REC
#undef F

struct event {
    int64_t seq;  /* 1, 2, 3 …; 0 until the journal gave one */
    int64_t t;    /* microseconds since the session began */
    int64_t turn; /* 0 outside turns */
    enum event_type type;
    unsigned loose;        /* fields inside records that had the wrong type and read as missing */
    const char *type_name; /* also of a type this version does not know */
    const char *raw;       /* the line it was decoded from (not terminated); NULL: a new event */
    size_t raw_len;
    union {
#define F(kind, ...)
#define REC(name, ...)
#define EVENT(ID, member, name, doc, ...) struct event_##member member;
#include "event.def"
#undef EVENT
#undef REC
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
/* The same with the event's seq and t instead of those in the raw line. */
void event_encode_numbered(struct strbuf *out, const struct event *event);
/* Appends the JSON value of one field of an event or record; nothing when the field is absent. */
struct event_field;
void event_encode_field(struct strbuf *out, const struct event_field *field, const void *body);
/* Reads a line; texts go to the arena. Unknown types and fields are fine. Errors are: text that is not a JSON
 * object, a missing type, or a known field of the wrong kind, which the error names. Missing seq, t and turn are -1,
 * -1 and 0; the reader of the file fills them in. A missing or null field has its zero value (NULL, 0,
 * EVENT_NULL_INT, NaN, false).
 *
 * Of a line longer than EVENT_WHOLE, only the first EVENT_HEAD bytes are read, because the whole would block the
 * loop: the fields before the long one. No event of ours is that long; other versions and other programs may write
 * one. */
#define EVENT_WHOLE ((size_t)12 << 20)
#define EVENT_HEAD  ((size_t)64 << 10)
int event_decode(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;
/* The same for display only. Texts of a model or a user longer than EVENT_SHORT are cut, with a note. JSON with more
 * values than the calls of an answer may have is left out. Fields that a decision depends on are whole. */
#define EVENT_SHORT ((size_t)256 << 10)
int event_decode_short(struct event *event, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;

/* A field as the line has it, including members unknown to this version, to show it whole. `name` NULL: all fields.
 * NULL if it is missing or null, and for a new event. */
const struct json *event_raw_json(const struct event *event, const char *name, struct arena *arena);

/* What was decided about a write, for counts. A turn that was canceled decided nothing. */
enum event_decided_as { DECIDED_NOTHING, DECIDED_APPROVED, DECIDED_DENIED };
enum event_decided_as event_decided_as(const char *decision, const char *by);

/* Parses JSON text inside an event: arguments, a tool's output, script data. NULL for NULL and for invalid text. */
const struct json *event_leaf(struct arena *arena, const char *text);

/* The fields of an event or a record, for code that treats all of them alike: codec, copy, comparison, redaction. */
enum event_kind {
    EVENT_KIND_STR,
    EVENT_KIND_NSTR,
    EVENT_KIND_JSON,
    EVENT_KIND_LIST,
    EVENT_KIND_OBJ,
    EVENT_KIND_INT,
    EVENT_KIND_NINT,
    EVENT_KIND_OINT,
    EVENT_KIND_NUM,
    EVENT_KIND_NNUM,
    EVENT_KIND_BOOL,
    EVENT_KIND_YES,
    EVENT_KIND_FLAG,
    EVENT_KIND_STRS,
    EVENT_KIND_INTS,
    EVENT_KIND_OREC,
    EVENT_KIND_RECS,
};
struct event_field {
    const char *name;
    enum event_kind kind;
    enum event_record record; /* of OREC and RECS */
    size_t offset;            /* within the struct of its event or record */
};
struct event_layout {
    const struct event_field *fields;
    size_t count;
    size_t size; /* of the struct */
};
struct event_layout event_layout(enum event_type type);
struct event_layout event_record_layout(enum event_record record);
/* Where the struct of an event's own type begins. */
static inline void *event_body(struct event *event)
{
    return &event->session_started;
}

/* A copy in the arena that shares nothing with `event`. */
struct event *event_copy(struct arena *arena, const struct event *event);
/* Calls `text` for every text of the event, also inside records: it returns NULL to leave the text as it is, or its
 * replacement from the arena. Changed records are copied to the arena; nothing that was borrowed is written to. */
typedef const char *event_text_fn(struct arena *arena, const char *text, bool json, void *user);
void event_map_texts(struct event *event, struct arena *arena, event_text_fn *text, void *user);
