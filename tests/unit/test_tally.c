/* Tests of a turn's state: every call has its own id, whatever ids the model gave. */

#include "base/mem.h"
#include "support/test.h"
#include "turn/tally.h"
#include <stdint.h>
#include <stdio.h>

static void check_id(struct tally *state, const char *id, const char *expected)
{
    CLEANUP(free) char *unique = tally_call_id(state, id);
    assert_string_equal(unique, expected);
}

TEST(ids_are_used_once)
{
    struct tally turn;
    tally_init(&turn);
    check_id(&turn, "a", "a");
    check_id(&turn, "b", "b");
    check_id(&turn, "a", "a#2");
    check_id(&turn, "a#3", "a#3"); /* a variant of another call */
    check_id(&turn, "a", "a#4");
    check_id(&turn, "a#2", "a#2#2");
    check_id(&turn, "a", "a#5");
    check_id(&turn, NULL, "call");
    check_id(&turn, "", "call#2");
    tally_release(&turn);
}

/* Tried from the beginning each time, these would be five thousand million comparisons. */
TEST(one_id_many_times_costs_no_more_than_many_ids)
{
    enum { CALLS = 100000 };
    struct tally turn;
    tally_init(&turn);
    check_id(&turn, "same", "same");
    for (int i = 2; i <= CALLS; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "same#%d", i);
        check_id(&turn, "same", expected);
    }
    tally_release(&turn);
}
