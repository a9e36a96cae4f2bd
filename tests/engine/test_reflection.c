/* When the model looks back, how long it is waited for, and what comes of it. */

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

/* A rig whose first answer calls a tool that fails. */
static void init_failing(struct turn_rig *rig, struct fake_tool *bad)
{
    turn_rig_init(rig);
    fake_tool_init(bad, "bad", EFFECT_READ_ONLY);
    bad->error = "it broke";
    turn_rig_add_tool(rig, &bad->tool);
    rig->harness.thinking = THINKING_LOW;
    fake_answer_call(answer(rig), "b", "bad", "{}");
}

static void end_failing(struct turn_rig *rig, struct fake_tool *bad)
{
    turn_check_end(rig);
    fake_tool_release(bad);
}

static const struct event_reflection *reflection(const struct turn_rig *rig)
{
    const struct event *event = turn_rig_event(rig, EVENT_REFLECTION, 0);

    assert_non_null(event);
    return &event->reflection;
}

static void test_model_looks_back_after_a_tool_failed_and_reads_its_own_words(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;
    const struct message_list *asked, *after;
    struct fake_answer *look;

    (void)state;
    init_failing(&rig, &bad);
    turn_rig_open(&rig);
    look = fake_provider_reflection(rig.model);
    look->text = "I will try another way.";
    look->usage.output = 9;
    turn_rig_turn(&rig, "try");
    assert_string_equal(reflection(&rig)->text, "I will try another way.");
    assert_true(reflection(&rig)->should_continue);
    assert_false(reflection(&rig)->stub);
    assert_true(rig.model->requests[1].reflection);
    assert_int_equal(rig.model->requests[1].tool_count, rig.model->requests[0].tool_count);
    asked = &rig.model->requests[1].messages;
    assert_non_null(strstr(asked->items[asked->count - 1].text, "bad (b): it broke"));
    after = turn_rig_messages(&rig);
    assert_string_equal(after->items[after->count - 1].text, "I will try another way.");
    assert_string_equal(
        turn_check_json(&rig, event_body_json(EVENT_TURN_FINISHED, turn_check_finished(&rig), "usage"), "output"), "9");
    end_failing(&rig, &bad);
}

static void test_failure_that_was_looked_back_at_is_forgotten(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;
    const struct fake_request *last;

    (void)state;
    init_failing(&rig, &bad);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "m", "read_file", "{\"path\":\"none\"}");
    fake_answer_call(answer(&rig), "l", "list_dir", "{}"); /* nothing to look back at */
    turn_rig_turn(&rig, "try");
    assert_int_equal(turn_rig_count(&rig, EVENT_REFLECTION), 2);
    assert_int_equal(turn_rig_event(&rig, EVENT_REFLECTION, 1)->reflection.step, 2);
    last = &rig.model->requests[3];
    assert_true(last->reflection);
    assert_null(strstr(last->messages.items[last->messages.count - 1].text, "it broke"));
    assert_non_null(strstr(last->messages.items[last->messages.count - 1].text, "read_file (m)"));
    end_failing(&rig, &bad);
}

static void test_model_does_not_look_back_when_it_need_not(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct turn_rig rig;
        struct fake_tool bad;

        init_failing(&rig, &bad);
        if (i == 0)
            rig.harness.thinking = THINKING_OFF;
        if (i == 1)
            rig.harness.reflect_on_tool_error = false;
        if (i == 2)
            bad.error = NULL; /* it works */
        turn_rig_open(&rig);
        turn_rig_turn(&rig, "try");
        assert_int_equal(turn_rig_count(&rig, EVENT_REFLECTION), 0);
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        end_failing(&rig, &bad);
    }
}

static void test_failure_at_the_end_of_one_turn_is_no_reason_in_the_next(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;

    (void)state;
    init_failing(&rig, &bad);
    rig.harness.limits.reflections = 0;
    rig.harness.limits.steps = 1;
    turn_rig_open(&rig);
    turn_rig_turn(&rig, "one");
    bad.error = NULL;
    fake_answer_call(answer(&rig), "b", "bad", "{}");
    turn_rig_turn(&rig, "two");
    assert_int_equal(turn_rig_count(&rig, EVENT_REFLECTION), 1); /* the stub of the first turn */
    end_failing(&rig, &bad);
}

static void test_model_looks_back_after_every_step_of_each_nth_turn(void **state)
{
    struct turn_rig rig;
    struct fake_tool fine;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&fine, "fine", EFFECT_READ_ONLY);
    turn_rig_add_tool(&rig, &fine.tool);
    rig.harness.thinking = THINKING_LOW;
    rig.harness.reflect_every = 2;
    turn_rig_open(&rig);
    for (int turn = 1; turn <= 4; turn++) {
        fake_answer_call(answer(&rig), "f", "fine", "{}");
        answer(&rig)->text = "ok";
        turn_rig_turn(&rig, "on");
        assert_int_equal(turn_rig_count(&rig, EVENT_REFLECTION), turn / 2);
    }
    turn_check_end(&rig);
    fake_tool_release(&fine);
}

static void test_look_back_without_a_slot_is_a_stub_and_the_turn_goes_on(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;

    (void)state;
    init_failing(&rig, &bad);
    rig.harness.limits.reflections = 0;
    turn_rig_open(&rig);
    answer(&rig)->text = "still here";
    turn_rig_turn(&rig, "try");
    assert_string_equal(reflection(&rig)->text, "[budget exhausted]");
    assert_true(reflection(&rig)->stub && reflection(&rig)->should_continue);
    assert_string_equal(turn_check_finished(&rig)->text, "still here");
    /* A stub is nothing the model said. */
    assert_int_equal(turn_rig_messages(&rig)->items[turn_rig_messages(&rig)->count - 1].role, ROLE_TOOL);
    end_failing(&rig, &bad);
}

static void test_look_back_after_the_deadline_is_a_stub(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;

    (void)state;
    init_failing(&rig, &bad);
    bad.takes_ms = 3000;
    rig.harness.limits.wall_s = 2; /* a call has five seconds at least */
    turn_rig_open(&rig);
    turn_rig_turn(&rig, "try");
    assert_string_equal(reflection(&rig)->text, "[deadline expired]");
    assert_true(reflection(&rig)->stub && reflection(&rig)->should_continue);
    assert_string_equal(turn_check_finished(&rig)->status, "budget");
    end_failing(&rig, &bad);
}

static void test_look_back_that_fails_is_a_stub_and_not_tried_again(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;

    (void)state;
    init_failing(&rig, &bad);
    turn_rig_open(&rig);
    fake_provider_reflection(rig.model)->error = "overloaded";
    turn_rig_turn(&rig, "try");
    assert_string_equal(reflection(&rig)->text, "[reflection failed: overloaded]");
    assert_true(reflection(&rig)->stub);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_FAILED), 0);
    end_failing(&rig, &bad);
}

static void test_look_back_is_waited_for_between_five_and_thirty_seconds(void **state)
{
    static const struct {
        double wall_s;
        int patience_s;
    } cases[] = {{60, 30}, {20.9, 18}, {4, 5}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        struct fake_tool bad;
        int64_t from, to;

        init_failing(&rig, &bad);
        bad.takes_ms = 2000;
        rig.harness.limits.wall_s = cases[i].wall_s;
        turn_rig_open(&rig);
        fake_provider_reflection(rig.model)->takes_us = -1;
        turn_rig_turn(&rig, "try");
        assert_true(reflection(&rig)->stub);
        assert_non_null(strstr(reflection(&rig)->text, "no answer in time"));
        from = rig.events[turn_check_place(&rig, EVENT_TOOL_FINISHED, "b", 0)].t;
        to = rig.events[turn_check_place(&rig, EVENT_REFLECTION, NULL, 0)].t;
        assert_int_equal(to - from, SECONDS(cases[i].patience_s));
        assert_int_equal(rig.model->requests[1].timeout_ms, cases[i].patience_s * 1000);
        assert_true(rig.model->requests[1].cancelled);
        end_failing(&rig, &bad);
    }
}

static void test_model_that_says_stop_when_it_looks_back_ends_the_turn(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;

    (void)state;
    init_failing(&rig, &bad);
    turn_rig_open(&rig);
    fake_provider_reflection(rig.model)->text = "STOP. It cannot work.";
    turn_rig_turn(&rig, "try");
    assert_false(reflection(&rig)->should_continue);
    assert_int_equal(fake_provider_steps(rig.model), 1);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_string_equal(turn_check_finished(&rig)->text, "It cannot work.");
    end_failing(&rig, &bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_looks_back_after_a_tool_failed_and_reads_its_own_words),
        cmocka_unit_test(test_failure_that_was_looked_back_at_is_forgotten),
        cmocka_unit_test(test_model_does_not_look_back_when_it_need_not),
        cmocka_unit_test(test_failure_at_the_end_of_one_turn_is_no_reason_in_the_next),
        cmocka_unit_test(test_model_looks_back_after_every_step_of_each_nth_turn),
        cmocka_unit_test(test_look_back_without_a_slot_is_a_stub_and_the_turn_goes_on),
        cmocka_unit_test(test_look_back_after_the_deadline_is_a_stub),
        cmocka_unit_test(test_look_back_that_fails_is_a_stub_and_not_tried_again),
        cmocka_unit_test(test_look_back_is_waited_for_between_five_and_thirty_seconds),
        cmocka_unit_test(test_model_that_says_stop_when_it_looks_back_ends_the_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
