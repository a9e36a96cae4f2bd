/* One call, one outcome: the way of a write, and everything that must stop it. Answers that are not a plain yes are in
 * test_write_answer.c. */

#include "base/beneath.h"
#include "support/test.h"
#include "support/writing.h"
#include "tools/checkpoint.h"

/* Yes and no */

WRITE_TEST(approved)
{
    struct writing *f = *state;
    const struct outcome *outcome = run(f);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_string_equal(outcome->result.output, "{\"ok\":true}");
    assert_int_equal(f->tool.executions, 2);
    assert_int_equal(f->tool.confirmed, 1);
    assert_string_equal(f->tool.arguments, "{\"path\": \"x\"}"); /* of the second: as given */
    assert_string_equal(f->test.applied->files.items[0].path, "f.txt");
    assert_int_equal(trace_state(&f->test.turn->state.trace, "c1"), TRACE_COMPLETED);
    assert_file(f, "new\n");

    struct err err = ERR_INIT;
    struct change_set *undo =
        checkpoint_undo(f->test.rig.harness.checkpoints, f->test.rig.harness.root, f->test.checkpoint, &err);
    assert_non_null(undo);
    assert_memory_equal(undo->items[0].new.bytes, "old\n", 4);
    change_set_free(undo);
}

WRITE_TEST(approved_on_a_pool_thread)
{
    struct writing *f = *state;
    fake_tool_on_pool(&f->tool);
    run(f);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_file(f, "new\n");
}

WRITE_TEST(approved_without_a_checkpoint_store)
{
    struct writing *f = *state;
    struct checkpoints *store = f->test.rig.harness.checkpoints;
    f->test.rig.harness.checkpoints = NULL;
    run(f);
    f->test.rig.harness.checkpoints = store;
    assert_log(f, "ask c1, applied c1, result c1");
    assert_file(f, "new\n");
}

WRITE_TEST(a_refusal_is_a_hard_stop)
{
    struct writing *f = *state;
    f->test.decision = (struct decision){.kind = DECISION_DENIED, .by = BY_KEY, .reason = "use tabs"};
    const struct outcome *outcome = run(f);
    assert_denied(outcome, DENIAL_WRITE_DENIED, "the user refused the write: use tabs");
    assert_log(f, "ask c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
    assert_int_equal(trace_state(&f->test.turn->state.trace, "c1"), TRACE_DENIED);
    assert_file(f, "old\n");
}

WRITE_TEST(every_refusal_says_whose_it_is)
{
    struct writing *f = *state;
    static const struct {
        enum decision_kind kind;
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
        f->test.decision = (struct decision){.kind = cases[i].kind, .by = cases[i].by};
        start(f);
        write_rig_run(&f->test);
        assert_denied(&f->test.outcomes[i], DENIAL_WRITE_DENIED, cases[i].says);
    }
    assert_file(f, "old\n");
}

WRITE_TEST(nobody_to_ask_means_no)
{
    struct writing *f = *state;
    rules_free(f->test.rig.harness.rules);
    f->test.rig.harness.rules = rules_new(RULES_ASK, false);
    assert_denied(run(f), DENIAL_WRITE_DENIED, "nobody is there to be asked");
    assert_log(f, "denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(only_the_first_answer_counts)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    start(f);
    write_rig_run(&f->test);
    assert_string_equal(write_rig_say(&f->test, &(struct decision){.kind = DECISION_NONE}), "this is no answer");
    f->test.decision.kind = DECISION_DENIED;
    write_rig_answer(&f->test);
    assert_true(f->test.answered);
    assert_string_equal(write_rig_say(&f->test, &(struct decision){.kind = DECISION_APPROVED}),
                        "this question is no longer open");
    write_rig_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(two_yeses_write_once)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    start(f);
    write_rig_run(&f->test);
    write_rig_answer(&f->test);
    assert_string_equal(write_rig_say(&f->test, &f->test.decision), "this question is no longer open");
    write_rig_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_int_equal(f->tool.confirmed, 1);
}

/* Time */

WRITE_TEST(d31_an_answer_after_the_timeout_does_not_write)
{
    struct writing *f = *state;
    f->test.rig.harness.ask_runs_clock = f->test.turn->host.ask_runs_clock = true;
    f->test.answer_after_ms = 9000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_int_equal(outcome->elapsed_ms, 5000);
    assert_false(f->test.answered);
    assert_int_equal(f->tool.executions, 1);
    assert_log(f, "ask c1, timeout c1");
    assert_file(f, "old\n");
}

WRITE_TEST(d31_time_at_the_prompt_is_not_charged)
{
    struct writing *f = *state;
    f->tool.takes_ms = 1000;
    f->test.answer_after_ms = 30000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(outcome->elapsed_ms, 1000);
    assert_int_equal(hold_clock_held(&f->test.turn->clock), SECONDS(30));
    assert_file(f, "new\n");
}

WRITE_TEST(d31_after_the_answer_the_time_goes_on_where_it_stood)
{
    struct writing *f = *state;
    f->tool.takes_ms = 3000;
    f->test.answer_after_ms = 30000;
    f->test.meanwhile = "theirs\n"; /* so the tool runs once more: 3 s + 3 s are more than the 5 s it has */
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_log(f, "ask c1, timeout c1, late c1 (6000 ms)");
    assert_file(f, "theirs\n");
}

static void close_gate(struct write_rig *test)
{
    trace_close_writes(&test->turn->state.trace);
}

WRITE_TEST(d31_the_gate_is_looked_at_before_the_checkpoint)
{
    struct writing *f = *state;
    f->test.on_ask = close_gate;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(d31_the_gate_is_looked_at_again_before_the_write)
{
    struct writing *f = *state;
    f->test.on_checkpoint = close_gate;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, checkpoint c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

WRITE_TEST(a_commit_cannot_time_out)
{
    struct writing *f = *state;
    f->tool.confirmed_ms = 60000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_int_equal(outcome->elapsed_ms, 60000);
    assert_file(f, "new\n");
}

WRITE_TEST(a_commit_is_told_even_when_the_gate_closed_meanwhile)
{
    struct writing *f = *state;
    f->tool.confirmed_ms = 1000;
    start(f);
    write_rig_run_for(&f->test, 500);
    trace_close_writes(&f->test.turn->state.trace);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
}

/* Files that change */

WRITE_TEST(d31b_changed_file_is_asked_again)
{
    struct writing *f = *state;
    f->test.meanwhile = "theirs\n";
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_log(f, "ask c1, ask-again c1, checkpoint c1, applied c1, result c1");
    assert_memory_equal(f->test.shown->items[0].old.bytes, "theirs\n", 7);
    assert_int_equal(f->tool.executions, 3);
    assert_file(f, "new\n");
}

static void deny_the_second(struct write_rig *test)
{
    test->decision.kind = test->questions == 2 ? DECISION_DENIED : DECISION_APPROVED;
}

WRITE_TEST(d31b_their_change_is_not_lost)
{
    struct writing *f = *state;
    f->test.meanwhile = "theirs\n";
    f->test.on_ask = deny_the_second;
    assert_denied(run(f), DENIAL_WRITE_DENIED, "refused");
    assert_log(f, "ask c1, ask-again c1, denied c1");
    assert_file(f, "theirs\n");
}

static void change_file(struct write_rig *test)
{
    scratch_write(&test->rig.scratch, "work/f.txt", "at the last moment\n");
}

WRITE_TEST(d31b_a_change_after_the_comparison_stops_the_commit)
{
    struct writing *f = *state;
    f->test.on_checkpoint = change_file;
    assert_failed(run(f), true, "f.txt");
    assert_log(f, "ask c1, checkpoint c1, failure c1");
    assert_file(f, "at the last moment\n");
}

WRITE_TEST(d43_no_checkpoint_no_write)
{
    struct writing *f = *state;
    scratch_remove(&f->test.rig.scratch, "checkpoints");
    assert_failed(run(f), true, "nothing was written, because the old content could not be kept");
    assert_log(f, "ask c1, failure c1");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

/* Foreign tools */

WRITE_TEST(d41_foreign_tools_ask_in_three_ways)
{
    struct writing *f = *state;
    static const enum fake_asking ways[] = {FAKE_ASKS_FIELD, FAKE_ASKS_ERROR, FAKE_ASKS_MESSAGE};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        f->tool.asks = ways[i];
        strbuf_reset(&f->test.log);
        start(f);
        write_rig_run(&f->test);
        assert_log(f, "ask c1, applied c1, result c1");
        assert_int_equal(f->test.shown->count, 0);
        assert_int_equal(f->tool.confirmed, (int)i + 1);
        assert_null(f->tool.approved);
    }
    f->test.decision.kind = DECISION_DENIED;
    strbuf_reset(&f->test.log);
    start(f);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_int_equal(f->tool.confirmed, 3);
}

WRITE_TEST(d41_only_the_exact_words_are_a_question)
{
    struct writing *f = *state;
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
        write_rig_run(&f->test);
        assert_int_equal(f->test.outcomes[i].type, OUTCOME_RESULT);
    }
    assert_int_equal(f->test.questions, 0);
}

WRITE_TEST(d42_a_tool_that_always_asks_is_asked_about_once)
{
    struct writing *f = *state;
    static const enum fake_asking ways[] = {FAKE_PROPOSES, FAKE_ASKS_FIELD, FAKE_ASKS_ERROR};
    f->tool.always_asks = true;
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        f->tool.asks = ways[i];
        start(f);
        write_rig_run(&f->test);
        assert_failed(&f->test.outcomes[i], false, "asked for confirmation again");
        assert_int_equal(f->test.questions, (int)i + 1);
        assert_int_equal(f->tool.executions, 2 * ((int)i + 1));
    }
    assert_file(f, "old\n");
}

WRITE_TEST(a_foreign_commit_is_neither_ours_nor_short)
{
    struct writing *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->tool.takes_ms = 4000;
    f->tool.confirmed_ms = 4000; /* a hard wait of its own: 4 s + 4 s are more than 5 s */
    start(f);
    write_rig_run(&f->test);
    assert_int_equal(f->test.outcomes[0].type, OUTCOME_RESULT);

    f->tool.confirmed_hangs = true;
    start(f);
    write_rig_run(&f->test);
    assert_int_equal(f->test.outcomes[1].type, OUTCOME_TIMEOUT);
    assert_false(f->test.outcomes[1].timeout.retryable);

    struct bounded_call *call = start(f);
    write_rig_run_for(&f->test, 5000);
    bounded_cancel(call);
    write_rig_run(&f->test);
    assert_failed(&f->test.outcomes[2], true, "what it wrote is not known");
    fake_tool_let_go(&f->tool);
}

/* Cancelling */

WRITE_TEST(cancel_while_asking)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    write_rig_run(&f->test);
    bounded_cancel(call);
    write_rig_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_false(f->test.answered);
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

WRITE_TEST(cancel_while_the_files_are_compared)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    write_rig_run(&f->test);
    write_rig_answer(&f->test);
    assert_true(f->test.answered);
    bounded_cancel(call);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, failure c1, late c1 (0 ms)");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

static void stop_recording(struct write_rig *test)
{
    test->cannot_record = true;
}

WRITE_TEST(a_checkpoint_that_cannot_be_recorded_stops_the_write)
{
    struct writing *f = *state;
    f->test.on_decided = stop_recording;
    assert_failed(run(f), true, "cancelled by the user");
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

/* Any event of it may be the one that cannot be recorded, alone or with all that follow. */
static bool run_refusing(size_t n, bool more, enum fake_asking asks)
{
    void *state;
    set_up_write(&state);
    struct writing *f = state;
    f->tool.asks = asks;
    f->test.refuses = n;
    f->test.refuses_more = more;
    start(f);
    write_rig_run(&f->test);
    if (engine_question(f->test.rig.engine)) /* which nobody heard of */
        assert_int_equal(write_rig_cancel(&f->test), 0);
    write_rig_run(&f->test);
    assert_int_equal(f->test.outcome_count, 1);
    CLEANUP(free) char *kept = scratch_list(&f->test.rig.scratch, "checkpoints");
    CLEANUP(free) char *text = scratch_read(&f->test.rig.scratch, "work/f.txt", NULL);
    bool confirmed = f->tool.confirmed > 0;
    if (confirmed) {
        assert_int_equal(f->test.decisions, 1);
        assert_int_equal(f->test.checkpoints, asks == FAKE_PROPOSES);
    }
    assert_string_equal(text, confirmed && asks == FAKE_PROPOSES ? "new\n" : "old\n");
    assert_string_equal(kept, f->test.checkpoints ? f->test.checkpoint : "");
    bool refused = f->test.emitted >= n;
    tear_down_write(&state);
    return refused;
}

TEST(nothing_is_written_that_is_not_recorded)
{
    static const enum fake_asking ways[] = {FAKE_PROPOSES, FAKE_ASKS_FIELD};
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        for (int more = 0; more < 2; more++) {
            size_t n = 1;
            while (run_refusing(n, more, ways[i]))
                n++;
            assert_true(n > 6); /* proposed, held, decided, released, applied, finished */
        }
}

WRITE_TEST(cancel_waits_for_a_commit)
{
    struct writing *f = *state;
    f->tool.confirmed_ms = 1000;
    struct bounded_call *call = start(f);
    write_rig_run_for(&f->test, 500);
    assert_int_equal(f->tool.confirmed, 1);
    bounded_cancel(call);
    assert_int_equal(f->tool.cancels, 0);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_file(f, "new\n");
}
