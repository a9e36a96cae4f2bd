/* What comes of a tool's answer, and of the turn's: long outputs become artifacts that can be read back, and the
 * finalizer goes through its steps whatever each of them does. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include "tools/artifact.h"
#include "tools/compact.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* ---- long outputs ---- */

/* A list of `count` numbered lines: over the limit as a whole, though each line is short. */
static char *long_output(int count)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_addstr(&text, "{\"lines\":[");
    for (int i = 0; i < count; i++)
        strbuf_addf(&text, "%s\"this is line number %d of many\"", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    return strbuf_detach(&text, NULL);
}

static void test_d37_long_output_is_kept_whole_and_read_back_in_pages(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;
    CLEANUP(free) char *output = long_output(600);
    CLEANUP(free) char *read = NULL;
    const char *id, *entries;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "dump", EFFECT_READ_ONLY);
    tool.output = output;
    turn_rig_add_tool(&rig, &tool.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "d", "dump", "{}");
    turn_rig_turn(&rig, "dump it");
    assert_string_equal(turn_check_outcome(&rig, "d"), "artifact");
    assert_true(strlen(turn_check_message(&rig, "d")) < 1000);
    id = turn_check_json(&rig, turn_check_message(&rig, "d"), "id");
    assert_string_equal(id, turn_check_json(&rig, event_json(turn_rig_finished(&rig, "d"), "artifact"), "id"));

    /* In another turn, and past what compaction would have left of it. */
    read = xasprintf("{\"path\":\"%s\",\"offset\":550}", id);
    fake_answer_call(answer(&rig), "r", "read_file", read);
    turn_rig_turn(&rig, "read on");
    assert_string_equal(turn_check_outcome(&rig, "r"), "result");
    entries = turn_check_json(&rig, turn_check_message(&rig, "r"), "entries");
    assert_non_null(strstr(entries, "this is line number 599 of many"));
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

static void test_output_within_the_limit_is_given_as_it_is(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "look", EFFECT_READ_ONLY);
    tool.output = "{\"big\":9007199254740993,\"text\":\"\\u00e9\"}";
    turn_rig_add_tool(&rig, &tool.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "l", "look", "{}");
    turn_rig_turn(&rig, "look");
    assert_string_equal(turn_check_message(&rig, "l"), "{\"big\":9007199254740993,\"text\":\"é\"}");
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

static void check_cut(struct turn_rig *rig)
{
    const char *output = event_json(turn_rig_finished(rig, "d"), "result");

    assert_string_equal(turn_check_outcome(rig, "d"), "result");
    assert_string_equal(turn_check_json(rig, output, "truncated"), "true");
    assert_string_equal(turn_check_json(rig, turn_check_message(rig, "d"), "truncated"), "true");
    assert_true(strlen(turn_check_message(rig, "d")) <= COMPACT_INLINE_MAX);
}

static void test_d39_output_that_cannot_be_kept_is_cut_and_says_so(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        struct turn_rig rig;
        struct fake_tool tool;
        CLEANUP(free) char *output = long_output(600);

        turn_rig_init(&rig);
        fake_tool_init(&tool, "dump", EFFECT_READ_ONLY);
        tool.output = output;
        turn_rig_add_tool(&rig, &tool.tool);
        if (without) {
            artifact_store_close(rig.harness.artifacts);
            rig.harness.artifacts = NULL;
        } else {
            scratch_remove(&rig.scratch, "artifacts");
            scratch_write(&rig.scratch, "artifacts", "in the way");
        }
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "d", "dump", "{}");
        turn_rig_turn(&rig, "dump it");
        check_cut(&rig);
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

static void test_tool_that_gives_no_json_or_an_error_status_has_failed(void **state)
{
    static const char *const outputs[] = {"not json", "{\"status\":\"error\",\"message\":\"no\"}"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        struct turn_rig rig;
        struct fake_tool tool;

        turn_rig_init(&rig);
        fake_tool_init(&tool, "odd", EFFECT_READ_ONLY);
        tool.output = outputs[i];
        turn_rig_add_tool(&rig, &tool.tool);
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "o", "odd", "{}");
        turn_rig_turn(&rig, "try");
        assert_string_equal(turn_check_outcome(&rig, "o"), "failure");
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

/* ---- the finalizer ---- */

struct hooks_log {
    struct strbuf text;
    const struct turn_rig *rig;
    bool fail;
    bool closed_first; /* writes.closed had been told when the first step ran */
};

static int note(struct hooks_log *log, const char *step, struct err *err)
{
    if (!log->text.len)
        log->closed_first = turn_rig_count(log->rig, EVENT_WRITES_CLOSED) == 1;
    strbuf_addf(&log->text, "%s%s", log->text.len ? " " : "", step);
    return log->fail ? err_set(err, "%s has no time", step) : 0;
}

static int on_citations(void *data, struct err *err)
{
    return note(data, "citations", err);
}

static int on_usage(void *data, const struct usage *usage, struct err *err)
{
    assert_int_equal(usage->input, 7);
    return note(data, "usage", err);
}

static int on_log(void *data, const char *role, const char *text, struct err *err)
{
    assert_string_equal(role, "assistant");
    assert_string_equal(text, "over");
    return note(data, "log", err);
}

static int on_decision(void *data, const struct finalize_input *input, struct err *err)
{
    assert_int_equal(input->decision_count, 1);
    assert_string_equal(input->decisions[0], "write_file a: approved by key");
    return note(data, "decision", err);
}

static int on_memory(void *data, const struct finalize_input *input, struct err *err)
{
    assert_string_equal(input->prompt, "do it");
    return note(data, "memory", err);
}

static int on_learner(void *data, const struct finalize_input *input, struct err *err)
{
    assert_int_equal(input->tool_count, 1);
    assert_int_equal(input->tools[0].calls, 1);
    return note(data, "learner", err);
}

static int on_judges(void *data, const struct finalize_input *input, struct err *err)
{
    assert_string_equal(input->status, "done");
    return note(data, "judges", err);
}

static void test_d46_finalizer_goes_through_all_steps_in_order_even_when_each_fails(void **state)
{
    (void)state;
    for (int fail = 0; fail < 2; fail++) {
        struct turn_rig rig;
        struct hooks_log log = {.text = STRBUF_INIT, .rig = &rig, .fail = fail};
        struct fake_answer *a;
        const struct event *finalized;

        turn_rig_init(&rig);
        rig.harness.hooks = (struct finalize_hooks){.data = &log,
                                                    .citations = on_citations,
                                                    .usage = on_usage,
                                                    .log = on_log,
                                                    .decision = on_decision,
                                                    .memory = on_memory,
                                                    .learner = on_learner,
                                                    .judges = on_judges};
        rig.answer = turn_rig_say_yes;
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
        a = answer(&rig);
        a->text = "over";
        a->usage.input = 7;
        turn_rig_turn(&rig, "do it");
        assert_string_equal(log.text.buf, "citations usage log decision memory learner judges");
        assert_true(log.closed_first);
        finalized = turn_rig_event(&rig, EVENT_TURN_FINALIZED, 0);
        assert_string_equal(turn_check_json(&rig, event_json(finalized, "judges"), "status"), fail ? "failed" : "done");
        assert_string_equal(turn_check_json(&rig, event_json(finalized, "memory"), "reason"),
                            fail ? "memory has no time" : "");
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
        strbuf_release(&log.text);
    }
}

static void test_usage_is_not_reported_when_no_token_was_counted(void **state)
{
    struct turn_rig rig;
    struct hooks_log log = {.text = STRBUF_INIT, .rig = &rig};

    (void)state;
    turn_rig_init(&rig);
    rig.harness.hooks = (struct finalize_hooks){.data = &log, .usage = on_usage};
    turn_rig_open(&rig);
    turn_rig_turn(&rig, "do it");
    assert_string_equal(log.text.buf, "");
    turn_check_end(&rig);
    strbuf_release(&log.text);
}

static void test_sources_that_tools_name_stand_under_the_answer_when_wanted(void **state)
{
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        struct turn_rig rig;
        struct fake_tool web;
        struct fake_answer *a;

        turn_rig_init(&rig);
        rig.harness.show_citations = wanted;
        fake_tool_init(&web, "fetch", EFFECT_NETWORK);
        web.cites = "https://example.org/x";
        turn_rig_add_tool(&rig, &web.tool);
        turn_rig_open(&rig);
        turn_rig_file(&rig, "a.txt", "A\n");
        a = answer(&rig);
        fake_answer_call(a, "f", "fetch", "{}");
        fake_answer_call(a, "g", "fetch", "{\"again\":true}");
        fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
        answer(&rig)->text = "seen";
        turn_rig_turn(&rig, "look");
        assert_string_equal(turn_check_finished(&rig)->text,
                            wanted ? "seen\n\nSources:\n- a.txt\n- https://example.org/x\n" : "seen");
        turn_check_end(&rig);
        fake_tool_release(&web);
    }
}

static void test_d47_writes_are_closed_before_finalizing_however_the_turn_ends(void **state)
{
    static const char *const ends[] = {"done", "failed", "cancelled", "budget"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct turn_rig rig;
        struct fake_answer *a;

        turn_rig_init(&rig);
        rig.harness.limits.wall_s = 10;
        turn_rig_open(&rig);
        a = answer(&rig);
        a->text = "fine";
        if (i == 1)
            a->error = "no such model";
        if (i >= 2)
            a->takes_us = -1;
        turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
        if (i == 2) {
            turn_rig_run_for(&rig, 1000000);
            turn_rig_submit(&rig, &(struct intent){.type = INTENT_CANCEL});
        }
        turn_rig_run(&rig);
        assert_string_equal(turn_check_finished(&rig)->status, ends[i]);
        assert_true(turn_check_place(&rig, EVENT_WRITES_CLOSED, NULL, 0) <
                    turn_check_place(&rig, EVENT_TURN_FINALIZED, NULL, 0));
        turn_check_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_d37_long_output_is_kept_whole_and_read_back_in_pages),
        cmocka_unit_test(test_output_within_the_limit_is_given_as_it_is),
        cmocka_unit_test(test_d39_output_that_cannot_be_kept_is_cut_and_says_so),
        cmocka_unit_test(test_tool_that_gives_no_json_or_an_error_status_has_failed),
        cmocka_unit_test(test_d46_finalizer_goes_through_all_steps_in_order_even_when_each_fails),
        cmocka_unit_test(test_usage_is_not_reported_when_no_token_was_counted),
        cmocka_unit_test(test_sources_that_tools_name_stand_under_the_answer_when_wanted),
        cmocka_unit_test(test_d47_writes_are_closed_before_finalizing_however_the_turn_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
