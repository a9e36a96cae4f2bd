/* The script executor: how a run ends, the callback that is awaited, and the request. What is read of a harness's
 * stream is in test_executor_stream.c. */

#include "base/log.h"
#include "base/mem.h"
#include "support/executor_rig.h"
#include "support/scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- how it ends ---- */

static void test_result_ends_it(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 5, LOG("m") STEP("{\"n\":1}"));
    fake_channel_say(&f->harness, 10, RESULT("[1, 2]") DONE);
    fake_channel_say(&f->harness, 20, RESULT("2"));
    executor_rig_run(f);
    executor_rig_expect_success(f, "[1, 2]", 10);
    assert_string_equal(f->result.execution_id, "e1");
    assert_int_equal(f->result.output_bytes, strlen(LOG("m") STEP("{\"n\":1}") RESULT("[1, 2]")));
    assert_string_equal(f->events.buf, LOG("m") STEP("{\"n\":1}") RESULT("[1, 2]"));
    assert_int_equal(f->result.log_count, 1);
    assert_string_equal(f->result.logs[0].data, "m");
    assert_string_equal(f->result.logs[0].label, "info");
    assert_int_equal(f->result.intermediate_count, 1);
    assert_string_equal(f->result.intermediates[0].label, "step");
    assert_string_equal(f->result.intermediates[0].data, "{\"n\":1}");
    assert_string_equal(f->seen.buf, "{\"n\":1} ");
}

static void test_error_ends_it(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(
        &f->harness, 3,
        "{\"type\":\"error\",\"execution_id\":\"e1\",\"message\":\"a \\\"b\\\"\\n\",\"traceback\":\"t\\u00e9\"}\n");
    executor_rig_run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_string_equal(f->result.error, "a \"b\"\n");
    assert_string_equal(f->result.traceback, "t\xC3\xA9");
}

static void test_error_that_says_nothing(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 3, "{\"type\":\"error\",\"execution_id\":\"e1\"}\n");
    executor_rig_run(f);
    assert_string_equal(f->result.error, "unknown error");
    assert_string_equal(f->result.traceback, "");
}

static void test_silence(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 14999, LOG("m"));
    executor_rig_run(f);
    executor_rig_expect_failure(f, "Timed out waiting for container response", 15000, true);
    assert_null(f->result.traceback);
    assert_int_equal(f->result.log_count, 1);
}

static void test_default_timeout(void **state)
{
    struct executor_rig *f = *state;
    f->request.timeout_s = 0;
    executor_rig_run(f);
    executor_rig_expect_failure(f, "Timed out waiting for container response", 65000, true);
}

static void test_end_of_stream(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 1, STEP("1") "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":1}");
    fake_channel_end(&f->harness, 50);
    executor_rig_run(f);
    executor_rig_expect_failure(f, "Container stdout closed unexpectedly", 50, false);
    assert_int_equal(f->result.intermediate_count, 1);
}

static void test_dead_stdin(void **state)
{
    struct executor_rig *f = *state;
    f->harness.stdin_closed = true;
    executor_rig_run(f);
    assert_false(f->result.success);
    assert_false(f->result.reusable);
    assert_non_null(strstr(f->result.error, "stdin is closed"));
}

static void test_script_done_in_plan(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 10, DONE);
    fake_channel_say(&f->harness, 500, RESULT("1"));
    executor_rig_run(f);
    executor_rig_expect_success(f, "1", 500);
}

static void test_script_done_in_plan_when_order_is_promised(void **state)
{
    struct executor_rig *f = *state;
    f->harness.base.ordered = true;
    fake_channel_say(&f->harness, 10, LOG("m") DONE);
    executor_rig_run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_false(f->result.step_done);
    assert_string_equal(f->result.error, "Script finished without a result");
    assert_int_equal(f->result.duration_ms, 10);
}

static void test_script_done_in_interactive(void **state)
{
    struct executor_rig *f = *state;
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_say(&f->harness, 10, STEP("1") DONE);
    executor_rig_run(f);
    assert_true(f->result.success);
    assert_true(f->result.step_done);
    assert_true(f->result.reusable);
    assert_null(f->result.final_data);
    assert_null(f->result.error);
}

static void test_cancel(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 0, LOG("m"));
    executor_rig_start(f);
    script_run_cancel(f->run, "cancelled");
    script_run_cancel(f->run, "cancelled twice");
    assert_int_equal(f->dones, 0);
    loop_run(f->loop);
    executor_rig_expect_failure(f, "cancelled", 0, true);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->result.log_count, 0);
}

/* Whoever records them records what came at once at once; what may end the run is told before it does. */
static void test_events_are_told_together(void **state)
{
    struct executor_rig *f = *state;
    fake_channel_say(&f->harness, 5, LOG("a") LOG("b") LOG("c"));
    fake_channel_say(&f->harness, 6, LOG("d") RESULT("1") DONE);
    executor_rig_run(f);
    executor_rig_expect_success(f, "1", 6);
    assert_string_equal(f->events.buf, LOG("a") LOG("b") LOG("c") LOG("d") RESULT("1"));
    assert_int_equal(f->tellings, 2);
}

static void test_cancel_from_callbacks(void **state)
{
    struct executor_rig *f = *state;
    f->cancels_at_event = true;
    fake_channel_say(&f->harness, 1, RESULT("1") STEP("2"));
    executor_rig_run(f);
    executor_rig_expect_failure(f, "enough", 1, true);
    assert_string_equal(f->events.buf, RESULT("1"));

    script_result_release(&f->result);
    fake_channel_release(&f->harness);
    fake_channel_init(&f->harness, f->loop);
    f->dones = 0;
    f->cancels_at_event = false;
    f->cancels_within = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    executor_rig_run(f);
    assert_string_equal(f->result.error, "enough");
    assert_string_equal(f->seen.buf, "1 ");
}

/* ---- the callback is awaited ---- */

static void test_slow_callback_holds_back(void **state)
{
    struct executor_rig *f = *state;
    f->callback_us = 200000;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") LOG("m"));
    fake_channel_say(&f->harness, 2, STEP("3"));
    fake_channel_say(&f->harness, 3, RESULT("4") DONE);
    executor_rig_run(f);
    executor_rig_expect_success(f, "4", 601);
    assert_string_equal(f->seen.buf, "1 2 3 ");
    assert_int_equal(f->result.log_count, 1);
    assert_false(f->harness.paused);
    assert_true(f->harness.pauses > 0);
}

static void test_held_back_although_pause_is_ignored(void **state)
{
    struct executor_rig *f = *state;
    f->callback_us = 200000;
    f->harness.ignores_pause = true;
    fake_channel_say(&f->harness, 1, STEP("1"));
    fake_channel_say(&f->harness, 2, STEP("2") LOG("m"));
    fake_channel_say(&f->harness, 3, LOG("n"));
    fake_channel_end(&f->harness, 4);
    executor_rig_run(f);
    executor_rig_expect_failure(f, "Container stdout closed unexpectedly", 401, false);
    assert_int_equal(f->result.log_count, 2);
}

static void test_callback_that_fails_is_logged(void **state)
{
    struct executor_rig *f = *state;
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    CLEANUP(free) char *path = scratch_path(&scratch, "log");
    assert_int_equal(log_open(path, LOG_WARN, &err), 0);
    f->callback_fails = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    executor_rig_run(f);
    log_close();
    executor_rig_expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
    assert_int_equal(f->result.intermediate_count, 2);
    CLEANUP(free) char *log = scratch_read(&scratch, "log", NULL);
    assert_non_null(strstr(log, "failed: no room"));
    scratch_release(&scratch);
}

static void test_callback_that_goes_on_at_once(void **state)
{
    struct executor_rig *f = *state;
    f->goes_on_within = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    executor_rig_run(f);
    executor_rig_expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
}

static void test_flood_behind_a_slow_callback(void **state)
{
    struct executor_rig *f = *state;
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, '\n', 1 << 16);
    f->callback_us = 200000;
    executor_rig_start(f);
    f->harness.base.received(&f->harness.base, STEP("1"), strlen(STEP("1")));
    for (int i = 0; i < 1000; i++)
        f->harness.base.received(&f->harness.base, chunk, 1 << 16);
    loop_run(f->loop);
    executor_rig_expect_failure(f, "Container output exceeded the limit of 1048576 bytes", 200, true);
    assert_int_equal(f->result.output_bytes, SCRIPT_OUTPUT_BYTES + 1);
}

static void test_callback_slower_than_the_timeout(void **state)
{
    struct executor_rig *f = *state;
    f->callback_us = 20000000;
    fake_channel_say(&f->harness, 1, STEP("1") RESULT("2"));
    executor_rig_run(f);
    executor_rig_expect_failure(f, "Timed out waiting for container response", 15000, true);
}

/* ---- the request ---- */

static void test_request_line(void **state)
{
    struct executor_rig *f = *state;
    f->request.script = "a = \"\xC3\xA9\"\nemit_result(a)";
    f->request.timeout_s = 2.5;
    f->request.secrets = (const char *const[]){"A", "B", NULL};
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_end(&f->harness, 1);
    executor_rig_run(f);
    assert_string_equal(f->harness.written.buf,
                        "{\"execution_id\":\"e1\",\"script\":\"a = \\\"\xC3\xA9\\\"\\nemit_result(a)\",\"timeout\":2.5,"
                        "\"mode\":\"INTERACTIVE\",\"required_secrets\":[\"A\",\"B\"]}\n");
}

static void test_ids_are_made(void **state)
{
    struct executor_rig *f = *state;
    char first[64];
    f->request.execution_id = NULL;
    fake_channel_end(&f->harness, 1);
    executor_rig_run(f);
    assert_string_equal(f->result.execution_id, f->harness.id);
    snprintf(first, sizeof(first), "%s", f->harness.id);
    script_result_release(&f->result);
    f->dones = 0;
    fake_channel_end(&f->harness, 2);
    executor_rig_run(f);
    assert_string_equal(f->result.execution_id, f->harness.id);
    assert_string_not_equal(f->harness.id, first);
}

static void test_modes(void **state)
{
    (void)state;
    assert_int_equal(script_mode_from_name("plan"), SCRIPT_PLAN);
    assert_int_equal(script_mode_from_name("Interactive"), SCRIPT_INTERACTIVE);
    assert_int_equal(script_mode_from_name("other"), -1);
    assert_int_equal(script_mode_from_name(NULL), -1);
    assert_string_equal(script_mode_name(SCRIPT_PLAN), "PLAN");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, executor_rig_set_up, executor_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_result_ends_it),
        TEST(test_error_ends_it),
        TEST(test_error_that_says_nothing),
        TEST(test_silence),
        TEST(test_default_timeout),
        TEST(test_end_of_stream),
        TEST(test_dead_stdin),
        TEST(test_script_done_in_plan),
        TEST(test_script_done_in_plan_when_order_is_promised),
        TEST(test_script_done_in_interactive),
        TEST(test_cancel),
        TEST(test_events_are_told_together),
        TEST(test_cancel_from_callbacks),
        TEST(test_slow_callback_holds_back),
        TEST(test_held_back_although_pause_is_ignored),
        TEST(test_callback_that_goes_on_at_once),
        TEST(test_flood_behind_a_slow_callback),
        TEST(test_callback_slower_than_the_timeout),
        TEST(test_callback_that_fails_is_logged),
        TEST(test_request_line),
        TEST(test_ids_are_made),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
