/* Tests of the script executor: how a run ends, the awaited callback, and the request. Tests of the harness's stream
 * are in test_executor_stream.c. */

#include "base/log.h"
#include "base/mem.h"
#include "support/scratch.h"
#include "support/script_run_rig.h"
#include "support/test.h"
#include <stdio.h>

/* ---- ends ---- */

TEST_WITH(result_ends_it, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 5, LOG("m") STEP("{\"n\":1}"));
    fake_channel_say(&f->config, 10, RESULT("[1, 2]") DONE);
    fake_channel_say(&f->config, 20, RESULT("2"));
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "[1, 2]", 10);
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

TEST_WITH(error_ends_it, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(
        &f->config, 3,
        "{\"type\":\"error\",\"execution_id\":\"e1\",\"message\":\"a \\\"b\\\"\\n\",\"traceback\":\"t\\u00e9\"}\n");
    script_run_rig_run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_string_equal(f->result.error, "a \"b\"\n");
    assert_string_equal(f->result.traceback, "t\xC3\xA9");
}

TEST_WITH(error_without_a_message, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 3, "{\"type\":\"error\",\"execution_id\":\"e1\"}\n");
    script_run_rig_run(f);
    assert_string_equal(f->result.error, "unknown error");
    assert_string_equal(f->result.traceback, "");
}

TEST_WITH(a_silent_script_times_out, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 14999, LOG("m"));
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "Timed out waiting for container response", 15000, true);
    assert_null(f->result.traceback);
    assert_int_equal(f->result.log_count, 1);
}

TEST_WITH(requests_have_a_default_timeout, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->request.timeout_s = 0;
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "Timed out waiting for container response", 65000, true);
}

TEST_WITH(the_end_of_the_stream_is_an_error, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 1, STEP("1") "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":1}");
    fake_channel_end(&f->config, 50);
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "Container stdout closed unexpectedly", 50, false);
    assert_int_equal(f->result.intermediate_count, 1);
}

TEST_WITH(a_closed_stdin_is_an_error, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->config.stdin_closed = true;
    script_run_rig_run(f);
    assert_false(f->result.success);
    assert_false(f->result.reusable);
    assert_non_null(strstr(f->result.error, "stdin is closed"));
}

TEST_WITH(script_done_in_plan, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 10, DONE);
    fake_channel_say(&f->config, 500, RESULT("1"));
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "1", 500);
}

TEST_WITH(script_done_in_plan_when_order_is_promised, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->config.base.ordered = true;
    fake_channel_say(&f->config, 10, LOG("m") DONE);
    script_run_rig_run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_false(f->result.step_done);
    assert_string_equal(f->result.error, "Script finished without a result");
    assert_int_equal(f->result.duration_ms, 10);
}

TEST_WITH(script_done_in_interactive, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_say(&f->config, 10, STEP("1") DONE);
    script_run_rig_run(f);
    assert_true(f->result.success);
    assert_true(f->result.step_done);
    assert_true(f->result.reusable);
    assert_null(f->result.final_data);
    assert_null(f->result.error);
}

TEST_WITH(cancel_ends_the_run, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 0, LOG("m"));
    script_run_rig_start(f);
    script_run_cancel(f->run, "cancelled");
    script_run_cancel(f->run, "cancelled twice");
    assert_int_equal(f->dones, 0);
    loop_run(f->loop);
    script_run_rig_expect_failure(f, "cancelled", 0, true);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->result.log_count, 0);
}

/* Events that arrive together are reported together. An event that may end the run is reported before it does. */
TEST_WITH(events_are_reported_together, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 5, LOG("a") LOG("b") LOG("c"));
    fake_channel_say(&f->config, 6, LOG("d") RESULT("1") DONE);
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "1", 6);
    assert_string_equal(f->events.buf, LOG("a") LOG("b") LOG("c") LOG("d") RESULT("1"));
    assert_int_equal(f->tellings, 2);
}

TEST_WITH(cancel_from_callbacks, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->cancels_at_event = true;
    fake_channel_say(&f->config, 1, RESULT("1") STEP("2"));
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "enough", 1, true);
    assert_string_equal(f->events.buf, RESULT("1"));

    script_result_release(&f->result);
    fake_channel_release(&f->config);
    fake_channel_init(&f->config, f->loop);
    f->dones = 0;
    f->cancels_at_event = false;
    f->cancels_within = true;
    fake_channel_say(&f->config, 1, STEP("1") STEP("2") RESULT("3"));
    script_run_rig_run(f);
    assert_string_equal(f->result.error, "enough");
    assert_string_equal(f->seen.buf, "1 ");
}

/* ---- the callback is awaited ---- */

TEST_WITH(slow_callback_holds_back, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->callback_us = 200000;
    fake_channel_say(&f->config, 1, STEP("1") STEP("2") LOG("m"));
    fake_channel_say(&f->config, 2, STEP("3"));
    fake_channel_say(&f->config, 3, RESULT("4") DONE);
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "4", 601);
    assert_string_equal(f->seen.buf, "1 2 3 ");
    assert_int_equal(f->result.log_count, 1);
    assert_false(f->config.paused);
    assert_true(f->config.pauses > 0);
}

TEST_WITH(held_back_although_pause_is_ignored, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->callback_us = 200000;
    f->config.ignores_pause = true;
    fake_channel_say(&f->config, 1, STEP("1"));
    fake_channel_say(&f->config, 2, STEP("2") LOG("m"));
    fake_channel_say(&f->config, 3, LOG("n"));
    fake_channel_end(&f->config, 4);
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "Container stdout closed unexpectedly", 401, false);
    assert_int_equal(f->result.log_count, 2);
}

TEST_WITH(callback_that_fails_is_logged, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    CLEANUP(free) char *path = scratch_path(&scratch, "log");
    assert_int_equal(log_open(path, LOG_WARN, &err), 0);
    f->callback_fails = true;
    fake_channel_say(&f->config, 1, STEP("1") STEP("2") RESULT("3"));
    script_run_rig_run(f);
    log_close();
    script_run_rig_expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
    assert_int_equal(f->result.intermediate_count, 2);
    CLEANUP(free) char *log = scratch_read(&scratch, "log", NULL);
    assert_non_null(strstr(log, "failed: no room"));
    scratch_release(&scratch);
}

TEST_WITH(callback_that_continues_at_once, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->goes_on_within = true;
    fake_channel_say(&f->config, 1, STEP("1") STEP("2") RESULT("3"));
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
}

TEST_WITH(flood_behind_a_slow_callback, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, '\n', 1 << 16);
    f->callback_us = 200000;
    script_run_rig_start(f);
    f->config.base.received(&f->config.base, STEP("1"), strlen(STEP("1")));
    for (int i = 0; i < 1000; i++)
        f->config.base.received(&f->config.base, chunk, 1 << 16);
    loop_run(f->loop);
    script_run_rig_expect_failure(f, "Container output exceeded the limit of 1048576 bytes", 200, true);
    assert_int_equal(f->result.output_bytes, SCRIPT_OUTPUT_BYTES + 1);
}

TEST_WITH(callback_slower_than_the_timeout, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->callback_us = 20000000;
    fake_channel_say(&f->config, 1, STEP("1") RESULT("2"));
    script_run_rig_run(f);
    script_run_rig_expect_failure(f, "Timed out waiting for container response", 15000, true);
}

/* ---- the request ---- */

TEST_WITH(request_line, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->request.script = "a = \"\xC3\xA9\"\nemit_result(a)";
    f->request.timeout_s = 2.5;
    f->request.secrets = (const char *const[]){"A", "B", NULL};
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_end(&f->config, 1);
    script_run_rig_run(f);
    assert_string_equal(f->config.written.buf,
                        "{\"execution_id\":\"e1\",\"script\":\"a = \\\"\xC3\xA9\\\"\\nemit_result(a)\",\"timeout\":2.5,"
                        "\"mode\":\"INTERACTIVE\",\"required_secrets\":[\"A\",\"B\"]}\n");
}

TEST_WITH(ids_are_made, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    char first[64];
    f->request.execution_id = NULL;
    fake_channel_end(&f->config, 1);
    script_run_rig_run(f);
    assert_string_equal(f->result.execution_id, f->config.id);
    snprintf(first, sizeof(first), "%s", f->config.id);
    script_result_release(&f->result);
    f->dones = 0;
    fake_channel_end(&f->config, 2);
    script_run_rig_run(f);
    assert_string_equal(f->result.execution_id, f->config.id);
    assert_string_not_equal(f->config.id, first);
}

TEST(modes_have_names)
{
    assert_int_equal(script_mode_from_name("plan"), SCRIPT_PLAN);
    assert_int_equal(script_mode_from_name("Interactive"), SCRIPT_INTERACTIVE);
    assert_int_equal(script_mode_from_name("other"), -1);
    assert_int_equal(script_mode_from_name(NULL), -1);
    assert_string_equal(script_mode_name(SCRIPT_PLAN), "PLAN");
}
