#pragma once
/* A list that is longer than its pane: cursor, scroll and follow mode over rows that are asked for by number, so cost
 * grows with what is visible. Following stops when you scroll and begins again at the end. */

#include "canvas.h"
#include "keymap.h"

struct list {
    size_t count;  /* rows there are */
    size_t cursor; /* selected row */
    size_t top;    /* first row shown */
    int left;      /* columns scrolled to the right */
    bool follow;   /* keep the end in sight */
    bool follows;  /* may follow: reaching the end begins it again */
};

void list_init(struct list *list, bool follow);
/* Takes a new number of rows and height; keeps the cursor in sight. */
void list_update(struct list *list, size_t count, int height);
/* True when the action moved it. */
bool list_action(struct list *list, enum action action, int height);
void list_select(struct list *list, size_t row, int height);

/* A text scrolls as a whole: there is no cursor in it, only a first line (`top`), and following keeps its end in sight.
 * Takes a new number of lines and height. */
void list_settle(struct list *list, size_t count, int height);
/* True when it was a way to scroll. */
bool list_scroll(struct list *list, enum action action, int height);
/* Scrolls as far as it takes to have the line in sight, and keeps it there: whoever was shown a line wants to read it.
 */
void list_show(struct list *list, size_t line, int height);
/* So many rows left at the front: the same ones stay in sight. */
void list_drop(struct list *list, size_t rows);
