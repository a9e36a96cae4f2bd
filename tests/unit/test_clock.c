/* Clocks, holds and dates. */

#include "base/clock.h"
#include "support/test.h"

#define SECOND ((int64_t)1000000)

TEST(the_system_clock_is_monotonic)
{
    struct clock *clock = clock_system();
    int64_t before = clock->now_us(clock);
    assert_true(clock->now_us(clock) >= before);
    assert_true(clock->wall_us(clock) > 1600000000 * SECOND);
}

TEST(the_fake_clock_moves_on_request)
{
    struct fake_clock fake;
    fake_clock_init(&fake);
    struct clock *clock = &fake.base;
    assert_int_equal(clock->now_us(clock), 0);
    char stamp[CLOCK_STAMP_MAX];
    clock_stamp(clock->wall_us(clock), stamp);
    assert_string_equal(stamp, "2026-01-01T00:00:00Z");
    fake_clock_advance(&fake, 90 * SECOND + 5);
    assert_int_equal(clock->now_us(clock), 90 * SECOND + 5);
    clock_stamp(clock->wall_us(clock), stamp);
    assert_string_equal(stamp, "2026-01-01T00:01:30Z");
}

TEST(a_held_clock_stands_still)
{
    struct fake_clock fake;
    fake_clock_init(&fake);
    fake_clock_advance(&fake, 100);
    struct hold_clock hold;
    hold_clock_init(&hold, &fake.base);
    assert_int_equal(hold_clock_now(&hold), 100);
    fake_clock_advance(&fake, 10);
    assert_int_equal(hold_clock_now(&hold), 110);

    hold_clock_stop(&hold);
    fake_clock_advance(&fake, 50);
    assert_int_equal(hold_clock_now(&hold), 110);
    assert_int_equal(hold_clock_held(&hold), 50);
    /* Holds nest: the clock continues when the last one ends. */
    hold_clock_stop(&hold);
    fake_clock_advance(&fake, 5);
    hold_clock_go(&hold);
    fake_clock_advance(&fake, 5);
    assert_int_equal(hold_clock_now(&hold), 110);
    hold_clock_go(&hold);
    assert_int_equal(hold_clock_held(&hold), 60);

    fake_clock_advance(&fake, 7);
    assert_int_equal(hold_clock_now(&hold), 117);
    assert_int_equal(hold_clock_held(&hold), 60);
    hold_clock_stop(&hold);
    fake_clock_advance(&fake, 40);
    hold_clock_go(&hold);
    assert_int_equal(hold_clock_now(&hold), 117);
    assert_int_equal(hold_clock_held(&hold), 100);
}

TEST(dates_are_formatted)
{
    char out[CLOCK_STAMP_MAX];
    clock_stamp(0, out);
    assert_string_equal(out, "1970-01-01T00:00:00Z");
    clock_stamp(1794832782 * SECOND + 999999, out);
    assert_string_equal(out, "2026-11-16T12:39:42Z");
    clock_stamp(-1, out);
    assert_string_equal(out, "1969-12-31T23:59:59Z");
    clock_date(1794832782 * SECOND, 0, out);
    assert_string_equal(out, "2026-11-16");
    clock_date(1794832782 * SECOND, 15, out);
    assert_string_equal(out, "2026-12-01");
    clock_date(1794832782 * SECOND, -16, out);
    assert_string_equal(out, "2026-10-31");
    clock_date(1709164800 * SECOND, 1, out); /* 2024-02-29 */
    assert_string_equal(out, "2024-03-01");
}
