/* Tests of the loop's timers: order, virtual time, never early, never lost, and no wakeups while idle. Every test ends
 * with loop_free, which aborts if a handle leaked. */

#include "base/err.h"
#include "base/mem.h"
#include "support/loop_rig.h"
#include "support/test.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

TEST(deadline_of_45_seconds_takes_no_time)
{
    begin(true);
    struct named_timer deadline = {.name = 'd'};
    struct named_timer day = {.name = 'e'};
    loop_timer_start(loop, &day.timer, 86400 * SECOND, fire_note);
    loop_timer_start(loop, &deadline.timer, 45 * SECOND, fire_note);
    loop_run(loop);
    assert_string_equal(trace, "de");
    assert_int_equal(deadline.fired_us, 45 * SECOND);
    assert_int_equal(day.fired_us, 86400 * SECOND);
    assert_int_equal(loop_now_us(loop), 86400 * SECOND);
    assert_ptr_equal(loop_clock(loop), &fake.base);
    end();
}

TEST(order_of_timers)
{
    begin(true);
    struct named_timer t[6];
    memset(t, 0, sizeof(t));
    static const int64_t due[] = {30, 10, 20, 10, 30, 10};
    for (size_t i = 0; i < 6; i++) {
        t[i].name = (char)('a' + i);
        loop_timer_start(loop, &t[i].timer, due[i], fire_note);
    }
    loop_timer_start(loop, &t[1].timer, 10, fire_note); /* again: now after its equals */
    loop_timer_stop(loop, &t[4].timer);
    loop_timer_stop(loop, &t[4].timer);
    assert_false(loop_timer_armed(&t[4].timer));
    assert_true(loop_timer_armed(&t[0].timer));
    assert_string_equal(trace, ""); /* nothing fires from within a start */
    loop_run(loop);
    assert_string_equal(trace, "dfbca");
    end();
}

static void fire_stop_other(struct loop_timer *timer)
{
    fire_note(timer);
    loop_timer_stop(loop, &((struct named_timer *)timer)->other->timer);
}

static void fire_start_other_now(struct loop_timer *timer)
{
    fire_note(timer);
    loop_timer_start(loop, &((struct named_timer *)timer)->other->timer, 0, fire_note);
    note('.');
}

TEST(timers_that_change_timers)
{
    begin(true);
    struct named_timer a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};
    a.other = &b;
    c.other = &d;
    loop_timer_start(loop, &a.timer, 5, fire_stop_other);
    loop_timer_start(loop, &b.timer, 5, fire_note);
    loop_timer_start(loop, &c.timer, 5, fire_start_other_now);
    loop_run(loop);
    assert_string_equal(trace, "ac.d"); /* b was stopped in time; d is overdue but not nested in c */
    assert_int_equal(loop_now_us(loop), 5);
    end();
}

static uint32_t seed = 7;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static int64_t last_due;
static size_t fired;

static void fire_in_order(struct loop_timer *timer)
{
    assert_true(timer->due_us >= last_due);
    assert_int_equal(loop_now_us(loop), timer->due_us);
    last_due = timer->due_us;
    fired++;
}

TEST(many_timers)
{
    begin(true);
    enum { COUNT = 700 };
    struct loop_timer timers[COUNT];
    memset(timers, 0, sizeof(timers));
    for (int step = 0; step < 20000; step++) {
        struct loop_timer *timer = &timers[random_below(COUNT)];
        if (random_below(3))
            loop_timer_start(loop, timer, 1 + random_below(1000000), fire_in_order);
        else
            loop_timer_stop(loop, timer);
    }
    size_t armed = 0;
    for (size_t i = 0; i < COUNT; i++)
        armed += loop_timer_armed(&timers[i]);
    assert_true(armed > COUNT / 3);
    last_due = 0;
    fired = 0;
    loop_run(loop);
    assert_int_equal(fired, armed);
    end();
}

static void fire_again_at_once(struct loop_timer *timer)
{
    note('t');
    if (traced < 6)
        loop_timer_start(loop, timer, 0, fire_again_at_once);
}

TEST(a_repeating_timer_does_not_starve_others)
{
    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        begin(virtual_time);
        struct loop_timer eager = {0};
        struct named_task task = {.name = 'x'};
        loop_timer_start(loop, &eager, 0, fire_again_at_once);
        loop_post(loop, &task.task, run_note);
        loop_run(loop);
        assert_string_equal(trace, "xttttt");
        end();
    }
}

TEST(real_timers_are_never_early)
{
    begin(false);
    struct named_timer t[8];
    memset(t, 0, sizeof(t));
    int64_t start = loop_now_us(loop);
    for (int i = 0; i < 8; i++) {
        t[i].name = (char)('a' + i);
        loop_timer_start(loop, &t[i].timer, start + 2317 * (8 - i), fire_note); /* asserts that it is not early */
    }
    loop_run(loop);
    assert_string_equal(trace, "hgfedcba");
    end();
}

static int rounds;

static void count_round(uv_prepare_t *prepare)
{
    (void)prepare;
    rounds++;
}

TEST(no_idle_wake_ups)
{
    begin(false);
    uv_prepare_t prepare; /* runs each time before libuv would sleep */
    uv_prepare_init(loop_uv(loop), &prepare);
    uv_prepare_start(&prepare, count_round);
    uv_unref((uv_handle_t *)&prepare);
    struct named_timer soon = {.name = 's'}, later = {.name = 'l'};
    struct named_task task = {.name = 'x'};
    rounds = 0;
    loop_timer_start(loop, &later.timer, loop_now_us(loop) + 60000, fire_note);
    loop_timer_start(loop, &soon.timer, loop_now_us(loop) + 20000, fire_note);
    loop_post(loop, &task.task, run_note);
    loop_run(loop);
    assert_string_equal(trace, "xsl");
    assert_in_range(rounds, 2, 5);
    uv_close((uv_handle_t *)&prepare, NULL);
    end();
}

struct ticker {
    struct loop_timer timer;
    struct loop *loop;
    int left;
};

static void tick(struct loop_timer *timer)
{
    struct ticker *ticker = (struct ticker *)timer;
    if (--ticker->left > 0)
        loop_timer_start(ticker->loop, timer, loop_now_us(ticker->loop) + 200, tick);
    else
        loop_stop(ticker->loop);
}

static void never(void *data)
{
    (void)data;
    fail_msg("the pipe is empty");
}

static void on_alarm(int signum)
{
    (void)signum;
    static const char text[] = "a timer did not wake the loop\n";
    if (write(2, text, sizeof(text) - 1) > 0)
        _exit(1);
}

/* libuv runs timers before it polls: one that is due just then must not leave the loop asleep beside an open watch. */
TEST(a_due_timer_wakes_the_loop)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct loop *real = loop_new(clock_system());
    struct loop_watch *watch = loop_watch_fd(real, ends[0], never, NULL);
    loop_watch_keep(watch, true);
    struct ticker ticker = {.loop = real, .left = 3000};
    signal(SIGALRM, on_alarm);
    alarm(60); /* otherwise it would hang forever */
    loop_timer_start(real, &ticker.timer, loop_now_us(real), tick);
    loop_run(real);
    alarm(0);
    assert_int_equal(ticker.left, 0);
    loop_watch_free(watch);
    loop_free(real);
    close(ends[0]);
    close(ends[1]);
}
