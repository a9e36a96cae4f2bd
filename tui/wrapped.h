#pragma once
/* A text broken into the lines of a pane: what they say, in which role, and the label beside them. The pieces of `text`
 * are separated by blanks, so that a search finds words across a break. */

#include "base/strbuf.h"
#include "canvas.h"
#include <stddef.h>
#include <stdint.h>

struct wrapped_line {
    uint32_t at, len;
    uint8_t look;  /* enum look */
    char label[4]; /* "you"; "" on all lines but the first of its text */
};

struct wrapped {
    struct strbuf text;
    struct wrapped_line *lines;
    size_t count, room;
};

void wrapped_init(struct wrapped *wrapped);
void wrapped_release(struct wrapped *wrapped);
void wrapped_reset(struct wrapped *wrapped);
/* Appends foreign text in lines of at most `width` columns, words whole where they fit. */
void wrapped_add(struct wrapped *wrapped, enum look look, const char *label, const char *text, size_t len, int width);
void wrapped_add_blank(struct wrapped *wrapped);
/* Paints the lines from `top` on, a column from the edge, without their labels. */
void wrapped_paint(const struct wrapped *wrapped, struct canvas *canvas, struct rect in, size_t top);
/* The line that holds this byte of `text`. */
size_t wrapped_line_at(const struct wrapped *wrapped, size_t byte);
