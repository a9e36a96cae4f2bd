#pragma once
/* Sentences in little room: broken between words, or cut at one with a sign that says so. Paths keep their file name.
 * Texts of our own, which may quote others: everything is painted with canvas_str. */

#include "canvas.h"

/* Rows that the text takes in lines of `cols` columns; at least one. */
int flow_rows(const struct canvas *canvas, const char *text, int cols);
/* Paints the text from (row, col) of `in` on, down to its last row, every line from `col` on. Where more would follow,
 * the last line ends with "…". Returns the rows it took. */
int flow_paint(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *text);
/* Appends a path in at most `cols` columns: "src/very/…/file.c", and "a-long-…name.c" where the name alone is too long.
 */
void flow_path(struct strbuf *out, const struct canvas *canvas, const char *path, int cols);
