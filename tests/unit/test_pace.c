/* Portions of a stream: none before there is too much, then by bytes or by reads, whichever comes first. */

#include "base/pace.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int reads_to_a_pause(struct pace *pace, size_t got)
{
    int reads = 1;
    while (!pace_take(pace, got))
        reads++;
    pace_go_on(pace);
    return reads;
}

static void test_no_end(void **state)
{
    (void)state;
    struct pace pace = {0};
    for (int i = 0; i < 100000; i++)
        assert_false(pace_take(&pace, SIZE_MAX >> 20));
}

static void test_not_before_there_is_too_much(void **state)
{
    (void)state;
    struct pace pace = {.after = 10 << 20};
    for (int i = 0; i < 9; i++)
        assert_false(pace_take(&pace, 1 << 20));
    assert_true(pace_take(&pace, 1 << 20));
}

static void test_portions(void **state)
{
    (void)state;
    struct pace pipe = {.after = 1}, terminal = {.after = 1};
    for (int i = 0; i < 3; i++) { /* each is as large as the first */
        assert_int_equal(reads_to_a_pause(&pipe, 64 << 10), 6);
        assert_int_equal(reads_to_a_pause(&terminal, 100), 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_end),
        cmocka_unit_test(test_not_before_there_is_too_much),
        cmocka_unit_test(test_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
