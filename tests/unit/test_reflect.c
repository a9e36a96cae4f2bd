/* Tests of reflection, which gives a result whatever happens. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "turn/model_step.h"
#include <math.h>

static void open_budget(struct budget *budget, struct hold_clock *hold, struct fake_clock *fake, double wall_s,
                        int64_t reflections)
{
    struct budget_limits limits = budget_defaults();
    fake_clock_init(fake);
    hold_clock_init(hold, &fake->base);
    limits.wall_s = wall_s;
    limits.reflections = reflections;
    budget_open(budget, &limits, hold);
}

TEST(without_a_slot_it_is_a_stub)
{
    struct budget budget;
    struct hold_clock hold;
    struct fake_clock fake;
    struct reflection reflection;
    int timeout_s = -1;
    open_budget(&budget, &hold, &fake, 60, 0);
    assert_true(reflect_early(&budget, &reflection, &timeout_s));
    assert_string_equal(reflection.text, "[budget exhausted]");
    assert_true(reflection.should_continue);
    assert_true(reflection.stub);
    reflection_release(&reflection);
    assert_null(reflection.text);
}

TEST(after_the_deadline_it_is_a_stub)
{
    struct budget budget;
    struct hold_clock hold;
    struct fake_clock fake;
    struct reflection reflection;
    int timeout_s = -1;
    open_budget(&budget, &hold, &fake, 1, 1);
    fake_clock_advance(&fake, 2000000);
    assert_true(reflect_early(&budget, &reflection, &timeout_s));
    assert_string_equal(reflection.text, "[deadline expired]");
    assert_true(reflection.should_continue && reflection.stub);
    reflection_release(&reflection);
    /* The slot is claimed first: it is gone, and the reason is now another one. */
    assert_true(reflect_early(&budget, &reflection, &timeout_s));
    assert_string_equal(reflection.text, "[budget exhausted]");
    reflection_release(&reflection);
    assert_int_equal(timeout_s, -1);
}

TEST(otherwise_the_model_reflects)
{
    struct budget budget;
    struct hold_clock hold;
    struct fake_clock fake;
    struct reflection reflection = {0};
    int timeout_s = -1;
    open_budget(&budget, &hold, &fake, 12.9, 4);
    assert_false(reflect_early(&budget, &reflection, &timeout_s));
    assert_int_equal(timeout_s, 12);
    assert_int_equal(atomic_load(&budget.reflections), 1);
}

TEST(the_model_has_between_five_and_thirty_seconds)
{
    assert_int_equal(reflect_timeout_s(100), 30);
    assert_int_equal(reflect_timeout_s(30), 30);
    assert_int_equal(reflect_timeout_s(29.99), 29);
    assert_int_equal(reflect_timeout_s(12.9), 12);
    assert_int_equal(reflect_timeout_s(5.9), 5);
    assert_int_equal(reflect_timeout_s(4), 5);
    assert_int_equal(reflect_timeout_s(0), 5);
    assert_int_equal(reflect_timeout_s(-3), 5);
    assert_int_equal(reflect_timeout_s(NAN), 5);
    assert_int_equal(reflect_timeout_s(1e300), 30);
}

static void assert_result(const char *said, const char *text, bool should_continue)
{
    struct model_reply reply = {.text = (char *)said};
    struct reflection reflection = reflect_result(&reply);
    assert_string_equal(reflection.text, text);
    assert_int_equal(reflection.should_continue, should_continue);
    assert_false(reflection.stub);
    reflection_release(&reflection);
}

TEST(an_answer_that_begins_with_STOP_does_not_continue)
{
    assert_result("Try the other file.", "Try the other file.", true);
    assert_result("STOP the file does not exist", "the file does not exist", false);
    assert_result("  STOP: nothing to do.", "nothing to do.", false);
    assert_result("STOP", "", false);
    assert_result("STOPPING is not needed", "STOPPING is not needed", true);
    assert_result("I will not STOP", "I will not STOP", true);
    assert_result("stop", "stop", true);
    assert_result("", "", true);
    assert_result(NULL, "", true);
}

TEST(a_model_that_fails_gives_a_stub)
{
    struct model_reply reply = {.error = (char *)"overloaded"};
    struct reflection reflection = reflect_result(&reply);
    assert_true(reflection.stub && reflection.should_continue);
    assert_non_null(strstr(reflection.text, "overloaded"));
    reflection_release(&reflection);
}

TEST(the_request_has_the_turn_and_the_failures)
{
    struct message_list turn, question;
    message_list_init(&turn);
    message_list_add(&turn, ROLE_USER, "Fix it");
    reflect_messages(&question, &turn, "read_file: no such file");
    assert_int_equal(turn.count, 1);
    assert_int_equal(question.count, 2);
    assert_string_equal(question.items[0].text, "Fix it");
    assert_int_equal(question.items[1].role, ROLE_USER);
    assert_non_null(strstr(question.items[1].text, "read_file: no such file\n"));
    assert_non_null(strstr(question.items[1].text, "STOP"));
    message_list_release(&question);
    reflect_messages(&question, &turn, NULL);
    assert_null(strstr(question.items[1].text, "went wrong"));
    message_list_release(&question);
    message_list_release(&turn);
}
