/* One call, one outcome: what becomes of a tool's output. */

#include "base/json.h"
#include "support/bounded_rig.h"
#include "tools/artifact.h"
#include "tools/compact.h"

/* An object whose Python form has `length` characters, in strings short enough not to be cut. */
static char *object_of(size_t length)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addch(&text, '{');
    size_t used = 2;
    for (int i = 0; used < length; i++) {
        size_t frame = strlen("\"k0\": \"\"") + (i ? 2 : 0) + (i > 9 ? 1 : 0);
        size_t fill = length - used - frame < 2900 ? length - used - frame : 2000;
        strbuf_addf(&text, "%s\"k%d\":\"%0*d\"", i ? "," : "", i, (int)fill, 0);
        used += frame + fill;
    }
    strbuf_addch(&text, '}');
    return strbuf_detach(&text, NULL);
}

static void test_d38_twelve_thousand_characters_stay_inline(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *fits = object_of(COMPACT_INLINE_MAX);
    CLEANUP(free) char *too_long = object_of(COMPACT_INLINE_MAX + 1);
    f->tool.output = fits;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_string_equal(outcome->result.output, fits);
    f->tool.output = too_long;
    assert_int_equal(run(f)->type, OUTCOME_ARTIFACT);
}

static void test_long_strings_are_compacted_before_they_are_measured(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = xasprintf("{\"text\":\"%020000d\"}", 0);
    f->tool.output = text;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(strlen(outcome->result.output), strlen("{\"text\":\"\"}") + 3000);
}

static void test_d37_the_artifact_holds_the_whole(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf stored = STRBUF_INIT;
    strbuf_addstr(&text, "{\"entries\":[");
    for (int i = 0; i < 400; i++)
        strbuf_addf(&text, "%s{\"t\":\"%0100d\"}", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    f->tool.output = text.buf;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_ARTIFACT);
    assert_true(artifact_store_get(f->test.env.artifacts, outcome->artifact.id, &stored));
    const struct json *whole = json_parse(&f->test.arena, stored.buf, stored.len, NULL);
    assert_int_equal(json_get(whole, "entries")->count, 400);
    assert_int_equal(outcome->artifact.size, stored.len);
    assert_non_null(strstr(outcome->artifact.path, "/s1/art_"));
    assert_int_equal(trace_state(&f->test.trace, "c1"), TRACE_COMPLETED);
    assert_string_equal(f->test.log.buf, "artifact c1");
}

static void check_cut(struct bounded_rig *f, const struct outcome *outcome)
{
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_true(outcome->result.truncated);
    const char *output = outcome->result.output;
    const struct json *json = json_parse(&f->test.arena, output, strlen(output), NULL);
    assert_non_null(json);
    assert_true(json_bool(json_get(json, "truncated"), false));
    CLEANUP(strbuf) struct strbuf python = STRBUF_INIT;
    json_write(&python, json, JSON_PYTHON);
    assert_true(python.len <= COMPACT_INLINE_MAX);
    assert_true(python.len > COMPACT_INLINE_MAX - 12);
}

static void test_d39_without_a_store_the_output_is_cut_and_flagged(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = object_of(15000);
    f->tool.output = text;
    scratch_remove(&f->test.scratch, "artifacts");
    check_cut(f, run(f));

    struct artifact_store *store = f->test.env.artifacts;
    f->test.env.artifacts = NULL;
    check_cut(f, run(f));

    CLEANUP(strbuf) struct strbuf wide = STRBUF_INIT;
    strbuf_addstr(&wide, "[\"");
    for (int i = 0; i < 2900; i++)
        strbuf_addstr(&wide, i % 2 ? "é" : "😀");
    strbuf_addstr(&wide, "\"]");
    f->tool.output = wide.buf;
    check_cut(f, run(f));
    f->test.env.artifacts = store;
}

static void test_errors_are_never_stored(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = xasprintf("{\"status\":\"error\",\"error\":\"%020000d\"}", 0);
    f->tool.output = text;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_FAILURE);
    assert_int_equal(strlen(outcome->failure.error), 3000);
    assert_int_equal(artifact_store_count(f->test.env.artifacts, NULL), 0);
}

static void test_numbers_keep_their_digits(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.output = "{ \"n\": 9007199254740993,\n\"f\": 1.50 }";
    assert_string_equal(run(f)->result.output, "{\"n\":9007199254740993,\"f\":1.50}");
}

static void close_gate(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    trace_close_writes(&test->trace);
}

static void test_d34_nothing_is_stored_after_the_gate_closed(void **state)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = object_of(15000);
    f->tool.output = text;
    f->test.on_done = close_gate;
    assert_int_equal(run(f)->type, OUTCOME_ARTIFACT);
    assert_int_equal(run(f)->type, OUTCOME_TIMEOUT);
    assert_int_equal(artifact_store_count(f->test.env.artifacts, NULL), 1);
}

struct push {
    struct loop_task task;
    struct bounded_rig *f;
    struct bounded_call *cancels;
};

static void push_on(struct loop_task *task)
{
    struct push *push = (struct push *)task;
    if (push->cancels)
        bounded_cancel(push->cancels);
    else
        fake_clock_advance(&push->f->test.fake, SECONDS(6));
}

static void let_go(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    fake_tool_let_go(test->data);
}

/* Storing waits for the pool's one thread, which `busy` has. */
static void store_behind(struct bounded_rig *f, bool cancel)
{
    struct fake_tool busy;
    struct push push = {.f = f};
    CLEANUP(free) char *text = object_of(15000);
    f->tool.output = text;
    fake_tool_init(&busy, "busy", EFFECT_READ_ONLY);
    fake_tool_on_pool(&busy);
    busy.hangs = true;
    f->test.data = &busy;
    f->test.on_done = let_go;
    test_host_start(&f->test, &busy.tool, "c2", 1000, 1000);
    struct bounded_call *call = test_host_start(&f->test, &f->tool.tool, "c1", 60, 5);
    push.cancels = cancel ? call : NULL;
    loop_post(f->test.loop, &push.task, push_on);
    test_host_run(&f->test);
    check_cut(f, &f->test.outcomes[0]);
    fake_tool_release(&busy);
}

static void test_d39_a_store_that_takes_too_long_has_failed(void **state)
{
    struct bounded_rig *f = *state;
    store_behind(f, false);
    assert_non_null(strstr(f->test.log.buf, "late c1 (6000 ms)"));
}

static void test_cancel_does_not_wait_for_the_store(void **state)
{
    struct bounded_rig *f = *state;
    store_behind(f, true);
    assert_non_null(strstr(f->test.log.buf, "late c1 (0 ms)"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_read, tear_down)

int main(void)
{
    setenv("UV_THREADPOOL_SIZE", "1", 1);
    const struct CMUnitTest tests[] = {
        TEST(test_d38_twelve_thousand_characters_stay_inline),
        TEST(test_long_strings_are_compacted_before_they_are_measured),
        TEST(test_d37_the_artifact_holds_the_whole),
        TEST(test_d39_without_a_store_the_output_is_cut_and_flagged),
        TEST(test_errors_are_never_stored),
        TEST(test_numbers_keep_their_digits),
        TEST(test_d39_a_store_that_takes_too_long_has_failed),
        TEST(test_cancel_does_not_wait_for_the_store),
        TEST(test_d34_nothing_is_stored_after_the_gate_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
