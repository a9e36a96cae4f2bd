/* The layout of the panes: which pane is where, for a given screen size.
 *
 * The width selects one of three arrangements. The height matters only for the strip:
 *
 *   strip     80×24   main on top; tools and budget side by side below.
 *                     Tall screens get events under them, then the conversation on top of the write.
 *   columns  120×40   left: conversation, write, events; right: tools, waves, budget.
 *   wide     200×60   the same with the write beside the conversation and the events under both.
 *
 * "Main" is the write while one is shown, otherwise the conversation, which then also uses the place of the write. The
 * workspace and the waves share one place: the pane that had the focus last is shown. A focused pane without a place
 * takes that of a less urgent pane, never that of the write. */

#include "layout.h"

enum { CONVERSATION = 1, EVENTS, TOOLS, WAVES, BUDGET, WRITE, WORKSPACE };

#define COLUMNS_FROM 100 /* columns of the screen */
#define WIDE_FROM    160
#define PANE_LEAST   5 /* rows: three between the lines */
#define BUDGET_MOST  13
#define BUDGET_FULL  10 /* rows that show every gauge */

static int at_least(int value, int least)
{
    return value > least ? value : least;
}

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

/* Cuts `rows` off the top of *rest. */
static struct rect cut_top(struct rect *rest, int rows)
{
    struct rect top = rect_make(rest->row, rest->col, rows, rest->cols);
    rest->row += rows;
    rest->rows -= rows;
    return top;
}

static struct rect cut_bottom(struct rect *rest, int rows)
{
    rest->rows -= rows;
    return rect_make(rest->row + rest->rows, rest->col, rows, rest->cols);
}

static struct rect cut_left(struct rect *rest, int cols)
{
    struct rect left = rect_make(rest->row, rest->col, rest->rows, cols);
    rest->col += cols;
    rest->cols -= cols;
    return left;
}

/* The share of `rows` out of 38, the rows for panes on a screen of 40. */
static int share(int rows, int of_38)
{
    return at_least(rows * of_38 / 38, PANE_LEAST);
}

static void arrange_strip(struct layout *layout, struct rect rest, bool write)
{
    int height = rest.rows;
    /* On a tall screen the strip gets only the rows it needs, and the rest goes to the panes that scroll. */
    int strip = at_most(at_least(height * 9 / 22, PANE_LEAST), BUDGET_MOST);
    if (height >= 34)
        layout->panes[EVENTS] = cut_bottom(&rest, height / 5);
    struct rect low = cut_bottom(&rest, strip);
    layout->panes[TOOLS] = cut_left(&low, low.cols * 3 / 5);
    layout->panes[BUDGET] = low;
    if (write && height >= 44)
        layout->panes[CONVERSATION] = cut_top(&rest, at_least(height / 5, 9));
    layout->panes[write ? WRITE : CONVERSATION] = rest;
}

static void arrange_right(struct layout *layout, struct rect rest)
{
    if (rest.rows < 24) {
        layout->panes[BUDGET] = cut_bottom(&rest, at_most(BUDGET_FULL, rest.rows / 2));
        layout->panes[TOOLS] = rest;
        return;
    }
    layout->panes[BUDGET] = cut_bottom(&rest, at_most(share(rest.rows, 13), BUDGET_MOST));
    layout->panes[TOOLS] = cut_top(&rest, rest.rows * 12 / 25);
    layout->panes[WAVES] = rest;
}

static void arrange_columns(struct layout *layout, struct rect rest, bool write)
{
    struct rect left = cut_left(&rest, rest.cols * 66 / 120);
    arrange_right(layout, rest);
    int height = left.rows;
    layout->panes[EVENTS] = cut_bottom(&left, share(height, 9));
    if (write && height >= 26)
        layout->panes[CONVERSATION] = cut_top(&left, share(height, 9));
    layout->panes[write ? WRITE : CONVERSATION] = left;
}

static void arrange_wide(struct layout *layout, struct rect rest, bool write)
{
    struct rect left = cut_left(&rest, rest.cols * 7 / 10);
    arrange_right(layout, rest);
    layout->panes[EVENTS] = cut_bottom(&left, at_least(left.rows / 4, PANE_LEAST));
    if (write)
        layout->panes[CONVERSATION] = cut_left(&left, left.cols * 3 / 7);
    layout->panes[write ? WRITE : CONVERSATION] = left;
}

/* Finds a place for a focused pane that has none: the conversation takes that of the events, all others that of the
 * tools. */
static void lend_place(struct layout *layout, int focus)
{
    if (focus < 1 || focus > PANE_COUNT || layout->panes[focus].rows)
        return;
    int from = focus == CONVERSATION && layout->panes[EVENTS].rows ? EVENTS : TOOLS;
    layout->panes[focus] = layout->panes[from];
    layout->panes[from] = rect_make(0, 0, 0, 0);
}

struct layout layout_make(const struct layout_input *input)
{
    struct layout layout = {0};
    struct rect rest = rect_make(0, 0, input->rows, input->cols);
    if (input->rows < LAYOUT_ROWS_MIN || input->cols < LAYOUT_COLS_MIN) {
        layout.too_small = true;
        layout.status = rect_make(0, 0, at_most(rest.rows, 1), rest.cols);
        return layout;
    }
    layout.status = cut_top(&rest, 1);
    if (input->timeline)
        layout.timeline = cut_top(&rest, 1);
    if (input->hint)
        layout.hint = cut_top(&rest, 1);
    layout.footer = cut_bottom(&rest, 1);
    layout.message = rect_make(layout.footer.row - 1, 0, 1, input->cols);

    bool write = input->write || input->focus == WRITE;
    if (input->zoom && input->focus >= 1 && input->focus <= PANE_COUNT) {
        layout.panes[input->focus] = rest;
        return layout;
    }
    if (input->cols >= WIDE_FROM)
        arrange_wide(&layout, rest, write);
    else if (input->cols >= COLUMNS_FROM)
        arrange_columns(&layout, rest, write);
    else
        arrange_strip(&layout, rest, write);
    layout.shared = layout.panes[WAVES].rows > 0;
    if (layout.shared && (input->workspace || input->focus == WORKSPACE) && input->focus != WAVES) {
        layout.panes[WORKSPACE] = layout.panes[WAVES];
        layout.panes[WAVES] = rect_make(0, 0, 0, 0);
    }
    lend_place(&layout, input->focus);
    return layout;
}
