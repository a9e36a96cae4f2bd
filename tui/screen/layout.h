#pragma once
/* The layout of the screen, computed from its size and a few flags. Panes keep their places: a question takes only the
 * place of the write pane. A pane that does not fit is left out instead of squeezed, and one key shows it. Pure. */

#include "canvas.h"

#define LAYOUT_ROWS_MIN 16
#define LAYOUT_COLS_MIN 60
#define PANE_COUNT      7

struct layout_input {
    int rows, cols;
    int focus;      /* 1…7 */
    bool zoom;      /* the focused pane fills the screen */
    bool workspace; /* the workspace is shown in the place that it shares with the waves */
    bool write;     /* there is a write to show: an open question, or an earlier write that the user views */
    bool timeline;  /* replay: a bar under the status line */
    bool hint;      /* show the hint line */
};

struct layout {
    bool too_small;
    bool shared;                                         /* waves and workspace share one place */
    struct rect status, timeline, hint, message, footer; /* rows 0: not shown. `message` is the line above the footer,
                                                            which covers the panes only while there is a message */
    struct rect panes[PANE_COUNT + 1];                   /* by number; rows 0: not shown */
};
struct layout layout_make(const struct layout_input *input);
