/* Tests of the script executor's input: what it takes from a harness's stream, what it skips, and that no input costs
 * more than its limit. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/wire.h"
#include "support/script_run_rig.h"
#include "support/test.h"

/* ---- skipped lines ---- */

TEST_WITH(skips_foreign_events, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
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
        "{\"type\":\"script_done\"}\n", /* ends nothing without an id */
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
        fake_channel_say(&f->config, (int64_t)i, lines[i]);
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "1", COUNT_OF(lines) - 1);
    assert_int_equal(f->result.skipped, COUNT_OF(lines) - 1);
    assert_string_equal(f->events.buf, RESULT("1"));
}

TEST_WITH(any_valid_json_is_accepted, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    fake_channel_say(&f->config, 1,
                     "\t {\"extra\" : {\"type\":\"x\"}, \"typ\\u0065\" : \"lo\\u0067\" ,\"execution_id\":\"\\u00651\","
                     "\"message\":\"caf\\u00e9 \\ud83d\\ude00\",\"level\":\"stdout\"} \r\n");
    fake_channel_say(&f->config, 2,
                     "{\"type\":\"log\",\"execution_id\":\"old\",\"execution_id\":\"e1\",\"message\":[1]}\n");
    fake_channel_say(&f->config, 3, "{\"type\":\"intermediate\",\"execution_id\":\"e1\",\"label\":7}\n");
    fake_channel_say(&f->config, 4, "{\"type\":\"final_result\",\"execution_id\":\"e1\"}\n");
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "null", 4);
    assert_string_equal(f->result.logs[0].data, "caf\xC3\xA9 \xF0\x9F\x98\x80");
    assert_string_equal(f->result.logs[0].label, "stdout");
    assert_string_equal(f->result.logs[1].data, "[1]");
    assert_string_equal(f->result.logs[1].label, "info");
    assert_string_equal(f->result.intermediates[0].label, "7");
    assert_string_equal(f->result.intermediates[0].data, "null");
    assert_int_equal(f->result.skipped, 0);
    assert_memory_equal(f->events.buf, "{\"extra\"", 8); /* without the white space around it */
}

TEST_WITH(too_deep_json_is_refused, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    struct strbuf line = STRBUF_INIT;
    for (int levels = WIRE_DEPTH_MAX; levels >= WIRE_DEPTH_MAX - 1; levels--) { /* the event itself is one */
        strbuf_reset(&line);
        strbuf_addstr(&line, "{\"type\":\"final_result\",\"execution_id\":\"e1\",\"data\":");
        for (int i = 0; i < levels; i++)
            strbuf_addch(&line, '[');
        for (int i = 0; i < levels; i++)
            strbuf_addch(&line, ']');
        strbuf_addstr(&line, "}\n");
        fake_channel_say(&f->config, 1, line.buf);
    }
    strbuf_release(&line);
    script_run_rig_run(f);
    assert_true(f->result.success);
    assert_int_equal(f->result.skipped, 1);
    assert_int_equal(strlen(f->result.final_data), 2 * (WIRE_DEPTH_MAX - 1));
    /* The result is readable. */
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    script_result_write(&text, &f->result);
    assert_non_null(json_parse(&arena, text.buf, text.len, NULL));
}

/* ---- limits ---- */

TEST_WITH(limit_is_exact, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->request.max_output_bytes = strlen(LOG("m") RESULT("1"));
    fake_channel_say(&f->config, 1, LOG("m") RESULT("1") "and a flood behind it");
    script_run_rig_run(f);
    script_run_rig_expect_success(f, "1", 1);
    assert_int_equal(f->result.output_bytes, f->request.max_output_bytes);
}

TEST_WITH(one_byte_too_many, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    f->request.max_output_bytes = strlen(LOG("m") RESULT("1")) - 1;
    fake_channel_say(&f->config, 1, LOG("m") RESULT("1"));
    script_run_rig_run(f);
    assert_int_equal(f->result.output_bytes, strlen(LOG("m") RESULT("1")));
    assert_int_equal(f->result.log_count, 1);
    CLEANUP(free)
    char *error = xasprintf("Container output exceeded the limit of %zu bytes", f->request.max_output_bytes);
    script_run_rig_expect_failure(f, error, 1, true);
}

TEST_WITH(any_pieces_give_the_same_result, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
#define READ LOG("one") "junk\n" STEP("{\"a\":[1]}") LOG("two") RESULT("\"x\"")
    const char *stream = READ DONE;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    for (size_t step = strlen(stream); step > 0; step--) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        fake_channel_release(&f->config);
        fake_channel_init(&f->config, f->loop);
        f->dones = 0;
        for (size_t at = 0; at < strlen(stream); at += step)
            fake_channel_say_bytes(&f->config, 5, stream + at, step < strlen(stream + at) ? step : strlen(stream + at));
        script_run_rig_run(f);
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

TEST_WITH(flood_costs_no_memory, script_run_rig_set_up, script_run_rig_tear_down)
{
    struct script_run_rig *f = *state;
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, 'x', 1 << 16);
    script_run_rig_start(f);
    size_t fed = 0;
    for (; f->config.base.received && fed < (size_t)1 << 30; fed += 1 << 16)
        f->config.base.received(&f->config.base, chunk, 1 << 16);
    loop_run(f->loop);
    assert_int_equal(fed, SCRIPT_OUTPUT_BYTES + (1 << 16));
    script_run_rig_expect_failure(f, "Container output exceeded the limit of 1048576 bytes", 0, true);
    assert_int_equal(f->result.output_bytes, fed);
}
