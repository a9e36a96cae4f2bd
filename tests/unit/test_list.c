/* Tests of a long list in a short pane: the cursor is always visible, and following stops when the user scrolls. */

#include "screen/list.h"
#include "support/test.h"

static void assert_list(const struct list *list, size_t cursor, size_t top, bool follow)
{
    assert_int_equal(list->cursor, cursor);
    assert_int_equal(list->top, top);
    assert_int_equal(list->follow, follow);
}

TEST(follows_until_scrolled)
{
    struct list list;
    list_init(&list, true);
    list_update(&list, 100, 10);
    assert_list(&list, 99, 90, true);
    list_update(&list, 101, 10);
    assert_list(&list, 100, 91, true);
    assert_true(list_move(&list, LIST_UP, 10));
    assert_list(&list, 99, 91, false);
    list_update(&list, 1000000, 10);
    assert_list(&list, 99, 91, false);
    assert_true(list_move(&list, LIST_END, 10));
    assert_list(&list, 999999, 999990, true);
    list_update(&list, 1000001, 10);
    assert_list(&list, 1000000, 999991, true);
}

TEST(reaching_the_end_begins_it_again)
{
    struct list list;
    list_init(&list, true);
    list_update(&list, 5, 10);
    list_move(&list, LIST_UP, 10);
    assert_false(list.follow);
    list_move(&list, LIST_DOWN, 10);
    assert_true(list.follow);
}

TEST(a_list_that_does_not_follow)
{
    struct list list;
    list_init(&list, false);
    list_update(&list, 5, 3);
    assert_list(&list, 0, 0, false);
    list_move(&list, LIST_END, 3);
    assert_list(&list, 4, 2, false);
    list_update(&list, 8, 3);
    assert_list(&list, 4, 2, false);
}

TEST(page_keys_move_by_the_height)
{
    struct list list;
    list_init(&list, false);
    list_update(&list, 100, 10);
    assert_true(list_move(&list, LIST_PAGE_DOWN, 10));
    assert_list(&list, 9, 9, false);
    assert_true(list_move(&list, LIST_PAGE_DOWN, 10));
    assert_list(&list, 18, 18, false);
    assert_true(list_move(&list, LIST_PAGE_UP, 10));
    assert_list(&list, 9, 9, false);
    for (int i = 0; i < 20; i++)
        list_move(&list, LIST_PAGE_DOWN, 10);
    assert_list(&list, 99, 90, false);
    assert_false(list_move(&list, LIST_PAGE_DOWN, 10));
    assert_true(list_move(&list, LIST_HOME, 10));
    assert_list(&list, 0, 0, false);
    assert_false(list_move(&list, LIST_UP, 10));
    assert_false(list_move(&list, LIST_STAY, 10));
}

TEST(shrinks_and_empties)
{
    struct list list;
    list_init(&list, false);
    list_update(&list, 100, 10);
    list_select(&list, 80, 10);
    assert_list(&list, 80, 71, false);
    list_update(&list, 20, 10);
    assert_list(&list, 19, 10, false);
    list_update(&list, 3, 10);
    assert_list(&list, 2, 0, false);
    list_update(&list, 0, 10);
    assert_list(&list, 0, 0, false);
    for (enum list_step step = LIST_STAY; step <= LIST_RIGHT; step++)
        list_move(&list, step, 0);
    assert_list(&list, 0, 0, false);
    list_update(&list, 50, -3);
    list_select(&list, 7, 0);
    assert_list(&list, 7, 7, false);
    /* A taller pane shows more above, not nothing below. */
    list_select(&list, 49, 5);
    list_update(&list, 50, 20);
    assert_list(&list, 49, 30, false);
}

TEST(rows_scroll_sideways)
{
    struct list list;
    list_init(&list, false);
    list_update(&list, 3, 10);
    assert_false(list_move(&list, LIST_LEFT, 10));
    assert_true(list_move(&list, LIST_RIGHT, 10));
    assert_true(list.left > 0);
    assert_true(list_move(&list, LIST_LEFT, 10));
    assert_int_equal(list.left, 0);
}

TEST(a_text_scrolls_as_a_whole)
{
    struct list list;
    list_init(&list, true);
    list_set_lines(&list, 100, 10);
    assert_list(&list, 90, 90, true);
    assert_true(list_scroll(&list, LIST_PAGE_UP, 10));
    assert_list(&list, 81, 81, false);
    list_set_lines(&list, 200, 10);
    assert_list(&list, 81, 81, false);
    list_show(&list, 85, 10); /* visible */
    assert_list(&list, 81, 81, false);
    list_show(&list, 195, 10);
    assert_list(&list, 190, 190, false);
    assert_true(list_scroll(&list, LIST_HOME, 10));
    assert_true(list_scroll(&list, LIST_UP, 10));
    assert_list(&list, 0, 0, false);
    assert_true(list_scroll(&list, LIST_END, 10));
    assert_true(list_scroll(&list, LIST_DOWN, 10));
    assert_list(&list, 190, 190, true);
    assert_true(list_scroll(&list, LIST_RIGHT, 10));
    assert_true(list.left > 0);
    assert_false(list_scroll(&list, LIST_STAY, 10));
    list_set_lines(&list, 3, 10);
    assert_list(&list, 0, 0, true);
}

/* A line that a search found must be readable: it stays visible, even if it was visible at the end already. */
TEST(a_line_that_is_shown_stays_in_sight)
{
    struct list list;
    list_init(&list, true);
    list_set_lines(&list, 100, 10);
    list_show(&list, 95, 10);
    assert_list(&list, 90, 90, false);
    list_set_lines(&list, 200, 10);
    assert_list(&list, 90, 90, false);
    assert_true(list_scroll(&list, LIST_END, 10));
    assert_list(&list, 190, 190, true);
}

TEST(rows_that_leave_at_the_front)
{
    struct list list;
    list_init(&list, true);
    list_set_lines(&list, 100, 10);
    assert_true(list_scroll(&list, LIST_PAGE_UP, 10));
    list_drop(&list, 50);
    list_set_lines(&list, 100, 10);
    assert_list(&list, 31, 31, false);
    list_drop(&list, SIZE_MAX);
    list_set_lines(&list, 100, 10);
    assert_list(&list, 0, 0, false);
}
