/* One call, one outcome: the way of a write, and everything that must stop it. Answers that are not a plain yes are in
 * test_bounded_answer.c. */

#include "base/beneath.h"
#include "support/bounded_rig.h"
#include "tools/checkpoint.h"

/* Yes and no */

static void test_approved(void **state)
{
    struct bounded_rig *f = *state;
    const struct outcome *outcome = run(f);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_string_equal(outcome->result.output, "{\"ok\":true}");
    assert_int_equal(f->tool.executions, 2);
    assert_int_equal(f->tool.confirmed, 1);
    assert_string_equal(f->tool.arguments, "{\"path\": \"x\"}"); /* of the second: as given */
    assert_string_equal(f->test.applied->files.items[0].path, "f.txt");
    assert_int_equal(trace_state(&f->test.trace, "c1"), TRACE_COMPLETED);
    assert_file(f, "new\n");

    struct err err = ERR_INIT;
    struct change_set *undo = checkpoint_undo(f->test.host.checkpoints, f->test.env.root, f->test.checkpoint, &err);
    assert_non_null(undo);
    assert_memory_equal(undo->items[0].new.bytes, "old\n", 4);
    change_set_free(undo);
}

static void test_approved_on_a_pool_thread(void **state)
{
    struct bounded_rig *f = *state;
    fake_tool_on_pool(&f->tool);
    run(f);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_file(f, "new\n");
}

static void test_approved_without_a_checkpoint_store(void **state)
{
    struct bounded_rig *f = *state;
    struct checkpoints *store = f->test.host.checkpoints;
    f->test.host.checkpoints = NULL;
    run(f);
    f->test.host.checkpoints = store;
    assert_log(f, "ask c1, applied c1, result c1");
    assert_file(f, "new\n");
}

static void test_a_refusal_is_a_hard_stop(void **state)
{
    struct bounded_rig *f = *state;
    f->test.verdict = (struct verdict){.decision = DECISION_DENIED, .by = BY_KEY, .reason = (char[]){"use tabs"}};
    const struct outcome *outcome = run(f);
    assert_denied(outcome, DENIAL_WRITE_DENIED, "the user refused the write: use tabs");
    assert_log(f, "ask c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
    assert_int_equal(trace_state(&f->test.trace, "c1"), TRACE_DENIED);
    assert_file(f, "old\n");
}

static void test_every_refusal_says_whose_it_is(void **state)
{
    struct bounded_rig *f = *state;
    static const struct {
        enum decision decision;
        enum decider by;
        const char *says;
    } cases[] = {
        {DECISION_DENIED, BY_KEY, "the user refused the write and gave no reason"},
        {DECISION_DENIED, BY_POLICY, "refused without asking"},
        {DECISION_DENIED, BY_RECORDING, "in the recording"},
        {DECISION_EXPIRED, BY_TIMEOUT, "the user did not refuse it"},
        {DECISION_EXPIRED, BY_RECORDING, "the user did not refuse it"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        f->test.verdict = (struct verdict){.decision = cases[i].decision, .by = cases[i].by};
        start(f);
        test_host_run(&f->test);
        assert_denied(&f->test.outcomes[i], DENIAL_WRITE_DENIED, cases[i].says);
    }
    assert_file(f, "old\n");
}

static void test_nobody_to_ask_means_no(void **state)
{
    struct bounded_rig *f = *state;
    f->test.host.ask = NULL;
    assert_denied(run(f), DENIAL_WRITE_DENIED, "nobody can be asked");
    assert_file(f, "old\n");
}

static void test_only_the_first_answer_counts(void **state)
{
    struct bounded_rig *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    assert_false(bounded_decide(call, &(struct verdict){.decision = DECISION_NONE}));
    f->test.verdict.decision = DECISION_DENIED;
    test_host_answer(&f->test);
    assert_true(f->test.answered);
    assert_false(bounded_decide(call, &(struct verdict){.decision = DECISION_APPROVED}));
    test_host_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

static void test_two_yeses_write_once(void **state)
{
    struct bounded_rig *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    test_host_answer(&f->test);
    assert_false(bounded_decide(call, &f->test.verdict));
    test_host_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_int_equal(f->tool.confirmed, 1);
}

/* Time */

static void test_d31_an_answer_after_the_timeout_does_not_write(void **state)
{
    struct bounded_rig *f = *state;
    f->test.host.ask_runs_clock = true;
    f->test.holds_clock = false;
    f->test.answer_after_ms = 9000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_int_equal(outcome->elapsed_ms, 5000);
    assert_false(f->test.answered);
    assert_int_equal(f->tool.executions, 1);
    assert_log(f, "ask c1, timeout c1");
    assert_file(f, "old\n");
}

static void test_d31_time_at_the_prompt_is_not_charged(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 1000;
    f->test.answer_after_ms = 30000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(outcome->elapsed_ms, 1000);
    assert_int_equal(hold_clock_held(&f->test.hold), SECONDS(30));
    assert_file(f, "new\n");
}

static void test_d31_nor_when_the_host_forgets_to_hold_its_clock(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 1000;
    f->test.answer_after_ms = 30000;
    f->test.holds_clock = false;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(outcome->elapsed_ms, 1000);
    assert_file(f, "new\n");
}

static void test_d31_after_the_answer_the_time_goes_on_where_it_stood(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 3000;
    f->test.answer_after_ms = 30000;
    f->test.meanwhile = "theirs\n"; /* so the tool runs once more: 3 s + 3 s are more than the 5 s it has */
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_log(f, "ask c1, timeout c1, late c1 (6000 ms)");
    assert_file(f, "theirs\n");
}

static void close_gate(struct test_host *test)
{
    trace_close_writes(&test->trace);
}

static void close_gate_at_question(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    close_gate(test);
}

static void test_d31_the_gate_is_looked_at_before_the_checkpoint(void **state)
{
    struct bounded_rig *f = *state;
    f->test.on_ask = close_gate_at_question;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

static void test_d31_the_gate_is_looked_at_again_before_the_write(void **state)
{
    struct bounded_rig *f = *state;
    f->test.on_checkpoint = close_gate;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, checkpoint c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

static void test_a_commit_cannot_time_out(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.confirmed_ms = 60000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(outcome->elapsed_ms, 60000);
    assert_file(f, "new\n");
}

static void test_a_commit_is_told_even_when_the_gate_closed_meanwhile(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.confirmed_ms = 1000;
    start(f);
    test_host_run_for(&f->test, 500);
    trace_close_writes(&f->test.trace);
    test_host_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
}

/* Files that change */

static void test_d31b_changed_file_is_asked_again(void **state)
{
    struct bounded_rig *f = *state;
    f->test.meanwhile = "theirs\n";
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_log(f, "ask c1, ask-again c1, checkpoint c1, applied c1, result c1");
    assert_memory_equal(f->test.shown->items[0].old.bytes, "theirs\n", 7);
    assert_int_equal(f->tool.executions, 3);
    assert_file(f, "new\n");
}

static void deny_the_second(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    test->verdict.decision = test->questions == 2 ? DECISION_DENIED : DECISION_APPROVED;
}

static void test_d31b_their_change_is_not_lost(void **state)
{
    struct bounded_rig *f = *state;
    f->test.meanwhile = "theirs\n";
    f->test.on_ask = deny_the_second;
    assert_denied(run(f), DENIAL_WRITE_DENIED, "refused");
    assert_log(f, "ask c1, ask-again c1, denied c1");
    assert_file(f, "theirs\n");
}

static void change_file(struct test_host *test)
{
    scratch_write(&test->scratch, "ws/f.txt", "at the last moment\n");
}

static void test_d31b_a_change_after_the_comparison_stops_the_commit(void **state)
{
    struct bounded_rig *f = *state;
    f->test.on_checkpoint = change_file;
    assert_failed(run(f), true, "f.txt");
    assert_log(f, "ask c1, checkpoint c1, failure c1");
    assert_file(f, "at the last moment\n");
}

static void test_d43_no_checkpoint_no_write(void **state)
{
    struct bounded_rig *f = *state;
    scratch_remove(&f->test.scratch, "undo");
    assert_failed(run(f), true, "nothing was written, because the old content could not be kept");
    assert_log(f, "ask c1, failure c1");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

/* Foreign tools */

static void test_d41_foreign_tools_ask_in_three_ways(void **state)
{
    struct bounded_rig *f = *state;
    static const enum fake_asking ways[] = {FAKE_ASKS_FIELD, FAKE_ASKS_ERROR, FAKE_ASKS_MESSAGE};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        f->tool.asks = ways[i];
        strbuf_reset(&f->test.log);
        start(f);
        test_host_run(&f->test);
        assert_log(f, "ask c1, applied c1, result c1");
        assert_int_equal(f->test.shown->count, 0);
        assert_int_equal(f->tool.confirmed, (int)i + 1);
        assert_null(f->tool.approved);
    }
    f->test.verdict.decision = DECISION_DENIED;
    strbuf_reset(&f->test.log);
    start(f);
    test_host_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_int_equal(f->tool.confirmed, 3);
}

static void test_d41_only_the_exact_words_are_a_question(void **state)
{
    struct bounded_rig *f = *state;
    static const char *const outputs[] = {
        "{\"message\":\"write confirmation required\"}",
        "{\"message\":\"Write confirmation required.\"}",
        "{\"needs_confirmation\":\"true\"}",
        "{\"needs_confirmation\":false}",
        "\"Write confirmation required\"",
        "{\"note\":\"Write confirmation required\"}",
    };
    f->tool.asks = FAKE_ASKS_NOTHING;
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        f->tool.output = outputs[i];
        start(f);
        test_host_run(&f->test);
        assert_int_equal(f->test.outcomes[i].type, OUTCOME_RESULT);
    }
    assert_int_equal(f->test.questions, 0);
}

static void test_d42_a_tool_that_always_asks_is_asked_about_once(void **state)
{
    struct bounded_rig *f = *state;
    static const enum fake_asking ways[] = {FAKE_PROPOSES, FAKE_ASKS_FIELD, FAKE_ASKS_ERROR};
    f->tool.always_asks = true;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        f->tool.asks = ways[i];
        start(f);
        test_host_run(&f->test);
        assert_failed(&f->test.outcomes[i], false, "asked for confirmation again");
        assert_int_equal(f->test.questions, (int)i + 1);
        assert_int_equal(f->tool.executions, 2 * ((int)i + 1));
    }
    assert_file(f, "old\n");
}

static void test_a_foreign_commit_is_neither_ours_nor_short(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->tool.takes_ms = 4000;
    f->tool.confirmed_ms = 4000; /* a hard wait of its own: 4 s + 4 s are more than 5 s */
    start(f);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcomes[0].type, OUTCOME_RESULT);

    f->tool.confirmed_hangs = true;
    start(f);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcomes[1].type, OUTCOME_TIMEOUT);
    assert_false(f->test.outcomes[1].timeout.retryable);

    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 5000);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[2], true, "what it wrote is not known");
    fake_tool_let_go(&f->tool);
}

/* Cancelling */

static void test_cancel_while_asking(void **state)
{
    struct bounded_rig *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_false(f->test.answered);
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

static void test_cancel_while_the_files_are_compared(void **state)
{
    struct bounded_rig *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    test_host_answer(&f->test);
    assert_true(f->test.answered);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_log(f, "ask c1, failure c1, late c1 (0 ms)");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

static void stop_recording(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    test->cannot_record = true;
}

static void test_a_checkpoint_that_cannot_be_recorded_stops_the_write(void **state)
{
    struct bounded_rig *f = *state;
    f->test.on_ask = stop_recording;
    assert_failed(run(f), true, "cancelled by the user");
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

static void test_cancel_waits_for_a_commit(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.confirmed_ms = 1000;
    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 500);
    assert_int_equal(f->tool.confirmed, 1);
    bounded_cancel(call);
    assert_int_equal(f->tool.cancels, 0);
    test_host_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_file(f, "new\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_write, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_approved),
        TEST(test_approved_on_a_pool_thread),
        TEST(test_approved_without_a_checkpoint_store),
        TEST(test_a_refusal_is_a_hard_stop),
        TEST(test_every_refusal_says_whose_it_is),
        TEST(test_nobody_to_ask_means_no),
        TEST(test_only_the_first_answer_counts),
        TEST(test_two_yeses_write_once),
        TEST(test_d31_an_answer_after_the_timeout_does_not_write),
        TEST(test_d31_time_at_the_prompt_is_not_charged),
        TEST(test_d31_nor_when_the_host_forgets_to_hold_its_clock),
        TEST(test_d31_after_the_answer_the_time_goes_on_where_it_stood),
        TEST(test_d31_the_gate_is_looked_at_before_the_checkpoint),
        TEST(test_d31_the_gate_is_looked_at_again_before_the_write),
        TEST(test_a_commit_cannot_time_out),
        TEST(test_a_commit_is_told_even_when_the_gate_closed_meanwhile),
        TEST(test_d31b_changed_file_is_asked_again),
        TEST(test_d31b_their_change_is_not_lost),
        TEST(test_d31b_a_change_after_the_comparison_stops_the_commit),
        TEST(test_d43_no_checkpoint_no_write),
        TEST(test_d41_foreign_tools_ask_in_three_ways),
        TEST(test_d41_only_the_exact_words_are_a_question),
        TEST(test_d42_a_tool_that_always_asks_is_asked_about_once),
        TEST(test_a_foreign_commit_is_neither_ours_nor_short),
        TEST(test_cancel_while_asking),
        TEST(test_cancel_while_the_files_are_compared),
        TEST(test_a_checkpoint_that_cannot_be_recorded_stops_the_write),
        TEST(test_cancel_waits_for_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
