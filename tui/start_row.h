#pragma once
/* A row of what can be opened, on the start screen and in the picker: what was asked for first, since that is what
 * people remember, then where, how it went, how much it wrote and when, in columns. What does not fit leaves whole
 * columns out, the folder first. */

#include "canvas.h"
#include "start_list.h"

struct start_columns {
    int name;                        /* of fixtures */
    int folder, state, writes, when; /* of sessions; 0: left out */
    int title;
};

/* For the items that are shown together in `cols` columns. */
struct start_columns start_columns_of(const struct canvas *canvas, const struct start_item *items, size_t count,
                                      int cols);
/* Paints one into row `row` of `in`, which is `cols` wide. */
void start_row_paint(struct canvas *canvas, struct rect in, int row, const struct start_columns *columns,
                     const struct start_item *item);
