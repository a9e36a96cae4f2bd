/* Tests of deadlines: the hard wait has a minimum, the token reports the real time, and both stop with the clock. */

#include "base/clock.h"
#include "support/test.h"
#include <math.h>
#include <stdint.h>

#define SECONDS(s) ((int64_t)((s)*1000000))

struct fixture {
    struct fake_clock fake;
    struct hold_clock hold;
};

static void start(struct fixture *f)
{
    fake_clock_init(&f->fake);
    fake_clock_advance(&f->fake, SECONDS(3));
    hold_clock_init(&f->hold, &f->fake.base);
}

static struct deadline *token(struct fixture *f, struct deadline *deadline, double remaining_s, double cap_s)
{
    deadline_init(deadline, &f->hold, hold_clock_now(&f->hold) + SECONDS(remaining_s), cap_s);
    return deadline;
}

TEST(floor_wins_over_turn_and_cap)
{
    assert_float_equal(deadline_per_tool_s(60, 45), 45, 0);
    assert_float_equal(deadline_per_tool_s(30, 45), 30, 0);
    assert_float_equal(deadline_per_tool_s(7, 10), 7, 0);
    assert_float_equal(deadline_per_tool_s(2, 45), 5, 0);
    assert_float_equal(deadline_per_tool_s(60, 2), 5, 0);
    assert_float_equal(deadline_per_tool_s(0, 0), 5, 0);
}

TEST(token_has_no_floor)
{
    struct fixture f;
    struct deadline deadline;
    start(&f);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 2, 45)), 2, 1e-9);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 60, 1.5)), 1.5, 1e-9);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 0, 45)), 0, 0);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, -7, 45)), 0, 0);
}

TEST(token_runs_down_to_zero_and_stays)
{
    struct fixture f;
    struct deadline deadline;
    start(&f);
    token(&f, &deadline, 60, 10);
    fake_clock_advance(&f.fake, SECONDS(4));
    assert_float_equal(deadline_remaining_s(&deadline), 6, 1e-9);
    fake_clock_advance(&f.fake, SECONDS(40));
    assert_float_equal(deadline_remaining_s(&deadline), 0, 0);
}

TEST(token_stops_while_the_clock_is_held)
{
    struct fixture f;
    struct deadline deadline;
    start(&f);
    token(&f, &deadline, 60, 10);
    hold_clock_stop(&f.hold);
    fake_clock_advance(&f.fake, SECONDS(1000));
    assert_float_equal(deadline_remaining_s(&deadline), 10, 1e-9);
    hold_clock_go(&f.hold);
    fake_clock_advance(&f.fake, SECONDS(1));
    assert_float_equal(deadline_remaining_s(&deadline), 9, 1e-9);
}

TEST(cancel_is_seen)
{
    struct fixture f;
    struct deadline deadline;
    start(&f);
    token(&f, &deadline, 60, 10);
    assert_false(deadline_cancelled(&deadline));
    deadline_cancel(&deadline);
    assert_true(deadline_cancelled(&deadline));
    assert_true(deadline_remaining_s(&deadline) > 0);
}

TEST(absurd_caps_do_no_harm)
{
    struct fixture f;
    struct deadline deadline;
    start(&f);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 60, 1e300)), 60, 1e-9);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 60, NAN)), 60, 1e-9);
    assert_float_equal(deadline_remaining_s(token(&f, &deadline, 60, -1e300)), 0, 0);
}
