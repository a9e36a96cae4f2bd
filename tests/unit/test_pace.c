/* Tests of splitting a stream: not before there is too much, then by bytes or by reads, whichever comes first. */

#include "base/pace.h"
#include "support/test.h"
#include <stdint.h>

static int reads_to_a_pause(struct pace *pace, size_t got)
{
    int reads = 1;
    while (!pace_take(pace, got))
        reads++;
    pace_go_on(pace);
    return reads;
}

TEST(no_end)
{
    struct pace pace = {0};
    for (int i = 0; i < 100000; i++)
        assert_false(pace_take(&pace, SIZE_MAX >> 20));
}

TEST(not_before_there_is_too_much)
{
    struct pace pace = {.after = 10 << 20};
    for (int i = 0; i < 9; i++)
        assert_false(pace_take(&pace, 1 << 20));
    assert_true(pace_take(&pace, 1 << 20));
}

TEST(portions)
{
    struct pace pipe = {.after = 1}, terminal = {.after = 1};
    for (int i = 0; i < 3; i++) { /* each is as large as the first */
        assert_int_equal(reads_to_a_pause(&pipe, 64 << 10), 6);
        assert_int_equal(reads_to_a_pause(&terminal, 100), 64);
    }
}
