/* Tests of thinking levels and their token budgets. */

#include "support/test.h"
#include "turn/model_step.h"

TEST(names_in_any_case_and_off_for_the_rest)
{
    assert_int_equal(thinking_level_from_name("medium"), THINKING_MEDIUM);
    assert_int_equal(thinking_level_from_name("High"), THINKING_HIGH);
    assert_int_equal(thinking_level_from_name("LOW"), THINKING_LOW);
    assert_int_equal(thinking_level_from_name("off"), THINKING_OFF);
    assert_int_equal(thinking_level_from_name("invalid"), THINKING_OFF);
    assert_int_equal(thinking_level_from_name(""), THINKING_OFF);
    assert_int_equal(thinking_level_from_name(NULL), THINKING_OFF);
    assert_string_equal(thinking_level_name(THINKING_OFF), "OFF");
    assert_string_equal(thinking_level_name(THINKING_MEDIUM), "MEDIUM");
}

TEST(token_budgets)
{
    assert_int_equal(thinking_tokens(THINKING_OFF), 0);
    assert_int_equal(thinking_tokens(THINKING_LOW), 500);
    assert_int_equal(thinking_tokens(THINKING_MEDIUM), 2000);
    assert_int_equal(thinking_tokens(THINKING_HIGH), 5000);
}

TEST(an_error_causes_one_reflection)
{
    struct thinking thinking;
    thinking_init(&thinking, THINKING_LOW);
    thinking_on_turn_start(&thinking);
    assert_false(thinking_should_reflect(&thinking));
    thinking_on_tool_error(&thinking);
    assert_true(thinking_should_reflect(&thinking));
    thinking_reflected(&thinking);
    assert_false(thinking_should_reflect(&thinking));
}

TEST(the_level_and_the_switch_apply)
{
    struct thinking thinking;
    thinking_init(&thinking, THINKING_OFF);
    thinking.reflect_every = 1;
    thinking_on_turn_start(&thinking);
    thinking_on_tool_error(&thinking);
    assert_false(thinking_should_reflect(&thinking));
    thinking_init(&thinking, THINKING_LOW);
    thinking.reflect_on_tool_error = false;
    thinking_on_tool_error(&thinking);
    assert_false(thinking_should_reflect(&thinking));
}

TEST(every_third_turn)
{
    struct thinking thinking;
    thinking_init(&thinking, THINKING_HIGH);
    thinking.reflect_every = 3;
    for (int64_t turn = 1; turn <= 7; turn++) {
        thinking_on_turn_start(&thinking);
        assert_int_equal(thinking.turn, turn);
        assert_int_equal(thinking_should_reflect(&thinking), turn % 3 == 0);
    }
    thinking.reflect_every = 0;
    assert_false(thinking_should_reflect(&thinking));
}

TEST(a_new_turn_forgets_the_errors_of_the_last)
{
    struct thinking thinking;
    thinking_init(&thinking, THINKING_LOW);
    thinking_on_turn_start(&thinking);
    thinking_on_tool_error(&thinking);
    thinking_on_turn_start(&thinking);
    assert_false(thinking_should_reflect(&thinking));
}
