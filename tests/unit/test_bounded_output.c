/* One call, one outcome: how a tool's output is cut, kept and shown. */

#include "base/json.h"
#include "support/bounded_rig.h"
#include "support/test.h"
#include "tools/artifact.h"
#include "tools/output_limit.h"

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

TEST_WITH(twelve_thousand_characters_stay_inline, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *fits = object_of(OUTPUT_LIMIT_INLINE_MAX);
    CLEANUP(free) char *too_long = object_of(OUTPUT_LIMIT_INLINE_MAX + 1);
    f->tool.output = fits;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_string_equal(outcome->result.output, fits);
    f->tool.output = too_long;
    assert_int_equal(run(f)->type, OUTCOME_ARTIFACT);
}

TEST_WITH(long_strings_are_compacted_before_they_are_measured, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = xasprintf("{\"text\":\"%020000d\"}", 0);
    f->tool.output = text;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(strlen(outcome->result.output), strlen("{\"text\":\"\"}") + 3000);
}

TEST_WITH(the_artifact_holds_the_whole, set_up_read, tear_down)
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
    assert_true(artifact_store_get(f->env.artifacts, f->env.session, outcome->artifact.id, &stored));
    const struct json *whole = json_parse(&f->arena, stored.buf, stored.len, NULL);
    assert_int_equal(json_get(whole, "entries")->count, 400);
    assert_int_equal(outcome->artifact.size, stored.len);
    assert_non_null(strstr(outcome->artifact.path, "/s1/art_"));
    assert_int_equal(tool_state(&f->trace, "c1"), TOOL_STATE_COMPLETED);
    assert_string_equal(f->heard.words.buf, "artifact c1");
}

static void check_cut(struct bounded_rig *f, const struct outcome *outcome)
{
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_true(outcome->result.truncated);
    const char *output = outcome->result.output;
    const struct json *json = json_parse(&f->arena, output, strlen(output), NULL);
    assert_non_null(json);
    assert_true(json_bool(json_get(json, "truncated"), false));
    CLEANUP(strbuf) struct strbuf python = STRBUF_INIT;
    json_write(&python, json, JSON_PYTHON);
    assert_true(python.len <= OUTPUT_LIMIT_INLINE_MAX);
    assert_true(python.len > OUTPUT_LIMIT_INLINE_MAX - 12);
}

TEST_WITH(without_a_store_the_output_is_cut_and_flagged, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = object_of(15000);
    f->tool.output = text;
    scratch_remove(&f->scratch, "artifacts");
    check_cut(f, run(f));

    struct artifact_store *store = f->env.artifacts;
    f->env.artifacts = NULL;
    check_cut(f, run(f));

    CLEANUP(strbuf) struct strbuf wide = STRBUF_INIT;
    strbuf_addstr(&wide, "[\"");
    for (int i = 0; i < 2900; i++)
        strbuf_addstr(&wide, i % 2 ? "é" : "😀");
    strbuf_addstr(&wide, "\"]");
    f->tool.output = wide.buf;
    check_cut(f, run(f));
    f->env.artifacts = store;
}

TEST_WITH(errors_are_never_stored, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = xasprintf("{\"status\":\"error\",\"error\":\"%020000d\"}", 0);
    f->tool.output = text;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_FAILURE);
    assert_int_equal(strlen(outcome->failure.error), 3000);
    assert_int_equal(artifact_store_count(f->env.artifacts, NULL), 0);
}

TEST_WITH(numbers_keep_their_digits, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.output = "{ \"n\": 9007199254740993,\n\"f\": 1.50 }";
    assert_string_equal(run(f)->result.output, "{\"n\":9007199254740993,\"f\":1.50}");
}

static void close_gate(struct bounded_rig *test, struct bounded_call *call)
{
    (void)call;
    call_states_close_writes(&test->trace);
}

TEST_WITH(nothing_is_stored_after_the_gate_closed, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    CLEANUP(free) char *text = object_of(15000);
    f->tool.output = text;
    f->on_done = close_gate;
    assert_int_equal(run(f)->type, OUTCOME_ARTIFACT);
    assert_int_equal(run(f)->type, OUTCOME_TIMEOUT);
    assert_int_equal(artifact_store_count(f->env.artifacts, NULL), 1);
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
        fake_clock_advance(&push->f->fake, SECONDS(6));
}

static void let_go(struct bounded_rig *test, struct bounded_call *call)
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
    f->data = &busy;
    f->on_done = let_go;
    bounded_rig_start(f, &busy.tool, "c2", 1000, 1000);
    struct bounded_call *call = bounded_rig_start(f, &f->tool.tool, "c1", 60, 5);
    push.cancels = cancel ? call : NULL;
    loop_post(f->loop, &push.task, push_on);
    bounded_rig_run(f);
    check_cut(f, &f->heard.outcomes[0]);
    fake_tool_release(&busy);
}

TEST_WITH(a_store_that_takes_too_long_has_failed, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    store_behind(f, false);
    assert_non_null(strstr(f->heard.words.buf, "late c1 (6000 ms)"));
}

TEST_WITH(cancel_does_not_wait_for_the_store, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    store_behind(f, true);
    assert_non_null(strstr(f->heard.words.buf, "late c1 (0 ms)"));
}

void test_begin(void)
{
    setenv("UV_THREADPOOL_SIZE", "1", 1);
}
