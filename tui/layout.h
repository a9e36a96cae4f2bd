#pragma once
/* Where everything is, from the size of the screen alone. Panes keep their places: a question takes the write pane's
 * place and nothing else's. What does not fit is left out, never squeezed: it is one key away. Pure. */

#include "canvas.h"

#define LAYOUT_ROWS_MIN 16
#define LAYOUT_COLS_MIN 60
#define PANE_COUNT      7

struct layout_input {
    int rows, cols;
    int focus;      /* 1…7 */
    bool zoom;      /* the focused pane has everything */
    bool workspace; /* of the two that share a place, the workspace is shown and not the waves */
    bool write;     /* there is a write to show: a question, or one that is looked at */
    bool timeline;  /* replay: a bar under the status line */
    bool hint;      /* a line that says what to try */
};

struct layout {
    bool too_small;
    bool shared;                                         /* waves and workspace have one place between them */
    struct rect status, timeline, hint, message, footer; /* rows 0: not there. `message` is the line above the footer,
                                                            laid over the panes only while there is one */
    struct rect panes[PANE_COUNT + 1];                   /* by number; rows 0: not shown */
};
struct layout layout_make(const struct layout_input *input);
