/* Parses the records that a child writes. It trusts nothing: it bounds lines and the depth of values, and checks types.
 * A line that fails a check becomes a RECORD_BAD record. */

#include "record.h"
#include <string.h>

const char *record_without_nul(struct arena *arena, const char *text, size_t len)
{
    if (!memmem(text, len, "\\u0000", 6))
        return text;
    char *copy = arena_memdup0(arena, text, len);
    for (size_t i = 0; i + 1 < len; i++) {
        if (copy[i] != '\\')
            continue;
        if (len - i >= 6 && memcmp(copy + i, "\\u0000", 6) == 0)
            memcpy(copy + i, "\\ufffd", 6);
        i++; /* an escaped backslash starts no escape */
    }
    return copy;
}

static struct record bad(const char *why)
{
    return (struct record){.kind = RECORD_BAD, .text = why, .len = strlen(why)};
}

static bool deeper_than(const struct json *value, unsigned levels)
{
    if (value->type != JSON_ARRAY && value->type != JSON_OBJECT)
        return false;
    if (levels == 0)
        return true;
    json_each (item, value) {
        if (deeper_than(item, levels - 1))
            return true;
    }
    return false;
}

/* Returns true if the line holds more values than allowed, before parsing allocates them. Every value but the first
 * follows a comma or an opening bracket. */
static bool too_many(const char *text, size_t len)
{
    size_t values = 0;
    if (len < RECORD_VALUES_MAX) /* the usual case costs nothing */
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            while (++i < len && text[i] != '"')
                i += text[i] == '\\';
            continue;
        }
        values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    return values > RECORD_VALUES_MAX;
}

static struct record parse_text(struct arena *arena, enum record_kind kind, const char *text, size_t len)
{
    char *bytes = arena_alloc(arena, len + 1);
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '\\') {
            if (i + 1 == len || (text[i + 1] != 'n' && text[i + 1] != '\\'))
                return bad("text with an unknown escape");
            c = text[++i] == 'n' ? '\n' : '\\';
        }
        bytes[count++] = c;
    }
    bytes[count] = '\0';
    return (struct record){.kind = kind, .text = bytes, .len = count};
}

static const struct json *string_member(const struct json *object, const char *name)
{
    const struct json *value = json_get(object, name);
    return value && value->type == JSON_STRING ? value : NULL;
}

static struct record parse_intermediate(const struct json *value)
{
    const struct json *label = string_member(value, "label"), *data = json_get(value, "data");
    if (!label || !data)
        return bad("an intermediate without label or data");
    return (struct record){.kind = RECORD_INTERMEDIATE, .value = data, .text = label->text, .len = label->len};
}

static struct record parse_log(const struct json *value)
{
    const struct json *message = string_member(value, "message"), *level = string_member(value, "level");
    if (!message || !level)
        return bad("a log without message or level");
    return (struct record){.kind = RECORD_LOG, .text = message->text, .len = message->len, .more = level->text};
}

static struct record parse_end(const struct json *value)
{
    const struct json *message = string_member(value, "message"), *traceback = string_member(value, "traceback");
    if (value->type != JSON_OBJECT || (value->count && (!message || !traceback)))
        return bad("an end without message or traceback");
    if (!message)
        return (struct record){.kind = RECORD_END, .value = value};
    return (struct record){
        .kind = RECORD_END, .value = value, .text = message->text, .len = message->len, .more = traceback->text};
}

static struct record parse_tools(const struct json *value)
{
    if (value->type != JSON_OBJECT)
        return bad("tools that are not an object");
    json_each (effect, value) {
        if (effect->type != JSON_STRING)
            return bad("a tool whose effect is not text");
    }
    return (struct record){.kind = RECORD_TOOLS, .value = value};
}

struct record record_parse(struct arena *arena, const char *line, size_t len)
{
    enum record_kind kind = len ? (enum record_kind)line[0] : RECORD_BAD;
    struct err err = ERR_INIT;
    if (len == 0)
        return bad("an empty line");
    if (kind == RECORD_STDOUT || kind == RECORD_STDERR || kind == RECORD_FILE)
        return parse_text(arena, kind, line + 1, len - 1);
    if (!strchr("RILXTS", line[0]) || !line[0])
        return bad("an unknown kind");
    if (too_many(line + 1, len - 1))
        return bad(arena_printf(arena, "more than %zu values", RECORD_VALUES_MAX));
    const struct json *value = json_parse(arena, record_without_nul(arena, line + 1, len - 1), len - 1, &err);
    if (!value)
        return bad(arena_printf(arena, "not JSON: %s", err.text));
    /* The harness itself adds the object around an intermediate's data. */
    if (deeper_than(value, RECORD_DEPTH_MAX + (kind == RECORD_INTERMEDIATE)))
        return bad(arena_printf(arena, "deeper than %d levels", RECORD_DEPTH_MAX));
    switch (kind) {
    case RECORD_INTERMEDIATE:
        return parse_intermediate(value);
    case RECORD_LOG:
        return parse_log(value);
    case RECORD_END:
        return parse_end(value);
    case RECORD_TOOLS:
        return parse_tools(value);
    case RECORD_SANDBOX:
        if (value->type != JSON_OBJECT)
            return bad("a sandbox that is not an object");
        break;
    default:
        break;
    }
    return (struct record){.kind = kind, .value = value};
}

void record_write_text(struct strbuf *out, enum record_kind kind, const char *bytes, size_t len)
{
    strbuf_grow(out, len + 3);
    strbuf_addch(out, '\n');
    strbuf_addch(out, (char)kind);
    while (len) {
        size_t plain = 0;
        while (plain < len && bytes[plain] != '\n' && bytes[plain] != '\\')
            plain++;
        strbuf_add(out, bytes, plain);
        if (plain == len)
            break;
        strbuf_add(out, bytes[plain] == '\n' ? "\\n" : "\\\\", 2);
        bytes += plain + 1;
        len -= plain + 1;
    }
    strbuf_addch(out, '\n');
}

void record_reader_init(struct record_reader *reader)
{
    *reader = (struct record_reader){.pending = STRBUF_INIT};
}

void record_reader_release(struct record_reader *reader)
{
    strbuf_release(&reader->pending);
}

void record_reader_add(struct record_reader *reader, const char *bytes, size_t len)
{
    if (reader->taken) { /* drop the lines already returned */
        memmove(reader->pending.buf, reader->pending.buf + reader->taken, reader->pending.len - reader->taken);
        strbuf_set_len(&reader->pending, reader->pending.len - reader->taken);
        reader->taken = 0;
    }
    strbuf_add(&reader->pending, bytes, len);
}

/* Returns the next line that is not empty; NULL if none is complete. Sets `too_long` if it dropped one. */
static const char *next_line(struct record_reader *reader, size_t *len, bool *too_long)
{
    for (;;) {
        const char *start = reader->pending.buf + reader->taken;
        size_t room = reader->pending.len - reader->taken;
        const char *newline = memchr(start + reader->seen, '\n', room - reader->seen);
        if (!newline) {
            reader->seen = room;
            if (room > RECORD_MAX) {
                strbuf_reset(&reader->pending);
                reader->taken = reader->seen = 0;
                reader->skipping = true;
            }
            return NULL;
        }
        *len = (size_t)(newline - start);
        reader->taken += *len + 1;
        reader->seen = 0;
        *too_long = reader->skipping || *len > RECORD_MAX;
        reader->skipping = false;
        if (*len || *too_long)
            return start;
    }
}

bool record_reader_next(struct record_reader *reader, struct arena *arena, struct record *record)
{
    bool too_long = false;
    size_t len = 0;
    const char *line = next_line(reader, &len, &too_long);
    if (!line)
        return false;
    *record = too_long ? bad("longer than a record may be") : record_parse(arena, line, len);
    return true;
}
