/* What a turn remembers: every call has an id of its own, whatever ids the model gave. */

#include "base/mem.h"
#include "turn/state.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void check_id(struct turn_state *state, const char *id, const char *expected)
{
    CLEANUP(free) char *unique = turn_state_call_id(state, id);
    assert_string_equal(unique, expected);
}

static void test_ids_are_used_once(void **unused)
{
    struct turn_state state;
    (void)unused;
    turn_state_init(&state);
    check_id(&state, "a", "a");
    check_id(&state, "b", "b");
    check_id(&state, "a", "a#2");
    check_id(&state, "a#3", "a#3"); /* somebody else's variant */
    check_id(&state, "a", "a#4");
    check_id(&state, "a#2", "a#2#2");
    check_id(&state, "a", "a#5");
    check_id(&state, NULL, "call");
    check_id(&state, "", "call#2");
    turn_state_release(&state);
}

/* Tried from the beginning each time, these would be five thousand million comparisons. */
static void test_one_id_many_times_costs_no_more_than_many_ids(void **unused)
{
    enum { CALLS = 100000 };
    struct turn_state state;
    (void)unused;
    turn_state_init(&state);
    check_id(&state, "same", "same");
    for (int i = 2; i <= CALLS; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "same#%d", i);
        check_id(&state, "same", expected);
    }
    turn_state_release(&state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_used_once),
        cmocka_unit_test(test_one_id_many_times_costs_no_more_than_many_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
