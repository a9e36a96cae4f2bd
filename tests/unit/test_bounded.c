/* One call, one outcome: running, time, canceling and outputs. Tests of writes are in engine/test_write_machine.c. */

#include "support/bounded_rig.h"
#include "support/test.h"
#include "tools/artifact.h"

static void assert_state(struct bounded_rig *f, enum tool_state state)
{
    assert_int_equal(tool_state(&f->trace, "c1"), state);
}

/* ---- running ---- */

TEST_WITH(a_result_comes_later_and_once, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 1200;
    f->tool.says = "working\n";
    f->tool.cites = "https://example.org/a";
    const struct outcome *outcome = run(f);
    assert_log(f, "output c1, result c1");
    assert_string_equal(outcome->result.output, "{\"ok\":true}");
    assert_string_equal(outcome->tool, "tool");
    assert_int_equal(outcome->elapsed_ms, 1200);
    assert_false(outcome->result.truncated);
    assert_string_equal(f->cited.buf, "https://example.org/a (web)");
    assert_string_equal(f->heard.output.buf, "working\n");
    assert_string_equal(f->tool.arguments, "{\"path\": \"x\"}");
    assert_int_equal(f->proposals, 0);
    assert_int_equal(f->tool.executions, 1);
    assert_state(f, TOOL_STATE_COMPLETED);
}

TEST_WITH(immediate_answer_is_reported_from_the_loop, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 0;
    run(f);
    assert_log(f, "result c1");
}

TEST_WITH(a_tool_on_a_pool_thread, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    fake_tool_on_pool(&f->tool);
    run(f);
    assert_log(f, "result c1");
}

TEST_WITH(an_expired_turn_starts_nothing, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    bounded_rig_start(f, &f->tool.tool, "c1", 0, 45);
    assert_int_equal(f->heard.outcome_count, 0);
    bounded_rig_run(f);
    assert_int_equal(f->heard.outcomes[0].type, OUTCOME_DENIED);
    assert_int_equal(f->heard.outcomes[0].denied.reason, DENIAL_DEADLINE);
    assert_non_null(strstr(f->heard.outcomes[0].denied.details, "ran out of time"));
    assert_int_equal(f->tool.executions, 0);
}

TEST_WITH(every_end_settles_the_trace, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    bounded_rig_start(f, &f->tool.tool, "c1", 0, 45);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_DENIED);

    struct fake_tool search;
    fake_tool_init(&search, "web_search", EFFECT_NETWORK);
    f->host.web = WEB_OFF;
    bounded_rig_start(f, &search.tool, "c1", 60, 45);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_FAILED);

    f->tool.asks = FAKE_ASKS_FIELD;
    start(f);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_DENIED);

    f->tool.error = "broken";
    start(f);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_FAILED);

    f->tool.error = NULL;
    f->tool.hangs = true;
    start(f);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_TIMED_OUT);
    fake_tool_let_go(&f->tool);

    struct bounded_call *call = start(f);
    bounded_cancel(call);
    bounded_rig_run(f);
    assert_state(f, TOOL_STATE_FAILED);
    fake_tool_release(&search);
}

TEST_WITH(only_off_blocks_and_only_web_search, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    struct fake_tool search;
    fake_tool_init(&search, "web_search", EFFECT_NETWORK);
    f->host.web = WEB_OFF;
    bounded_rig_start(f, &search.tool, "c1", 60, 45);
    bounded_rig_start(f, &f->tool.tool, "c2", 60, 45);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "web_search is disabled");
    assert_int_equal(f->heard.outcomes[1].type, OUTCOME_RESULT);
    assert_int_equal(search.executions, 0);
    f->host.web = WEB_AUTO;
    bounded_rig_start(f, &search.tool, "c3", 60, 45);
    f->host.web = WEB_ON;
    bounded_rig_start(f, &search.tool, "c4", 60, 45);
    bounded_rig_run(f);
    assert_int_equal(search.executions, 2);
    assert_int_equal(web_mode_from_name("off"), WEB_OFF);
    assert_int_equal(web_mode_from_name("auto"), WEB_AUTO);
    assert_int_equal(web_mode_from_name("on"), WEB_ON);
    assert_int_equal(web_mode_from_name("maybe"), -1);
    fake_tool_release(&search);
}

TEST_WITH(errors_become_failures_that_name_their_cause, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    static const char *const outputs[][2] = {
        {"{\"status\":\"error\",\"error\":\"disk full\"}", "disk full"},
        {"{\"status\":\"error\",\"message\":\"no luck\"}", "no luck"},
        {"{\"status\":\"error\",\"error\":{\"code\":7}}", "{\"code\":7}"},
        {"{\"status\":\"error\"}", "without a message"},
        {"{not json", "is not JSON"},
        {"", "is not JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        f->tool.output = outputs[i][0];
        start(f);
        bounded_rig_run(f);
        assert_failed(&f->heard.outcomes[i], true, outputs[i][1]);
    }
    f->tool.error = "no such file";
    start(f);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[COUNT_OF(outputs)], true, "no such file");
    f->tool.final = true;
    start(f);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[COUNT_OF(outputs) + 1], false, "no such file");
}

TEST_WITH(siblings_are_not_touched, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    struct fake_tool slow, bad;
    fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
    fake_tool_init(&bad, "bad", EFFECT_READ_ONLY);
    slow.takes_ms = 20000;
    bad.error = "broken";
    f->tool.takes_ms = 4900;
    bounded_rig_start(f, &bad.tool, "c1", 60, 5);
    bounded_rig_start(f, &slow.tool, "c2", 60, 5);
    bounded_rig_start(f, &f->tool.tool, "c3", 60, 5);
    bounded_rig_run(f);
    assert_log(f, "failure c1, result c3, timeout c2, late c2 (20000 ms)");
    fake_tool_release(&slow);
    fake_tool_release(&bad);
}

/* ---- time ---- */

TEST_WITH(a_late_tool_leaves_nothing_behind, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 8000;
    f->tool.cites = "secret.txt";
    f->tool.output = "{\"late\":true}";
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_float_equal(outcome->timeout.deadline_s, 5, 0);
    assert_true(outcome->timeout.retryable);
    assert_int_equal(outcome->elapsed_ms, 5000);
    assert_log(f, "timeout c1, late c1 (8000 ms)");
    assert_int_equal(f->tool.cancels, 1);
    assert_int_equal(f->cited.len, 0);
    assert_int_equal(artifact_store_count(f->env.artifacts, NULL), 0);
    assert_state(f, TOOL_STATE_TIMED_OUT);
}

struct push {
    struct loop_task task;
    struct bounded_rig *f;
};

static void push_time(struct loop_task *task)
{
    struct bounded_rig *f = ((struct push *)task)->f;
    if (atomic_load(&f->tool.executions) == 0)
        loop_post(f->loop, task, push_time);
    else
        fake_clock_advance(&f->fake, SECONDS(6));
}

static void let_go(struct bounded_rig *test, struct bounded_call *call)
{
    (void)call;
    fake_tool_let_go(test->data);
}

TEST_WITH(a_late_thread_leaves_nothing_behind, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    struct push push = {.f = f};
    fake_tool_on_pool(&f->tool);
    f->tool.hangs = true;
    f->tool.cites = "secret.txt";
    f->data = &f->tool;
    f->on_done = let_go;
    start(f);
    /* Virtual time stops while a thread is busy, so a task advances it. */
    loop_post(f->loop, &push.task, push_time);
    bounded_rig_run(f);
    assert_log(f, "timeout c1, late c1 (6000 ms)");
    assert_int_equal(f->tool.finished, 1);
    assert_int_equal(f->cited.len, 0);
}

TEST_WITH(the_hard_wait_is_never_below_five_seconds, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 4900;
    bounded_rig_start(f, &f->tool.tool, "c1", 60, 2);
    bounded_rig_start(f, &f->tool.tool, "c2", 1, 45);
    bounded_rig_run(f);
    assert_log(f, "result c1, result c2");
}

TEST_WITH(the_token_has_the_true_time, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    bounded_rig_start(f, &f->tool.tool, "c1", 60, 2);
    bounded_rig_run(f);
    assert_float_equal(f->tool.token_s, 2, 1e-9);
    bounded_rig_start(f, &f->tool.tool, "c1", 1.5, 45);
    bounded_rig_run(f);
    assert_float_equal(f->tool.token_s, 1.5, 1e-9);
}

TEST_WITH(cap_of_the_call_binds_a_tool_with_a_longer_limit, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.tool.spec.timeout_s = 100;
    f->tool.takes_ms = 99000;
    bounded_rig_start(f, &f->tool.tool, "c1", 1000, 20);
    bounded_rig_run(f);
    assert_log(f, "timeout c1, late c1 (99000 ms)");
}

TEST_WITH(timeout_of_an_unrepeatable_tool_is_not_retryable, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.tool.spec.no_retry_on_timeout = true;
    f->tool.takes_ms = 6000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_false(outcome->timeout.retryable);
    assert_true(outcome_blocks_tool(outcome));
}

TEST_WITH(held_clock_charges_no_call, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = true;
    struct bounded_call *call = start(f);
    bounded_rig_run_for(f, 3000);
    hold_clock_stop(&f->hold);
    bounded_clock_changed(call);
    bounded_rig_run(f); /* returns: while the clock is held nothing wakes up */
    fake_clock_advance(&f->fake, SECONDS(1000));
    assert_int_equal(f->heard.outcome_count, 0);
    hold_clock_go(&f->hold);
    bounded_clock_changed(call);
    bounded_rig_run_for(f, 1999);
    assert_int_equal(f->heard.outcome_count, 0);
    bounded_rig_run_for(f, 2);
    assert_int_equal(f->heard.outcome_count, 1);
    assert_int_equal(f->heard.outcomes[0].elapsed_ms, 5000);
    fake_tool_let_go(&f->tool);
}

TEST_WITH(unannounced_hold_charges_no_call, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = true;
    start(f);
    bounded_rig_run_for(f, 3000);
    hold_clock_stop(&f->hold);
    fake_clock_advance(&f->fake, SECONDS(1));
    hold_clock_go(&f->hold);
    bounded_rig_run_for(f, 1500);
    assert_int_equal(f->heard.outcome_count, 0);
    bounded_rig_run_for(f, 501);
    assert_int_equal(f->heard.outcome_count, 1);
    fake_tool_let_go(&f->tool);
}

TEST_WITH(results_after_the_gate_closed_are_not_used, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 1000;
    f->tool.cites = "secret.txt";
    start(f);
    bounded_rig_run_for(f, 500);
    call_states_close_writes(&f->trace);
    bounded_rig_run(f);
    assert_int_equal(f->heard.outcomes[0].type, OUTCOME_TIMEOUT);
    assert_false(f->heard.outcomes[0].timeout.retryable);
    assert_int_equal(f->cited.len, 0);
    f->tool.error = "nor is an error";
    start(f);
    bounded_rig_run(f);
    assert_int_equal(f->heard.outcomes[1].type, OUTCOME_TIMEOUT);
    assert_log(f, "timeout c1, timeout c1");
}

/* ---- canceling ---- */

TEST_WITH(cancel_before_it_began, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    struct bounded_call *call = start(f);
    bounded_cancel(call);
    bounded_cancel(call);
    assert_int_equal(f->heard.outcome_count, 0);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "canceled by the user");
    assert_int_equal(f->tool.executions, 0);
    assert_log(f, "failure c1");
}

TEST_WITH(cancel_while_running, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 4000;
    struct bounded_call *call = start(f);
    bounded_rig_run_for(f, 1000);
    bounded_cancel(call);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "canceled by the user");
    assert_int_equal(f->heard.outcomes[0].elapsed_ms, 1000);
    assert_log(f, "failure c1, late c1 (4000 ms)");
}

TEST_WITH(cancel_of_a_tool_that_comes_back_from_within, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = f->tool.heeds_cancel = true;
    struct bounded_call *call = start(f);
    bounded_rig_run_for(f, 1000);
    bounded_cancel(call);
    assert_int_equal(f->tool.finished, 1);
    assert_int_equal(f->heard.outcome_count, 0);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "canceled by the user");
    assert_log(f, "failure c1, late c1 (1000 ms)");
}

struct cancel {
    struct loop_task task;
    struct bounded_call *call;
    struct bounded_rig *f;
};

static void cancel_begun(struct loop_task *task)
{
    struct cancel *cancel = (struct cancel *)task;
    if (atomic_load(&cancel->f->tool.executions) == 0)
        loop_post(cancel->f->loop, task, cancel_begun);
    else
        bounded_cancel(cancel->call);
}

TEST_WITH(cancel_reaches_a_thread, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    fake_tool_on_pool(&f->tool);
    f->tool.hangs = f->tool.heeds_cancel = true;
    struct cancel cancel = {.call = start(f), .f = f};
    loop_post(f->loop, &cancel.task, cancel_begun);
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "canceled by the user");
    assert_log(f, "failure c1, late c1 (0 ms)");
    assert_int_equal(f->tool.finished, 1);
}

static void poke(struct bounded_rig *test, struct bounded_call *call)
{
    (void)test;
    assert_false(bounded_waits(call));
    bounded_cancel(call);
    bounded_clock_changed(call);
}

TEST_WITH(nothing_changes_an_outcome, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->on_done = poke;
    run(f);
    assert_log(f, "result c1");
}

TEST_WITH(a_call_carries_the_hosts_data, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    struct bounded_call *call = start(f);
    assert_non_null(bounded_call_data(call));
    bounded_rig_run(f); /* the host guarantees that the job returns */
    assert_log(f, "result c1");
}

/* ---- a proposal that waits for a decision ---- */

static void leave_open(struct bounded_rig *test, struct bounded_call *call)
{
    (void)test;
    assert_true(bounded_waits(call));
}

TEST_WITH(host_without_a_user_denies, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    assert_denied(run(f), DENIAL_WRITE_DENIED, "no user is present");
    assert_log(f, "propose c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
}

/* The hold clock runs, so the call's own time stops. */
TEST_WITH(time_at_the_prompt_is_not_charged_by_a_host_that_forgets_its_clock, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->tool.takes_ms = 1000;
    f->on_propose = leave_open;
    struct bounded_call *call = start(f);
    bounded_rig_run_for(f, 31000);
    bounded_resume(call);
    bounded_rig_run_for(f, 500);
    bounded_run_confirmed(call, NULL, NULL, NULL);
    bounded_rig_run(f);
    assert_log(f, "propose c1, applied c1, result c1");
    assert_int_equal(f->heard.outcomes[0].elapsed_ms, 1500);
}

TEST_WITH(cancel_while_a_proposal_waits, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->on_propose = leave_open;
    struct bounded_call *call = start(f);
    bounded_rig_run(f);
    bounded_cancel(call);
    assert_false(bounded_waits(call));
    bounded_rig_run(f);
    assert_failed(&f->heard.outcomes[0], true, "canceled by the user");
    assert_log(f, "propose c1, failure c1");
    assert_int_equal(f->tool.executions, 1);
}

/* A job of the call is on the pool: it returns to a settled call, which is finished only then. */
TEST_WITH(cancel_while_a_job_of_the_host_is_out, set_up_read, tear_down)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->on_propose = leave_open;
    struct bounded_call *call = start(f);
    bounded_rig_run(f);
    bounded_resume(call);
    bounded_job_out(call);
    bounded_cancel(call);
    bounded_rig_run(f);
    assert_log(f, "propose c1, failure c1");
    assert_int_equal(f->host.pending, 1);
    assert_false(bounded_job_back(call));
    assert_log(f, "propose c1, failure c1, late c1 (0 ms)");
    assert_int_equal(f->host.pending, 0);
}
