#pragma once
/* The list of a dialog, narrowed down by what is typed: `/` or `f` opens a line above it, and rows that do not fit are
 * left out as it is typed. Terms are those of a filter (filter.h), all of them texts. */

#include "filter.h"
#include "input.h"
#include "dialog.h"

struct narrow {
    struct filter filter;
    struct matches matches;
    struct input line;
    bool typing;
};

void narrow_init(struct narrow *narrow);
void narrow_release(struct narrow *narrow);
/* Paints the line, if there is one, and gives the place that is left for the list. */
struct rect narrow_paint(const struct narrow *narrow, struct canvas *canvas, struct rect inside);
/* The rows of `total` that fit; their number. With nothing typed that is all of them. */
size_t narrow_rows(struct narrow *narrow, size_t total,
                   bool (*fits)(const struct filter *filter, size_t row, const void *data), const void *data);
/* The row at a place of the list; SIZE_MAX when there is none. */
size_t narrow_row(const struct narrow *narrow, size_t index);
/* For a list in which nothing is left: true when that is because of what was typed, and says so. */
bool narrow_paint_nothing(const struct narrow *narrow, struct canvas *canvas, struct rect in);

enum narrow_key { NARROW_NOT, NARROW_TAKEN, NARROW_CHANGED };
/* Whether the key was for the line, and whether other rows fit now: then the list begins at its first. Moves the list
 * while somebody types. */
enum narrow_key narrow_key(struct narrow *narrow, struct dialog *dialog, const struct key *key, enum action action);
/* The footer while somebody types, else `otherwise`. */
const char *narrow_footer(const struct narrow *narrow, const char *otherwise);
