/* The late-write gate: a call is settled once, and nobody gets in after. */

#include "tools/trace.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_running_then_completed(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    assert_int_equal(trace_state(&trace, "t1"), TRACE_NONE);
    trace_running(&trace, "t1");
    assert_int_equal(trace_state(&trace, "t1"), TRACE_RUNNING);
    assert_true(trace_complete(&trace, "t1", TRACE_COMPLETED));
    assert_int_equal(trace_state(&trace, "t1"), TRACE_COMPLETED);
    trace_release(&trace);
}

static void test_d34_late_arrival_is_refused(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    trace_running(&trace, "t1");
    trace_time_out(&trace, "t1");
    assert_false(trace_complete(&trace, "t1", TRACE_COMPLETED));
    assert_int_equal(trace_state(&trace, "t1"), TRACE_TIMED_OUT);
    trace_release(&trace);
}

static void test_d34_completed_just_before_the_mark_stays_completed(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    trace_running(&trace, "t1");
    assert_true(trace_complete(&trace, "t1", TRACE_COMPLETED));
    trace_time_out(&trace, "t1");
    assert_int_equal(trace_state(&trace, "t1"), TRACE_COMPLETED);
    trace_release(&trace);
}

static void test_d34_unknown_and_second_time_are_refused(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    assert_false(trace_complete(&trace, "zz", TRACE_COMPLETED));
    assert_int_equal(trace_state(&trace, "zz"), TRACE_NONE);
    trace_time_out(&trace, "zz");
    assert_int_equal(trace_state(&trace, "zz"), TRACE_NONE);
    trace_running(&trace, "t1");
    assert_true(trace_complete(&trace, "t1", TRACE_FAILED));
    assert_false(trace_complete(&trace, "t1", TRACE_COMPLETED));
    assert_int_equal(trace_state(&trace, "t1"), TRACE_FAILED);
    trace_release(&trace);
}

static void test_d34_nothing_completes_after_the_gate_closed(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    trace_running(&trace, "t1");
    assert_true(trace_accepting_writes(&trace));
    trace_close_writes(&trace);
    assert_false(trace_accepting_writes(&trace));
    assert_false(trace_complete(&trace, "t1", TRACE_COMPLETED));
    assert_int_equal(trace_state(&trace, "t1"), TRACE_RUNNING);
    trace_release(&trace);
}

static void test_an_id_used_again_is_a_new_call(void **state)
{
    (void)state;
    struct trace trace;
    trace_init(&trace);
    trace_running(&trace, "c1");
    assert_true(trace_complete(&trace, "c1", TRACE_COMPLETED));
    trace_running(&trace, "c1");
    assert_true(trace_complete(&trace, "c1", TRACE_DENIED));
    trace_release(&trace);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(trace_state_name(TRACE_NONE), "");
    assert_string_equal(trace_state_name(TRACE_RUNNING), "running");
    assert_string_equal(trace_state_name(TRACE_COMPLETED), "completed");
    assert_string_equal(trace_state_name(TRACE_FAILED), "failed");
    assert_string_equal(trace_state_name(TRACE_DENIED), "denied");
    assert_string_equal(trace_state_name(TRACE_TIMED_OUT), "timed_out");
    assert_string_equal(trace_state_name((enum trace_state)99), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_then_completed),
        cmocka_unit_test(test_d34_late_arrival_is_refused),
        cmocka_unit_test(test_d34_completed_just_before_the_mark_stays_completed),
        cmocka_unit_test(test_d34_unknown_and_second_time_are_refused),
        cmocka_unit_test(test_d34_nothing_completes_after_the_gate_closed),
        cmocka_unit_test(test_an_id_used_again_is_a_new_call),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
