/* A read that succeeded is not repeated in its turn (D35), unless something was written in between: then what was read
 * may read differently. */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void step(struct turn_rig *rig, const char *call, const char *tool, const char *arguments)
{
    fake_answer_call(fake_provider_answer(rig->model), call, tool, arguments);
}

static void init(struct turn_rig *rig)
{
    turn_rig_init(rig);
    rig->answer = turn_rig_say_yes;
    turn_rig_open(rig);
    turn_rig_file(rig, "a.txt", "old\n");
}

static void test_same_read_twice_is_refused(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    step(&rig, "r1", "read_file", "{\"path\":\"a.txt\"}");
    step(&rig, "r2", "read_file", "{\"path\":\"a.txt\"}");
    turn_rig_turn(&rig, "read");
    assert_string_equal(turn_check_outcome(&rig, "r1"), "result");
    assert_string_equal(turn_check_outcome(&rig, "r2"), "denied:duplicate");
    turn_check_end(&rig);
}

static void test_read_after_a_write_is_carried_out(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    step(&rig, "r1", "read_file", "{\"path\":\"a.txt\"}");
    step(&rig, "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    step(&rig, "r2", "read_file", "{\"path\":\"a.txt\"}");
    step(&rig, "r3", "read_file", "{\"path\":\"a.txt\"}");
    turn_rig_turn(&rig, "read, write, read");
    assert_string_equal(turn_check_outcome(&rig, "r1"), "result");
    assert_string_equal(turn_check_outcome(&rig, "w"), "result");
    assert_string_equal(turn_check_outcome(&rig, "r2"), "result");
    assert_non_null(strstr(event_json(turn_rig_finished(&rig, "r2"), "result"), "new"));
    assert_string_equal(turn_check_outcome(&rig, "r3"), "denied:duplicate");
    turn_check_end(&rig);
}

/* What was refused changed nothing. */
static void test_refused_write_does_not_count(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig);
    rig.answer = turn_rig_say_no;
    step(&rig, "r1", "read_file", "{\"path\":\"a.txt\"}");
    step(&rig, "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    step(&rig, "r2", "read_file", "{\"path\":\"a.txt\"}");
    turn_rig_turn(&rig, "read, write, read");
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&rig, "r2"), "denied:duplicate");
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_read_twice_is_refused),
        cmocka_unit_test(test_read_after_a_write_is_carried_out),
        cmocka_unit_test(test_refused_write_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
