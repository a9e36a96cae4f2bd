/* Documents: JSON, text and tracebacks as lines of colored runs.
 *
 * The caller fills a document (document_json, document_text, document_head …) and paints it from any line. For a
 * decision, document_fold turns a readable document into rows that hide nothing. */

#include "document.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define INDENT      2
#define SHORT_ARRAY 60 /* bytes of an array that stays on one line */
#define LONG_STRING 72 /* a text with at least this many characters becomes a block */

void document_init(struct document *pretty, int width)
{
    *pretty = (struct document){.text = STRBUF_INIT, .width = width};
}

void document_release(struct document *pretty)
{
    strbuf_release(&pretty->text);
    free(pretty->runs);
    free(pretty->lines);
    document_init(pretty, 0);
}

void document_reset(struct document *pretty, int width)
{
    strbuf_reset(&pretty->text);
    pretty->run_count = pretty->count = pretty->most = 0;
    pretty->width = width;
}

/* ---- lines and runs ---- */

void document_put(struct document *pretty, enum look look, const char *text, size_t len)
{
    struct document_line *line = &pretty->lines[pretty->count - 1];
    GROW(pretty->runs, pretty->run_count, pretty->run_room);
    pretty->runs[pretty->run_count++] =
        (struct document_run){(uint32_t)pretty->text.len, (uint32_t)len, (uint16_t)look};
    line->count++;
    strbuf_add(&pretty->text, text, len);
}

void document_puts(struct document *pretty, enum look look, const char *text)
{
    document_put(pretty, look, text, strlen(text));
}

void document_putf(struct document *pretty, enum look look, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    document_put(pretty, look, text.buf, text.len);
}

void document_begin(struct document *pretty, int indent)
{
    static const char blanks[] = "                                                                ";
    GROW(pretty->lines, pretty->count, pretty->room);
    pretty->lines[pretty->count++] = (struct document_line){.run = (uint32_t)pretty->run_count};
    for (; indent > 0; indent -= (int)sizeof(blanks) - 1) {
        size_t len = (size_t)indent < sizeof(blanks) - 1 ? (size_t)indent : sizeof(blanks) - 1;
        document_put(pretty, LOOK_TEXT, blanks, len);
    }
    pretty->lines[pretty->count - 1].gutter = pretty->lines[pretty->count - 1].count;
}

void document_head(struct document *pretty, const char *text)
{
    if (pretty->count)
        document_begin(pretty, 0);
    document_begin(pretty, 0);
    document_puts(pretty, LOOK_STRONG, text);
}

/* ---- texts ---- */

static bool begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* The look of a line of a traceback: highlights its head, the places, and the exception. */
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

/* The number of bytes that are shown, in whole characters. */
static size_t shown_length(const struct document *pretty, const char *text, size_t len)
{
    if (!pretty->most || len <= pretty->most)
        return len;
    size_t most = pretty->most;
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

static void say_more(struct document *pretty, size_t bytes, int indent)
{
    if (!bytes)
        return;
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    text_bytes(&size, bytes);
    document_begin(pretty, indent);
    document_putf(pretty, LOOK_WARN, "(%s more in the recording)", size.buf);
}

static void add_lines(struct document *pretty, enum look look, const char *text, size_t all, int indent,
                      const char *margin)
{
    size_t len = shown_length(pretty, text, all), more = all - len;
    bool traceback = false;
    if (len && text[len - 1] == '\n')
        len--; /* a final newline ends the last line and adds no other */
    for (size_t at = 0; at <= len;) {
        const char *newline = memchr(text + at, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - text) - at : len - at;
        document_begin(pretty, indent);
        if (margin) {
            document_puts(pretty, LOOK_DIM, margin);
            pretty->lines[pretty->count - 1].gutter++;
        }
        document_put(pretty, traceback_look(text + at, line_len, look, &traceback), text + at, line_len);
        at += line_len + 1;
    }
    say_more(pretty, more, indent);
}

static void add_wrapped(struct document *pretty, enum look look, const char *text, size_t all, int indent,
                        const char *margin)
{
    size_t len = shown_length(pretty, text, all), most = pretty->most;
    int room = pretty->width - indent - (margin ? (int)strlen(margin) : 0);
    CLEANUP(strbuf) struct strbuf wrapped = STRBUF_INIT;
    text_wrap(&wrapped, text, len, 0, (size_t)(room > DOCUMENT_WIDTH_MIN ? room : DOCUMENT_WIDTH_MIN));
    pretty->most = 0; /* the limit was applied already, and wrapping makes the text longer */
    add_lines(pretty, look, wrapped.buf, wrapped.len, indent, margin);
    pretty->most = most;
    say_more(pretty, all - len, indent);
}

void document_text(struct document *pretty, enum look look, const char *text, size_t len, int indent, bool wrap)
{
    if (wrap && pretty->width)
        add_wrapped(pretty, look, text, len, indent, NULL);
    else
        add_lines(pretty, look, text, len, indent, NULL);
}

void document_raw(struct document *pretty, const char *text, size_t all)
{
    size_t len = shown_length(pretty, text, all), more = all - len;
    int width = pretty->width > DOCUMENT_WIDTH_MIN ? pretty->width : DOCUMENT_WIDTH_MIN;
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
        document_begin(pretty, 0);
        document_put(pretty, LOOK_TEXT, text, at);
        text += at;
        len -= at;
    } while (len);
    say_more(pretty, more, 0);
}

void document_quote(struct document *pretty, enum look look, const char *text, size_t len)
{
    add_lines(pretty, look, text, len, 0, DOCUMENT_BAR);
}

/* ---- JSON ---- */

static bool is_scalar(const struct json *value)
{
    return value->type != JSON_ARRAY && value->type != JSON_OBJECT;
}

static bool is_block(const struct document *pretty, const struct json *value)
{
    return value->type == JSON_STRING && (memchr(value->text, '\n', value->len) ||
                                          (pretty->width && value->len > LONG_STRING && strchr(value->text, ' ')));
}

/* True for a few scalars: [1, 2, 3] on one line reads better than five lines. */
static bool is_short(const struct document *pretty, const struct json *value)
{
    if (value->type != JSON_ARRAY || value->src_len > SHORT_ARRAY)
        return value->count == 0;
    json_each (item, value)
        if (!is_scalar(item) || is_block(pretty, item))
            return false;
    return true;
}

static void put_scalar(struct document *pretty, const struct json *value)
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
    document_put(pretty, value->type == JSON_STRING ? LOOK_JSON_STRING : LOOK_JSON_NUMBER, text.buf, text.len);
}

/* Adds a text with its real line breaks, and a bar beside it. */
static void add_block(struct document *pretty, const struct json *value, int indent)
{
    if (memchr(value->text, '\n', value->len))
        add_lines(pretty, LOOK_JSON_STRING, value->text, value->len, indent + INDENT, DOCUMENT_BAR);
    else
        add_wrapped(pretty, LOOK_JSON_STRING, value->text, value->len, indent + INDENT, DOCUMENT_BAR);
}

static void put_short(struct document *pretty, const struct json *value)
{
    document_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "{" : "[");
    json_each (item, value) {
        put_scalar(pretty, item);
        if (item->next)
            document_puts(pretty, LOOK_TEXT, ", ");
    }
    document_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "}" : "]");
}

/* Adds the value, starting on the current line. */
static void add_value(struct document *pretty, const struct json *value, int indent, bool last)
{
    const char *comma = last ? "" : ",";
    if (is_block(pretty, value)) {
        CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
        text_plural(&size, (int64_t)utf8_count(value->text, value->len), "character", "characters");
        document_putf(pretty, LOOK_DIM, "(%s of text)%s", size.buf, comma);
        add_block(pretty, value, indent);
        return;
    }
    if (is_scalar(value)) {
        put_scalar(pretty, value);
    } else if (is_short(pretty, value)) {
        put_short(pretty, value);
    } else {
        document_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "{" : "[");
        json_each (item, value) {
            document_begin(pretty, indent + INDENT);
            if (value->type == JSON_OBJECT) {
                CLEANUP(strbuf) struct strbuf key = STRBUF_INIT;
                json_write_str(&key, item->key, strlen(item->key), JSON_COMPACT);
                document_put(pretty, LOOK_JSON_KEY, key.buf, key.len);
                document_puts(pretty, LOOK_TEXT, ": ");
            }
            add_value(pretty, item, indent + INDENT, !item->next);
        }
        document_begin(pretty, indent);
        document_puts(pretty, LOOK_TEXT, value->type == JSON_OBJECT ? "}" : "]");
    }
    if (!last)
        document_puts(pretty, LOOK_TEXT, comma);
}

void document_json(struct document *pretty, const struct json *value, int indent)
{
    document_begin(pretty, indent);
    add_value(pretty, value, indent, true);
}

static void plain_scalar(struct document *pretty, const struct json *value)
{
    if (value->type == JSON_STRING)
        document_put(pretty, LOOK_TEXT, value->text, value->len);
    else
        document_put(pretty, LOOK_JSON_NUMBER, value->src, value->src_len);
}

static void plain_member(struct document *pretty, const struct json *value, int indent)
{
    document_begin(pretty, indent);
    document_putf(pretty, LOOK_JSON_KEY, "%s:", value->key);
    if (is_block(pretty, value) || !is_scalar(value)) {
        document_plain(pretty, value, indent + INDENT);
        return;
    }
    document_puts(pretty, LOOK_TEXT, " ");
    plain_scalar(pretty, value);
}

void document_plain(struct document *pretty, const struct json *value, int indent)
{
    switch (value->type) {
    case JSON_OBJECT:
        json_each (member, value)
            plain_member(pretty, member, indent);
        return;
    case JSON_ARRAY:
        json_each (item, value) {
            document_plain(pretty, item, indent);
            /* Separate items that have several lines. */
            if (item->next && !is_scalar(item)) {
                document_begin(pretty, indent);
                document_puts(pretty, LOOK_DIM, "-");
            }
        }
        return;
    case JSON_STRING:
        document_text(pretty, LOOK_TEXT, value->text, value->len, indent, true);
        return;
    default:
        document_begin(pretty, indent);
        plain_scalar(pretty, value);
    }
}

/* ---- painting and search ---- */

void document_paint(const struct document *pretty, struct canvas *canvas, struct rect in, size_t top, int left)
{
    for (int row = 0; row < in.rows && top + (size_t)row < pretty->count; row++) {
        const struct document_line *line = &pretty->lines[top + (size_t)row];
        int col = -left;
        for (uint32_t i = 0; i < line->count && col < in.cols; i++) {
            const struct document_run *run = &pretty->runs[line->run + i];
            const char *text = pretty->text.buf + run->at;
            canvas_text(canvas, in, row, col, (enum look)run->look, text, run->len);
            col += canvas_columns(canvas, text, run->len);
        }
    }
}

static void line_text(const struct document *pretty, size_t line, const char **text, size_t *len)
{
    const struct document_line *at = &pretty->lines[line];
    const struct document_run *first = &pretty->runs[at->run], *last = first + at->count - 1;
    *text = at->count ? pretty->text.buf + first->at : "";
    *len = at->count ? last->at + last->len - first->at : 0;
}

bool document_search(const struct document *pretty, const char *needle, bool back, size_t *line)
{
    size_t at = *line;
    for (size_t looked = 0; looked < pretty->count; looked++) {
        at = back ? (at && at <= pretty->count ? at : pretty->count) - 1 : at + 1 < pretty->count ? at + 1 : 0;
        const char *text;
        size_t len;
        line_text(pretty, at, &text, &len);
        if (text_match_find(text, len, needle)) {
            *line = at;
            return true;
        }
    }
    return false;
}

void document_write(const struct document *pretty, struct strbuf *out)
{
    for (size_t line = 0; line < pretty->count; line++) {
        const char *text;
        size_t len;
        line_text(pretty, line, &text, &len);
        strbuf_add(out, text, len);
        strbuf_addch(out, '\n');
    }
}

/* ---- folding ---- */

/* Rows that show all of a document, for a user who has to decide about it.
 *
 * Its texts are untrusted and may try to deceive: blanks may push the rest to a row where the user does not look, or
 * make it look like the frame. So the gutter of a text is repeated before every row of it, and a text cannot write
 * there: a continued row has a sign where a first row has a blank, a quote or a bracket. Columns are counted as the
 * canvas counts them, which spells some characters out. Any other count could make a row too long. */

#define BLANKS_MAX  32 /* columns of blanks that are shown as they are: an indentation, a column of comments */
#define EMPTY_MAX   3  /* consecutive empty lines that are shown */
#define TAB_COLUMNS 8

struct document_fold {
    struct document *out;
    const struct canvas *canvas;
    uint32_t from;
    int width, indent;
    bool bar;
    int room;   /* columns of this row for the text */
    int column; /* current column among them */
    int line;   /* columns of the line so far, for its tabs */
};

static void begin_row(struct document_fold *fold, bool goes_on)
{
    struct document *out = fold->out;
    const char *sign = goes_on ? canvas_sign(fold->canvas, SIGN_MORE) : " ";
    document_begin(out, fold->indent);
    if (fold->bar)
        document_putf(out, LOOK_DIM, "|%s", sign);
    else if (goes_on)
        document_putf(out, LOOK_DIM, "%s ", sign);
    struct document_line *row = &out->lines[out->count - 1];
    row->gutter = row->count;
    row->from = fold->from;
    fold->room = fold->width - fold->indent - (fold->bar || goes_on ? 2 : 0);
    fold->column = 0;
}

/* Continues in the next row if fewer than `columns` columns are left. */
static void make_room(struct document_fold *fold, int columns)
{
    if (fold->column && fold->column + columns > fold->room)
        begin_row(fold, true);
}

/* True for characters that are invisible but take columns. Those without columns are spelled out. */
static bool is_blank(uint32_t cp)
{
    return cp == ' ' || cp == '\t' || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x202F ||
           cp == 0x205F || cp == 0x2800 || cp == 0x3000;
}

/* The length in bytes of the leading blanks, their number and their columns. */
static size_t blanks(const char *text, size_t len, size_t *count, size_t *columns)
{
    size_t at = 0;
    for (*count = *columns = 0; at < len; ++*count) {
        size_t used;
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (!is_blank(cp))
            break;
        *columns += cp == '\t' ? TAB_COLUMNS : (size_t)utf8_width(cp);
        at += used;
    }
    return at;
}

static void add_gap(struct document_fold *fold, size_t count, const char *one, const char *many)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    const char *sign = canvas_sign(fold->canvas, SIGN_GAP);
    strbuf_addf(&words, " %s ", sign);
    text_plural(&words, (int64_t)count, one, many);
    strbuf_addf(&words, " %s ", sign);
    int columns = canvas_columns(fold->canvas, words.buf, words.len);
    make_room(fold, columns);
    document_put(fold->out, LOOK_WARN, words.buf, words.len);
    fold->column += columns;
}

static void add_tab(struct document_fold *fold, enum look look)
{
    static const char eight[] = "        ";
    int columns = TAB_COLUMNS - fold->line % TAB_COLUMNS;
    make_room(fold, columns);
    document_put(fold->out, look, eight, (size_t)columns);
    fold->column += columns;
    fold->line += columns;
}

/* The columns of a character; a mark that joins the previous one takes none. */
static int columns_of(const struct document_fold *fold, uint32_t cp, const char *text, size_t len, bool joins)
{
    char spelled[16];
    if (joins && !fold->canvas->ascii && utf8_width(cp) == 0 && !utf8_spell(cp, spelled))
        return 0;
    return canvas_columns(fold->canvas, text, len);
}

static void put_since(struct document_fold *fold, enum look look, const char *text, size_t *start, size_t at)
{
    if (at > *start)
        document_put(fold->out, look, text + *start, at - *start);
    *start = at;
}

static void fold_text(struct document_fold *fold, enum look look, const char *text, size_t len)
{
    size_t start = 0, at = 0; /* the bytes between them are not added yet */
    while (at < len) {
        size_t used, count, wide, gap = blanks(text + at, len - at, &count, &wide);
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (wide > BLANKS_MAX || cp == '\t') {
            put_since(fold, look, text, &start, at);
            if (wide > BLANKS_MAX)
                add_gap(fold, count, "blank", "blanks");
            else
                add_tab(fold, look);
            at = start = at + (wide > BLANKS_MAX ? gap : used);
            continue;
        }
        int columns = columns_of(fold, cp, text + at, used, at > start);
        if (fold->column && fold->column + columns > fold->room) {
            put_since(fold, look, text, &start, at);
            begin_row(fold, true);
        }
        fold->column += columns;
        fold->line = (fold->line + columns) % TAB_COLUMNS;
        at += used;
    }
    put_since(fold, look, text, &start, at);
}

static void read_gutter(struct document_fold *fold, const struct document *readable, const struct document_line *line)
{
    int columns = 0;
    fold->bar = false;
    for (uint32_t i = 0; i < line->gutter; i++) {
        const struct document_run *run = &readable->runs[line->run + i];
        fold->bar = readable->text.buf[run->at] == DOCUMENT_BAR[0];
        columns += fold->bar ? 0 : (int)run->len;
    }
    /* Limit the indentation, so that a deeply nested value still has room for its text. */
    fold->indent = columns < fold->width / 2 ? columns : fold->width / 2;
}

static bool is_empty(const struct document *readable, const struct document_line *line)
{
    for (uint32_t i = line->gutter; i < line->count; i++) {
        const struct document_run *run = &readable->runs[line->run + i];
        size_t count, columns;
        if (blanks(readable->text.buf + run->at, run->len, &count, &columns) < run->len)
            return false;
    }
    return true;
}

/* The number of empty lines of the same block, starting with this one. */
static size_t empty_lines(const struct document *readable, size_t first)
{
    size_t at = first;
    while (at < readable->count && readable->lines[at].gutter == readable->lines[first].gutter &&
           is_empty(readable, &readable->lines[at]))
        at++;
    return at - first;
}

void document_fold(struct document *pretty, const struct document *readable, const struct canvas *canvas)
{
    struct document_fold fold = {.out = pretty, .canvas = canvas};
    fold.width = pretty->width > DOCUMENT_WIDTH_MIN ? pretty->width : DOCUMENT_WIDTH_MIN;
    for (size_t i = 0; i < readable->count;) {
        const struct document_line *line = &readable->lines[i];
        size_t empty = empty_lines(readable, i);
        fold.from = (uint32_t)i + 1;
        fold.line = 0;
        read_gutter(&fold, readable, line);
        begin_row(&fold, false);
        if (empty > EMPTY_MAX) {
            add_gap(&fold, empty, "empty line", "empty lines");
            i += empty;
            continue;
        }
        for (uint32_t k = line->gutter; k < line->count; k++) {
            const struct document_run *run = &readable->runs[line->run + k];
            fold_text(&fold, (enum look)run->look, readable->text.buf + run->at, run->len);
        }
        i++;
    }
}

size_t document_row_from(const struct document *pretty, uint32_t from)
{
    size_t row = 0;
    while (row < pretty->count && pretty->lines[row].from < from)
        row++;
    return row;
}
