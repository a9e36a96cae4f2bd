/* Tests of filtered lists: matching rows, changing rows, and searches that continue between frames. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "panes/filter.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

#define MANY 10000

/* A list of numbers as texts; one of them can be given another text. */
struct numbers {
    size_t other;
    const char *text;
    size_t asked;
};

static bool number_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct numbers *numbers = rows->owner;
    char text[32];
    numbers->asked++;
    snprintf(text, sizeof(text), "%zu", row);
    const char *shown = row == numbers->other && numbers->text ? numbers->text : text;
    *bytes += strlen(shown);
    return filter_text_fits(filter, shown, strlen(shown));
}

static struct row_filter_rows rows_of(struct numbers *numbers, size_t total, size_t settled, uint64_t state)
{
    return (struct row_filter_rows){
        .total = total, .settled = settled, .state = state, .of = numbers, .fits = number_fits, .owner = numbers};
}

TEST(without_a_filter_every_row_is_shown)
{
    struct numbers numbers = {0};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, MANY, MANY, 1);
    row_filter_init(&rows_filter);
    assert_false(row_filter_look(&rows_filter, &rows, 100));
    assert_int_equal(row_filter_count(&rows_filter, &rows), MANY);
    assert_int_equal(row_filter_row(&rows_filter, 77), 77);
    assert_int_equal(numbers.asked, 0);
    row_filter_release(&rows_filter);
}

TEST(rows_are_found_a_piece_at_a_time)
{
    struct numbers numbers = {0};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, MANY, MANY, 1);
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    row_filter_init(&rows_filter);
    filter_parse_texts(&rows_filter.filter, "99");
    row_filter_begin(&rows_filter);
    assert_true(row_filter_look(&rows_filter, &rows, 1000));
    assert_int_equal(numbers.asked, 1000);
    row_filter_note(&note, &rows_filter, &rows, "row", "rows");
    assert_string_equal(note.buf, "19 in 10 % …");
    while (row_filter_look(&rows_filter, &rows, 1000))
        ;
    assert_int_equal(numbers.asked, MANY);
    strbuf_reset(&note);
    row_filter_note(&note, &rows_filter, &rows, "row", "rows");
    assert_string_equal(note.buf, "280 of 10,000 rows");
    assert_int_equal(row_filter_row(&rows_filter, 0), 99);
    assert_int_equal(row_filter_index(&rows_filter, 100), 1); /* the next that is shown: 199 */
    row_filter_release(&rows_filter);
}

TEST(rows_that_may_change_are_matched_again)
{
    struct numbers numbers = {.other = 8, .text = "runs"};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, 10, 8, 1);
    row_filter_init(&rows_filter);
    filter_parse_texts(&rows_filter.filter, "done");
    row_filter_begin(&rows_filter);
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(row_filter_count(&rows_filter, &rows), 0);
    /* Without a change, no row is matched again. */
    numbers.text = "done";
    numbers.asked = 0;
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(numbers.asked, 0);
    /* Rows that were settled when they were matched stay as they are; more are settled now. */
    rows = rows_of(&numbers, 20, 20, 2);
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(numbers.asked, 12);
    assert_int_equal(row_filter_count(&rows_filter, &rows), 1);
    assert_int_equal(row_filter_row(&rows_filter, 0), 8);
    /* A replay moved back before it. */
    numbers.text = "runs";
    rows = rows_of(&numbers, 10, 7, 3);
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(row_filter_count(&rows_filter, &rows), 0);
    row_filter_release(&rows_filter);
}

TEST(another_list_is_looked_at_from_the_beginning)
{
    struct numbers numbers = {0}, others = {.other = 3, .text = "seven"};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, 10, 10, 1);
    row_filter_init(&rows_filter);
    filter_parse_texts(&rows_filter.filter, "7");
    row_filter_begin(&rows_filter);
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(row_filter_count(&rows_filter, &rows), 1);
    rows = rows_of(&others, 5, 5, 1);
    row_filter_look(&rows_filter, &rows, 100);
    assert_int_equal(row_filter_count(&rows_filter, &rows), 0);
    assert_int_equal(others.asked, 5);
    row_filter_release(&rows_filter);
}

static enum row_filter_found find(struct row_filter *rows_filter, const struct row_filter_rows *rows, const char *text,
                                  bool back, size_t from, size_t *index)
{
    enum row_filter_found found;
    row_filter_search(rows_filter, rows, text, back, from);
    while ((found = row_filter_search_on(rows_filter, rows, 100, index)) == ROW_FILTER_LATER)
        ;
    return found;
}

TEST(a_search_goes_round_the_end_either_way)
{
    struct numbers numbers = {0};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, MANY, MANY, 1);
    size_t index = 0;
    row_filter_init(&rows_filter);
    assert_int_equal(find(&rows_filter, &rows, "777", false, 800, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, 1777);
    assert_int_equal(find(&rows_filter, &rows, "777", true, 800, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, 777);
    assert_int_equal(find(&rows_filter, &rows, "777", true, 777, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, 9777);
    assert_int_equal(find(&rows_filter, &rows, "777", false, 9777, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, 777);
    /* The only match, where the cursor is. */
    assert_int_equal(find(&rows_filter, &rows, "1234", false, 1234, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, 1234);
    assert_int_equal(find(&rows_filter, &rows, "x", false, SIZE_MAX, &index), ROW_FILTER_NOT);
    assert_int_equal(find(&rows_filter, &rows, "x", true, SIZE_MAX, &index), ROW_FILTER_NOT);
    assert_false(row_filter_searching(&rows_filter));
    row_filter_release(&rows_filter);
}

TEST(search_pauses_and_reports_its_progress)
{
    struct numbers numbers = {.other = MANY - 1, .text = "here it is"};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, MANY, MANY, 1);
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    size_t index = 0;
    row_filter_init(&rows_filter);
    row_filter_search(&rows_filter, &rows, "here it", false, 0);
    assert_int_equal(row_filter_search_on(&rows_filter, &rows, MANY / 2, &index), ROW_FILTER_LATER);
    assert_int_equal(numbers.asked, MANY / 2);
    row_filter_note(&note, &rows_filter, &rows, NULL, NULL);
    assert_string_equal(note.buf, "10,000 · searching 50 %");
    /* More rows come in meanwhile, as they do while a turn runs. */
    rows.total += 5;
    assert_int_equal(row_filter_search_on(&rows_filter, &rows, MANY, &index), ROW_FILTER_FOUND);
    assert_int_equal(index, MANY - 1);
    row_filter_search(&rows_filter, &rows, "nowhere", false, 0);
    row_filter_search_stop(&rows_filter);
    assert_int_equal(row_filter_search_on(&rows_filter, &rows, MANY, &index), ROW_FILTER_NOT);
    row_filter_release(&rows_filter);
}

TEST(search_stays_within_shown_rows)
{
    struct numbers numbers = {0};
    struct row_filter rows_filter;
    struct row_filter_rows rows = rows_of(&numbers, MANY, MANY, 1);
    size_t index = 0;
    row_filter_init(&rows_filter);
    filter_parse_texts(&rows_filter.filter, "55");
    row_filter_begin(&rows_filter);
    while (row_filter_look(&rows_filter, &rows, MANY))
        ;
    assert_int_equal(find(&rows_filter, &rows, "71", false, 0, &index), ROW_FILTER_FOUND);
    assert_int_equal(row_filter_row(&rows_filter, index), 5571);
    /* Rows disappear during a search: a replay moved back. */
    row_filter_search(&rows_filter, &rows, "71", false, index);
    rows.total = 56;
    assert_int_equal(row_filter_search_on(&rows_filter, &rows, MANY, &index), ROW_FILTER_NOT);
    row_filter_release(&rows_filter);
}
