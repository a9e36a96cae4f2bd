/* Measuring works on text that was shown already, so that what is counted is what is sent. */

#include "text.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
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

/* The bytes of `text` that fit in `columns`; tells the columns they take. Combining marks stay with their letter. */
static size_t fit(const char *text, size_t len, size_t columns, size_t *took)
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
    /* No more than could fit is looked at: a text may be megabytes, a line is short. */
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
    size_t bytes = fit(shown.buf, shown.len, columns - mark, &took);
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

/* Columns that lines after the first are moved in: under the text of a list item, under indented text. */
static size_t hanging(const char *line, size_t len, size_t room)
{
    size_t hang = 0;
    while (hang < len && line[hang] == ' ')
        hang++;
    if (hang + 2 < len && (line[hang] == '-' || line[hang] == '*') && line[hang + 1] == ' ')
        hang += 2;
    return hang > room / 2 ? 0 : hang;
}

/* One line of shown text, broken between words. */
static void wrap_line(struct strbuf *out, const char *line, size_t len, size_t indent, size_t room)
{
    size_t hang = hanging(line, len, room);
    size_t first_break = hang; /* not within the line's own indentation */
    size_t left = room;
    while (len) {
        size_t took;
        size_t bytes = fit(line, len, left, &took);
        if (bytes < len) {
            size_t at = bytes;
            while (at > first_break && line[at] != ' ')
                at--;
            /* A word longer than the line is broken where the line ends. */
            if (at > first_break)
                bytes = at;
            else if (bytes == 0)
                bytes = len; /* not even one character fits: better too long than for ever */
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
