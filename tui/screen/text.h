#pragma once
/* Text for display: sanitized, measured, cut, wrapped, searched. Signs and numbers are in base/spell.h. If the locale
 * is not UTF-8, all output is ASCII. */

#include "base/spell.h"
#include "base/strbuf.h"
#include "canvas.h"
#include <stddef.h>
#include <stdint.h>

/* The width of the terminal on `fd`, or `otherwise`. */
size_t text_terminal_width(int fd, size_t otherwise);

/* Appends untrusted text, sanitized (enum utf8_keep), and spelled as <U+00E9> if the locale needs ASCII. Tabs that are
 * kept become spaces up to the next multiple of eight, counted from `text`. */
void text_show(struct strbuf *out, const char *text, size_t len, unsigned keep);
/* The same on one line of at most `columns`, cut with an ellipsis; each run of white space becomes one space. Returns
 * the columns. */
size_t text_show_cut(struct strbuf *out, const char *text, size_t len, size_t columns);
/* Appends the text with a sign for each line break, so that several lines do not look like one. */
void text_breaks(struct strbuf *out, const char *text);
/* Appends a name on one line: control characters are spelled out (^J), so that a name cannot look like a line of
 * Keyturn. The result may be sanitized again as part of a paragraph. */
void text_name(struct strbuf *out, const char *name);
size_t text_name_cut(struct strbuf *out, const char *name, size_t columns);
/* Appends untrusted text as a paragraph: lines of at most `width` columns, including `indent` spaces before each,
 * broken between words. Its own line breaks stay, and lines between ``` fences are not broken. The first line is not
 * indented, because the caller has written its beginning. Ends with a newline. */
void text_wrap(struct strbuf *out, const char *text, size_t len, size_t indent, size_t width);
/* Adds spaces until the line that began at byte `from` of `out` has `columns` columns. */
void text_pad(struct strbuf *out, size_t from, size_t columns);
/* "2 min ago", "yesterday", "Nov 12", "2025-11-12". */
void text_ago(struct strbuf *out, int64_t then_us, int64_t now_us);

/* Search. A needle without capitals matches letters of either case (ASCII only). Returns the first match, NULL for none
 * or an empty needle. */
const char *text_match_find(const char *text, size_t len, const char *needle);
/* Highlights every match on the painted rows of `in`. NULL: none. */
void text_match_show(struct canvas *canvas, struct rect in, const char *needle);

/* Keyturn's own texts in small places. They may quote untrusted text: everything is painted with canvas_str. */
/* The number of rows for the text in lines of `cols` columns; at least one. */
int paragraph_rows(const struct canvas *canvas, const char *text, int cols);
/* Paints the text from (row, col) of `in` to its last row; every line begins at `col`. If the text is longer, the last
 * line ends with "…". Returns the rows used. */
int paragraph_paint(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *text);
/* Appends a path in at most `cols` columns: "src/very/…/file.c", or "a-long-…name.c" if the name alone is too long. */
void paragraph_path(struct strbuf *out, const struct canvas *canvas, const char *path, int cols);

/* Untrusted text wrapped to the lines of a pane: the text, its role, and the label beside it. Lines of `text` are
 * separated by blanks, so that a search finds words across a break. */
struct wrapped_line {
    uint32_t at, len;
    uint8_t look;  /* enum look */
    char label[6]; /* "you", "agent"; "" on all lines but the first of its text */
};

struct wrapped {
    struct strbuf text;
    struct wrapped_line *lines;
    size_t count, room;
};

void wrapped_init(struct wrapped *wrapped);
void wrapped_release(struct wrapped *wrapped);
void wrapped_reset(struct wrapped *wrapped);
/* Appends text in lines of at most `width` columns, broken between words where possible. */
void wrapped_add(struct wrapped *wrapped, enum look look, const char *label, const char *text, size_t len, int width);
void wrapped_add_blank(struct wrapped *wrapped);
/* Paints the lines from `top` on, one column from the edge, without their labels. */
void wrapped_paint(const struct wrapped *wrapped, struct canvas *canvas, struct rect in, size_t top);
/* The line that contains this byte of `text`. */
size_t wrapped_line_at(const struct wrapped *wrapped, size_t byte);
