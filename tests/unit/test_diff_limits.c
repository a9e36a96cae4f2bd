/* Tests of too large differences: the beginning is kept, the counts cover everything, and no diff takes minutes. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "tools/change.h"
#include "tools/diff.h"
#include <stdint.h>

static void add_lines(struct strbuf *text, size_t count, unsigned seed, unsigned kinds)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        strbuf_addf(text, "%x\n", (seed >> 12) % kinds);
    }
}

static struct diff *compare(const struct strbuf *old, const struct strbuf *new)
{
    struct err err = ERR_INIT;
    struct diff *diff = diff_new("f", old->buf, old->len, new->buf, new->len, &err);
    assert_non_null(diff);
    return diff;
}

static void check_end(const struct diff *diff, const char *end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    diff_write(&text, diff, "f", true, true);
    assert_true(text.len > strlen(end));
    assert_string_equal(text.buf + text.len - strlen(end), end);
    assert_true(text.len < 2 * DIFF_TEXT_MAX);
}

TEST(many_changed_lines_are_cut)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    for (int i = 0; i < 150000; i++) {
        strbuf_addf(&old, "%d\n", i);
        strbuf_addf(&new, "%d!\n", i);
    }
    struct diff *diff = compare(&old, &new);
    assert_true(diff->cut);
    assert_false(diff->estimate);
    assert_int_equal(diff->added, 150000);
    assert_int_equal(diff->removed, 150000);
    assert_int_equal(diff->line_count, DIFF_LINES_MAX);
    check_end(diff, "\\ Too large to be shown whole: 150000 lines added and 150000 removed in all\n");
    diff_free(diff);
}

TEST(much_text_is_cut)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    for (int i = 0; i < 6000; i++)
        strbuf_addf(&new, "%01000d\n", i);
    struct diff *diff = compare(&old, &new);
    assert_true(diff->cut);
    assert_int_equal(diff->added, 6000);
    assert_in_range(diff->line_count, 4000, 4300);
    check_end(diff, "\\ Too large to be shown whole: 6000 lines added and 0 removed in all\n");
    diff_free(diff);
}

TEST(a_diff_within_the_limit_is_not_cut)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    add_lines(&old, 90000, 1, 1000000);
    add_lines(&new, 90000, 2, 1000000);
    struct diff *diff = compare(&old, &new);
    assert_false(diff->cut);
    assert_int_equal(diff->added - diff->removed, 0);
    diff_free(diff);
}

/* Lines that repeat, in no order: the smallest difference would take minutes to find. */
TEST(lines_too_costly_to_compare_are_counted)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    strbuf_addstr(&old, "same\nsame again\n");
    strbuf_addstr(&new, "same\nsame again\n");
    add_lines(&old, 900000, 1, 1000);
    add_lines(&new, 900000, 2, 1000);
    strbuf_addstr(&old, "at the end\nso\nlast\n");
    strbuf_addstr(&new, "at the end\nso\nlast\n");
    struct diff *diff = compare(&old, &new);
    assert_true(diff->cut);
    assert_true(diff->estimate);
    assert_int_equal(diff->hunk_count, 0);
    assert_in_range(diff->added, 899990, 900001);
    assert_in_range(diff->removed, 899990, 900001);
    check_end(diff, " removed\n");
    diff_free(diff);
}

/* A large file with few edits far apart is compared as any other. */
TEST(large_file_with_few_edits)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    for (int i = 0; i < 900000; i++) {
        strbuf_addf(&old, "%d\n", i % 5000);
        if (i % 100000 == 7)
            strbuf_addstr(&new, "new\nlines\n");
        if (i % 100000 != 9)
            strbuf_addf(&new, "%d\n", i % 5000);
    }
    struct diff *diff = compare(&old, &new);
    assert_false(diff->cut);
    assert_int_equal(diff->hunk_count, 9);
    assert_int_equal(diff->added, 18);
    assert_int_equal(diff->removed, 9);
    diff_free(diff);
}

TEST(large_binary_is_not_searched)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    strbuf_add(&old, "\0", 1);
    strbuf_add(&new, "\0x", 2);
    add_lines(&old, 400000, 1, 10);
    add_lines(&new, 400000, 2, 10);
    struct diff *diff = compare(&old, &new);
    assert_true(diff->binary);
    assert_false(diff->cut);
    diff_free(diff);
}

TEST(cut_difference_is_not_taken_in_parts)
{
    struct change_set *set = change_set_new();
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    bool keep[1] = {false};
    struct err err = ERR_INIT;
    set->items = xcalloc(1, sizeof(*set->items));
    set->count = set->room = 1;
    set->items[0].path = xstrdup("f");
    change_side_absent(&set->items[0].old);
    for (int i = 0; i < 6000; i++)
        strbuf_addf(&new, "%01000d\n", i);
    change_side_set(&set->items[0].new, new.buf, new.len, 0644);
    change_set_count(set);
    assert_true(set->items[0].counts.known);
    assert_true(set->items[0].counts.cut);
    assert_int_equal(set->items[0].counts.added, 6000);
    struct diff *diff = change_diff(&set->items[0], &err);
    assert_non_null(diff);
    assert_int_equal(change_keep_hunks(&set->items[0], diff, keep, 1, &err), -1);
    diff_free(diff);
    assert_string_equal(err.text, "the diff of f is too large to choose hunks");
    change_set_free(set);
}
