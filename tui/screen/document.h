#pragma once
/* A document to read: lines of runs, each run in its role. JSON keys, texts and numbers have different looks, long
 * texts are shown as text and not as one line of escapes, and tracebacks have their important places marked. A document
 * is built once and painted from any line. */

#include "base/strbuf.h"
#include "canvas.h"
#include <stddef.h>
#include <stdint.h>

struct json;

#define DOCUMENT_BAR       "| " /* beside a block of text */
#define DOCUMENT_WIDTH_MIN 20

struct document_run {
    uint32_t at, len; /* range in the text */
    uint16_t look;    /* enum look */
};

struct document_line {
    uint32_t run, count;
    uint32_t gutter; /* number of runs before its text: the indentation, and the bar of a block */
    uint32_t from;   /* for a row of document_fold: its source line, from 1; else 0 */
};

struct document {
    struct strbuf text;
    struct document_run *runs;
    size_t run_count, run_room;
    struct document_line *lines;
    size_t count, room;
    int width;   /* texts are wrapped at this width; 0: not at all */
    size_t most; /* bytes shown of one text; a last row says how many more there are; 0: all */
};

void document_init(struct document *pretty, int width);
void document_release(struct document *pretty);
void document_reset(struct document *pretty, int width);

/* Adds a line, run by run. */
void document_begin(struct document *pretty, int indent);
void document_put(struct document *pretty, enum look look, const char *text, size_t len);
void document_puts(struct document *pretty, enum look look, const char *text);
void document_putf(struct document *pretty, enum look look, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds a heading, with an empty line above it unless it is the first. */
void document_head(struct document *pretty, const char *text);

/* Adds a value with its brackets and quotes. */
void document_json(struct document *pretty, const struct json *value, int indent);
/* The same without brackets and quotes. */
void document_plain(struct document *pretty, const struct json *value, int indent);
/* Adds text in lines. With `wrap` it is broken between words at the width. Tracebacks are highlighted. */
void document_text(struct document *pretty, enum look look, const char *text, size_t len, int indent, bool wrap);
/* Adds a line unchanged, cut into rows at the width. */
void document_raw(struct document *pretty, const char *text, size_t len);
/* Adds untrusted text in lines, with the bar of a block beside each. */
void document_quote(struct document *pretty, enum look look, const char *text, size_t len);
/* Adds the lines of `readable` in rows of the width, measured as this canvas shows them. Nothing is hidden at the
 * right, and no text can look like its surroundings: a continued line repeats its gutter with a sign. Long runs of
 * blanks or empty lines are shown as a count. */
void document_fold(struct document *pretty, const struct document *readable, const struct canvas *canvas);
/* The first row of this source line, or of one after it (struct document_line, from). */
size_t document_row_from(const struct document *pretty, uint32_t from);

void document_paint(const struct document *pretty, struct canvas *canvas, struct rect in, size_t top, int left);
/* Finds the next line with this text after `line`, or before it. It wraps around; false if there is none. */
bool document_search(const struct document *pretty, const char *text, bool back, size_t *line);
void document_write(const struct document *pretty, struct strbuf *out); /* as plain text */

static inline void document_cleanup(struct document *pretty)
{
    document_release(pretty);
}
