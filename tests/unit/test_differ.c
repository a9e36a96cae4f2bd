/* What counts as a difference in the fields of two events. */

#include "base/mem.h"
#include "turn/differ.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_names_of_kept_outputs_do_not_count(void **state)
{
    static const struct {
        const char *recorded, *got;
        bool differs;
    } cases[] = {
        {"{\"output\":{\"artifact\":\"artifact://art_1\"}}", "{\"output\":{\"artifact\":\"artifact://art_2\"}}", false},
        {"{\"output\":{\"stdout_artifact\":\"artifact://art_1\"}}",
         "{\"output\":{\"stdout_artifact\":\"artifact://art_2\"}}", false},
        {"{\"output\":{\"stdout_artifact\":\"artifact://art_1\"}}", "{\"output\":{}}", true},
        {"{\"output\":{\"artifact\":\"artifact://plan@1\"}}", "{\"output\":{\"artifact\":\"artifact://plan@2\"}}",
         true},
        {"{\"output\":{\"from\":\"artifact://art_1\"}}", "{\"output\":{\"from\":\"artifact://art_2\"}}", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct difference first;

        assert_int_equal(differ_json(&arena, "result", (struct differ_side){.text = cases[i].recorded},
                                     (struct differ_side){.text = cases[i].got}, &first),
                         cases[i].differs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_kept_outputs_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
