/* A long list in a short pane: the cursor is always in sight, and following stops when somebody scrolls. */

#include "list.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_list(const struct list *list, size_t cursor, size_t top, bool follow)
{
    assert_int_equal(list->cursor, cursor);
    assert_int_equal(list->top, top);
    assert_int_equal(list->follow, follow);
}

static void test_follows_until_scrolled(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, true);
    list_update(&list, 100, 10);
    assert_list(&list, 99, 90, true);
    list_update(&list, 101, 10);
    assert_list(&list, 100, 91, true);
    assert_true(list_action(&list, ACTION_UP, 10));
    assert_list(&list, 99, 91, false);
    list_update(&list, 1000000, 10);
    assert_list(&list, 99, 91, false);
    assert_true(list_action(&list, ACTION_END, 10));
    assert_list(&list, 999999, 999990, true);
    list_update(&list, 1000001, 10);
    assert_list(&list, 1000000, 999991, true);
}

static void test_reaching_the_end_begins_it_again(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, true);
    list_update(&list, 5, 10);
    list_action(&list, ACTION_UP, 10);
    assert_false(list.follow);
    list_action(&list, ACTION_DOWN, 10);
    assert_true(list.follow);
}

static void test_a_list_that_does_not_follow(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, false);
    list_update(&list, 5, 3);
    assert_list(&list, 0, 0, false);
    list_action(&list, ACTION_END, 3);
    assert_list(&list, 4, 2, false);
    list_update(&list, 8, 3);
    assert_list(&list, 4, 2, false);
}

static void test_pages(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, false);
    list_update(&list, 100, 10);
    assert_true(list_action(&list, ACTION_PAGE_DOWN, 10));
    assert_list(&list, 9, 9, false);
    assert_true(list_action(&list, ACTION_PAGE_DOWN, 10));
    assert_list(&list, 18, 18, false);
    assert_true(list_action(&list, ACTION_PAGE_UP, 10));
    assert_list(&list, 9, 9, false);
    for (int i = 0; i < 20; i++)
        list_action(&list, ACTION_PAGE_DOWN, 10);
    assert_list(&list, 99, 90, false);
    assert_false(list_action(&list, ACTION_PAGE_DOWN, 10));
    assert_true(list_action(&list, ACTION_HOME, 10));
    assert_list(&list, 0, 0, false);
    assert_false(list_action(&list, ACTION_UP, 10));
    assert_false(list_action(&list, ACTION_QUIT, 10));
}

static void test_shrinks_and_empties(void **state)
{
    (void)state;
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
    for (enum action action = ACTION_NONE; action < ACTION_COUNT; action++)
        list_action(&list, action, 0);
    assert_list(&list, 0, 0, false);
    list_update(&list, 50, -3);
    list_select(&list, 7, 0);
    assert_list(&list, 7, 7, false);
    /* A taller pane shows more above, not nothing below. */
    list_select(&list, 49, 5);
    list_update(&list, 50, 20);
    assert_list(&list, 49, 30, false);
}

static void test_sideways(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, false);
    list_update(&list, 3, 10);
    assert_false(list_action(&list, ACTION_LEFT, 10));
    assert_true(list_action(&list, ACTION_RIGHT, 10));
    assert_true(list.left > 0);
    assert_true(list_action(&list, ACTION_LEFT, 10));
    assert_int_equal(list.left, 0);
}

static void test_a_text_scrolls_as_a_whole(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, true);
    list_settle(&list, 100, 10);
    assert_list(&list, 90, 90, true);
    assert_true(list_scroll(&list, ACTION_PAGE_UP, 10));
    assert_list(&list, 81, 81, false);
    list_settle(&list, 200, 10);
    assert_list(&list, 81, 81, false);
    list_show(&list, 85, 10); /* in sight */
    assert_list(&list, 81, 81, false);
    list_show(&list, 195, 10);
    assert_list(&list, 190, 190, false);
    assert_true(list_scroll(&list, ACTION_HOME, 10));
    assert_true(list_scroll(&list, ACTION_UP, 10));
    assert_list(&list, 0, 0, false);
    assert_true(list_scroll(&list, ACTION_END, 10));
    assert_true(list_scroll(&list, ACTION_DOWN, 10));
    assert_list(&list, 190, 190, true);
    assert_true(list_scroll(&list, ACTION_RIGHT, 10));
    assert_true(list.left > 0);
    assert_false(list_scroll(&list, ACTION_COPY, 10));
    list_settle(&list, 3, 10);
    assert_list(&list, 0, 0, true);
}

/* What was looked for is to be read: it stays, also where it was in sight at the end already. */
static void test_a_line_that_is_shown_stays_in_sight(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, true);
    list_settle(&list, 100, 10);
    list_show(&list, 95, 10);
    assert_list(&list, 90, 90, false);
    list_settle(&list, 200, 10);
    assert_list(&list, 90, 90, false);
    assert_true(list_scroll(&list, ACTION_END, 10));
    assert_list(&list, 190, 190, true);
}

static void test_rows_that_leave_at_the_front(void **state)
{
    (void)state;
    struct list list;
    list_init(&list, true);
    list_settle(&list, 100, 10);
    assert_true(list_scroll(&list, ACTION_PAGE_UP, 10));
    list_drop(&list, 50);
    list_settle(&list, 100, 10);
    assert_list(&list, 31, 31, false);
    list_drop(&list, SIZE_MAX);
    list_settle(&list, 100, 10);
    assert_list(&list, 0, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_until_scrolled),       cmocka_unit_test(test_reaching_the_end_begins_it_again),
        cmocka_unit_test(test_a_list_that_does_not_follow),  cmocka_unit_test(test_pages),
        cmocka_unit_test(test_shrinks_and_empties),          cmocka_unit_test(test_sideways),
        cmocka_unit_test(test_a_text_scrolls_as_a_whole),    cmocka_unit_test(test_a_line_that_is_shown_stays_in_sight),
        cmocka_unit_test(test_rows_that_leave_at_the_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
