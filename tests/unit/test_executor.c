/* The script executor against a harness that says what it is told to, in virtual time. */

#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/executor.h"
#include "sandbox/wire.h"
#include "support/fake_channel.h"
#include "support/scratch.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define RESULT(data) "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":" data "}\n"
#define STEP(data)   "{\"type\":\"intermediate\",\"execution_id\":\"e1\",\"label\":\"step\",\"data\":" data "}\n"
#define LOG(text)    "{\"type\":\"log\",\"execution_id\":\"e1\",\"message\":\"" text "\",\"level\":\"info\"}\n"
#define DONE         "{\"type\":\"script_done\",\"execution_id\":\"e1\"}\n"

struct fixture {
    struct fake_clock clock;
    struct loop *loop;
    struct fake_channel harness;
    struct script_request request;
    struct script_run *run;
    struct script_result result;
    int64_t done_us;
    int dones;
    struct strbuf events; /* each with its newline */
    int tellings;
    struct strbuf seen;   /* intermediates, data then a blank */
    int64_t callback_us;  /* how long one takes; 0: no time */
    bool goes_on_within, cancels_within, cancels_at_event, callback_fails;
    struct loop_timer callback;
};

static void on_events(void *user, const char *lines, size_t len)
{
    struct fixture *f = user;
    strbuf_add(&f->events, lines, len);
    f->tellings++;
    if (f->cancels_at_event)
        script_run_cancel(f->run, "enough");
}

static void callback_over(struct loop_timer *timer)
{
    script_run_go_on(CONTAINER_OF(timer, struct fixture, callback)->run);
}

static enum script_heard on_intermediate(void *user, const struct script_part *part, struct err *err)
{
    struct fixture *f = user;
    strbuf_addf(&f->seen, "%s ", part->data);
    if (f->goes_on_within)
        script_run_go_on(f->run);
    if (f->cancels_within)
        script_run_cancel(f->run, "enough");
    if (f->callback_us)
        loop_timer_start(f->loop, &f->callback, loop_now_us(f->loop) + f->callback_us, callback_over);
    if (f->callback_fails) {
        err_set(err, "no room");
        return SCRIPT_HEARD_FAILED;
    }
    return f->callback_us || f->goes_on_within ? SCRIPT_HEARD_LATER : SCRIPT_HEARD;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct fixture *f = user;
    f->dones++;
    f->run = NULL;
    f->done_us = loop_now_us(f->loop);
    f->result = *take_result;
    *take_result = (struct script_result){0};
    loop_timer_stop(f->loop, &f->callback);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    fake_clock_init(&f->clock);
    f->loop = loop_new(&f->clock.base);
    fake_channel_init(&f->harness, f->loop);
    f->request = (struct script_request){.execution_id = "e1", .script = "pass", .timeout_s = 10};
    strbuf_init(&f->events);
    strbuf_init(&f->seen);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    script_result_release(&f->result);
    strbuf_release(&f->events);
    strbuf_release(&f->seen);
    fake_channel_release(&f->harness);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void start(struct fixture *f)
{
    f->run = script_run_start(f->loop, &f->harness.base, &f->request,
                              &(struct script_listener){on_events, on_intermediate, on_done, f});
    assert_int_equal(f->dones, 0); /* never from within */
}

static void run(struct fixture *f)
{
    start(f);
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    assert_null(f->harness.base.received);
    assert_null(f->harness.base.ended);
}

static void expect_failure(const struct fixture *f, const char *error, int64_t at_ms, bool closed)
{
    assert_false(f->result.success);
    assert_false(f->result.reusable);
    assert_string_equal(f->result.error, error);
    assert_null(f->result.final_data);
    assert_int_equal(f->done_us, at_ms * 1000);
    assert_int_equal(f->result.duration_ms, at_ms);
    assert_int_equal(f->harness.closed, closed);
}

static void expect_success(const struct fixture *f, const char *data, int64_t at_ms)
{
    assert_true(f->result.success);
    assert_true(f->result.reusable);
    assert_null(f->result.error);
    assert_string_equal(f->result.final_data, data);
    assert_int_equal(f->done_us, at_ms * 1000);
    assert_false(f->harness.closed);
}

/* ---- how it ends ---- */

static void test_result_ends_it(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 5, LOG("m") STEP("{\"n\":1}"));
    fake_channel_say(&f->harness, 10, RESULT("[1, 2]") DONE);
    fake_channel_say(&f->harness, 20, RESULT("2"));
    run(f);
    expect_success(f, "[1, 2]", 10);
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
    struct fixture *f = *state;
    fake_channel_say(
        &f->harness, 3,
        "{\"type\":\"error\",\"execution_id\":\"e1\",\"message\":\"a \\\"b\\\"\\n\",\"traceback\":\"t\\u00e9\"}\n");
    run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_string_equal(f->result.error, "a \"b\"\n");
    assert_string_equal(f->result.traceback, "t\xC3\xA9");
}

static void test_error_that_says_nothing(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 3, "{\"type\":\"error\",\"execution_id\":\"e1\"}\n");
    run(f);
    assert_string_equal(f->result.error, "unknown error");
    assert_string_equal(f->result.traceback, "");
}

static void test_silence(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 14999, LOG("m"));
    run(f);
    expect_failure(f, "Timed out waiting for container response", 15000, true);
    assert_null(f->result.traceback);
    assert_int_equal(f->result.log_count, 1);
}

static void test_default_timeout(void **state)
{
    struct fixture *f = *state;
    f->request.timeout_s = 0;
    run(f);
    expect_failure(f, "Timed out waiting for container response", 65000, true);
}

static void test_end_of_stream(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 1, STEP("1") "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":1}");
    fake_channel_end(&f->harness, 50);
    run(f);
    expect_failure(f, "Container stdout closed unexpectedly", 50, false);
    assert_int_equal(f->result.intermediate_count, 1);
}

static void test_dead_stdin(void **state)
{
    struct fixture *f = *state;
    f->harness.stdin_closed = true;
    run(f);
    assert_false(f->result.success);
    assert_false(f->result.reusable);
    assert_non_null(strstr(f->result.error, "stdin is closed"));
}

static void test_script_done_in_plan(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 10, DONE);
    fake_channel_say(&f->harness, 500, RESULT("1"));
    run(f);
    expect_success(f, "1", 500);
}

static void test_script_done_in_plan_when_order_is_promised(void **state)
{
    struct fixture *f = *state;
    f->harness.base.ordered = true;
    fake_channel_say(&f->harness, 10, LOG("m") DONE);
    run(f);
    assert_false(f->result.success);
    assert_true(f->result.reusable);
    assert_false(f->result.step_done);
    assert_string_equal(f->result.error, "Script finished without a result");
    assert_int_equal(f->result.duration_ms, 10);
}

static void test_script_done_in_interactive(void **state)
{
    struct fixture *f = *state;
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_say(&f->harness, 10, STEP("1") DONE);
    run(f);
    assert_true(f->result.success);
    assert_true(f->result.step_done);
    assert_true(f->result.reusable);
    assert_null(f->result.final_data);
    assert_null(f->result.error);
}

static void test_cancel(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 0, LOG("m"));
    start(f);
    script_run_cancel(f->run, "cancelled");
    script_run_cancel(f->run, "cancelled twice");
    assert_int_equal(f->dones, 0);
    loop_run(f->loop);
    expect_failure(f, "cancelled", 0, true);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->result.log_count, 0);
}

/* Whoever records them records what came at once at once; what may end the run is told before it does. */
static void test_events_are_told_together(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 5, LOG("a") LOG("b") LOG("c"));
    fake_channel_say(&f->harness, 6, LOG("d") RESULT("1") DONE);
    run(f);
    expect_success(f, "1", 6);
    assert_string_equal(f->events.buf, LOG("a") LOG("b") LOG("c") LOG("d") RESULT("1"));
    assert_int_equal(f->tellings, 2);
}

static void test_cancel_from_callbacks(void **state)
{
    struct fixture *f = *state;
    f->cancels_at_event = true;
    fake_channel_say(&f->harness, 1, RESULT("1") STEP("2"));
    run(f);
    expect_failure(f, "enough", 1, true);
    assert_string_equal(f->events.buf, RESULT("1"));

    script_result_release(&f->result);
    fake_channel_release(&f->harness);
    fake_channel_init(&f->harness, f->loop);
    f->dones = 0;
    f->cancels_at_event = false;
    f->cancels_within = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    run(f);
    assert_string_equal(f->result.error, "enough");
    assert_string_equal(f->seen.buf, "1 ");
}

/* ---- what is skipped ---- */

static void test_skips_what_is_not_ours(void **state)
{
    struct fixture *f = *state;
    static const char *const lines[] = {
        "hello from print\n",
        "\n",
        "42\n",
        "\"final_result\"\n",
        "[1]\n",
        "null\n",
        "{broken\n",
        "{}\n",
        "{\"a\":1,}\n",
        "{\"type\":\"script_done\"}\n", /* D2 */
        "{\"type\":\"final_result\",\"execution_id\":null,\"data\":1}\n",
        "{\"type\":\"final_result\",\"execution_id\":\"old\",\"data\":1}\n",
        "{\"type\":\"final_result\",\"execution_id\":\"e\",\"data\":1}\n",
        "{\"type\":\"final_result\",\"execution_id\":[\"e1\"],\"data\":1}\n",
        "{\"type\":\"telemetry\",\"execution_id\":\"e1\"}\n",
        "{\"type\":5,\"execution_id\":\"e1\"}\n",
        "{\"execution_id\":\"e1\",\"data\":1}\n",
        RESULT("01"),
        RESULT("1}"),
        RESULT("\"\xFF\""),
        RESULT("\"\\u0000\""),
        RESULT("{\"a\" 1}"),
        RESULT("[1 2]"),
        RESULT("1") "", /* the last */
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        fake_channel_say(&f->harness, (int64_t)i, lines[i]);
    run(f);
    expect_success(f, "1", COUNT_OF(lines) - 1);
    assert_int_equal(f->result.skipped, COUNT_OF(lines) - 1);
    assert_string_equal(f->events.buf, RESULT("1"));
}

static void test_takes_what_json_allows(void **state)
{
    struct fixture *f = *state;
    fake_channel_say(&f->harness, 1,
                     "\t {\"extra\" : {\"type\":\"x\"}, \"typ\\u0065\" : \"lo\\u0067\" ,\"execution_id\":\"\\u00651\","
                     "\"message\":\"caf\\u00e9 \\ud83d\\ude00\",\"level\":\"stdout\"} \r\n");
    fake_channel_say(&f->harness, 2,
                     "{\"type\":\"log\",\"execution_id\":\"old\",\"execution_id\":\"e1\",\"message\":[1]}\n");
    fake_channel_say(&f->harness, 3, "{\"type\":\"intermediate\",\"execution_id\":\"e1\",\"label\":7}\n");
    fake_channel_say(&f->harness, 4, "{\"type\":\"final_result\",\"execution_id\":\"e1\"}\n");
    run(f);
    expect_success(f, "null", 4);
    assert_string_equal(f->result.logs[0].data, "caf\xC3\xA9 \xF0\x9F\x98\x80");
    assert_string_equal(f->result.logs[0].label, "stdout");
    assert_string_equal(f->result.logs[1].data, "[1]");
    assert_string_equal(f->result.logs[1].label, "info");
    assert_string_equal(f->result.intermediates[0].label, "7");
    assert_string_equal(f->result.intermediates[0].data, "null");
    assert_int_equal(f->result.skipped, 0);
    assert_memory_equal(f->events.buf, "{\"extra\"", 8); /* without the white space around it */
}

static void test_depth(void **state)
{
    struct fixture *f = *state;
    struct strbuf line = STRBUF_INIT;
    for (int levels = WIRE_DEPTH_MAX; levels >= WIRE_DEPTH_MAX - 1; levels--) { /* the event itself is one */
        strbuf_reset(&line);
        strbuf_addstr(&line, "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":");
        for (int i = 0; i < levels; i++)
            strbuf_addch(&line, '[');
        for (int i = 0; i < levels; i++)
            strbuf_addch(&line, ']');
        strbuf_addstr(&line, "}\n");
        fake_channel_say(&f->harness, 1, line.buf);
    }
    strbuf_release(&line);
    run(f);
    assert_true(f->result.success);
    assert_int_equal(f->result.skipped, 1);
    assert_int_equal(strlen(f->result.final_data), 2 * (WIRE_DEPTH_MAX - 1));
    /* What is made of it can be read. */
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    script_result_write(&text, &f->result);
    assert_non_null(json_parse(&arena, text.buf, text.len, NULL));
}

/* ---- limits ---- */

static void test_limit_is_exact(void **state)
{
    struct fixture *f = *state;
    f->request.max_output_bytes = strlen(LOG("m") RESULT("1"));
    fake_channel_say(&f->harness, 1, LOG("m") RESULT("1") "and a flood behind it");
    run(f);
    expect_success(f, "1", 1);
    assert_int_equal(f->result.output_bytes, f->request.max_output_bytes);
}

static void test_one_byte_too_many(void **state)
{
    struct fixture *f = *state;
    f->request.max_output_bytes = strlen(LOG("m") RESULT("1")) - 1;
    fake_channel_say(&f->harness, 1, LOG("m") RESULT("1"));
    run(f);
    assert_int_equal(f->result.output_bytes, strlen(LOG("m") RESULT("1")));
    assert_int_equal(f->result.log_count, 1);
    CLEANUP(free)
    char *error = xasprintf("Container output exceeded the limit of %zu bytes", f->request.max_output_bytes);
    expect_failure(f, error, 1, true);
}

static void test_any_pieces_give_the_same_result(void **state)
{
    struct fixture *f = *state;
#define READ LOG("one") "junk\n" STEP("{\"a\":[1]}") LOG("two") RESULT("\"x\"")
    const char *stream = READ DONE;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    for (size_t step = strlen(stream); step > 0; step--) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        fake_channel_release(&f->harness);
        fake_channel_init(&f->harness, f->loop);
        f->dones = 0;
        for (size_t at = 0; at < strlen(stream); at += step)
            fake_channel_say_bytes(&f->harness, 5, stream + at,
                                   step < strlen(stream + at) ? step : strlen(stream + at));
        run(f);
        script_result_write(&text, &f->result);
        script_result_release(&f->result);
        if (whole.len)
            assert_string_equal(text.buf, whole.buf);
        else
            strbuf_addstr(&whole, text.buf);
    }
    CLEANUP(free)
    char *expected = xasprintf(
        "{\"success\":true,\"execution_id\":\"e1\",\"final_data\":\"x\",\"intermediates\":[{\"label\":\"step\","
        "\"data\":{\"a\":[1]}}],\"logs\":[{\"message\":\"one\",\"level\":\"info\"},{\"message\":\"two\","
        "\"level\":\"info\"}],\"error\":null,\"traceback\":null,\"step_done\":false,\"duration_ms\":5,"
        "\"output_bytes\":%zu}",
        strlen(READ));
    assert_string_equal(whole.buf, expected);
}

static void test_flood_costs_no_memory(void **state)
{
    struct fixture *f = *state;
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, 'x', 1 << 16);
    start(f);
    size_t fed = 0;
    for (; f->harness.base.received && fed < (size_t)1 << 30; fed += 1 << 16)
        f->harness.base.received(&f->harness.base, chunk, 1 << 16);
    loop_run(f->loop);
    assert_int_equal(fed, SCRIPT_OUTPUT_BYTES + (1 << 16));
    expect_failure(f, "Container output exceeded the limit of 1048576 bytes", 0, true);
    assert_int_equal(f->result.output_bytes, fed);
}

/* ---- the callback is awaited ---- */

static void test_slow_callback_holds_back(void **state)
{
    struct fixture *f = *state;
    f->callback_us = 200000;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") LOG("m"));
    fake_channel_say(&f->harness, 2, STEP("3"));
    fake_channel_say(&f->harness, 3, RESULT("4") DONE);
    run(f);
    expect_success(f, "4", 601);
    assert_string_equal(f->seen.buf, "1 2 3 ");
    assert_int_equal(f->result.log_count, 1);
    assert_false(f->harness.paused);
    assert_true(f->harness.pauses > 0);
}

static void test_held_back_although_pause_is_ignored(void **state)
{
    struct fixture *f = *state;
    f->callback_us = 200000;
    f->harness.ignores_pause = true;
    fake_channel_say(&f->harness, 1, STEP("1"));
    fake_channel_say(&f->harness, 2, STEP("2") LOG("m"));
    fake_channel_say(&f->harness, 3, LOG("n"));
    fake_channel_end(&f->harness, 4);
    run(f);
    expect_failure(f, "Container stdout closed unexpectedly", 401, false);
    assert_int_equal(f->result.log_count, 2);
}

static void test_callback_that_fails_is_logged(void **state)
{
    struct fixture *f = *state;
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    CLEANUP(free) char *path = scratch_path(&scratch, "log");
    assert_int_equal(log_open(path, LOG_WARN, &err), 0);
    f->callback_fails = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    run(f);
    log_close();
    expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
    assert_int_equal(f->result.intermediate_count, 2);
    CLEANUP(free) char *log = scratch_read(&scratch, "log", NULL);
    assert_non_null(strstr(log, "failed: no room"));
    scratch_release(&scratch);
}

static void test_callback_that_goes_on_at_once(void **state)
{
    struct fixture *f = *state;
    f->goes_on_within = true;
    fake_channel_say(&f->harness, 1, STEP("1") STEP("2") RESULT("3"));
    run(f);
    expect_success(f, "3", 1);
    assert_string_equal(f->seen.buf, "1 2 ");
}

static void test_flood_behind_a_slow_callback(void **state)
{
    struct fixture *f = *state;
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, '\n', 1 << 16);
    f->callback_us = 200000;
    start(f);
    f->harness.base.received(&f->harness.base, STEP("1"), strlen(STEP("1")));
    for (int i = 0; i < 1000; i++)
        f->harness.base.received(&f->harness.base, chunk, 1 << 16);
    loop_run(f->loop);
    expect_failure(f, "Container output exceeded the limit of 1048576 bytes", 200, true);
    assert_int_equal(f->result.output_bytes, SCRIPT_OUTPUT_BYTES + 1);
}

static void test_callback_slower_than_the_timeout(void **state)
{
    struct fixture *f = *state;
    f->callback_us = 20000000;
    fake_channel_say(&f->harness, 1, STEP("1") RESULT("2"));
    run(f);
    expect_failure(f, "Timed out waiting for container response", 15000, true);
}

/* ---- the request ---- */

static void test_request_line(void **state)
{
    struct fixture *f = *state;
    f->request.script = "a = \"\xC3\xA9\"\nemit_result(a)";
    f->request.timeout_s = 2.5;
    f->request.secrets = (const char *const[]){"A", "B", NULL};
    f->request.mode = SCRIPT_INTERACTIVE;
    fake_channel_end(&f->harness, 1);
    run(f);
    assert_string_equal(f->harness.written.buf,
                        "{\"execution_id\":\"e1\",\"script\":\"a = \\\"\xC3\xA9\\\"\\nemit_result(a)\",\"timeout\":2.5,"
                        "\"mode\":\"INTERACTIVE\",\"required_secrets\":[\"A\",\"B\"]}\n");
}

static void test_ids_are_made(void **state)
{
    struct fixture *f = *state;
    char first[64];
    f->request.execution_id = NULL;
    fake_channel_end(&f->harness, 1);
    run(f);
    assert_string_equal(f->result.execution_id, f->harness.id);
    snprintf(first, sizeof(first), "%s", f->harness.id);
    script_result_release(&f->result);
    f->dones = 0;
    fake_channel_end(&f->harness, 2);
    run(f);
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

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

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
        TEST(test_events_are_told_together),
        TEST(test_cancel_from_callbacks),
        TEST(test_skips_what_is_not_ours),
        TEST(test_takes_what_json_allows),
        TEST(test_depth),
        TEST(test_limit_is_exact),
        TEST(test_one_byte_too_many),
        TEST(test_any_pieces_give_the_same_result),
        TEST(test_flood_costs_no_memory),
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
