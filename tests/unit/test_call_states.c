/* The late-write gate: a call is settled once, and no later event changes it. */

#include "support/test.h"
#include "tools/bounded.h"
#include <stdint.h>

TEST(running_then_completed)
{
    struct call_states trace;
    call_states_init(&trace);
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_NONE);
    call_states_running(&trace, "t1");
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_RUNNING);
    assert_true(call_states_complete(&trace, "t1", TOOL_STATE_COMPLETED));
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_COMPLETED);
    call_states_release(&trace);
}

TEST(late_arrival_is_refused)
{
    struct call_states trace;
    call_states_init(&trace);
    call_states_running(&trace, "t1");
    call_states_time_out(&trace, "t1");
    assert_false(call_states_complete(&trace, "t1", TOOL_STATE_COMPLETED));
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_TIMED_OUT);
    call_states_release(&trace);
}

TEST(completed_just_before_the_mark_stays_completed)
{
    struct call_states trace;
    call_states_init(&trace);
    call_states_running(&trace, "t1");
    assert_true(call_states_complete(&trace, "t1", TOOL_STATE_COMPLETED));
    call_states_time_out(&trace, "t1");
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_COMPLETED);
    call_states_release(&trace);
}

TEST(unknown_and_second_time_are_refused)
{
    struct call_states trace;
    call_states_init(&trace);
    assert_false(call_states_complete(&trace, "zz", TOOL_STATE_COMPLETED));
    assert_int_equal(tool_state(&trace, "zz"), TOOL_STATE_NONE);
    call_states_time_out(&trace, "zz");
    assert_int_equal(tool_state(&trace, "zz"), TOOL_STATE_NONE);
    call_states_running(&trace, "t1");
    assert_true(call_states_complete(&trace, "t1", TOOL_STATE_FAILED));
    assert_false(call_states_complete(&trace, "t1", TOOL_STATE_COMPLETED));
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_FAILED);
    call_states_release(&trace);
}

TEST(nothing_completes_after_the_gate_closed)
{
    struct call_states trace;
    call_states_init(&trace);
    call_states_running(&trace, "t1");
    assert_true(call_states_accepting_writes(&trace));
    call_states_close_writes(&trace);
    assert_false(call_states_accepting_writes(&trace));
    assert_false(call_states_complete(&trace, "t1", TOOL_STATE_COMPLETED));
    assert_int_equal(tool_state(&trace, "t1"), TOOL_STATE_RUNNING);
    call_states_release(&trace);
}

TEST(a_repeated_id_is_a_new_call)
{
    struct call_states trace;
    call_states_init(&trace);
    call_states_running(&trace, "c1");
    assert_true(call_states_complete(&trace, "c1", TOOL_STATE_COMPLETED));
    call_states_running(&trace, "c1");
    assert_true(call_states_complete(&trace, "c1", TOOL_STATE_DENIED));
    call_states_release(&trace);
}
