/* One call, one outcome: running, time, cancelling and outputs. What has to do with writing is in
 * engine/test_write_machine.c.
 */

#include "support/bounded_rig.h"
#include "tools/artifact.h"

static void assert_state(struct bounded_rig *f, enum trace_state state)
{
    assert_string_equal(trace_state_name(trace_state(&f->test.trace, "c1")), trace_state_name(state));
}

/* Running */

static void test_a_result_comes_later_and_once(void **state)
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
    assert_string_equal(f->test.cited.buf, "https://example.org/a (web)");
    assert_string_equal(f->test.output.buf, "working\n");
    assert_string_equal(f->tool.arguments, "{\"path\": \"x\"}");
    assert_int_equal(f->test.proposals, 0);
    assert_int_equal(f->tool.executions, 1);
    assert_state(f, TRACE_COMPLETED);
}

static void test_a_tool_that_answers_at_once_is_heard_later_all_the_same(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 0;
    run(f);
    assert_log(f, "result c1");
}

static void test_a_tool_on_a_pool_thread(void **state)
{
    struct bounded_rig *f = *state;
    fake_tool_on_pool(&f->tool);
    run(f);
    assert_log(f, "result c1");
}

static void test_an_expired_turn_starts_nothing(void **state)
{
    struct bounded_rig *f = *state;
    test_host_start(&f->test, &f->tool.tool, "c1", 0, 45);
    assert_int_equal(f->test.outcome_count, 0);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcomes[0].type, OUTCOME_DENIED);
    assert_int_equal(f->test.outcomes[0].denied.reason, DENIAL_DEADLINE);
    assert_non_null(strstr(f->test.outcomes[0].denied.details, "time was used up"));
    assert_int_equal(f->tool.executions, 0);
}

static void test_d33_every_end_settles_the_trace(void **state)
{
    struct bounded_rig *f = *state;
    test_host_start(&f->test, &f->tool.tool, "c1", 0, 45);
    test_host_run(&f->test);
    assert_state(f, TRACE_DENIED);

    struct fake_tool search;
    fake_tool_init(&search, "web_search", EFFECT_NETWORK);
    f->test.host.web = WEB_OFF;
    test_host_start(&f->test, &search.tool, "c1", 60, 45);
    test_host_run(&f->test);
    assert_state(f, TRACE_FAILED);

    f->tool.asks = FAKE_ASKS_FIELD;
    start(f);
    test_host_run(&f->test);
    assert_state(f, TRACE_DENIED);

    f->tool.error = "broken";
    start(f);
    test_host_run(&f->test);
    assert_state(f, TRACE_FAILED);

    f->tool.error = NULL;
    f->tool.hangs = true;
    start(f);
    test_host_run(&f->test);
    assert_state(f, TRACE_TIMED_OUT);
    fake_tool_let_go(&f->tool);

    struct bounded_call *call = start(f);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_state(f, TRACE_FAILED);
    fake_tool_release(&search);
}

static void test_d49_only_off_blocks_and_only_web_search(void **state)
{
    struct bounded_rig *f = *state;
    struct fake_tool search;
    fake_tool_init(&search, "web_search", EFFECT_NETWORK);
    f->test.host.web = WEB_OFF;
    test_host_start(&f->test, &search.tool, "c1", 60, 45);
    test_host_start(&f->test, &f->tool.tool, "c2", 60, 45);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "web_search is disabled");
    assert_int_equal(f->test.outcomes[1].type, OUTCOME_RESULT);
    assert_int_equal(search.executions, 0);
    f->test.host.web = WEB_AUTO;
    test_host_start(&f->test, &search.tool, "c3", 60, 45);
    f->test.host.web = WEB_ON;
    test_host_start(&f->test, &search.tool, "c4", 60, 45);
    test_host_run(&f->test);
    assert_int_equal(search.executions, 2);
    assert_int_equal(web_mode_from_name("off"), WEB_OFF);
    assert_int_equal(web_mode_from_name("auto"), WEB_AUTO);
    assert_int_equal(web_mode_from_name("on"), WEB_ON);
    assert_int_equal(web_mode_from_name("maybe"), -1);
    fake_tool_release(&search);
}

static void test_errors_become_failures_that_name_their_cause(void **state)
{
    struct bounded_rig *f = *state;
    static const char *const outputs[][2] = {
        {"{\"status\":\"error\",\"error\":\"disk full\"}", "disk full"},
        {"{\"status\":\"error\",\"message\":\"no luck\"}", "no luck"},
        {"{\"status\":\"error\",\"error\":{\"code\":7}}", "{\"code\":7}"},
        {"{\"status\":\"error\"}", "did not say why"},
        {"{not json", "is not JSON"},
        {"", "is not JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        f->tool.output = outputs[i][0];
        start(f);
        test_host_run(&f->test);
        assert_failed(&f->test.outcomes[i], true, outputs[i][1]);
    }
    f->tool.error = "no such file";
    start(f);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[COUNT_OF(outputs)], true, "no such file");
    f->tool.final = true;
    start(f);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[COUNT_OF(outputs) + 1], false, "no such file");
}

static void test_siblings_are_not_touched(void **state)
{
    struct bounded_rig *f = *state;
    struct fake_tool slow, bad;
    fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
    fake_tool_init(&bad, "bad", EFFECT_READ_ONLY);
    slow.takes_ms = 20000;
    bad.error = "broken";
    f->tool.takes_ms = 4900;
    test_host_start(&f->test, &bad.tool, "c1", 60, 5);
    test_host_start(&f->test, &slow.tool, "c2", 60, 5);
    test_host_start(&f->test, &f->tool.tool, "c3", 60, 5);
    test_host_run(&f->test);
    assert_log(f, "failure c1, result c3, timeout c2, late c2 (20000 ms)");
    fake_tool_release(&slow);
    fake_tool_release(&bad);
}

/* Time */

static void test_d45_a_late_tool_leaves_nothing_behind(void **state)
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
    assert_int_equal(f->test.cited.len, 0);
    assert_int_equal(artifact_store_count(f->test.env.artifacts, NULL), 0);
    assert_state(f, TRACE_TIMED_OUT);
}

struct push {
    struct loop_task task;
    struct bounded_rig *f;
};

static void push_time(struct loop_task *task)
{
    struct bounded_rig *f = ((struct push *)task)->f;
    if (atomic_load(&f->tool.executions) == 0)
        loop_post(f->test.loop, task, push_time);
    else
        fake_clock_advance(&f->test.fake, SECONDS(6));
}

static void let_go(struct test_host *test, struct bounded_call *call)
{
    (void)call;
    fake_tool_let_go(test->data);
}

static void test_d45_a_late_thread_leaves_nothing_behind(void **state)
{
    struct bounded_rig *f = *state;
    struct push push = {.f = f};
    fake_tool_on_pool(&f->tool);
    f->tool.hangs = true;
    f->tool.cites = "secret.txt";
    f->test.data = &f->tool;
    f->test.on_done = let_go;
    start(f);
    /* Virtual time stands still while a thread is busy, so it is pushed. */
    loop_post(f->test.loop, &push.task, push_time);
    test_host_run(&f->test);
    assert_log(f, "timeout c1, late c1 (6000 ms)");
    assert_int_equal(f->tool.finished, 1);
    assert_int_equal(f->test.cited.len, 0);
}

static void test_d25_the_hard_wait_is_never_below_five_seconds(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 4900;
    struct bounded_call *call = test_host_start(&f->test, &f->tool.tool, "c1", 60, 2);
    assert_float_equal(bounded_call_deadline_s(call), 5, 0);
    test_host_start(&f->test, &f->tool.tool, "c2", 1, 45);
    test_host_run(&f->test);
    assert_log(f, "result c1, result c2");
}

static void test_d26_the_token_tells_the_true_time(void **state)
{
    struct bounded_rig *f = *state;
    test_host_start(&f->test, &f->tool.tool, "c1", 60, 2);
    test_host_run(&f->test);
    assert_float_equal(f->tool.token_s, 2, 1e-9);
    test_host_start(&f->test, &f->tool.tool, "c1", 1.5, 45);
    test_host_run(&f->test);
    assert_float_equal(f->tool.token_s, 1.5, 1e-9);
}

static void test_the_tools_own_limit_beats_the_turns(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.tool.spec.timeout_s = 100;
    f->tool.takes_ms = 99000;
    struct bounded_call *call = test_host_start(&f->test, &f->tool.tool, "c1", 1000, 5);
    assert_float_equal(bounded_call_deadline_s(call), 100, 0);
    test_host_run(&f->test);
    assert_log(f, "result c1");
}

static void test_a_tool_that_must_not_be_repeated_says_so(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.tool.spec.no_retry_on_timeout = true;
    f->tool.takes_ms = 6000;
    const struct outcome *outcome = run(f);
    assert_int_equal(outcome->type, OUTCOME_TIMEOUT);
    assert_false(outcome->timeout.retryable);
    assert_true(outcome_blocks_tool(outcome));
}

static void test_d31_a_held_clock_charges_nobody(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = true;
    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 3000);
    hold_clock_stop(&f->test.hold);
    bounded_clock_changed(call);
    test_host_run(&f->test); /* returns: while the clock is held nothing wakes up */
    fake_clock_advance(&f->test.fake, SECONDS(1000));
    assert_int_equal(f->test.outcome_count, 0);
    assert_int_equal(bounded_call_elapsed_us(call), SECONDS(3));
    hold_clock_go(&f->test.hold);
    bounded_clock_changed(call);
    test_host_run_for(&f->test, 1999);
    assert_int_equal(f->test.outcome_count, 0);
    test_host_run_for(&f->test, 2);
    assert_int_equal(f->test.outcome_count, 1);
    assert_int_equal(f->test.outcomes[0].elapsed_ms, 5000);
    fake_tool_let_go(&f->tool);
}

static void test_d31_a_hold_nobody_told_of_charges_nobody(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = true;
    start(f);
    test_host_run_for(&f->test, 3000);
    hold_clock_stop(&f->test.hold);
    fake_clock_advance(&f->test.fake, SECONDS(1));
    hold_clock_go(&f->test.hold);
    test_host_run_for(&f->test, 1500);
    assert_int_equal(f->test.outcome_count, 0);
    test_host_run_for(&f->test, 501);
    assert_int_equal(f->test.outcome_count, 1);
    fake_tool_let_go(&f->tool);
}

static void test_d34_what_comes_after_the_gate_closed_is_not_used(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 1000;
    f->tool.cites = "secret.txt";
    start(f);
    test_host_run_for(&f->test, 500);
    trace_close_writes(&f->test.trace);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcomes[0].type, OUTCOME_TIMEOUT);
    assert_false(f->test.outcomes[0].timeout.retryable);
    assert_int_equal(f->test.cited.len, 0);
    f->tool.error = "nor is an error";
    start(f);
    test_host_run(&f->test);
    assert_int_equal(f->test.outcomes[1].type, OUTCOME_TIMEOUT);
    assert_log(f, "timeout c1, timeout c1");
}

/* Cancelling */

static void test_cancel_before_it_began(void **state)
{
    struct bounded_rig *f = *state;
    struct bounded_call *call = start(f);
    bounded_cancel(call);
    bounded_cancel(call);
    assert_int_equal(f->test.outcome_count, 0);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_int_equal(f->tool.executions, 0);
    assert_log(f, "failure c1");
}

static void test_cancel_while_running(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.takes_ms = 4000;
    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 1000);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_int_equal(f->test.outcomes[0].elapsed_ms, 1000);
    assert_log(f, "failure c1, late c1 (4000 ms)");
}

static void test_cancel_of_a_tool_that_comes_back_from_within(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.hangs = f->tool.heeds_cancel = true;
    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 1000);
    bounded_cancel(call);
    assert_int_equal(f->tool.finished, 1);
    assert_int_equal(f->test.outcome_count, 0);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
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
        loop_post(cancel->f->test.loop, task, cancel_begun);
    else
        bounded_cancel(cancel->call);
}

static void test_cancel_reaches_a_thread(void **state)
{
    struct bounded_rig *f = *state;
    fake_tool_on_pool(&f->tool);
    f->tool.hangs = f->tool.heeds_cancel = true;
    struct cancel cancel = {.call = start(f), .f = f};
    loop_post(f->test.loop, &cancel.task, cancel_begun);
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_log(f, "failure c1, late c1 (0 ms)");
    assert_int_equal(f->tool.finished, 1);
}

static void poke(struct test_host *test, struct bounded_call *call)
{
    (void)test;
    assert_false(bounded_waits(call));
    bounded_cancel(call);
    bounded_clock_changed(call);
    assert_int_equal(bounded_call_elapsed_us(call), 0);
}

static void test_nothing_changes_an_outcome(void **state)
{
    struct bounded_rig *f = *state;
    f->test.on_done = poke;
    run(f);
    assert_log(f, "result c1");
}

static void test_a_call_carries_the_hosts_data(void **state)
{
    struct bounded_rig *f = *state;
    struct bounded_call *call = start(f);
    assert_non_null(bounded_call_data(call));
    assert_string_equal(bounded_call_id(call), "c1");
    test_host_run(&f->test); /* the host makes sure that it gets it back */
    assert_log(f, "result c1");
}

/* A proposal that waits for a decision */

static void leave_open(struct test_host *test, struct bounded_call *call)
{
    (void)test;
    assert_true(bounded_waits(call));
}

static void test_a_host_that_can_ask_nobody_refuses(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    assert_denied(run(f), DENIAL_WRITE_DENIED, "nobody can be asked");
    assert_log(f, "propose c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
}

/* The hold clock runs, and the call's own time stands still all the same. */
static void test_d31_time_at_the_prompt_is_not_charged_by_a_host_that_forgets_its_clock(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->tool.takes_ms = 1000;
    f->test.on_propose = leave_open;
    struct bounded_call *call = start(f);
    test_host_run_for(&f->test, 31000);
    assert_int_equal(bounded_call_elapsed_us(call), SECONDS(1));
    bounded_resume(call);
    test_host_run_for(&f->test, 500);
    assert_int_equal(bounded_call_elapsed_us(call), SECONDS(1.5));
    bounded_run_confirmed(call, NULL, NULL, NULL);
    test_host_run(&f->test);
    assert_log(f, "propose c1, applied c1, result c1");
    assert_int_equal(f->test.outcomes[0].elapsed_ms, 1500);
}

static void test_cancel_while_a_proposal_waits(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->test.on_propose = leave_open;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    bounded_cancel(call);
    assert_false(bounded_waits(call));
    test_host_run(&f->test);
    assert_failed(&f->test.outcomes[0], true, "cancelled by the user");
    assert_log(f, "propose c1, failure c1");
    assert_int_equal(f->tool.executions, 1);
}

/* A job is out for it: it comes back to a call that is settled, which is only then over. */
static void test_cancel_while_a_job_of_the_host_is_out(void **state)
{
    struct bounded_rig *f = *state;
    f->tool.asks = FAKE_ASKS_FIELD;
    f->test.on_propose = leave_open;
    struct bounded_call *call = start(f);
    test_host_run(&f->test);
    bounded_resume(call);
    bounded_job_out(call);
    bounded_cancel(call);
    test_host_run(&f->test);
    assert_log(f, "propose c1, failure c1");
    assert_int_equal(f->test.host.pending, 1);
    assert_false(bounded_job_back(call));
    assert_log(f, "propose c1, failure c1, late c1 (0 ms)");
    assert_int_equal(f->test.host.pending, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_read, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_result_comes_later_and_once),
        TEST(test_a_tool_that_answers_at_once_is_heard_later_all_the_same),
        TEST(test_a_tool_on_a_pool_thread),
        TEST(test_an_expired_turn_starts_nothing),
        TEST(test_d33_every_end_settles_the_trace),
        TEST(test_d49_only_off_blocks_and_only_web_search),
        TEST(test_errors_become_failures_that_name_their_cause),
        TEST(test_siblings_are_not_touched),
        TEST(test_d45_a_late_tool_leaves_nothing_behind),
        TEST(test_d45_a_late_thread_leaves_nothing_behind),
        TEST(test_d25_the_hard_wait_is_never_below_five_seconds),
        TEST(test_d26_the_token_tells_the_true_time),
        TEST(test_the_tools_own_limit_beats_the_turns),
        TEST(test_a_tool_that_must_not_be_repeated_says_so),
        TEST(test_d31_a_held_clock_charges_nobody),
        TEST(test_d31_a_hold_nobody_told_of_charges_nobody),
        TEST(test_d34_what_comes_after_the_gate_closed_is_not_used),
        TEST(test_cancel_before_it_began),
        TEST(test_cancel_while_running),
        TEST(test_cancel_of_a_tool_that_comes_back_from_within),
        TEST(test_cancel_reaches_a_thread),
        TEST(test_nothing_changes_an_outcome),
        TEST(test_a_call_carries_the_hosts_data),
        TEST(test_a_host_that_can_ask_nobody_refuses),
        TEST(test_d31_time_at_the_prompt_is_not_charged_by_a_host_that_forgets_its_clock),
        TEST(test_cancel_while_a_proposal_waits),
        TEST(test_cancel_while_a_job_of_the_host_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
