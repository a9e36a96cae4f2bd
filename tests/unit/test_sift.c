/* What is shown of a list: rows that fit, rows that change, and searches that go on between frames. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "sift.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 10000

/* A list of numbers as texts; one of them can be given another text. */
struct numbers {
    size_t other;
    const char *text;
    size_t asked;
};

static bool number_fits(const struct sift_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct numbers *numbers = rows->owner;
    char text[32];
    numbers->asked++;
    snprintf(text, sizeof(text), "%zu", row);
    const char *shown = row == numbers->other && numbers->text ? numbers->text : text;
    *bytes += strlen(shown);
    return filter_text_fits(filter, shown, strlen(shown));
}

static struct sift_rows rows_of(struct numbers *numbers, size_t total, size_t settled, uint64_t state)
{
    return (struct sift_rows){
        .total = total, .settled = settled, .state = state, .of = numbers, .fits = number_fits, .owner = numbers};
}

static void without_a_filter_every_row_is_shown(void **state)
{
    struct numbers numbers = {0};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, MANY, MANY, 1);
    (void)state;
    sift_init(&sift);
    assert_false(sift_look(&sift, &rows, 100));
    assert_int_equal(sift_count(&sift, &rows), MANY);
    assert_int_equal(sift_row(&sift, 77), 77);
    assert_int_equal(numbers.asked, 0);
    sift_release(&sift);
}

static void rows_are_found_a_piece_at_a_time(void **state)
{
    struct numbers numbers = {0};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, MANY, MANY, 1);
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    (void)state;
    sift_init(&sift);
    filter_parse_texts(&sift.filter, "99");
    sift_begin(&sift);
    assert_true(sift_look(&sift, &rows, 1000));
    assert_int_equal(numbers.asked, 1000);
    sift_note(&note, &sift, &rows, "row", "rows");
    assert_string_equal(note.buf, "19 in 10 % …");
    while (sift_look(&sift, &rows, 1000))
        ;
    assert_int_equal(numbers.asked, MANY);
    strbuf_reset(&note);
    sift_note(&note, &sift, &rows, "row", "rows");
    assert_string_equal(note.buf, "280 of 10,000 rows");
    assert_int_equal(sift_row(&sift, 0), 99);
    assert_int_equal(sift_index(&sift, 100), 1); /* the next that is shown: 199 */
    sift_release(&sift);
}

static void rows_that_may_change_are_asked_again(void **state)
{
    struct numbers numbers = {.other = 8, .text = "runs"};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, 10, 8, 1);
    (void)state;
    sift_init(&sift);
    filter_parse_texts(&sift.filter, "done");
    sift_begin(&sift);
    sift_look(&sift, &rows, 100);
    assert_int_equal(sift_count(&sift, &rows), 0);
    /* Nothing is asked again while nothing happened. */
    numbers.text = "done";
    numbers.asked = 0;
    sift_look(&sift, &rows, 100);
    assert_int_equal(numbers.asked, 0);
    /* It did: what was settled when it was looked at stays, even when more is settled by now. */
    rows = rows_of(&numbers, 20, 20, 2);
    sift_look(&sift, &rows, 100);
    assert_int_equal(numbers.asked, 12);
    assert_int_equal(sift_count(&sift, &rows), 1);
    assert_int_equal(sift_row(&sift, 0), 8);
    /* A replay went back behind it. */
    numbers.text = "runs";
    rows = rows_of(&numbers, 10, 7, 3);
    sift_look(&sift, &rows, 100);
    assert_int_equal(sift_count(&sift, &rows), 0);
    sift_release(&sift);
}

static void another_list_is_looked_at_from_the_beginning(void **state)
{
    struct numbers numbers = {0}, others = {.other = 3, .text = "seven"};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, 10, 10, 1);
    (void)state;
    sift_init(&sift);
    filter_parse_texts(&sift.filter, "7");
    sift_begin(&sift);
    sift_look(&sift, &rows, 100);
    assert_int_equal(sift_count(&sift, &rows), 1);
    rows = rows_of(&others, 5, 5, 1);
    sift_look(&sift, &rows, 100);
    assert_int_equal(sift_count(&sift, &rows), 0);
    assert_int_equal(others.asked, 5);
    sift_release(&sift);
}

static enum sift_found find(struct sift *sift, const struct sift_rows *rows, const char *text, bool back, size_t from,
                            size_t *index)
{
    enum sift_found found;
    sift_search(sift, rows, text, back, from);
    while ((found = sift_search_on(sift, rows, 100, index)) == SIFT_LATER)
        ;
    return found;
}

static void a_search_goes_round_the_end_either_way(void **state)
{
    struct numbers numbers = {0};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, MANY, MANY, 1);
    size_t index = 0;
    (void)state;
    sift_init(&sift);
    assert_int_equal(find(&sift, &rows, "777", false, 800, &index), SIFT_FOUND);
    assert_int_equal(index, 1777);
    assert_int_equal(find(&sift, &rows, "777", true, 800, &index), SIFT_FOUND);
    assert_int_equal(index, 777);
    assert_int_equal(find(&sift, &rows, "777", true, 777, &index), SIFT_FOUND);
    assert_int_equal(index, 9777);
    assert_int_equal(find(&sift, &rows, "777", false, 9777, &index), SIFT_FOUND);
    assert_int_equal(index, 777);
    /* The only one there is, where the cursor stands. */
    assert_int_equal(find(&sift, &rows, "1234", false, 1234, &index), SIFT_FOUND);
    assert_int_equal(index, 1234);
    assert_int_equal(find(&sift, &rows, "x", false, SIZE_MAX, &index), SIFT_NOT);
    assert_int_equal(find(&sift, &rows, "x", true, SIZE_MAX, &index), SIFT_NOT);
    assert_false(sift_searching(&sift));
    sift_release(&sift);
}

static void a_search_stops_between_pieces_and_says_how_far_it_is(void **state)
{
    struct numbers numbers = {.other = MANY - 1, .text = "here it is"};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, MANY, MANY, 1);
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    size_t index = 0;
    (void)state;
    sift_init(&sift);
    sift_search(&sift, &rows, "here it", false, 0);
    assert_int_equal(sift_search_on(&sift, &rows, MANY / 2, &index), SIFT_LATER);
    assert_int_equal(numbers.asked, MANY / 2);
    sift_note(&note, &sift, &rows, NULL, NULL);
    assert_string_equal(note.buf, "10,000 · searching 50 %");
    /* More rows come in meanwhile, as they do while a turn runs. */
    rows.total += 5;
    assert_int_equal(sift_search_on(&sift, &rows, MANY, &index), SIFT_FOUND);
    assert_int_equal(index, MANY - 1);
    sift_search(&sift, &rows, "nowhere", false, 0);
    sift_search_stop(&sift);
    assert_int_equal(sift_search_on(&sift, &rows, MANY, &index), SIFT_NOT);
    sift_release(&sift);
}

static void a_search_stays_among_what_is_shown(void **state)
{
    struct numbers numbers = {0};
    struct sift sift;
    struct sift_rows rows = rows_of(&numbers, MANY, MANY, 1);
    size_t index = 0;
    (void)state;
    sift_init(&sift);
    filter_parse_texts(&sift.filter, "55");
    sift_begin(&sift);
    while (sift_look(&sift, &rows, MANY))
        ;
    assert_int_equal(find(&sift, &rows, "71", false, 0, &index), SIFT_FOUND);
    assert_int_equal(sift_row(&sift, index), 5571);
    /* Rows go while somebody searches: a replay went back. */
    sift_search(&sift, &rows, "71", false, index);
    rows.total = 56;
    assert_int_equal(sift_search_on(&sift, &rows, MANY, &index), SIFT_NOT);
    sift_release(&sift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_filter_every_row_is_shown),
        cmocka_unit_test(rows_are_found_a_piece_at_a_time),
        cmocka_unit_test(rows_that_may_change_are_asked_again),
        cmocka_unit_test(another_list_is_looked_at_from_the_beginning),
        cmocka_unit_test(a_search_goes_round_the_end_either_way),
        cmocka_unit_test(a_search_stops_between_pieces_and_says_how_far_it_is),
        cmocka_unit_test(a_search_stays_among_what_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
