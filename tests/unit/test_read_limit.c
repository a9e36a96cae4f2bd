/* Tests of splitting a stream: not before there is too much, then by bytes or by reads, whichever comes first. */

#include "base/read_limit.h"
#include "support/test.h"
#include <stdint.h>

static int reads_to_a_pause(struct read_limit *read_limit, size_t got)
{
    int reads = 1;
    while (!read_limit_take(read_limit, got))
        reads++;
    read_limit_resume(read_limit);
    return reads;
}

TEST(without_a_limit_no_pause_comes)
{
    struct read_limit read_limit = {0};
    for (int i = 0; i < 100000; i++)
        assert_false(read_limit_take(&read_limit, SIZE_MAX >> 20));
}

TEST(small_amounts_are_not_delayed)
{
    struct read_limit read_limit = {.after = 10 << 20};
    for (int i = 0; i < 9; i++)
        assert_false(read_limit_take(&read_limit, 1 << 20));
    assert_true(read_limit_take(&read_limit, 1 << 20));
}

TEST(portions_are_followed_by_pauses)
{
    struct read_limit pipe = {.after = 1}, terminal = {.after = 1};
    for (int i = 0; i < 3; i++) { /* each is as large as the first */
        assert_int_equal(reads_to_a_pause(&pipe, 64 << 10), 6);
        assert_int_equal(reads_to_a_pause(&terminal, 100), 64);
    }
}
