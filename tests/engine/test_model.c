/* Asking the model: what fails is tried again in due time, how hard it thinks, and what becomes of an answer that is
 * none. */

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

static void fails(struct turn_rig *rig, const char *error, bool retryable, int64_t retry_after_ms)
{
    struct fake_answer *a = answer(rig);

    a->error = error;
    a->retryable = retryable;
    a->retry_after_ms = retry_after_ms;
}

/* ---- failures ---- */

static void test_failing_model_is_asked_again_with_growing_patience_and_then_given_up(void **state)
{
    struct turn_rig rig;
    const struct event_model_failed *failed;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    for (int i = 0; i < 3; i++)
        fails(&rig, "overloaded", true, -1);
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_FAILED), 3);
    for (size_t i = 0; i < 3; i++) {
        failed = &turn_rig_event(&rig, EVENT_MODEL_FAILED, i)->model_failed;
        assert_string_equal(failed->error, "overloaded");
        assert_int_equal(failed->attempt, i + 1);
        assert_int_equal(failed->retry_in_ms, i == 0 ? 500 : i == 1 ? 1000 : EVENT_NULL_INT);
    }
    assert_int_equal(rig.model->request_count, 3);
    assert_int_equal(rig.model->requests[1].at_us - rig.model->requests[0].at_us, SECONDS(0.5));
    assert_int_equal(rig.model->requests[2].at_us - rig.model->requests[1].at_us, SECONDS(1));
    assert_string_equal(turn_check_finished(&rig)->status, "failed");
    assert_int_equal(turn_check_finished(&rig)->steps, 1); /* attempts are no steps */
    turn_check_end(&rig);
}

static void test_model_that_answers_on_the_second_attempt_goes_on_as_if_nothing_was(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    fails(&rig, "overloaded", true, -1);
    answer(&rig)->text = "here I am";
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_string_equal(turn_check_finished(&rig)->text, "here I am");
    assert_int_equal(engine_session(rig.engine)->last_model_failure_seq, 0);
    turn_check_end(&rig);
}

static void test_wish_of_the_model_for_a_later_attempt_is_heeded(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    fails(&rig, "slow down", true, 7000);
    answer(&rig)->text = "ok";
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 0)->model_failed.retry_in_ms, 7000);
    assert_int_equal(rig.model->requests[1].at_us - rig.model->requests[0].at_us, SECONDS(7));
    assert_int_equal(rig.model->requests[1].timeout_ms, 53000); /* what is left of the turn */
    turn_check_end(&rig);
}

static void test_failure_that_no_attempt_can_mend_ends_the_turn_at_once(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    fails(&rig, "no such key", false, -1);
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_FAILED), 1);
    assert_int_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 0)->model_failed.retry_in_ms, EVENT_NULL_INT);
    assert_string_equal(turn_check_finished(&rig)->status, "failed");
    turn_check_end(&rig);
}

static void test_wait_has_a_part_by_chance_where_it_is_wanted(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.model_attempts = 6;
    rig.harness.model_jitter = 0.25;
    turn_rig_open(&rig);
    for (int i = 0; i < 6; i++)
        fails(&rig, "overloaded", true, i == 4 ? 300 : -1);
    turn_rig_turn(&rig, "go");
    for (size_t i = 0; i < 4; i++) {
        int64_t wait = turn_rig_event(&rig, EVENT_MODEL_FAILED, i)->model_failed.retry_in_ms;

        assert_in_range(wait, 500 << i, (500 << i) * 5 / 4);
    }
    assert_int_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 4)->model_failed.retry_in_ms, 300); /* a wish is a wish */
    turn_check_end(&rig);
}

static void test_what_the_provider_wants_back_is_recorded_and_sent_back(void **state)
{
    struct turn_rig rig;
    const struct message_list *asked;
    const char *opaque = "{\"provider\":\"fake\",\"signature\":\"s\"}";

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    answer(&rig)->opaque = opaque;
    fake_answer_call(rig.model->answers.items[0], "l", "list_dir", "{}");
    answer(&rig)->text = "done";
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 0)->model_responded.opaque, opaque);
    assert_null(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 1)->model_responded.opaque);
    asked = &rig.model->requests[1].messages;
    assert_string_equal(asked->items[asked->count - 2].opaque, opaque);
    turn_check_end(&rig);
}

static void test_call_with_half_of_its_arguments_is_told_and_not_run(void **state)
{
    static const char *const halves[] = {"", "{\"path\":\"a", "{\"path\":\"a\"", "[]"};
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    for (size_t i = 0; i < COUNT_OF(halves); i++)
        fake_answer_call(i ? rig.model->answers.items[0] : answer(&rig), NULL, "list_dir", halves[i]);
    answer(&rig)->text = "I see.";
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_STARTED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_FINISHED), COUNT_OF(halves));
    for (size_t i = 0; i < COUNT_OF(halves); i++)
        assert_string_equal(turn_rig_event(&rig, EVENT_TOOL_FINISHED, i)->tool_finished.outcome, "denied");
    assert_string_equal(turn_check_finished(&rig)->text, "I see.");
    turn_check_end(&rig);
}

static const char *const begun[] = {"Let me ", "see", NULL};

/* Who has read a part of it is asked; where nobody is, it is asked again by itself. */
static void test_answer_that_broke_off_is_asked_for_again_by_whoever_has_read_it(void **state)
{
    (void)state;
    for (int person = 0; person < 2; person++) {
        struct turn_rig rig;
        struct held_view held;

        turn_rig_init(&rig);
        rig.harness.interactive = person;
        turn_rig_open(&rig);
        fails(&rig, "nothing came", true, -1); /* nothing to read: no question */
        fails(&rig, "overloaded", true, -1);
        rig.model->answers.items[1]->deltas = begun;
        answer(&rig)->text = "I see.";
        turn_rig_turn(&rig, "go");
        assert_int_equal(engine_held(rig.engine, &held), person);
        if (person) {
            assert_int_equal(held.gate, GATE_MODEL);
            assert_string_equal(held.why, "its answer broke off");
            assert_int_equal(rig.model->request_count, 2);
            assert_int_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 1)->model_failed.retry_in_ms, 0);
            assert_string_equal(engine_session(rig.engine)->partial_text.buf, "Let me see"); /* it stays */
            turn_rig_submit(&rig, &(struct intent){.type = INTENT_CONTINUE});
            turn_rig_run(&rig);
        }
        assert_int_equal(rig.model->request_count, 3);
        assert_string_equal(turn_check_finished(&rig)->text, "I see.");
        turn_check_end(&rig);
    }
}

static void test_answer_that_broke_off_can_be_left_at_that(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    fails(&rig, "overloaded", true, -1);
    rig.model->answers.items[0]->deltas = begun;
    turn_rig_turn(&rig, "go");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&rig);
    assert_int_equal(rig.model->request_count, 1);
    assert_string_equal(turn_check_finished(&rig)->status, "cancelled");
    turn_check_end(&rig);
}

static void test_model_that_was_interrupted_goes_on_with_what_it_said(void **state)
{
    struct turn_rig rig;
    const struct message_list *asked;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.steps = 3;
    turn_rig_open(&rig);
    for (int i = 0; i < 2; i++) {
        answer(&rig)->text = "Searching.";
        rig.model->answers.items[i]->stop = MODEL_PAUSED;
    }
    answer(&rig)->text = "Found.";
    turn_rig_turn(&rig, "go");
    assert_int_equal(rig.model->request_count, 3);
    asked = &rig.model->requests[2].messages;
    assert_int_equal(asked->items[asked->count - 1].role, ROLE_ASSISTANT);
    assert_string_equal(asked->items[asked->count - 1].text, "Searching.");
    assert_string_equal(turn_check_finished(&rig)->text, "Found.");
    /* Not for ever. */
    rig.model->repeat_last = true;
    answer(&rig)->stop = MODEL_PAUSED;
    turn_rig_turn(&rig, "and now");
    assert_int_equal(rig.model->request_count, 6);
    assert_string_equal(turn_check_finished(&rig)->status, "budget");
    turn_check_end(&rig);
}

/* Also where they can be read, and again when the recording is run. */
static void test_call_of_an_answer_that_was_cut_is_told_and_not_run(void **state)
{
    struct turn_rig rig;
    struct fake_answer *cut;
    const struct message_list *asked;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    cut = answer(&rig);
    cut->stop = "max_tokens";
    fake_answer_call(cut, "a", "list_dir", "{}");
    fake_answer_call(cut, "b", "list_dir", "{\"path\":\".\"}");
    cut->calls[0].incomplete = cut->calls[1].incomplete = true;
    answer(&rig)->text = "Once more, shorter.";
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_STARTED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_FINISHED), 2);
    assert_non_null(strstr(event_json(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 0), "tool_calls"),
                           "{\"id\":\"a\",\"name\":\"list_dir\",\"arguments\":{},\"incomplete\":true}"));
    asked = &rig.model->requests[1].messages;
    for (size_t i = 1; i <= 2; i++) {
        assert_true(asked->items[asked->count - i].failed);
        assert_non_null(
            strstr(asked->items[asked->count - i].text, "the answer ended before they were complete (max_tokens)"));
    }
    assert_string_equal(turn_check_finished(&rig)->text, "Once more, shorter.");
    turn_check_end(&rig);
}

static void test_any_number_of_attempts_is_waited_for_in_bounds(void **state)
{
    struct turn_rig rig;
    int64_t longest = 0;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.model_attempts = 100;
    rig.harness.limits.wall_s = 1e7;
    rig.model->repeat_last = true;
    turn_rig_open(&rig);
    fails(&rig, "overloaded", true, -1);
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_FAILED), 100);
    for (size_t i = 0; i < 99; i++) {
        int64_t wait = turn_rig_event(&rig, EVENT_MODEL_FAILED, i)->model_failed.retry_in_ms;

        assert_true(wait >= longest);
        longest = wait;
    }
    assert_int_equal(longest, 60000);
    turn_check_end(&rig);
}

static void test_deadline_cuts_the_wait_for_another_attempt_short(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.wall_s = 0.4;
    turn_rig_open(&rig);
    fails(&rig, "slow down", true, -1);
    turn_rig_turn(&rig, "go");
    assert_int_equal(rig.model->request_count, 1);
    assert_string_equal(turn_check_finished(&rig)->status, "budget");
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 400);
    turn_check_end(&rig);
}

static void test_wish_that_the_turn_cannot_fulfil_ends_it_at_once(void **state)
{
    (void)state;
    for (int person = 0; person < 2; person++) {
        struct turn_rig rig;

        turn_rig_init(&rig);
        rig.harness.interactive = person;
        rig.harness.limits.wall_s = 5;
        turn_rig_open(&rig);
        fails(&rig, "slow down", true, person ? 10500 : 5500); /* a person may raise the 5 s once */
        turn_rig_turn(&rig, "go");
        assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_FAILED), 1);
        assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 0)->model_failed.error,
                            person ? "slow down (it wants to be asked again in 11 s, and the turn has 5 s left: see "
                                     "--budget wall_s)"
                                   : "slow down (it wants to be asked again in 6 s, and the turn has 5 s left: see "
                                     "--budget wall_s)");
        assert_int_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 0)->model_failed.retry_in_ms, EVENT_NULL_INT);
        assert_string_equal(turn_check_finished(&rig)->status, "failed");
        assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 0);
        turn_check_end(&rig);
    }
}

static void test_nothing_is_asked_while_a_person_decides_about_the_budget(void **state)
{
    struct turn_rig rig;
    struct held_view held;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    rig.harness.limits.wall_s = 5;
    turn_rig_open(&rig);
    fails(&rig, "slow down", true, 7000);
    answer(&rig)->text = "at last";
    turn_rig_turn(&rig, "go");
    assert_true(engine_held(rig.engine, &held));
    assert_int_equal(held.gate, GATE_BUDGET);
    turn_rig_run_for(&rig, SECONDS(600));
    assert_int_equal(rig.model->request_count, 1);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_EXTEND, .extend = {.key = BUDGET_WALL_MS, .share = 1}});
    turn_rig_run(&rig);
    assert_int_equal(rig.model->request_count, 2);
    assert_string_equal(turn_check_finished(&rig)->text, "at last");
    turn_check_end(&rig);
}

static void test_request_holds_tools_thinking_and_what_is_left_of_the_time(void **state)
{
    static const struct {
        enum thinking_level level;
        int tokens;
    } levels[] = {{THINKING_OFF, 0}, {THINKING_LOW, 500}, {THINKING_MEDIUM, 2000}, {THINKING_HIGH, 5000}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct turn_rig rig;
        const struct event *started;

        turn_rig_init(&rig);
        rig.harness.thinking = levels[i].level;
        turn_rig_open(&rig);
        answer(&rig)->thinking = "hm";
        turn_rig_turn(&rig, "think");
        assert_int_equal(rig.model->requests[0].thinking_tokens, levels[i].tokens);
        assert_int_equal(rig.model->requests[0].timeout_ms, 60000);
        assert_int_equal(rig.model->requests[0].tool_count, registry_count(rig.harness.registry));
        started = turn_rig_event(&rig, EVENT_TURN_STARTED, 0);
        assert_string_equal(turn_check_json(&rig, event_json(started, "thinking"), "level"),
                            thinking_level_name(levels[i].level));
        assert_string_equal(turn_check_json(&rig, event_json(started, "thinking"), "counter"), "1");
        assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 0)->model_responded.thinking, "hm");
        turn_check_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing_model_is_asked_again_with_growing_patience_and_then_given_up),
        cmocka_unit_test(test_model_that_answers_on_the_second_attempt_goes_on_as_if_nothing_was),
        cmocka_unit_test(test_wish_of_the_model_for_a_later_attempt_is_heeded),
        cmocka_unit_test(test_failure_that_no_attempt_can_mend_ends_the_turn_at_once),
        cmocka_unit_test(test_wait_has_a_part_by_chance_where_it_is_wanted),
        cmocka_unit_test(test_what_the_provider_wants_back_is_recorded_and_sent_back),
        cmocka_unit_test(test_call_with_half_of_its_arguments_is_told_and_not_run),
        cmocka_unit_test(test_answer_that_broke_off_is_asked_for_again_by_whoever_has_read_it),
        cmocka_unit_test(test_answer_that_broke_off_can_be_left_at_that),
        cmocka_unit_test(test_model_that_was_interrupted_goes_on_with_what_it_said),
        cmocka_unit_test(test_call_of_an_answer_that_was_cut_is_told_and_not_run),
        cmocka_unit_test(test_any_number_of_attempts_is_waited_for_in_bounds),
        cmocka_unit_test(test_deadline_cuts_the_wait_for_another_attempt_short),
        cmocka_unit_test(test_wish_that_the_turn_cannot_fulfil_ends_it_at_once),
        cmocka_unit_test(test_nothing_is_asked_while_a_person_decides_about_the_budget),
        cmocka_unit_test(test_request_holds_tools_thinking_and_what_is_left_of_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
