/* Tests of a turn's budget, on a fake clock. */

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/message.h"
#include "support/event_json.h"
#include "support/test.h"
#include "turn/budget.h"
#include <math.h>
#include <pthread.h>

struct fixture {
    struct fake_clock fake;
    struct hold_clock hold;
    struct budget_limits limits;
    struct budget budget;
};

static const char *used_json(const struct budget *budget)
{
    struct event_budget_values used = budget_used_to_event(budget);
    return event_json(&(struct event){.type = EVENT_BUDGET_CHARGED, .budget_charged = {.used = &used}}, "used");
}

static const char *limits_json(const struct budget *budget)
{
    struct event_budget_values limits = budget_limits_to_event(budget);
    return event_json(&(struct event){.type = EVENT_BUDGET_OPENED, .budget_opened = {.limits = &limits}}, "limits");
}

static void start(struct fixture *f)
{
    fake_clock_init(&f->fake);
    fake_clock_advance(&f->fake, 1234567); /* a turn does not start at zero */
    hold_clock_init(&f->hold, &f->fake.base);
    f->limits = budget_defaults();
}

static void open_turn(struct fixture *f)
{
    budget_open(&f->budget, &f->limits, &f->hold);
}

static void advance_s(struct fixture *f, double seconds)
{
    fake_clock_advance(&f->fake, (int64_t)llround(seconds * 1e6));
}

TEST(defaults_are_those_of_the_specification)
{
    struct fixture f;
    start(&f);
    open_turn(&f);
    assert_float_equal(budget_limit(&f.budget, BUDGET_WALL_MS), 60000, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_STEPS), 6, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_TOOL_CALLS), 6, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_REFLECTIONS), 4, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_CONTEXT_TOKENS), 200000, 0);
    assert_true(isnan(budget_limit(&f.budget, BUDGET_INPUT_TOKENS)));
    assert_true(isnan(budget_limit(&f.budget, BUDGET_OUTPUT_TOKENS)));
    assert_true(isnan(budget_limit(&f.budget, BUDGET_COST_USD)));
    assert_float_equal(f.limits.tool_cap_s, 45, 0);
    assert_int_equal(budget_exhausted(&f.budget), -1);
}

TEST(defaults_of_the_command_line_leave_what_the_user_set)
{
    struct fixture f;
    start(&f);
    assert_int_equal(budget_limits_set(&f.limits, "steps=3", NULL), 0);
    assert_int_equal(budget_limits_set(&f.limits, "cost_usd=0", NULL), 0);
    struct budget_limits interactive = budget_defaults_for(true), headless = budget_defaults_for(false);
    budget_limits_fill(&f.limits, &interactive);
    open_turn(&f);
    assert_string_equal(limits_json(&f.budget),
                        "{\"wall_ms\":3600000,\"steps\":3,\"tool_calls\":null,\"reflections\":4,"
                        "\"context_tokens\":200000,\"input_tokens\":null,\"output_tokens\":null,\"cost_usd\":0}");
    assert_true(budget_user_set(&f.limits, "steps"));
    assert_false(budget_user_set(&f.limits, "wall_s"));
    budget_limits_fill(&f.limits, &headless);
    open_turn(&f);
    assert_float_equal(budget_limit(&f.budget, BUDGET_WALL_MS), 1800000, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_STEPS), 3, 0);
}

TEST(calls_without_a_limit_are_all_granted)
{
    struct fixture f;
    start(&f);
    f.limits.tool_calls = BUDGET_UNLIMITED;
    open_turn(&f);
    for (int i = 0; i < 1000; i++)
        assert_true(budget_claim_tool_call(&f.budget));
    assert_false(budget_reached(&f.budget, BUDGET_TOOL_CALLS));
    assert_true(isnan(budget_adds(&f.budget, BUDGET_TOOL_CALLS)));
}

TEST(recorded_null_is_no_limit_of_calls_and_a_missing_one_is_the_default)
{
    struct budget_limits limits = budget_defaults();
    struct event_budget_values values = {.present = EVENT_ALL_PRESENT, .wall_ms = 5000, .steps = 7, .tool_calls = NAN};
    budget_limits_from_event(&limits, &values);
    assert_int_equal(limits.tool_calls, BUDGET_UNLIMITED);
    limits = budget_defaults();
    values.present = 0;
    budget_limits_from_event(&limits, &values);
    assert_int_equal(limits.tool_calls, BUDGET_AS_STEPS);
}

TEST(limit_of_nothing_can_be_raised)
{
    struct fixture f;
    start(&f);
    f.limits.wall_s = 0;
    f.limits.steps = 0;
    f.limits.cost_usd = 0;
    open_turn(&f);
    static const enum budget_key keys[] = {BUDGET_WALL_MS, BUDGET_STEPS, BUDGET_COST_USD};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_true(budget_reached(&f.budget, keys[i]));
        budget_extend(&f.budget, keys[i], 1);
        assert_false(budget_reached(&f.budget, keys[i]));
    }
}

TEST(cap_of_a_call)
{
    struct budget_limits limits = budget_defaults_for(false);
    assert_float_equal(budget_cap_s(&limits, 0, 1000), 45, 0);
    assert_float_equal(budget_cap_s(&limits, 600, 1000), 600, 0); /* a build that asks for ten minutes */
    assert_float_equal(budget_cap_s(&limits, 3600, 1000), 750, 0);
    assert_float_equal(budget_cap_s(&limits, 0, 40), 30, 0);
    assert_int_equal(budget_limits_set(&limits, "tool_cap_s=20", NULL), 0);
    assert_float_equal(budget_cap_s(&limits, 3600, 1000), 20, 0);
    assert_float_equal(budget_cap_s(&limits, 10, 1000), 10, 0);
    assert_float_equal(budget_cap_s(&limits, 0, 10), 20, 0); /* the user knows */
}

TEST(tool_calls_follow_steps_unless_given)
{
    struct fixture f;
    start(&f);
    f.limits.steps = 9;
    open_turn(&f);
    assert_float_equal(budget_limit(&f.budget, BUDGET_TOOL_CALLS), 9, 0);
    f.limits.tool_calls = 2;
    open_turn(&f);
    assert_float_equal(budget_limit(&f.budget, BUDGET_TOOL_CALLS), 2, 0);
    f.limits.tool_calls = 0;
    open_turn(&f);
    assert_false(budget_claim_tool_call(&f.budget));
}

TEST(claims_end_at_the_limit)
{
    struct fixture f;
    start(&f);
    f.limits.steps = 2;
    f.limits.reflections = 0;
    open_turn(&f);
    assert_true(budget_claim_step(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), -1);
    assert_true(budget_claim_step(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_STEPS);
    assert_false(budget_claim_step(&f.budget));
    assert_false(budget_claim_step(&f.budget));
    assert_float_equal(budget_used(&f.budget, BUDGET_STEPS), 2, 0);
    assert_false(budget_claim_reflection(&f.budget));
    assert_true(budget_claim_tool_call(&f.budget));
    assert_true(budget_claim_tool_call(&f.budget));
    assert_false(budget_claim_tool_call(&f.budget));
}

#define THREADS 8
#define CLAIMS  1000
#define GRANTS  500

static void *claim_many(void *data)
{
    struct budget *budget = data;
    size_t *granted = xcalloc(1, sizeof(*granted));
    for (int i = 0; i < CLAIMS; i++)
        *granted += budget_claim_tool_call(budget);
    return granted;
}

TEST(threads_together_never_pass_the_limit)
{
    struct fixture f;
    pthread_t threads[THREADS];
    size_t all = 0;
    start(&f);
    f.limits.tool_calls = GRANTS;
    open_turn(&f);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_many, &f.budget), 0);
    budget_extend(&f.budget, BUDGET_TOOL_CALLS, 0.5); /* the user continues meanwhile */
    for (int i = 0; i < THREADS; i++) {
        void *granted;
        assert_int_equal(pthread_join(threads[i], &granted), 0);
        all += *(size_t *)granted;
        free(granted);
    }
    assert_true(all <= GRANTS + GRANTS / 2);
    while (budget_claim_tool_call(&f.budget))
        all++;
    assert_int_equal(all, GRANTS + GRANTS / 2);
    assert_float_equal(budget_used(&f.budget, BUDGET_TOOL_CALLS), GRANTS + GRANTS / 2, 0);
}

TEST(the_deadline_is_absolute_and_monotonic)
{
    struct fixture f;
    start(&f);
    f.limits.wall_s = 1;
    open_turn(&f);
    assert_float_equal(budget_remaining_s(&f.budget), 1, 1e-9);
    advance_s(&f, 0.999999);
    assert_false(budget_expired(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), -1);
    advance_s(&f, 0.000001);
    assert_true(budget_expired(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_WALL_MS);
    advance_s(&f, 5);
    assert_float_equal(budget_remaining_s(&f.budget), 0, 0);
    assert_float_equal(budget_used(&f.budget, BUDGET_WALL_MS), 6000, 0);
}

TEST(a_held_clock_uses_no_budget)
{
    struct fixture f;
    start(&f);
    f.limits.wall_s = 10;
    open_turn(&f);
    advance_s(&f, 4);
    hold_clock_stop(&f.hold);
    advance_s(&f, 3600);
    assert_float_equal(budget_remaining_s(&f.budget), 6, 1e-9);
    hold_clock_go(&f.hold);
    assert_float_equal(budget_remaining_s(&f.budget), 6, 1e-9);
    assert_float_equal(budget_used(&f.budget, BUDGET_WALL_MS), 4000, 0);
    advance_s(&f, 6);
    assert_true(budget_expired(&f.budget));
}

TEST(the_hard_wait_has_a_floor)
{
    static const double cases[][3] = {{60, 45, 45}, {30, 45, 30}, {2, 45, 5}, {100, 10, 10},
                                      {7, 10, 7},   {60, 2, 5},   {0, 45, 5}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        start(&f);
        f.limits.wall_s = cases[i][0];
        open_turn(&f);
        assert_float_equal(budget_per_tool_s(&f.budget, cases[i][1]), cases[i][2], 1e-9);
    }
}

TEST(the_token_has_the_true_time)
{
    static const double cases[][3] = {{2, 45, 2}, {0, 45, 0}, {60, 45, 45}, {60, 2, 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        struct deadline token;
        start(&f);
        f.limits.wall_s = cases[i][0];
        open_turn(&f);
        deadline_init(&token, &f.hold, f.budget.due_us, cases[i][1]);
        assert_float_equal(deadline_remaining_s(&token), cases[i][2], 1e-9);
    }
}

TEST(tokens_and_cost_end_a_turn_in_order)
{
    struct fixture f;
    start(&f);
    f.limits.steps = 1;
    f.limits.input_tokens = 100;
    f.limits.output_tokens = 50;
    f.limits.cost_usd = 0.5;
    open_turn(&f);
    budget_charge(&f.budget, &(struct usage){.input = 99, .output = 49, .cache_read = 3, .cache_write = 4}, 0.25);
    assert_int_equal(budget_exhausted(&f.budget), -1);
    budget_charge(&f.budget, &(struct usage){.output = 1}, 0.25);
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_OUTPUT_TOKENS);
    budget_charge(&f.budget, &(struct usage){.input = 1}, 0);
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_INPUT_TOKENS);
    assert_true(budget_claim_step(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_STEPS);
    advance_s(&f, 60);
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_WALL_MS);

    f.limits.steps = 6;
    f.limits.input_tokens = f.limits.output_tokens = -1;
    open_turn(&f);
    budget_charge(&f.budget, &(struct usage){.input = 1000000, .output = 1000000}, 0.5);
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_COST_USD);
    assert_int_equal(f.budget.used.cache_read, 0);
}

TEST(calls_and_reflections_never_end_a_turn)
{
    struct fixture f;
    start(&f);
    f.limits.tool_calls = 1;
    f.limits.reflections = 1;
    open_turn(&f);
    assert_true(budget_claim_tool_call(&f.budget));
    assert_true(budget_claim_reflection(&f.budget));
    assert_false(budget_claim_tool_call(&f.budget));
    assert_int_equal(budget_exhausted(&f.budget), -1);
}

TEST(unknown_price_is_reported)
{
    struct fixture f;
    start(&f);
    f.limits.cost_usd = 1;
    open_turn(&f);
    assert_non_null(strstr(used_json(&f.budget), "\"cost_usd\":0"));
    budget_charge(&f.budget, &(struct usage){.input = 10}, NAN);
    assert_non_null(strstr(used_json(&f.budget), "\"cost_usd\":null"));
    budget_charge(&f.budget, &(struct usage){.input = 20}, 1.5);
    assert_non_null(strstr(used_json(&f.budget), "\"cost_usd\":1.5"));
    assert_int_equal(budget_exhausted(&f.budget), BUDGET_COST_USD);           /* what is known binds */
    assert_float_equal(budget_used(&f.budget, BUDGET_CONTEXT_TOKENS), 20, 0); /* of the newest request */
    assert_float_equal(budget_used(&f.budget, BUDGET_INPUT_TOKENS), 30, 0);
}

TEST(each_key_warns_once)
{
    struct fixture f;
    start(&f);
    f.limits.steps = 5;
    f.limits.reflections = 0;
    f.limits.tool_calls = 10;
    open_turn(&f);
    for (int i = 0; i < 3; i++)
        assert_true(budget_claim_step(&f.budget));
    assert_int_equal(budget_warning(&f.budget, 0.8), -1);
    assert_true(budget_claim_step(&f.budget));
    advance_s(&f, 48);
    assert_int_equal(budget_warning(&f.budget, 0.8), BUDGET_WALL_MS);
    assert_int_equal(budget_warning(&f.budget, 0.8), BUDGET_STEPS);
    assert_int_equal(budget_warning(&f.budget, 0.8), -1);
    budget_extend(&f.budget, BUDGET_STEPS, 1);
    assert_int_equal(budget_warning(&f.budget, 0.8), -1);
    for (int i = 0; i < 4; i++)
        assert_true(budget_claim_step(&f.budget));
    assert_int_equal(budget_warning(&f.budget, 0.8), BUDGET_STEPS);
}

TEST(extending_adds_a_share_of_the_first_limit)
{
    struct fixture f;
    start(&f);
    f.limits.input_tokens = 100;
    f.limits.cost_usd = 0.4;
    open_turn(&f);
    budget_extend(&f.budget, BUDGET_STEPS, 0.5);
    budget_extend(&f.budget, BUDGET_STEPS, 0.5);
    assert_float_equal(budget_limit(&f.budget, BUDGET_STEPS), 12, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_TOOL_CALLS), 12, 0); /* still follows */
    budget_extend(&f.budget, BUDGET_TOOL_CALLS, 0.5);
    assert_float_equal(budget_limit(&f.budget, BUDGET_TOOL_CALLS), 15, 0);
    assert_float_equal(budget_limit(&f.budget, BUDGET_STEPS), 12, 0);

    budget_extend(&f.budget, BUDGET_WALL_MS, 0.5);
    assert_float_equal(budget_limit(&f.budget, BUDGET_WALL_MS), 90000, 0);
    assert_float_equal(budget_remaining_s(&f.budget), 90, 1e-9);
    advance_s(&f, 200); /* far past the limit: continuing must still be possible */
    budget_extend(&f.budget, BUDGET_WALL_MS, 0.5);
    assert_float_equal(budget_remaining_s(&f.budget), 30, 1e-9);

    budget_charge(&f.budget, &(struct usage){.input = 500}, 0.5);
    budget_extend(&f.budget, BUDGET_INPUT_TOKENS, 0.5);
    assert_float_equal(budget_limit(&f.budget, BUDGET_INPUT_TOKENS), 550, 0);
    budget_extend(&f.budget, BUDGET_COST_USD, 0.5);
    assert_float_equal(budget_limit(&f.budget, BUDGET_COST_USD), 0.7, 1e-12);
    budget_extend(&f.budget, BUDGET_OUTPUT_TOKENS, 0.5); /* no limit: none appears */
    assert_true(isnan(budget_limit(&f.budget, BUDGET_OUTPUT_TOKENS)));
    assert_int_equal(budget_exhausted(&f.budget), -1);
    budget_extend(&f.budget, BUDGET_STEPS, -3);
    assert_float_equal(budget_limit(&f.budget, BUDGET_STEPS), 12, 0);
}

TEST(options_set_every_key_of_the_contract)
{
    struct budget_limits limits = budget_defaults();
    struct err err = ERR_INIT;
    static const char *const good[] = {"wall_s=2.5",    "steps=9",          "tool_calls=0",
                                       "reflections=1", "input_tokens=1e3", "output_tokens=500",
                                       "cost_usd=.25",  "context_tokens=7", "tool_cap_s=3"};
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_int_equal(budget_limits_set(&limits, good[i], &err), 0);
    assert_string_equal(err.text, "");
    assert_float_equal(limits.wall_s, 2.5, 0);
    assert_int_equal(limits.steps, 9);
    assert_int_equal(limits.tool_calls, 0);
    assert_int_equal(limits.reflections, 1);
    assert_int_equal(limits.input_tokens, 1000);
    assert_int_equal(limits.output_tokens, 500);
    assert_float_equal(limits.cost_usd, 0.25, 0);
    assert_int_equal(limits.context_tokens, 7);
    assert_float_equal(limits.tool_cap_s, 3, 0);
}

TEST(options_that_mean_nothing_are_refused)
{
    static const char *const bad[] = {
        "steps=-1",   "steps=-0", "wall_s=-2",    "wall_s=nan", "wall_s=NaN", "wall_s=inf",
        "steps=two",  "steps=",   "steps",        "steps=2.5",  "steps= 2",   "steps=2 ",
        "steps=0x10", "steps=+2", "wall_s=1e999", "=3",         "",           "steps=99999999999999999999",
        "stepz=2",    "Steps=2",  "cost_usd=1,5", "steps=2=3",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct budget_limits limits = budget_defaults();
        struct err err = ERR_INIT;
        if (budget_limits_set(&limits, bad[i], &err) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_string_not_equal(err.text, "");
        assert_int_equal(limits.steps, 6);
        assert_float_equal(limits.wall_s, 60, 0);
    }
    struct budget_limits limits = budget_defaults();
    struct err err = ERR_INIT;
    assert_int_equal(budget_limits_set(&limits, "stepz=2", &err), -1);
    assert_non_null(strstr(err.text, "steps"));
    assert_int_equal(budget_limits_set(&limits, "colour=2", &err), -1);
    assert_non_null(strstr(err.text, "reflections"));
}

TEST(absurd_limits_do_no_harm)
{
    struct fixture f;
    start(&f);
    f.limits.wall_s = 1e300;
    f.limits.steps = INT64_MAX;
    open_turn(&f);
    assert_false(budget_expired(&f.budget));
    for (int i = 0; i < 8; i++) {
        budget_extend(&f.budget, BUDGET_WALL_MS, 1e300);
        budget_extend(&f.budget, BUDGET_STEPS, 1e300);
    }
    assert_false(budget_expired(&f.budget));
    assert_true(budget_claim_step(&f.budget));
}

TEST(snapshot_and_events_have_their_keys)
{
    struct fixture f;
    start(&f);
    open_turn(&f);
    assert_true(budget_claim_step(&f.budget));
    advance_s(&f, 1.5);
    assert_string_equal(limits_json(&f.budget),
                        "{\"wall_ms\":60000,\"steps\":6,\"tool_calls\":6,\"reflections\":4,"
                        "\"context_tokens\":200000,\"input_tokens\":null,\"output_tokens\":null,"
                        "\"cost_usd\":null}");
    assert_string_equal(used_json(&f.budget),
                        "{\"wall_ms\":1500,\"steps\":1,\"tool_calls\":0,\"reflections\":0,"
                        "\"context_tokens\":0,\"input_tokens\":0,\"output_tokens\":0,\"cost_usd\":0}");
}
