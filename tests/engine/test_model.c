/* Asking the model: what fails is tried again in due time, how hard it thinks, and when it looks back. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECONDS(s) ((int64_t)((s) * 1e6))

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
    assert_non_null(strstr(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 0)->model_responded.tool_calls,
                           "{\"id\":\"a\",\"name\":\"list_dir\",\"arguments\":{},\"incomplete\":true}"));
    asked = &rig.model->requests[1].messages;
    for (size_t i = 1; i <= 2; i++) {
        assert_true(asked->items[asked->count - i].failed);
        assert_non_null(strstr(asked->items[asked->count - i].text, "the answer ended before they were complete (max_tokens)"));
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
        assert_string_equal(turn_check_json(&rig, started->turn_started.thinking, "level"),
                            thinking_level_name(levels[i].level));
        assert_string_equal(turn_check_json(&rig, started->turn_started.thinking, "counter"), "1");
        assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_RESPONDED, 0)->model_responded.thinking, "hm");
        turn_check_end(&rig);
    }
}

/* ---- reflection ---- */

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
    assert_string_equal(turn_check_json(&rig, turn_check_finished(&rig)->usage, "output"), "9");
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
