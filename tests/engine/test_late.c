/* Late threads: a tool that timed out comes back when nobody waits for it any more, in the same step, in a later turn,
 * after the session. All that is ever heard of it is late.suppressed. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* A tool with ten seconds that takes `takes_s`. */
static void init_slow(struct turn_rig *rig, struct fake_tool *slow, double takes_s)
{
    turn_rig_init(rig);
    fake_tool_init(slow, "slow", EFFECT_READ_ONLY);
    slow->tool.spec.timeout_s = 10;
    slow->takes_ms = (int64_t)(takes_s * 1000);
    turn_rig_add_tool(rig, &slow->tool);
}

static void end_slow(struct turn_rig *rig, struct fake_tool *slow)
{
    turn_check_end(rig);
    assert_int_equal(slow->finished, slow->executions);
    fake_tool_release(slow);
}

static const struct event *late(const struct turn_rig *rig)
{
    const struct event *event = turn_rig_event(rig, EVENT_LATE_SUPPRESSED, 0);

    assert_non_null(event);
    return event;
}

/* ---- in the same turn ---- */

static void test_tool_that_comes_back_within_its_wave_is_suppressed(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow, sibling;
    struct fake_answer *a;

    (void)state;
    init_slow(&rig, &slow, 20);
    fake_tool_init(&sibling, "sibling", EFFECT_READ_ONLY);
    sibling.takes_ms = 30000;
    turn_rig_add_tool(&rig, &sibling.tool);
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "o", "sibling", "{}");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "s"), "timeout");
    assert_int_equal(turn_rig_finished(&rig, "s")->tool_finished.elapsed_ms, 10000);
    assert_int_equal(late(&rig)->late_suppressed.elapsed_ms, 20000);
    assert_true(turn_check_place(&rig, EVENT_LATE_SUPPRESSED, "s", 0) <
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "o", 0));
    assert_string_equal(turn_check_outcome(&rig, "o"), "result");
    assert_non_null(strstr(turn_check_message(&rig, "s"), "\"status\":\"timeout\""));
    end_slow(&rig, &slow);
    fake_tool_release(&sibling);
}

static void test_d34_tool_that_takes_exactly_its_time_has_one_outcome(void **state)
{
    static const struct {
        double takes_s;
        const char *outcome;
        size_t lates;
    } cases[] = {{9.999, "result", 0}, {10, "timeout", 1}, {10.001, "timeout", 1}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        struct fake_tool slow;

        init_slow(&rig, &slow, cases[i].takes_s);
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "s", "slow", "{}");
        turn_rig_turn(&rig, "go");
        assert_string_equal(turn_check_outcome(&rig, "s"), cases[i].outcome);
        assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), cases[i].lates);
        end_slow(&rig, &slow);
    }
}

static void test_d45_late_success_counts_for_nothing_and_the_call_may_be_made_again(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 20);
    slow.cites = "https://example.org";
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "1", "slow", "{}");
    answer(&rig)->takes_us = SECONDS(15); /* meanwhile it comes back */
    fake_answer_call(rig.model->answers.items[1], "2", "slow", "{}");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "1"), "timeout");
    assert_string_equal(turn_check_outcome(&rig, "2"), "timeout"); /* not a duplicate: it never succeeded */
    assert_int_equal(slow.executions, 2);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 2);
    assert_string_equal(event_json(turn_rig_event(&rig, EVENT_TURN_FINALIZED, 0), "citations"), "[]");
    end_slow(&rig, &slow);
}

static void test_d45_late_failure_does_not_block_the_tool(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 12);
    slow.error = "broken for ever";
    slow.final = true;
    rig.harness.thinking = THINKING_LOW;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "1", "slow", "{}");
    answer(&rig)->takes_us = SECONDS(5);
    fake_answer_call(rig.model->answers.items[1], "2", "slow", "{}");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "2"), "timeout");
    assert_int_equal(turn_rig_count(&rig, EVENT_REFLECTION), 2); /* for the timeouts, not for what came late */
    end_slow(&rig, &slow);
}

static void test_tool_that_may_not_be_repeated_after_a_timeout_is_blocked_for_the_turn(void **state)
{
    (void)state;
    for (int no_retry = 0; no_retry < 2; no_retry++) {
        struct turn_rig rig;
        struct fake_tool slow;

        init_slow(&rig, &slow, 20);
        slow.tool.spec.no_retry_on_timeout = no_retry;
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "1", "slow", "{}");
        fake_answer_call(answer(&rig), "2", "slow", "{}");
        turn_rig_turn(&rig, "go");
        assert_string_equal(turn_check_json(&rig, event_json(turn_rig_finished(&rig, "1"), "timeout"), "retryable"),
                            no_retry ? "false" : "true");
        assert_string_equal(turn_check_outcome(&rig, "2"), no_retry ? "denied:blocked" : "timeout");
        /* For the turn, not for the session. */
        slow.takes_ms = 0;
        fake_answer_call(answer(&rig), "3", "slow", "{}");
        turn_rig_turn(&rig, "again");
        assert_string_equal(turn_check_outcome(&rig, "3"), "result");
        end_slow(&rig, &slow);
    }
}

static void test_late_proposal_is_never_asked_about_and_never_written(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;
    CLEANUP(free) char *content = NULL;

    (void)state;
    init_slow(&rig, &slow, 20);
    slow.tool.spec.effect = EFFECT_LOCAL_WRITE;
    slow.asks = FAKE_PROPOSES;
    slow.path = "a.txt";
    slow.text = "too late";
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    answer(&rig)->takes_us = SECONDS(30); /* the turn still runs and its gate is open when it comes */
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_PROPOSED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(slow.confirmed, 0);
    content = turn_rig_read(&rig, "a.txt");
    assert_null(content);
    end_slow(&rig, &slow);
}

/* ---- after the turn ---- */

static void test_turn_does_not_wait_for_a_late_thread_but_the_engine_does(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 300);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(20));
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 10000);
    assert_false(engine_turn_running(rig.engine));
    assert_false(engine_idle(rig.engine));
    turn_rig_run(&rig);
    assert_true(engine_idle(rig.engine));
    assert_int_equal(rig.events[rig.event_count - 1].type, EVENT_LATE_SUPPRESSED);
    assert_int_equal(late(&rig)->turn, 1);
    assert_int_equal(late(&rig)->late_suppressed.elapsed_ms, 300000);
    end_slow(&rig, &slow);
}

/* The lines of the second turn, without numbers and times. */
static char *second_turn(const struct turn_rig *rig)
{
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *event = &rig->events[i];
        const char *type;

        if (event->turn != 2)
            continue;
        type = memmem(event->raw, event->raw_len, "\"turn\":", 7);
        strbuf_add(&text, type, event->raw_len - (size_t)(type - event->raw));
        strbuf_addch(&text, '\n');
    }
    return strbuf_detach(&text, NULL);
}

/* A turn that leaves a thread behind which comes back `takes_s` after it began, and a second one of ten seconds that
 * uses the same tool and the same ids. */
static char *run_two_turns(double takes_s, size_t *lates)
{
    struct turn_rig rig;
    struct fake_tool slow, quick;
    struct fake_answer *a;
    char *lines;

    init_slow(&rig, &slow, takes_s);
    slow.cites = "https://example.org";
    fake_tool_init(&quick, "quick", EFFECT_READ_ONLY);
    quick.takes_ms = 5000;
    turn_rig_add_tool(&rig, &quick.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    answer(&rig)->text = "one";
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "one"}});
    turn_rig_run_for(&rig, SECONDS(10));
    turn_rig_run_for(&rig, SECONDS(1));
    assert_string_equal(turn_check_finished(&rig)->text, "one");
    slow.takes_ms = 1000;
    a = answer(&rig);
    a->takes_us = SECONDS(4);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "q", "quick", "{}");
    answer(&rig)->text = "two";
    turn_rig_turn(&rig, "two");
    *lates = turn_rig_count(&rig, EVENT_LATE_SUPPRESSED);
    for (size_t i = 0; i < *lates; i++)
        assert_int_equal(turn_rig_event(&rig, EVENT_LATE_SUPPRESSED, i)->turn, 1);
    lines = second_turn(&rig);
    end_slow(&rig, &slow);
    fake_tool_release(&quick);
    return lines;
}

static void test_late_thread_of_one_turn_touches_nothing_of_the_next(void **state)
{
    size_t lates;
    CLEANUP(free) char *undisturbed = run_two_turns(10.5, &lates); /* back before the second turn begins */

    (void)state;
    assert_int_equal(lates, 1);
    for (double takes_s = 11; takes_s < 24; takes_s += 0.5) {
        CLEANUP(free) char *disturbed = run_two_turns(takes_s, &lates);

        assert_int_equal(lates, 1);
        assert_string_equal(disturbed, undisturbed);
    }
}

static void test_thread_that_comes_back_after_the_session_ended_is_only_noted(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 100);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(20));
    turn_check_do(&rig, INTENT_END);
    assert_int_equal(rig.events[rig.event_count - 2].type, EVENT_SESSION_ENDED);
    assert_int_equal(rig.events[rig.event_count - 1].type, EVENT_LATE_SUPPRESSED);
    end_slow(&rig, &slow);
}

static void test_cancelled_turn_leaves_its_threads_behind_as_late_ones(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 9);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(3));
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run_for(&rig, SECONDS(1));
    assert_string_equal(turn_check_finished(&rig)->status, "cancelled");
    assert_string_equal(turn_check_outcome(&rig, "s"), "failure");
    assert_int_equal(slow.cancels, 1);
    turn_rig_turn(&rig, "next"); /* at once */
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_FINISHED), 2);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 1);
    end_slow(&rig, &slow);
}

static void test_several_turns_may_wait_for_their_threads_at_once(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;

    (void)state;
    init_slow(&rig, &slow, 200);
    turn_rig_open(&rig);
    for (int turn = 0; turn < 3; turn++) {
        struct fake_answer *a = answer(&rig);

        fake_answer_call(a, "s", "slow", "{\"n\":1}");
        answer(&rig)->text = "ok";
        turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
        turn_rig_run_for(&rig, SECONDS(30));
        slow.takes_ms -= 75000; /* the second comes back before the first, the third with it */
    }
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_FINISHED), 3);
    turn_rig_run(&rig);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 3);
    end_slow(&rig, &slow);
}

/* ---- on the pool ---- */

/* Time does not pass by itself while a thread is out, so it is pushed on once the thread is there. */
struct pool_turn {
    struct turn_rig rig;
    struct fake_tool tool;
    struct sink sink;
    struct loop_task push;
    int rounds;
};

static void push_on(struct loop_task *task)
{
    struct pool_turn *turn = (struct pool_turn *)((char *)task - offsetof(struct pool_turn, push));

    if (turn->rounds-- > 0 || atomic_load(&turn->tool.executions) == 0)
        loop_post(turn->rig.loop, task, push_on);
    else
        fake_clock_advance(&turn->rig.clock, SECONDS(10));
}

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct pool_turn *turn = (struct pool_turn *)((char *)sink - offsetof(struct pool_turn, sink));

    (void)session;
    if (event->type == EVENT_TOOL_STARTED && strcmp(event->tool_started.tool, "pool") == 0 && turn->tool.hangs) {
        turn->rounds = 3;
        loop_post(turn->rig.loop, &turn->push, push_on);
    }
}

static void stop_loop(void *data)
{
    loop_stop(data);
}

/* A turn whose tool hangs on its thread past its ten seconds; gives out when the turn has ended. */
static void run_hanging(struct pool_turn *turn)
{
    *turn = (struct pool_turn){.sink = {.event = hear}};
    turn_rig_init(&turn->rig);
    fake_tool_init(&turn->tool, "pool", EFFECT_LOCAL_WRITE);
    fake_tool_on_pool(&turn->tool);
    turn->tool.tool.spec.timeout_s = 10;
    turn->tool.hangs = true;
    turn->tool.asks = FAKE_PROPOSES;
    turn->tool.path = "a.txt";
    turn->tool.text = "too late";
    turn_rig_add_tool(&turn->rig, &turn->tool.tool);
    turn->rig.sink.next = &turn->sink;
    turn->rig.answer = turn_rig_say_yes;
    turn_rig_open(&turn->rig);
    engine_on_turn_end(turn->rig.engine, stop_loop, turn->rig.loop);
    fake_answer_call(answer(&turn->rig), "p", "pool", "{}");
    answer(&turn->rig)->text = "one";
    turn_rig_turn(&turn->rig, "go");
    assert_string_equal(turn_check_outcome(&turn->rig, "p"), "timeout");
    assert_string_equal(turn_check_finished(&turn->rig)->status, "done");
    assert_false(engine_idle(turn->rig.engine));
}

static void end_hanging(struct pool_turn *turn)
{
    CLEANUP(free) char *content = turn_rig_read(&turn->rig, "a.txt");

    assert_null(content);
    assert_int_equal(turn->tool.confirmed, 0);
    assert_int_equal(turn_rig_count(&turn->rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(turn_rig_count(&turn->rig, EVENT_WRITE_PROPOSED), 0);
    turn_check_end(&turn->rig);
    fake_tool_release(&turn->tool);
}

static void test_thread_that_hangs_past_its_turn_is_suppressed_when_it_comes_back(void **state)
{
    struct pool_turn turn;

    (void)state;
    run_hanging(&turn);
    fake_tool_let_go(&turn.tool);
    turn_rig_run(&turn.rig);
    assert_int_equal(turn.rig.events[turn.rig.event_count - 1].type, EVENT_LATE_SUPPRESSED);
    end_hanging(&turn);
}

static void let_go(struct fake_provider *provider, const struct model_request *request, void *data)
{
    struct pool_turn *turn = data;

    (void)provider;
    (void)request;
    fake_tool_let_go(&turn->tool);
}

static void test_thread_that_comes_back_in_the_next_turn_is_suppressed(void **state)
{
    struct pool_turn turn;

    (void)state;
    run_hanging(&turn);
    turn.rig.model->asked = let_go;
    turn.rig.model->asked_data = &turn;
    answer(&turn.rig)->takes_us = SECONDS(1); /* time passes only once the thread is back */
    answer(&turn.rig)->text = "two";
    turn_rig_turn(&turn.rig, "next");
    turn_rig_run(&turn.rig);
    assert_int_equal(turn_rig_count(&turn.rig, EVENT_TURN_FINISHED), 2);
    assert_true(turn_check_place(&turn.rig, EVENT_LATE_SUPPRESSED, NULL, 0) <
                turn_check_place(&turn.rig, EVENT_MODEL_RESPONDED, NULL, 2));
    end_hanging(&turn);
}

static void test_thread_that_comes_back_after_the_session_is_suppressed(void **state)
{
    struct pool_turn turn;

    (void)state;
    run_hanging(&turn);
    turn_rig_submit(&turn.rig, &(struct intent){.type = INTENT_END});
    fake_tool_let_go(&turn.tool);
    turn_rig_run(&turn.rig);
    assert_int_equal(turn_rig_count(&turn.rig, EVENT_SESSION_ENDED), 1);
    end_hanging(&turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool_that_comes_back_within_its_wave_is_suppressed),
        cmocka_unit_test(test_d34_tool_that_takes_exactly_its_time_has_one_outcome),
        cmocka_unit_test(test_d45_late_success_counts_for_nothing_and_the_call_may_be_made_again),
        cmocka_unit_test(test_d45_late_failure_does_not_block_the_tool),
        cmocka_unit_test(test_tool_that_may_not_be_repeated_after_a_timeout_is_blocked_for_the_turn),
        cmocka_unit_test(test_late_proposal_is_never_asked_about_and_never_written),
        cmocka_unit_test(test_turn_does_not_wait_for_a_late_thread_but_the_engine_does),
        cmocka_unit_test(test_late_thread_of_one_turn_touches_nothing_of_the_next),
        cmocka_unit_test(test_thread_that_comes_back_after_the_session_ended_is_only_noted),
        cmocka_unit_test(test_cancelled_turn_leaves_its_threads_behind_as_late_ones),
        cmocka_unit_test(test_several_turns_may_wait_for_their_threads_at_once),
        cmocka_unit_test(test_thread_that_hangs_past_its_turn_is_suppressed_when_it_comes_back),
        cmocka_unit_test(test_thread_that_comes_back_in_the_next_turn_is_suppressed),
        cmocka_unit_test(test_thread_that_comes_back_after_the_session_is_suppressed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
