/* A text broken into the lines of a pane. */

#include "wrapped.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text.h"
#include <stdio.h>

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

/* Bytes that fit; at least one character, so that it ends. */
static size_t fit(const char *text, size_t len, int width)
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
        /* Lines of code are not broken between words, but none may leave the pane. */
        size_t done = 0;
        do {
            size_t piece = fit(line + done, line_len - done, width);
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
