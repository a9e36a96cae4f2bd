#pragma once
/* JSON records, in and out: events, arguments, digests, model traffic.
 *
 * There are two readers of JSON. A record must come back as it went in, and cJSON loses some of it: it turns every
 * number into a double (9007199254740993 is gone at parse time, and call digests with it), cuts strings at \u0000, and
 * refuses a lone surrogate. Here a number keeps its text, values live in an arena and die together, and a parse is one
 * pass without a malloc per node. doc.h, on cJSON, is for Keyturn's own documents and explains which reader to use.
 * Tests and the benchmark compare this reader with cJSON.
 *
 * Strict RFC 8259: no trailing commas, no control characters in strings, valid UTF-8 only, at most JSON_DEPTH_MAX deep.
 * `\u0000` is refused, because every text in the program is a C string. A lone surrogate escape reads as U+FFFD. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct strbuf;

#define JSON_DEPTH_MAX 200

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* An immutable value. Members of an object and items of an array are a list in source order. */
struct json {
    enum json_type type;
    uint32_t count;   /* members or items */
    const char *key;  /* name within the object around it, else NULL */
    const char *text; /* string: decoded; number: as written; NUL-terminated */
    size_t len;       /* of text */
    const struct json *child;
    const struct json *next;
    const char *src; /* the value's place in the parsed text, and its length */
    size_t src_len;
};

/* Parses one value with nothing but white space around it. NULL and `err` (with "byte N" in its text) when it is not
 * JSON. `text` need not be terminated, but `src` of the values points into it. */
const struct json *json_parse(struct arena *arena, const char *text, size_t len, struct err *err) CHECKED;
/* The same for files people write: `//` comments to the end of a line count as white space; err->line is set. */
const struct json *json_parse_commented(struct arena *arena, const char *text, size_t len, struct err *err) CHECKED;

/* Members by exact name; the last of equal names wins, as in Python. NULL when missing, or when `object` is NULL or no
 * object, so look-ups can be chained. */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_at(const struct json *array, size_t index);
#define json_each(item, container) \
    for (const struct json *item = (container) ? (container)->child : NULL; item; item = item->next)

/* Typed reads with a default for missing, null or another type. */
const char *json_str(const struct json *value, const char *otherwise);
int64_t json_int(const struct json *value, int64_t otherwise); /* also 3.0 and 1e2; out of range: otherwise */
double json_num(const struct json *value, double otherwise);
bool json_bool(const struct json *value, bool otherwise);
const char *json_type_name(enum json_type type); /* "null", "boolean", "number", "string", "array", "object" */

/* How a value is written out. */
enum json_style {
    JSON_COMPACT = 0,                           /* {"a":1,"b":[2]} — one line, as in the journal */
    JSON_SPACED = 1,                            /* {"a": 1, "b": [2]} — Python's default separators */
    JSON_SORTED = 2,                            /* members by key */
    JSON_ASCII = 4,                             /* every character above 0x7e as \uXXXX */
    JSON_PRETTY = 8,                            /* for reading: two spaces, one member a line */
    JSON_PYTHON = JSON_SPACED | JSON_ASCII,     /* json.dumps(x) */
    JSON_CANONICAL = JSON_PYTHON | JSON_SORTED, /* json.dumps(x, sort_keys=True): what call digests hash */
};
void json_write(struct strbuf *out, const struct json *value, unsigned style);
/* A string with quotes and escapes; malformed UTF-8 becomes U+FFFD, NUL bytes too. */
void json_write_str(struct strbuf *out, const char *text, size_t len, unsigned style);
/* How long that is, the quotes included. */
size_t json_str_length(const char *text, size_t len, unsigned style);
/* Makes JSON text in `text`, from byte `from` on, safe to print: DEL, C1 and bidirectional controls and invisible
 * characters become \uXXXX, malformed UTF-8 becomes U+FFFD. The values stay the same. Every JSON line that leaves for a
 * file, a pipe or a terminal goes through here. json_write itself does not escape them: its text often becomes a value
 * (a tool's output in a message, the input of a digest), and values must not change. */
void json_make_printable(struct strbuf *text, size_t from);
/* How many bytes longer that makes it. */
size_t json_printable_growth(const char *text, size_t len);
/* How long a text is as a string of such a line, with its quotes. */
size_t json_printed_length(const char *text, size_t len);
/* Returns true if json_make_printable would change nothing. */
bool json_is_printable(const char *text, size_t len);
/* The shortest text that reads back as the same double, an integer without a point; NaN and infinities as null. */
void json_write_num(struct strbuf *out, double number);

/* Builds an object or array on a strbuf: the writer puts the commas. Keys are plain ASCII names of our own.
 *     struct json_writer w = json_begin(&sb);
 *     json_open(&w, NULL, '{'); json_add_str(&w, "path", p); json_add_int(&w, "size", n); json_close(&w, '}');   */
struct json_writer {
    struct strbuf *out;
    bool comma;
};
static inline struct json_writer json_begin(struct strbuf *out)
{
    return (struct json_writer){out, false};
}
/* `key` is NULL inside arrays and at the top. A NULL text writes null. */
void json_open(struct json_writer *w, const char *key, char bracket);
void json_close(struct json_writer *w, char bracket);
void json_add_str(struct json_writer *w, const char *key, const char *text);
void json_add_strn(struct json_writer *w, const char *key, const char *text, size_t len);
void json_add_int(struct json_writer *w, const char *key, int64_t number);
void json_add_num(struct json_writer *w, const char *key, double number);
void json_add_bool(struct json_writer *w, const char *key, bool value);
void json_add_null(struct json_writer *w, const char *key);
/* JSON text that is valid and on one line already. */
void json_add_raw(struct json_writer *w, const char *key, const char *text);
void json_add_value(struct json_writer *w, const char *key, const struct json *value);

/* ---- looking at text without making values (json_scan.h has the rest) ---- */

/* Bytes of the value that begins at `text`; text after it is ignored. 0 if json_parse would refuse the value, or if its
 * containers nest more than `depth` deep. */
size_t json_check(const char *text, size_t len, int depth);
/* An upper estimate of the number of values in a text, by its commas and brackets. Parsed values take many times the
 * memory of their text, so call this before parsing foreign text. */
size_t json_count_values(const char *text, size_t len);
