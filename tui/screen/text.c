/* Text for people: sanitize, measure, cut, wrap and search.
 *
 * Text is sanitized before it is measured, so that the columns counted are the columns sent. */

#include "text.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>

#define TAB_COLUMNS 8

size_t text_terminal_width(int fd, size_t otherwise)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col == 0)
        return otherwise;
    return size.ws_col;
}

static void add_ascii(struct strbuf *out, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t used;
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (cp < 0x80)
            strbuf_addch(out, (char)cp);
        else if (cp == UTF8_REPLACEMENT)
            strbuf_addch(out, '?');
        else
            strbuf_addf(out, "<U+%04X>", (unsigned)cp);
        at += used;
    }
}

static void add_expanded(struct strbuf *out, const char *text, size_t len)
{
    size_t column = 0;
    for (size_t at = 0; at < len;) {
        if (text[at] == '\t') {
            do
                strbuf_addch(out, ' ');
            while (++column % TAB_COLUMNS);
            at++;
            continue;
        }
        size_t run = 0;
        while (at + run < len && text[at + run] != '\t' && text[at + run] != '\n')
            run++;
        column += utf8_columns(text + at, run);
        if (at + run < len && text[at + run] == '\n') {
            run++;
            column = 0;
        }
        strbuf_add(out, text + at, run);
        at += run;
    }
}

void text_show(struct strbuf *out, const char *text, size_t len, unsigned keep)
{
    CLEANUP(strbuf) struct strbuf clean = STRBUF_INIT;
    utf8_sanitize(&clean, text, len, keep);
    CLEANUP(strbuf) struct strbuf plain = STRBUF_INIT;
    const struct strbuf *shown = &clean;
    if (!text_utf8() && !(utf8_count(clean.buf, clean.len) == clean.len)) {
        add_ascii(&plain, clean.buf, clean.len);
        shown = &plain;
    }
    if (keep & UTF8_KEEP_TAB && memchr(shown->buf, '\t', shown->len))
        add_expanded(out, shown->buf, shown->len);
    else
        strbuf_add(out, shown->buf, shown->len);
}

/* The number of bytes of `text` that fit in `columns`; sets the columns they use. Combining marks stay with their
 * letter. */
static size_t fit_columns(const char *text, size_t len, size_t columns, size_t *took)
{
    size_t at = 0;
    *took = 0;
    while (at < len) {
        size_t used;
        size_t width = (size_t)utf8_width(utf8_decode(text + at, len - at, &used));
        if (*took + width > columns)
            break;
        *took += width;
        at += used;
    }
    return at;
}

size_t text_show_cut(struct strbuf *out, const char *text, size_t len, size_t columns)
{
    CLEANUP(strbuf) struct strbuf flat = STRBUF_INIT;
    bool space = false;
    /* Read only what can fit: a text may be megabytes, a line is short. */
    for (size_t at = 0; at < len && flat.len < columns * 8 + 64; at++) {
        if (strchr(" \t\r\n", text[at]) && text[at]) {
            space = flat.len > 0;
            continue;
        }
        if (space)
            strbuf_addch(&flat, ' ');
        space = false;
        strbuf_addch(&flat, text[at]);
        if (at + 1 < len && flat.len >= columns * 8 + 64)
            strbuf_addstr(&flat, " ...");
    }
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_show(&shown, flat.buf, flat.len, 0);
    size_t took;
    if (utf8_columns(shown.buf, shown.len) <= columns) {
        strbuf_add(out, shown.buf, shown.len);
        return utf8_columns(shown.buf, shown.len);
    }
    const char *ellipsis = text_ellipsis();
    size_t mark = utf8_columns(ellipsis, strlen(ellipsis));
    if (columns < mark)
        return 0;
    size_t bytes = fit_columns(shown.buf, shown.len, columns - mark, &took);
    strbuf_add(out, shown.buf, bytes);
    strbuf_addstr(out, ellipsis);
    return took + mark;
}

void text_breaks(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            strbuf_addstr(out, text_newline());
        else
            strbuf_addch(out, *text);
    }
}

void text_name(struct strbuf *out, const char *name)
{
    text_show(out, name, strlen(name), 0);
}

size_t text_name_cut(struct strbuf *out, const char *name, size_t columns)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_name(&shown, name);
    return text_show_cut(out, shown.buf, shown.len, columns);
}

static void add_spaces(struct strbuf *out, size_t count)
{
    for (; count; count--)
        strbuf_addch(out, ' ');
}

void text_pad(struct strbuf *out, size_t from, size_t columns)
{
    size_t now = utf8_columns(out->buf + from, out->len - from);
    if (now < columns)
        add_spaces(out, columns - now);
}

/* Extra indentation of continued lines: aligned with the text of a list item, or with indented text. */
static size_t hanging(const char *line, size_t len, size_t room)
{
    size_t hang = 0;
    while (hang < len && line[hang] == ' ')
        hang++;
    if (hang + 2 < len && (line[hang] == '-' || line[hang] == '*') && line[hang + 1] == ' ')
        hang += 2;
    return hang > room / 2 ? 0 : hang;
}

/* Adds one sanitized line, broken between words. */
static void wrap_line(struct strbuf *out, const char *line, size_t len, size_t indent, size_t room)
{
    size_t hang = hanging(line, len, room);
    size_t first_break = hang; /* not within the line's own indentation */
    size_t left = room;
    while (len) {
        size_t took;
        size_t bytes = fit_columns(line, len, left, &took);
        if (bytes < len) {
            size_t at = bytes;
            while (at > first_break && line[at] != ' ')
                at--;
            /* A word longer than the line is broken where the line ends. */
            if (at > first_break)
                bytes = at;
            else if (bytes == 0)
                bytes = len; /* not even one character fits: a line that is too long is better than an endless loop */
        }
        strbuf_add(out, line, bytes);
        line += bytes;
        len -= bytes;
        while (len && *line == ' ') {
            line++;
            len--;
        }
        if (!len)
            return;
        strbuf_addch(out, '\n');
        add_spaces(out, indent + hang);
        left = room - hang;
        first_break = 0;
    }
}

static void trim_spaces(struct strbuf *out, size_t from)
{
    while (out->len > from && out->buf[out->len - 1] == ' ')
        strbuf_set_len(out, out->len - 1);
}

void text_wrap(struct strbuf *out, const char *text, size_t len, size_t indent, size_t width)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    while (len && strchr(" \t\r\n", text[len - 1]) && text[len - 1])
        len--;
    text_show(&shown, text, len, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB);
    size_t room = width > indent + 20 ? width - indent : 20;
    bool fenced = false;
    for (size_t at = 0; at < shown.len || at == 0;) {
        const char *line = shown.buf + at;
        const char *newline = memchr(line, '\n', shown.len - at);
        size_t line_len = newline ? (size_t)(newline - line) : shown.len - at;
        if (at) {
            strbuf_addch(out, '\n');
            if (line_len)
                add_spaces(out, indent);
        }
        size_t from = out->len;
        bool fence = line_len >= 3 && memcmp(line, "```", 3) == 0;
        if (fence || fenced)
            strbuf_add(out, line, line_len);
        else
            wrap_line(out, line, line_len, indent, room);
        fenced ^= fence;
        trim_spaces(out, from);
        at += line_len + 1;
    }
    strbuf_addch(out, '\n');
}

void text_ago(struct strbuf *out, int64_t then_us, int64_t now_us)
{
    int64_t seconds = (now_us - then_us) / 1000000;
    time_t then = (time_t)(then_us / 1000000), now = (time_t)(now_us / 1000000);
    struct tm then_tm, now_tm;
    if (seconds < 60 && seconds > -60) {
        strbuf_addstr(out, "just now");
        return;
    }
    if (seconds > 0 && seconds < 3600) {
        strbuf_addf(out, "%d min ago", (int)(seconds / 60));
        return;
    }
    if (!localtime_r(&then, &then_tm) || !localtime_r(&now, &now_tm)) {
        strbuf_addstr(out, "?");
        return;
    }
    char text[32];
    bool same_year = then_tm.tm_year == now_tm.tm_year;
    if (same_year && then_tm.tm_yday == now_tm.tm_yday)
        strftime(text, sizeof(text), "%H:%M", &then_tm);
    else if (same_year && then_tm.tm_yday == now_tm.tm_yday - 1)
        strftime(text, sizeof(text), "yesterday", &then_tm);
    else
        strftime(text, sizeof(text), same_year ? "%b %e" : "%Y-%m-%d", &then_tm);
    strbuf_addstr(out, text);
}

/* ---- lines of a pane ---- */

#define WIDTH_MIN 20

void wrapped_init(struct wrapped *wrapped)
{
    *wrapped = (struct wrapped){.text = STRBUF_INIT};
}

void wrapped_release(struct wrapped *wrapped)
{
    strbuf_release(&wrapped->text);
    free(wrapped->lines);
    wrapped_init(wrapped);
}

void wrapped_reset(struct wrapped *wrapped)
{
    strbuf_reset(&wrapped->text);
    wrapped->count = 0;
}

static void add_line(struct wrapped *wrapped, enum look look, const char *text, size_t len)
{
    GROW(wrapped->lines, wrapped->count, wrapped->room);
    wrapped->lines[wrapped->count++] =
        (struct wrapped_line){.at = (uint32_t)wrapped->text.len, .len = (uint32_t)len, .look = (uint8_t)look};
    strbuf_add(&wrapped->text, text, len);
    strbuf_addch(&wrapped->text, ' ');
}

/* The number of bytes that fit; at least one character, so that the loop ends. */
static size_t fit_line(const char *text, size_t len, int width)
{
    int took = 0;
    for (size_t at = 0; at < len;) {
        size_t used;
        took += utf8_width(utf8_decode(text + at, len - at, &used));
        if (took > width && at)
            return at;
        at += used;
    }
    return len;
}

void wrapped_add(struct wrapped *wrapped, enum look look, const char *label, const char *text, size_t len, int width)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    size_t first = wrapped->count;
    width = width < WIDTH_MIN ? WIDTH_MIN : width;
    text_wrap(&shown, text, len, 0, (size_t)width);
    for (size_t at = 0; at < shown.len;) {
        const char *line = shown.buf + at;
        size_t line_len = strcspn(line, "\n");
        /* Lines of code are not broken between words, but they must fit in the pane. */
        size_t done = 0;
        do {
            size_t piece = fit_line(line + done, line_len - done, width);
            add_line(wrapped, look, line + done, piece);
            done += piece;
        } while (done < line_len);
        at += line_len + 1;
    }
    if (wrapped->count > first)
        snprintf(wrapped->lines[first].label, sizeof(wrapped->lines[first].label), "%s", label);
}

void wrapped_add_blank(struct wrapped *wrapped)
{
    add_line(wrapped, LOOK_TEXT, "", 0);
}

void wrapped_paint(const struct wrapped *wrapped, struct canvas *canvas, struct rect in, size_t top)
{
    for (int row = 0; row < in.rows && top + (size_t)row < wrapped->count; row++) {
        const struct wrapped_line *line = &wrapped->lines[top + (size_t)row];
        canvas_text(canvas, in, row, 1, (enum look)line->look, wrapped->text.buf + line->at, line->len);
    }
}

size_t wrapped_line_at(const struct wrapped *wrapped, size_t byte)
{
    size_t low = 0, high = wrapped->count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (wrapped->lines[middle].at <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- texts in small places ---- */

#define ELLIPSIS "…"

/* Bytes of the longest prefix that fits, in whole characters. */
static size_t fitting_start(const struct canvas *canvas, const char *text, size_t len, int cols)
{
    size_t at = 0;
    int column = 0;
    while (at < len) {
        size_t used;
        utf8_decode(text + at, len - at, &used);
        column += canvas_str_columns(canvas, text + at, used);
        if (column > cols)
            break;
        at += used;
    }
    return at;
}

/* The start of the longest suffix that fits. */
static size_t fitting_end(const struct canvas *canvas, const char *text, size_t len, int cols)
{
    size_t at = 0;
    int column = canvas_str_columns(canvas, text, len);
    while (at < len && column > cols) {
        size_t used;
        utf8_decode(text + at, len - at, &used);
        column -= canvas_str_columns(canvas, text + at, used);
        at += used;
    }
    return at;
}

/* Bytes of the next line: whole words, or as much of one word as fits. */
static size_t line_length(const struct canvas *canvas, const char *text, int cols)
{
    size_t end = 0;
    int column = 0;
    while (text[end]) {
        size_t blanks = strspn(text + end, " "), word = strcspn(text + end + blanks, " ");
        column += (int)blanks + canvas_str_columns(canvas, text + end + blanks, word);
        if (column > cols)
            break;
        end += blanks + word;
    }
    if (end)
        return end;
    size_t most = fitting_start(canvas, text, strcspn(text, " "), cols);
    return most ? most : utf8_prefix(text, strlen(text), 1);
}

/* The text with line breaks replaced by blanks. */
static char *on_one_line(const char *text)
{
    char *copy = xstrdup(text);
    for (char *at = copy; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    return copy;
}

int paragraph_rows(const struct canvas *canvas, const char *text, int cols)
{
    CLEANUP(free) char *copy = on_one_line(text);
    int rows = 0;
    for (const char *at = copy + strspn(copy, " "); *at; rows++) {
        at += line_length(canvas, at, cols);
        at += strspn(at, " ");
    }
    return rows ? rows : 1;
}

int paragraph_paint(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *text)
{
    CLEANUP(free) char *copy = on_one_line(text);
    int cols = in.cols - col, first = row;
    const char *at = copy + strspn(copy, " ");
    for (; *at && row < in.rows && cols > 0; row++) {
        size_t len = line_length(canvas, at, cols);
        const char *next = at + len + strspn(at + len, " ");
        bool cut = *next && row + 1 == in.rows;
        if (cut)
            len = line_length(canvas, at, cols - 1 - canvas_str_columns(canvas, ELLIPSIS, strlen(ELLIPSIS)));
        CLEANUP(free) char *line = xmemdup0(at, len);
        int used = canvas_str(canvas, in, row, col, look, line);
        if (cut)
            canvas_str(canvas, in, row, col + used + (used < cols - 1 ? 1 : 0), look, ELLIPSIS);
        at = next;
    }
    return row - first;
}

void paragraph_path(struct strbuf *out, const struct canvas *canvas, const char *path, int cols)
{
    size_t len = strlen(path);
    if (canvas_str_columns(canvas, path, len) <= cols) {
        strbuf_addstr(out, path);
        return;
    }
    const char *slash = strrchr(path, '/');
    int sign = canvas_str_columns(canvas, ELLIPSIS, strlen(ELLIPSIS));
    int end = slash ? canvas_str_columns(canvas, slash, strlen(slash)) : cols;
    /* The whole name after as much of the folders as fits; else the name's own beginning and end. */
    bool whole = slash && end + sign <= cols;
    size_t behind = whole ? (size_t)(slash - path) : fitting_end(canvas, path, len, (cols - sign + 1) / 2);
    int rest = cols - sign - canvas_str_columns(canvas, path + behind, len - behind);
    const char *from = whole || !slash || slash[1] == '\0' ? path : slash + 1;
    if (from > path + behind)
        from = path + behind;
    size_t head = fitting_start(canvas, from, (size_t)(path + behind - from), rest > 0 ? rest : 0);
    strbuf_add(out, from, head);
    strbuf_addstr(out, ELLIPSIS);
    strbuf_addstr(out, path + behind);
}

/* ---- searching ---- */

static bool has_capital(const char *text)
{
    for (; *text; text++)
        if (isupper((unsigned char)*text))
            return true;
    return false;
}

const char *text_match_find(const char *text, size_t len, const char *needle)
{
    size_t want = strlen(needle);
    if (!want || want > len)
        return NULL;
    if (has_capital(needle))
        return memmem(text, len, needle, want);
    /* One memchr pass per case of the first letter is fast, and lines are rarely long. */
    const char *end = text + (len - want) + 1;
    char low = needle[0], high = (char)toupper((unsigned char)low);
    const char *next_low = NULL, *next_high = NULL;
    for (const char *at = text; at < end; at++) {
        if (next_low < at && !(next_low = memchr(at, low, (size_t)(end - at))))
            next_low = end;
        if (next_high < at && !(next_high = low == high ? next_low : memchr(at, high, (size_t)(end - at))))
            next_high = end;
        at = next_low < next_high ? next_low : next_high;
        if (at < end && strncasecmp(at, needle, want) == 0)
            return at;
    }
    return NULL;
}

static void show_row(struct canvas *canvas, struct rect in, int row, const char *needle, struct strbuf *text)
{
    /* The column of each byte of the row's text, so that a match after wide characters is highlighted at the right
     * place. */
    int columns[1024];
    strbuf_reset(text);
    for (int col = in.col; col < in.col + in.cols && col < canvas->cols; col++) {
        const struct cell *cell = &canvas->cells[row * canvas->cols + col];
        size_t len = strlen(cell->text);
        if (text->len + len > COUNT_OF(columns))
            break;
        for (size_t i = 0; i < len; i++)
            columns[text->len + i] = col;
        strbuf_add(text, cell->text, len);
    }
    size_t want = strlen(needle);
    const char *at = text->buf, *hit;
    while ((hit = text_match_find(at, text->len - (size_t)(at - text->buf), needle))) {
        int first = columns[hit - text->buf], last = columns[hit - text->buf + (ptrdiff_t)want - 1];
        int width = canvas->cells[row * canvas->cols + last].width;
        canvas_tint(canvas, rect_make(row, first, 1, last - first + (width > 1 ? width : 1)), LOOK_SEARCH);
        at = hit + want;
    }
}

void text_match_show(struct canvas *canvas, struct rect in, const char *needle)
{
    if (!needle || !*needle)
        return;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    int first = in.row > 0 ? in.row : 0;
    if (in.col < 0) {
        in.cols += in.col;
        in.col = 0;
    }
    for (int row = first; row < in.row + in.rows && row < canvas->rows; row++)
        show_row(canvas, in, row, needle, &text);
}
