#include "pretty.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "hits.h"
#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INDENT      2
#define SHORT_ARRAY 60 /* bytes of an array that stays on one line */
#define LONG_STRING 72 /* characters from which on a text is a block */

void pretty_init(struct pretty *pretty, int width)
{
    *pretty = (struct pretty){.text = STRBUF_INIT, .width = width};
}

void pretty_release(struct pretty *pretty)
{
    strbuf_release(&pretty->text);
    free(pretty->runs);
    free(pretty->lines);
    pretty_init(pretty, 0);
}

void pretty_reset(struct pretty *pretty, int width)
{
    strbuf_reset(&pretty->text);
    pretty->run_count = pretty->count = pretty->most = 0;
    pretty->width = width;
}

/* ---- lines and runs ---- */

void pretty_put(struct pretty *pretty, enum look look, const char *text, size_t len)
{
    struct pretty_line *line = &pretty->lines[pretty->count - 1];
    GROW(pretty->runs, pretty->run_count, pretty->run_room);
    pretty->runs[pretty->run_count++] = (struct pretty_run){(uint32_t)pretty->text.len, (uint32_t)len, (uint16_t)look};
    line->count++;
    strbuf_add(&pretty->text, text, len);
}

void pretty_puts(struct pretty *pretty, enum look look, const char *text)
{
    pretty_put(pretty, look, text, strlen(text));
}

void pretty_putf(struct pretty *pretty, enum look look, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    pretty_put(pretty, look, text.buf, text.len);
}

void pretty_begin(struct pretty *pretty, int indent)
{
    static const char blanks[] = "                                                                ";
    GROW(pretty->lines, pretty->count, pretty->room);
    pretty->lines[pretty->count++] = (struct pretty_line){.run = (uint32_t)pretty->run_count};
    for (; indent > 0; indent -= (int)sizeof(blanks) - 1) {
        size_t len = (size_t)indent < sizeof(blanks) - 1 ? (size_t)indent : sizeof(blanks) - 1;
        pretty_put(pretty, LOOK_TEXT, blanks, len);
    }
    pretty->lines[pretty->count - 1].gutter = pretty->lines[pretty->count - 1].count;
}

void pretty_head(struct pretty *pretty, const char *text)
{
    if (pretty->count)
        pretty_begin(pretty, 0);
    pretty_begin(pretty, 0);
    pretty_puts(pretty, LOOK_STRONG, text);
}

/* ---- texts ---- */

static bool begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* Which lines of a traceback are worth the eye: its head, the places, and what was raised in the end. */
static enum look traceback_look(const char *line, size_t len, enum look look, bool *inside)
{
    if (begins(line, len, "Traceback (most recent call last):")) {
        *inside = true;
        return LOOK_ERROR;
    }
    if (!*inside)
        return look;
    size_t blank = 0;
    while (blank < len && line[blank] == ' ')
        blank++;
    if (begins(line + blank, len - blank, "File \""))
        return LOOK_STRONG;
    if (blank || !len)
        return look;
    *inside = false;
    return LOOK_ERROR;
}

/* The bytes that are shown, whole characters. */
static size_t shown_length(const struct pretty *pretty, const char *text, size_t len)
{
    if (!pretty->most || len <= pretty->most)
        return len;
    size_t most = pretty->most;
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

static void say_more(struct pretty *pretty, size_t bytes, int indent)
{
    if (!bytes)
        return;
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    text_bytes(&size, bytes);
    pretty_begin(pretty, indent);
    pretty_putf(pretty, LOOK_WARN, "(%s more: too long to be shown whole, the recording has it)", size.buf);
}

static void add_lines(struct pretty *pretty, enum look look, const char *text, size_t all, int indent,
                      const char *margin)
{
    size_t len = shown_length(pretty, text, all), more = all - len;
    bool traceback = false;
    if (len && text[len - 1] == '\n')
        len--; /* the end of its last line, not another one */
    for (size_t at = 0; at <= len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
        pretty_begin(pretty, indent);
        if (margin) {
            pretty_puts(pretty, LOOK_DIM, margin);
            pretty->lines[pretty->count - 1].gutter++;
        }
        pretty_put(pretty, traceback_look(text + at, line_len, look, &traceback), text + at, line_len);
        at += line_len + 1;
    }
    say_more(pretty, more, indent);
}

static void add_wrapped(struct pretty *pretty, enum look look, const char *text, size_t all, int indent,
                        const char *margin)
{
    size_t len = shown_length(pretty, text, all), most = pretty->most;
    int room = pretty->width - indent - (margin ? (int)strlen(margin) : 0);
    CLEANUP(strbuf) struct strbuf wrapped = STRBUF_INIT;
    text_wrap(&wrapped, text, len, 0, (size_t)(room > PRETTY_WIDTH_MIN ? room : PRETTY_WIDTH_MIN));
    pretty->most = 0; /* breaking it makes it longer */
    add_lines(pretty, look, wrapped.buf, wrapped.len, indent, margin);
    pretty->most = most;
    say_more(pretty, all - len, indent);
}

void pretty_text(struct pretty *pretty, enum look look, const char *text, size_t len, int indent, bool wrap)
{
    if (wrap && pretty->width)
        add_wrapped(pretty, look, text, len, indent, NULL);
    else
        add_lines(pretty, look, text, len, indent, NULL);
}

void pretty_raw(struct pretty *pretty, const char *text, size_t all)
{
    size_t len = shown_length(pretty, text, all), more = all - len;
    int width = pretty->width > PRETTY_WIDTH_MIN ? pretty->width : PRETTY_WIDTH_MIN;
    do {
        size_t at = 0;
        int took = 0;
        while (at < len) {
            size_t used;
            uint32_t cp = utf8_decode(text + at, len - at, &used);
            char spelled[16];
            size_t spell = utf8_spell(cp, spelled);
            int columns = spell ? (int)spell : utf8_width(cp);
            if (at && took + columns > width)
                break;
            took += columns;
            at += used;
        }
        pretty_begin(pretty, 0);
        pretty_put(pretty, LOOK_TEXT, text, at);
        text += at;
        len -= at;
    } while (len);
    say_more(pretty, more, 0);
}

void pretty_quote(struct pretty *pretty, enum look look, const char *text, size_t len)
{
    add_lines(pretty, look, text, len, 0, PRETTY_BAR);
}

/* ---- JSON ---- */

static bool is_scalar(const struct json *value)
{
    return value->type != JSON_ARRAY && value->type != JSON_OBJECT;
}

static bool is_block(const struct pretty *pretty, const struct json *value)
{
    return value->type == JSON_STRING && (memchr(value->text, '\n', value->len) ||
                                          (pretty->width && value->len > LONG_STRING && strchr(value->text, ' ')));
}

/* Scalars only, and few: [1, 2, 3] reads better than five lines. */
static bool is_short(const struct pretty *pretty, const struct json *value)
{
    if (value->type != JSON_ARRAY || value->src_len > SHORT_ARRAY)
        return value->count == 0;
    json_each (item, value)
        if (!is_scalar(item) || is_block(pretty, item))
            return false;
    return true;
}

static void put_scalar(struct pretty *pretty, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, value, JSON_COMPACT);
    size_t len = shown_length(pretty, text.buf, text.len), more = text.len - len;
    strbuf_set_len(&text, len);
    if (more) {
        strbuf_addstr(&text, " (");
        text_bytes(&text, more);
        strbuf_addstr(&text, " more)");
    }
    pretty_put(pretty, value->type == JSON_STRING ? LOOK_JSON_STRING : LOOK_JSON_NUMBER, text.buf, text.len);
}

/* A text as it is meant to be read, with a bar beside it that says so. */
static void add_block(struct pretty *pretty, const struct json *value, int indent)
{
    if (memchr(value->text, '\n', value->len))
        add_lines(pretty, LOOK_JSON_STRING, value->text, value->len, indent + INDENT, PRETTY_BAR);
    else
        add_wrapped(pretty, LOOK_JSON_STRING, value->text, value->len, indent + INDENT, PRETTY_BAR);
}

static void put_short(struct pretty *pretty, const struct json *value)
{
    pretty_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "{" : "[");
    json_each (item, value) {
        put_scalar(pretty, item);
        if (item->next)
            pretty_puts(pretty, LOOK_TEXT, ", ");
    }
    pretty_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "}" : "]");
}

/* The value from where the line stands on. */
static void add_value(struct pretty *pretty, const struct json *value, int indent, bool last)
{
    const char *comma = last ? "" : ",";
    if (is_block(pretty, value)) {
        CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
        text_plural(&size, (int64_t)utf8_count(value->text, value->len), "character", "characters");
        pretty_putf(pretty, LOOK_DIM, "(%s of text)%s", size.buf, comma);
        add_block(pretty, value, indent);
        return;
    }
    if (is_scalar(value)) {
        put_scalar(pretty, value);
    } else if (is_short(pretty, value)) {
        put_short(pretty, value);
    } else {
        pretty_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "{" : "[");
        json_each (item, value) {
            pretty_begin(pretty, indent + INDENT);
            if (value->type == JSON_OBJECT) {
                CLEANUP(strbuf) struct strbuf key = STRBUF_INIT;
                json_write_str(&key, item->key, strlen(item->key), JSON_COMPACT);
                pretty_put(pretty, LOOK_JSON_KEY, key.buf, key.len);
                pretty_puts(pretty, LOOK_TEXT, ": ");
            }
            add_value(pretty, item, indent + INDENT, !item->next);
        }
        pretty_begin(pretty, indent);
        pretty_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "}" : "]");
    }
    if (!last)
        pretty_puts(pretty, LOOK_TEXT, comma);
}

void pretty_json(struct pretty *pretty, const struct json *value, int indent)
{
    pretty_begin(pretty, indent);
    add_value(pretty, value, indent, true);
}

static void plain_scalar(struct pretty *pretty, const struct json *value)
{
    if (value->type == JSON_STRING)
        pretty_put(pretty, LOOK_TEXT, value->text, value->len);
    else
        pretty_put(pretty, LOOK_JSON_NUMBER, value->src, value->src_len);
}

static void plain_member(struct pretty *pretty, const struct json *value, int indent)
{
    pretty_begin(pretty, indent);
    pretty_putf(pretty, LOOK_JSON_KEY, "%s:", value->key);
    if (is_block(pretty, value) || !is_scalar(value)) {
        pretty_plain(pretty, value, indent + INDENT);
        return;
    }
    pretty_puts(pretty, LOOK_TEXT, " ");
    plain_scalar(pretty, value);
}

void pretty_plain(struct pretty *pretty, const struct json *value, int indent)
{
    switch (value->type) {
    case JSON_OBJECT:
        json_each (member, value)
            plain_member(pretty, member, indent);
        return;
    case JSON_ARRAY:
        json_each (item, value) {
            pretty_plain(pretty, item, indent);
            /* Things with several lines each need to be told apart. */
            if (item->next && !is_scalar(item)) {
                pretty_begin(pretty, indent);
                pretty_puts(pretty, LOOK_DIM, "-");
            }
        }
        return;
    case JSON_STRING:
        pretty_text(pretty, LOOK_TEXT, value->text, value->len, indent, true);
        return;
    default:
        pretty_begin(pretty, indent);
        plain_scalar(pretty, value);
    }
}

/* ---- showing it ---- */

void pretty_paint(const struct pretty *pretty, struct canvas *canvas, struct rect in, size_t top, int left)
{
    for (int row = 0; row < in.rows && top + (size_t)row < pretty->count; row++) {
        const struct pretty_line *line = &pretty->lines[top + (size_t)row];
        int col = -left;
        for (uint32_t i = 0; i < line->count && col < in.cols; i++) {
            const struct pretty_run *run = &pretty->runs[line->run + i];
            const char *text = pretty->text.buf + run->at;
            canvas_text(canvas, in, row, col, (enum look)run->look, text, run->len);
            col += canvas_columns(canvas, text, run->len);
        }
    }
}

static void line_text(const struct pretty *pretty, size_t line, const char **text, size_t *len)
{
    const struct pretty_line *at = &pretty->lines[line];
    const struct pretty_run *first = &pretty->runs[at->run], *last = first + at->count - 1;
    *text = at->count ? pretty->text.buf + first->at : "";
    *len = at->count ? last->at + last->len - first->at : 0;
}

bool pretty_search(const struct pretty *pretty, const char *needle, bool back, size_t *line)
{
    size_t at = *line;
    for (size_t looked = 0; looked < pretty->count; looked++) {
        at = back ? (at && at <= pretty->count ? at : pretty->count) - 1 : at + 1 < pretty->count ? at + 1 : 0;
        const char *text;
        size_t len;
        line_text(pretty, at, &text, &len);
        if (hits_find(text, len, needle)) {
            *line = at;
            return true;
        }
    }
    return false;
}

void pretty_write(const struct pretty *pretty, struct strbuf *out)
{
    for (size_t line = 0; line < pretty->count; line++) {
        const char *text;
        size_t len;
        line_text(pretty, line, &text, &len);
        strbuf_add(out, text, len);
        strbuf_addch(out, '\n');
    }
}
