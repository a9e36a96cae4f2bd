/* How budgets end: by themselves when nobody is there, at a gate when somebody is, and never in the middle of a call.
 * Time that passes while a person looks or is asked is nobody's. */

#include "base/mem.h"
#include "base/strbuf.h"
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

static void extend(struct turn_rig *rig, enum budget_key key, double share)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_EXTEND, .extend = {.key = key, .share = share}});
    turn_rig_run(rig);
}

static const char *held_at(const struct turn_rig *rig)
{
    struct held_view held;

    return engine_held(rig->engine, &held) ? held.why : "";
}

/* ---- each key ---- */

static const struct ending {
    enum budget_key key;
    const char *why;
} endings[] = {
    {BUDGET_WALL_MS, "limit: wall_ms"},           {BUDGET_STEPS, "limit: steps"},
    {BUDGET_INPUT_TOKENS, "limit: input_tokens"}, {BUDGET_OUTPUT_TOKENS, "limit: output_tokens"},
    {BUDGET_COST_USD, "limit: cost_usd"},
};

/* One step that calls a tool and uses up the budget of the key. */
static void init_ending(struct turn_rig *rig, struct fake_tool *tool, enum budget_key key, bool interactive)
{
    struct budget_limits *limits = &rig->harness.limits;
    struct fake_answer *a;

    turn_rig_init(rig);
    rig->harness.interactive = interactive;
    fake_tool_init(tool, "look", EFFECT_READ_ONLY);
    tool->takes_ms = 3000;
    turn_rig_add_tool(rig, &tool->tool);
    limits->wall_s = key == BUDGET_WALL_MS ? 2 : 60;
    limits->steps = key == BUDGET_STEPS ? 1 : 6;
    limits->input_tokens = key == BUDGET_INPUT_TOKENS ? 100 : 1000;
    limits->output_tokens = key == BUDGET_OUTPUT_TOKENS ? 10 : 1000;
    limits->cost_usd = key == BUDGET_COST_USD ? 0.01 : 10;
    a = answer(rig);
    fake_answer_call(a, "l", "look", "{}");
    a->usage = (struct usage){.input = 100, .output = 10};
    a->cost_usd = 0.01;
    answer(rig)->text = "went on";
    turn_rig_open(rig);
}

static void test_used_up_budget_ends_the_turn_when_nobody_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct turn_rig rig;
        struct fake_tool tool;

        init_ending(&rig, &tool, endings[i].key, false);
        turn_rig_turn(&rig, "go");
        assert_string_equal(turn_check_finished(&rig)->status, "budget");
        assert_string_equal(turn_check_outcome(&rig, "l"), "result"); /* the step was let finish */
        assert_int_equal(rig.model->request_count, 1);
        assert_int_equal(turn_rig_count(&rig, EVENT_HELD), 0);
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

static void test_used_up_budget_holds_and_goes_on_when_it_is_raised(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        struct turn_rig rig;
        struct fake_tool tool;
        enum budget_key other = endings[i].key == BUDGET_STEPS ? BUDGET_WALL_MS : BUDGET_STEPS;

        init_ending(&rig, &tool, endings[i].key, true);
        turn_rig_turn(&rig, "go");
        assert_string_equal(held_at(&rig), endings[i].why);
        extend(&rig, other, 1); /* of no use */
        assert_string_equal(held_at(&rig), endings[i].why);
        extend(&rig, endings[i].key, 2);
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        assert_string_equal(turn_check_finished(&rig)->text, "went on");
        assert_string_equal(turn_rig_event(&rig, EVENT_RELEASED, 0)->released.by, "extend");
        assert_int_equal(turn_rig_count(&rig, EVENT_BUDGET_OPENED), 3);
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

static void test_used_up_budget_ends_the_turn_when_the_user_goes_on_without_raising_it(void **state)
{
    static const enum intent_type ways[] = {INTENT_CONTINUE, INTENT_STEP, INTENT_CANCEL};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        for (size_t way = 0; way < COUNT_OF(ways); way++) {
            struct turn_rig rig;
            struct fake_tool tool;

            init_ending(&rig, &tool, endings[i].key, true);
            turn_rig_turn(&rig, "go");
            assert_string_equal(held_at(&rig), endings[i].why);
            turn_check_do(&rig, ways[way]);
            if (ways[way] == INTENT_STEP) /* before finalizing */
                turn_check_do(&rig, INTENT_CONTINUE);
            assert_string_equal(turn_check_finished(&rig)->status, ways[way] == INTENT_CANCEL ? "cancelled" : "budget");
            assert_int_equal(rig.model->request_count, 1);
            turn_check_end(&rig);
            fake_tool_release(&tool);
        }
}

static void test_raising_is_refused_when_there_is_nothing_to_raise(void **state)
{
    struct turn_rig rig;
    struct intent more = {.type = INTENT_EXTEND, .extend = {.key = BUDGET_STEPS, .share = 1}};
    struct intent none = {.type = INTENT_EXTEND, .extend = {.key = BUDGET_STEPS, .share = 0}};

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    assert_string_not_equal(turn_check_submit(&rig, &more), "");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=finalize"}});
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    assert_string_not_equal(turn_check_submit(&rig, &more), ""); /* before the budget is opened */
    answer(&rig)->takes_us = SECONDS(5);
    turn_rig_run_for(&rig, SECONDS(1));
    assert_string_not_equal(turn_check_submit(&rig, &none), "");
    assert_string_equal(turn_check_submit(&rig, &more), "");
    turn_rig_run(&rig);
    assert_string_not_equal(turn_check_submit(&rig, &more), ""); /* it is over */
    turn_check_do(&rig, INTENT_CONTINUE);
    turn_check_end(&rig);
}

/* ---- time ---- */

static void test_deadline_while_the_model_is_asked_cuts_it_short(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.wall_s = 10;
    turn_rig_open(&rig);
    answer(&rig)->takes_us = SECONDS(30);
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_finished(&rig)->status, "budget");
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 10000);
    assert_true(rig.model->requests[0].cancelled);
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_RESPONDED), 0);
    turn_check_end(&rig);
}

static void test_answer_that_comes_while_the_user_decides_is_taken_up_or_dropped(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        struct turn_rig rig;
        struct fake_answer *a;

        turn_rig_init(&rig);
        rig.harness.interactive = true;
        rig.harness.limits.wall_s = 10;
        turn_rig_open(&rig);
        turn_rig_file(&rig, "a.txt", "A\n");
        a = answer(&rig);
        a->takes_us = SECONDS(30);
        fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
        turn_rig_turn(&rig, "go");
        assert_string_equal(held_at(&rig), "limit: wall_ms");
        assert_int_equal(rig.clock.now_us, SECONDS(30)); /* it was let answer */
        assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_RESPONDED), 0);
        if (more)
            extend(&rig, BUDGET_WALL_MS, 1);
        else
            turn_check_do(&rig, INTENT_CONTINUE);
        assert_string_equal(turn_check_finished(&rig)->status, more ? "done" : "budget");
        assert_string_equal(turn_check_outcome(&rig, "r"), more ? "result" : "");
        assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 10000);
        assert_int_equal(turn_check_finished(&rig)->waited_ms, 20000);
        turn_check_end(&rig);
    }
}

static void test_raised_time_lets_the_same_request_go_on(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    rig.harness.limits.wall_s = 10;
    turn_rig_open(&rig);
    a = answer(&rig);
    a->takes_us = SECONDS(15);
    a->text = "slow but sure";
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(12));
    assert_string_equal(held_at(&rig), "limit: wall_ms");
    extend(&rig, BUDGET_WALL_MS, 1);
    assert_string_equal(turn_check_finished(&rig)->text, "slow but sure");
    assert_int_equal(rig.model->request_count, 1);
    turn_check_end(&rig);
}

static void test_time_that_is_raised_while_the_model_is_asked_counts_at_once(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.wall_s = 10;
    turn_rig_open(&rig);
    a = answer(&rig);
    a->takes_us = SECONDS(15);
    a->text = "slow but sure";
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(5));
    extend(&rig, BUDGET_WALL_MS, 1);
    assert_string_equal(turn_check_finished(&rig)->text, "slow but sure");
    turn_check_end(&rig);
}

static void test_deadline_is_met_to_the_microsecond(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct turn_rig rig;

        turn_rig_init(&rig);
        rig.harness.interactive = true;
        rig.harness.limits.wall_s = 16 + i * 1e-6;
        turn_rig_open(&rig);
        answer(&rig)->takes_us = -1;
        turn_rig_turn(&rig, "go");
        assert_string_equal(held_at(&rig), "limit: wall_ms");
        turn_check_do(&rig, INTENT_CONTINUE);
        assert_string_equal(turn_check_finished(&rig)->status, "budget");
        turn_check_end(&rig);
    }
}

static void test_d25_d26_late_call_has_five_seconds_and_a_token_that_tells_the_truth(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;
    struct fake_answer *a;
    const struct event *started;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "look", EFFECT_READ_ONLY);
    tool.takes_ms = 4000;
    turn_rig_add_tool(&rig, &tool.tool);
    rig.harness.limits.wall_s = 10;
    turn_rig_open(&rig);
    a = answer(&rig);
    a->takes_us = SECONDS(9);
    fake_answer_call(a, "l", "look", "{}");
    turn_rig_turn(&rig, "go");
    started = turn_rig_event(&rig, EVENT_TOOL_STARTED, 0);
    assert_int_equal(started->tool_started.deadline_ms, 5000);
    assert_true(tool.token_s > 0.99 && tool.token_s < 1.01);
    assert_string_equal(turn_check_outcome(&rig, "l"), "result");
    assert_string_equal(turn_check_finished(&rig)->status, "budget");
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

static void test_tools_own_cap_counts_down_to_the_floor(void **state)
{
    static const struct {
        double cap_s;
        int64_t deadline_ms;
    } cases[] = {{0, 45000}, {20, 20000}, {1, 5000}, {300, 60000}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        struct fake_tool tool;

        turn_rig_init(&rig);
        fake_tool_init(&tool, "look", EFFECT_READ_ONLY);
        tool.tool.spec.timeout_s = cases[i].cap_s;
        tool.hangs = true;
        tool.heeds_cancel = true;
        turn_rig_add_tool(&rig, &tool.tool);
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "l", "look", "{}");
        turn_rig_turn(&rig, "go");
        assert_int_equal(turn_rig_event(&rig, EVENT_TOOL_STARTED, 0)->tool_started.deadline_ms, cases[i].deadline_ms);
        assert_string_equal(turn_check_outcome(&rig, "l"), "timeout");
        assert_int_equal(turn_rig_finished(&rig, "l")->tool_finished.elapsed_ms, cases[i].deadline_ms);
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

static void test_calls_after_the_deadline_are_denied_each_with_a_message(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    fake_tool_init(&slow, "slow", EFFECT_NETWORK);
    slow.takes_ms = 4000;
    turn_rig_add_tool(&rig, &slow.tool);
    rig.harness.limits.wall_s = 3;
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "t", "slow", "{}");
    fake_answer_call(a, "l", "list_dir", "{}");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "s"), "result");
    assert_string_equal(turn_check_outcome(&rig, "t"), "denied:deadline");
    assert_string_equal(turn_check_outcome(&rig, "l"), "denied:deadline");
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_STARTED), 1);
    extend(&rig, BUDGET_WALL_MS, 1);
    assert_non_null(strstr(turn_check_message(&rig, "t"), "deadline"));
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    turn_check_end(&rig);
    fake_tool_release(&slow);
}

/* ---- calls ---- */

static void test_d44_calls_past_the_limit_are_denied_and_the_turn_goes_on(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.tool_calls = 2;
    turn_rig_open(&rig);
    a = answer(&rig);
    for (int i = 0; i < 4; i++) {
        CLEANUP(free) char *arguments = xasprintf("{\"offset\":%d}", i);

        fake_answer_call(a, NULL, "list_dir", arguments);
    }
    fake_answer_call(a, "u", "no_such", "{}"); /* what cannot run costs nothing and says why */
    answer(&rig)->text = "enough";
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "c2"), "result");
    assert_string_equal(turn_check_outcome(&rig, "c3"), "denied:blocked");
    assert_string_equal(turn_check_outcome(&rig, "c4"), "denied:blocked");
    assert_string_equal(turn_check_outcome(&rig, "u"), "denied:validation");
    assert_non_null(strstr(turn_check_message(&rig, "c4"), "limit of 2 tool calls"));
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_int_equal(turn_check_finished(&rig)->tool_calls, 2);
    turn_check_end(&rig);
}

static void test_tool_calls_follow_the_steps_unless_they_are_limited_themselves(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.steps = 3;
    turn_rig_open(&rig);
    a = answer(&rig);
    for (int i = 0; i < 4; i++) {
        CLEANUP(free) char *arguments = xasprintf("{\"offset\":%d}", i);

        fake_answer_call(a, NULL, "list_dir", arguments);
    }
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "c3"), "result");
    assert_string_equal(turn_check_outcome(&rig, "c4"), "denied:blocked");
    turn_check_end(&rig);
}

/* ---- warnings ---- */

static void test_each_key_warns_once_at_four_fifths(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.input_tokens = 1000;
    rig.harness.limits.tool_calls = 100;
    turn_rig_open(&rig);
    for (int i = 1; i <= 5; i++) {
        struct fake_answer *a = answer(&rig);
        CLEANUP(free) char *arguments = xasprintf("{\"offset\":%d}", i);

        a->usage.input = 180;
        fake_answer_call(a, NULL, "list_dir", arguments);
    }
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_BUDGET_WARNED), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct event_budget_warned *warned = &turn_rig_event(&rig, EVENT_BUDGET_WARNED, i)->budget_warned;

        assert_true(warned->used >= 0.8 * warned->limit);
        assert_true(strcmp(warned->key, "input_tokens") == 0 || strcmp(warned->key, "steps") == 0);
    }
    assert_string_not_equal(turn_rig_event(&rig, EVENT_BUDGET_WARNED, 0)->budget_warned.key,
                            turn_rig_event(&rig, EVENT_BUDGET_WARNED, 1)->budget_warned.key);
    turn_check_end(&rig);
}

/* ---- clocks ---- */

static void test_d31_clocks_stand_still_while_held_and_while_asked(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    rig.harness.limits.wall_s = 10;
    rig.answer = turn_rig_say_yes;
    rig.answer_after_us = SECONDS(3600);
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=model"}});
    a = answer(&rig);
    a->takes_us = SECONDS(2);
    fake_answer_call(a, "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
    turn_rig_turn(&rig, "go");
    turn_rig_run_for(&rig, SECONDS(100));
    turn_check_do(&rig, INTENT_CONTINUE); /* an hour for the question, then held again */
    turn_rig_run_for(&rig, SECONDS(100));
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_string_equal(turn_check_outcome(&rig, "w"), "result");
    assert_int_equal(turn_rig_finished(&rig, "w")->tool_finished.elapsed_ms, 0);
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 2000);
    assert_int_equal(turn_check_finished(&rig)->waited_ms, 3800000);
    assert_int_equal(turn_rig_event(&rig, EVENT_WRITE_DECIDED, 0)->write_decided.waited_ms, 3600000);
    turn_check_end(&rig);
}

static void test_clocks_go_on_where_they_stood(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    rig.harness.limits.wall_s = 20;
    fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
    slow.hangs = true;
    slow.heeds_cancel = true;
    slow.tool.spec.timeout_s = 10;
    turn_rig_add_tool(&rig, &slow.tool);
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "tool=list_dir"}});
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=model"}});
    a = answer(&rig);
    a->takes_us = SECONDS(3);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "l", "list_dir", "{}");
    answer(&rig)->takes_us = -1;
    turn_rig_turn(&rig, "go");
    for (int holds = 0; holds < 3; holds++) { /* before the model, before a tool, before the model */
        assert_string_not_equal(held_at(&rig), "");
        turn_rig_run_for(&rig, SECONDS(100));
        turn_check_do(&rig, INTENT_CONTINUE);
    }
    assert_string_equal(turn_check_outcome(&rig, "s"), "timeout");
    assert_int_equal(turn_rig_finished(&rig, "s")->tool_finished.elapsed_ms, 10000);
    assert_string_equal(held_at(&rig), "limit: wall_ms");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 20000);
    assert_int_equal(turn_check_finished(&rig)->waited_ms, 300000);
    turn_check_end(&rig);
    fake_tool_release(&slow);
}

static void test_running_sibling_does_not_time_out_while_another_call_is_held(void **state)
{
    struct turn_rig rig;
    struct fake_tool slow;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
    slow.takes_ms = 100000;
    slow.tool.spec.timeout_s = 10;
    turn_rig_add_tool(&rig, &slow.tool);
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "tool=list_dir"}});
    a = answer(&rig);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "l", "list_dir", "{}");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(95));
    assert_string_equal(held_at(&rig), "tool=list_dir");
    assert_string_equal(turn_check_outcome(&rig, "s"), "");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_outcome(&rig, "s"), "result"); /* five more seconds, on a clock that stood at zero */
    assert_int_equal(turn_rig_finished(&rig, "s")->tool_finished.elapsed_ms, 5000);
    turn_check_end(&rig);
    fake_tool_release(&slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_used_up_budget_ends_the_turn_when_nobody_is_there),
        cmocka_unit_test(test_used_up_budget_holds_and_goes_on_when_it_is_raised),
        cmocka_unit_test(test_used_up_budget_ends_the_turn_when_the_user_goes_on_without_raising_it),
        cmocka_unit_test(test_raising_is_refused_when_there_is_nothing_to_raise),
        cmocka_unit_test(test_deadline_while_the_model_is_asked_cuts_it_short),
        cmocka_unit_test(test_answer_that_comes_while_the_user_decides_is_taken_up_or_dropped),
        cmocka_unit_test(test_raised_time_lets_the_same_request_go_on),
        cmocka_unit_test(test_time_that_is_raised_while_the_model_is_asked_counts_at_once),
        cmocka_unit_test(test_deadline_is_met_to_the_microsecond),
        cmocka_unit_test(test_d25_d26_late_call_has_five_seconds_and_a_token_that_tells_the_truth),
        cmocka_unit_test(test_tools_own_cap_counts_down_to_the_floor),
        cmocka_unit_test(test_calls_after_the_deadline_are_denied_each_with_a_message),
        cmocka_unit_test(test_d44_calls_past_the_limit_are_denied_and_the_turn_goes_on),
        cmocka_unit_test(test_tool_calls_follow_the_steps_unless_they_are_limited_themselves),
        cmocka_unit_test(test_each_key_warns_once_at_four_fifths),
        cmocka_unit_test(test_d31_clocks_stand_still_while_held_and_while_asked),
        cmocka_unit_test(test_clocks_go_on_where_they_stood),
        cmocka_unit_test(test_running_sibling_does_not_time_out_while_another_call_is_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
