/* Tests of the layout: at every size and in every state the panes tile the screen. */

#include "base/mem.h"
#include "screen/layout.h"
#include "support/test.h"
#include <string.h>

enum { CONVERSATION = 1, EVENTS, TOOLS, WAVES, BUDGET, WRITE, WORKSPACE };

static struct layout make(int rows, int cols, int focus, bool write)
{
    struct layout_input input = {.rows = rows, .cols = cols, .focus = focus, .write = write};
    return layout_make(&input);
}

static void assert_rect(struct rect rect, int row, int col, int rows, int cols)
{
    assert_int_equal(rect.row, row);
    assert_int_equal(rect.col, col);
    assert_int_equal(rect.rows, rows);
    assert_int_equal(rect.cols, cols);
}

/* The pieces of a screen. When each is on it, none overlaps another and their areas add up, they tile it. */
struct pieces {
    struct rect rects[PANE_COUNT + 4];
    size_t count;
    int area;
};

static bool overlap(struct rect a, struct rect b)
{
    return a.row < b.row + b.rows && b.row < a.row + a.rows && a.col < b.col + b.cols && b.col < a.col + a.cols;
}

static void add_piece(struct pieces *pieces, const struct layout_input *input, struct rect rect, const char *what)
{
    if (rect.rows == 0)
        return;
    if (rect.row < 0 || rect.col < 0 || rect.row + rect.rows > input->rows || rect.col + rect.cols > input->cols)
        fail_msg("%s leaves the screen at %dx%d", what, input->cols, input->rows);
    for (size_t i = 0; i < pieces->count; i++)
        if (overlap(pieces->rects[i], rect))
            fail_msg("%s overlaps at %dx%d, focus %d", what, input->cols, input->rows, input->focus);
    pieces->rects[pieces->count++] = rect;
    pieces->area += rect.rows * rect.cols;
}

static void check(const struct layout_input *input)
{
    static const char *const names[] = {"", "conversation", "events", "tools", "waves", "budget", "write", "workspace"};
    struct layout layout = layout_make(input);
    struct pieces pieces = {0};
    add_piece(&pieces, input, layout.status, "status");
    add_piece(&pieces, input, layout.timeline, "timeline");
    add_piece(&pieces, input, layout.hint, "hint");
    add_piece(&pieces, input, layout.footer, "footer");
    for (int i = 1; i <= PANE_COUNT; i++) {
        add_piece(&pieces, input, layout.panes[i], names[i]);
        if (layout.panes[i].rows && (layout.panes[i].rows < 5 || layout.panes[i].cols < 24))
            fail_msg("%s is squeezed at %dx%d", names[i], input->cols, input->rows);
    }
    if (pieces.area != input->rows * input->cols)
        fail_msg("a hole at %dx%d, focus %d zoom %d write %d timeline %d hint %d", input->cols, input->rows,
                 input->focus, input->zoom, input->write, input->timeline, input->hint);
    if (layout.too_small || layout.panes[input->focus].rows == 0)
        fail_msg("the focus is not on the screen at %dx%d", input->cols, input->rows);
    if (layout.timeline.rows != input->timeline || layout.hint.rows != input->hint ||
        layout.message.row != layout.footer.row - 1)
        fail_msg("a line is missing at %dx%d", input->cols, input->rows);
    /* A waiting write is visible unless another view fills the screen. */
    if (input->write && !input->zoom && layout.panes[WRITE].rows == 0)
        fail_msg("the write is not on the screen at %dx%d", input->cols, input->rows);
}

TEST(every_size_is_tiled)
{
    for (int rows = LAYOUT_ROWS_MIN; rows <= 80; rows++) {
        for (int cols = LAYOUT_COLS_MIN; cols <= 250; cols++) {
            for (int bits = 0; bits < 32; bits++) {
                for (int focus = 1; focus <= PANE_COUNT; focus++) {
                    struct layout_input input = {.rows = rows,
                                                 .cols = cols,
                                                 .focus = focus,
                                                 .zoom = bits & 1,
                                                 .write = bits & 2,
                                                 .timeline = bits & 4,
                                                 .hint = bits & 8,
                                                 .workspace = bits & 16};
                    check(&input);
                }
            }
        }
    }
}

TEST(120x40)
{
    struct layout layout = make(40, 120, WRITE, true);
    assert_rect(layout.status, 0, 0, 1, 120);
    assert_rect(layout.footer, 39, 0, 1, 120);
    assert_rect(layout.panes[CONVERSATION], 1, 0, 9, 66);
    assert_rect(layout.panes[WRITE], 10, 0, 20, 66);
    assert_rect(layout.panes[EVENTS], 30, 0, 9, 66);
    assert_rect(layout.panes[TOOLS], 1, 66, 12, 54);
    assert_rect(layout.panes[WAVES], 13, 66, 13, 54);
    assert_rect(layout.panes[BUDGET], 26, 66, 13, 54);
}

TEST(80x24)
{
    struct layout layout = make(24, 80, WRITE, true);
    assert_rect(layout.panes[WRITE], 1, 0, 13, 80);
    assert_rect(layout.panes[TOOLS], 14, 0, 9, 48);
    assert_rect(layout.panes[BUDGET], 14, 48, 9, 32);
    assert_int_equal(layout.panes[CONVERSATION].rows, 0);
    assert_int_equal(layout.panes[EVENTS].rows, 0);

    /* A hidden pane is one key away, and the write stays visible. */
    static const int hidden[] = {CONVERSATION, EVENTS, WAVES};
    for (size_t i = 0; i < COUNT_OF(hidden); i++) {
        layout = make(24, 80, hidden[i], true);
        assert_rect(layout.panes[WRITE], 1, 0, 13, 80);
        assert_rect(layout.panes[hidden[i]], 14, 0, 9, 48);
        assert_int_equal(layout.panes[TOOLS].rows, 0);
    }
}

/* Waves and workspace have one place between them, and neither takes another's. */
TEST(the_workspace_shares_the_place_of_the_waves)
{
    struct layout waves = make(40, 120, TOOLS, false);
    struct layout_input input = {.rows = 40, .cols = 120, .focus = WORKSPACE};
    for (int focus = CONVERSATION; focus <= WORKSPACE; focus++) {
        input.focus = focus;
        input.workspace = true;
        struct layout layout = layout_make(&input);
        int shown = focus == WAVES ? WAVES : WORKSPACE, hidden = focus == WAVES ? WORKSPACE : WAVES;
        assert_memory_equal(&layout.panes[shown], &waves.panes[WAVES], sizeof(struct rect));
        assert_int_equal(layout.panes[hidden].rows, 0);
        assert_memory_equal(&layout.panes[TOOLS], &waves.panes[TOOLS], sizeof(struct rect));
        assert_memory_equal(&layout.panes[BUDGET], &waves.panes[BUDGET], sizeof(struct rect));
    }
    /* At a size without a pane for the waves, the workspace gets one like the others. */
    struct layout small = make(24, 80, WORKSPACE, false);
    assert_rect(small.panes[WORKSPACE], 14, 0, 9, 48);
}

TEST(200x60)
{
    struct layout layout = make(60, 200, WRITE, true);
    for (int i = 1; i <= WRITE; i++)
        assert_true(layout.panes[i].rows >= 9 && layout.panes[i].cols >= 50);
    assert_rect(layout.panes[CONVERSATION], 1, 0, 44, 60);
    assert_rect(layout.panes[WRITE], 1, 60, 44, 80);
    assert_rect(layout.panes[EVENTS], 45, 0, 14, 140);
    assert_int_equal(layout.panes[TOOLS].col, 140);
}

/* A new write moves only the conversation, which gives it space. */
TEST(a_question_takes_the_writes_place_only)
{
    static const int sizes[][2] = {{24, 80}, {40, 120}, {60, 200}, {30, 100}, {50, 90}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct layout without = make(sizes[i][0], sizes[i][1], TOOLS, false);
        struct layout with = make(sizes[i][0], sizes[i][1], TOOLS, true);
        for (int pane = EVENTS; pane <= BUDGET; pane++)
            assert_memory_equal(&without.panes[pane], &with.panes[pane], sizeof(struct rect));
        assert_int_equal(without.panes[WRITE].rows, 0);
        assert_true(without.panes[CONVERSATION].rows * without.panes[CONVERSATION].cols >=
                    with.panes[WRITE].rows * with.panes[WRITE].cols);
    }
}

TEST(a_too_small_terminal_has_no_panes)
{
    static const int sizes[][2] = {{15, 80}, {24, 59}, {1, 1}, {0, 0}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct layout layout = make(sizes[i][0], sizes[i][1], CONVERSATION, false);
        assert_true(layout.too_small);
        assert_rect(layout.status, 0, 0, sizes[i][0] > 0, sizes[i][1]);
        for (int pane = 1; pane <= PANE_COUNT; pane++)
            assert_int_equal(layout.panes[pane].rows, 0);
    }
}
