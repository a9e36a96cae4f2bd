#pragma once
/* A document for reading: lines of runs, each run in its role. JSON with its keys, texts and numbers told apart, long
 * texts as text and not as one line of escapes, tracebacks with the places that matter marked. Built once, painted from
 * any line. */

#include "base/strbuf.h"
#include "canvas.h"
#include <stddef.h>
#include <stdint.h>

struct json;

#define PRETTY_BAR       "| " /* beside a block of text */
#define PRETTY_WIDTH_MIN 20

struct pretty_run {
    uint32_t at, len; /* within the text */
    uint16_t look;    /* enum look */
};

struct pretty_line {
    uint32_t run, count;
    uint32_t gutter; /* runs that stand before its text: the indentation, and the bar beside a block */
    uint32_t from;   /* of a row of pretty_fold: the line that it is of, from 1; else 0 */
};

struct pretty {
    struct strbuf text;
    struct pretty_run *runs;
    size_t run_count, run_room;
    struct pretty_line *lines;
    size_t count, room;
    int width;   /* texts are broken here; 0: nowhere */
    size_t most; /* bytes of one text that are shown, and a row that says how many more there are; 0: all */
};

void pretty_init(struct pretty *pretty, int width);
void pretty_release(struct pretty *pretty);
void pretty_reset(struct pretty *pretty, int width);

/* A line, run by run. */
void pretty_begin(struct pretty *pretty, int indent);
void pretty_put(struct pretty *pretty, enum look look, const char *text, size_t len);
void pretty_puts(struct pretty *pretty, enum look look, const char *text);
void pretty_putf(struct pretty *pretty, enum look look, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A heading, with an empty line above it unless it is the first. */
void pretty_head(struct pretty *pretty, const char *text);

/* A value with its brackets and quotes. */
void pretty_json(struct pretty *pretty, const struct json *value, int indent);
/* The same without them: what it says. */
void pretty_plain(struct pretty *pretty, const struct json *value, int indent);
/* Text in lines; broken between words at the width where `wrap` is set. Tracebacks are marked. */
void pretty_text(struct pretty *pretty, enum look look, const char *text, size_t len, int indent, bool wrap);
/* A line as it is, cut into rows at the width. */
void pretty_raw(struct pretty *pretty, const char *text, size_t len);
/* Text of somebody else's in lines, with the bar of a block beside each. */
void pretty_quote(struct pretty *pretty, enum look look, const char *text, size_t len);
/* In pretty_fold.c: adds the lines of `readable` in rows of the width, as wide as this canvas shows them. Nothing is
 * out of sight to the right, and no text can look like what stands around it: where a line goes on, its gutter does
 * too, with a sign that says so. More blanks or empty lines than anybody needs are counted, not shown. */
void pretty_fold(struct pretty *pretty, const struct pretty *readable, const struct canvas *canvas);
/* The first row of this line, or of one after it (struct pretty_line, from). */
size_t pretty_row_from(const struct pretty *pretty, uint32_t from);

void pretty_paint(const struct pretty *pretty, struct canvas *canvas, struct rect in, size_t top, int left);
/* The next line with this text after `line`, or before it, round the end; false when none. */
bool pretty_search(const struct pretty *pretty, const char *text, bool back, size_t *line);
void pretty_write(const struct pretty *pretty, struct strbuf *out); /* as plain text */

static inline void pretty_cleanup(struct pretty *pretty)
{
    pretty_release(pretty);
}
