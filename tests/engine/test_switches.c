/* What can be switched while a session runs: calls one at a time or side by side, breakpoints that hold or are passed.
 */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct two_reads {
    struct turn_rig rig;
    struct fake_tool look, see;
};

static void two_reads_init(struct two_reads *reads)
{
    struct turn_rig *rig = &reads->rig;
    turn_rig_init(rig);
    fake_tool_init(&reads->look, "look", EFFECT_READ_ONLY);
    fake_tool_init(&reads->see, "see", EFFECT_READ_ONLY);
    turn_rig_add_tool(rig, &reads->look.tool);
    turn_rig_add_tool(rig, &reads->see.tool);
    rig->harness.interactive = true;
    turn_rig_open(rig);
    for (int turn = 0; turn < 3; turn++) {
        struct fake_answer *answer = fake_provider_answer(rig->model);
        fake_answer_call(answer, NULL, "look", "{}");
        fake_answer_call(answer, NULL, "see", "{}");
        fake_provider_answer(rig->model)->text = "done";
    }
}

static void two_reads_end(struct two_reads *reads)
{
    turn_check_end(&reads->rig);
    fake_tool_release(&reads->look);
    fake_tool_release(&reads->see);
}

static bool planned_parallel(const struct turn_rig *rig, size_t turn)
{
    const struct event *event = turn_rig_event(rig, EVENT_WAVES_PLANNED, turn);
    assert_non_null(event);
    return strstr(event_json(event, "waves"), "\"parallel\"") != NULL;
}

static void calls_run_one_at_a_time_and_side_by_side_again(void **state)
{
    struct two_reads reads;
    struct turn_rig *rig = &reads.rig;
    (void)state;
    two_reads_init(&reads);
    turn_rig_turn(rig, "one");
    turn_rig_submit(rig, &(struct intent){.type = INTENT_SERIAL, .serial = {true}});
    assert_true(engine_gates(rig->engine)->serial);
    turn_rig_turn(rig, "two");
    turn_rig_submit(rig, &(struct intent){.type = INTENT_SERIAL, .serial = {false}});
    turn_rig_turn(rig, "three");
    assert_true(planned_parallel(rig, 0));
    assert_false(planned_parallel(rig, 1));
    assert_true(planned_parallel(rig, 2));
    two_reads_end(&reads);
}

static void a_breakpoint_is_passed_and_holds_again(void **state)
{
    struct two_reads reads;
    struct turn_rig *rig = &reads.rig;
    struct held_view held;
    (void)state;
    two_reads_init(&reads);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {"tool=see"}});
    int id = engine_gates(rig->engine)->breaks[0].id;
    turn_rig_submit(rig, &(struct intent){.type = INTENT_ARM, .arm = {id, false}});
    turn_rig_turn(rig, "one");
    assert_false(engine_held(rig->engine, &held));
    turn_rig_submit(rig, &(struct intent){.type = INTENT_ARM, .arm = {id, true}});
    turn_rig_turn(rig, "two");
    assert_true(engine_held(rig->engine, &held));
    assert_string_equal(held.why, "tool=see");
    turn_check_do(rig, INTENT_CONTINUE);
    assert_non_null(turn_check_submit(rig, &(struct intent){.type = INTENT_ARM, .arm = {id + 1, true}}));
    two_reads_end(&reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_one_at_a_time_and_side_by_side_again),
        cmocka_unit_test(a_breakpoint_is_passed_and_holds_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
