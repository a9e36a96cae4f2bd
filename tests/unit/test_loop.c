/* The loop: order of timers and tasks, virtual time, threads, the pool, watches, and that nothing is left open. Every
 * test ends with loop_free, which aborts when a handle leaked. */

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000)

static struct loop *loop;
static struct fake_clock fake;
static char trace[4096]; /* a letter for everything that happened */
static size_t traced;

static void note(char c)
{
    assert_true(traced + 1 < sizeof(trace));
    trace[traced++] = c;
    trace[traced] = '\0';
}

static void begin(bool virtual_time)
{
    fake_clock_init(&fake);
    loop = loop_new(virtual_time ? &fake.base : clock_system());
    traced = 0;
    trace[0] = '\0';
}

static void end(void)
{
    loop_free(loop);
    loop = NULL;
}

struct named_timer {
    struct loop_timer timer;
    char name;
    struct named_timer *other; /* for the callbacks that do something to another one */
    int64_t fired_us;
};

struct named_task {
    struct loop_task task;
    char name;
    struct named_task *other;
};

static void fire_note(struct loop_timer *timer)
{
    struct named_timer *named = (struct named_timer *)timer;
    assert_false(loop_timer_armed(timer));
    assert_true(loop_now_us(loop) >= timer->due_us);
    named->fired_us = loop_now_us(loop);
    note(named->name);
}

static void run_note(struct loop_task *task)
{
    assert_false(task->posted);
    note(((struct named_task *)task)->name);
}

/* Timers */

static void test_deadline_of_45_seconds_takes_no_time(void **state)
{
    (void)state;
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

static void test_order_of_timers(void **state)
{
    (void)state;
    begin(true);
    struct named_timer t[6];
    memset(t, 0, sizeof(t));
    static const int64_t due[] = {30, 10, 20, 10, 30, 10};
    for (size_t i = 0; i < 6; i++) {
        t[i].name = (char)('a' + i);
        loop_timer_start(loop, &t[i].timer, due[i], fire_note);
    }
    loop_timer_start(loop, &t[1].timer, 10, fire_note); /* again: now behind its equals */
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

static void test_timers_that_change_timers(void **state)
{
    (void)state;
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

static void test_many_timers(void **state)
{
    (void)state;
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

static void test_an_eager_timer_shuts_nothing_out(void **state)
{
    (void)state;
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

static void test_real_timers_are_never_early(void **state)
{
    (void)state;
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

static void test_no_idle_wake_ups(void **state)
{
    (void)state;
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

/* Tasks */

static void run_post_other(struct loop_task *task)
{
    run_note(task);
    loop_post(loop, &((struct named_task *)task)->other->task, run_note);
    note('.');
}

static void run_unpost_other(struct loop_task *task)
{
    run_note(task);
    loop_unpost(loop, &((struct named_task *)task)->other->task);
}

static void test_tasks(void **state)
{
    (void)state;
    begin(true);
    struct named_task t[6];
    memset(t, 0, sizeof(t));
    for (size_t i = 0; i < 6; i++)
        t[i].name = (char)('a' + i);
    t[0].other = &t[5];
    t[1].other = &t[2];
    loop_post(loop, &t[0].task, run_post_other);
    loop_post(loop, &t[1].task, run_unpost_other);
    loop_post(loop, &t[2].task, run_note);
    loop_post(loop, &t[3].task, run_note);
    loop_post(loop, &t[4].task, run_note);
    loop_post(loop, &t[0].task, run_note); /* is posted already: nothing changes */
    loop_unpost(loop, &t[3].task);
    loop_unpost(loop, &t[3].task);
    assert_string_equal(trace, "");
    loop_run(loop);
    assert_string_equal(trace, "a.bef");
    loop_post(loop, &t[3].task, run_note); /* forgotten, not spoilt */
    loop_run(loop);
    assert_string_equal(trace, "a.befd");
    end();
}

static void run_stop(struct loop_task *task)
{
    run_note(task);
    loop_stop(loop);
}

static void test_stop(void **state)
{
    (void)state;
    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        begin(virtual_time);
        struct named_task a = {.name = 'a'}, b = {.name = 'b'};
        struct named_timer timer = {.name = 't'};
        loop_post(loop, &a.task, run_stop);
        loop_post(loop, &b.task, run_note);
        loop_timer_start(loop, &timer.timer, 0, fire_note);
        loop_run(loop);
        assert_string_equal(trace, "a");
        loop_run(loop); /* what was left is still there */
        assert_string_equal(trace, "abt");
        /* A stop before the run is not lost. */
        loop_timer_start(loop, &timer.timer, 0, fire_note);
        loop_stop(loop);
        loop_run(loop);
        assert_string_equal(trace, "abt");
        loop_timer_stop(loop, &timer.timer);
        end();
    }
}

/* Threads and the pool */

enum { LETTERS = 2000 };
static pthread_t loop_thread;
static int received;

static void receive(void *data)
{
    assert_true(pthread_equal(pthread_self(), loop_thread));
    assert_int_equal(*(int *)data, received); /* in the order sent */
    received++;
    if (received == LETTERS)
        loop_let_go(loop);
}

static void *send_letters(void *data)
{
    int *numbers = data;
    for (int i = 0; i < LETTERS; i++) {
        numbers[i] = i;
        loop_post_from_thread(loop, receive, &numbers[i]);
    }
    return NULL;
}

static void test_posting_from_a_thread(void **state)
{
    (void)state;
    static int numbers[LETTERS];
    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        begin(virtual_time);
        loop_thread = pthread_self();
        received = 0;
        loop_hold(loop);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, send_letters, numbers), 0);
        loop_run(loop); /* the hold keeps it until the last letter */
        assert_int_equal(received, LETTERS);
        pthread_join(thread, NULL);
        end();
    }
}

struct test_work {
    struct loop_work work;
    pthread_t ran_on;
    int ran, done;
    int again;
};

static void work_run(struct loop_work *work)
{
    struct test_work *test = (struct test_work *)work;
    test->ran_on = pthread_self();
    usleep(5000);
    test->ran++;
}

static void work_done(struct loop_work *work)
{
    struct test_work *test = (struct test_work *)work;
    assert_true(pthread_equal(pthread_self(), loop_thread));
    assert_false(pthread_equal(test->ran_on, loop_thread));
    assert_int_equal(loop_now_us(loop) < 10 * SECOND, 1); /* virtual time stood still meanwhile */
    test->done++;
    assert_int_equal(test->ran, test->done);
    note('w');
    if (test->again-- > 0)
        loop_work_start(loop, work, work_run, work_done);
}

static void test_work_comes_before_virtual_time(void **state)
{
    (void)state;
    begin(true);
    loop_thread = pthread_self();
    struct named_timer timer = {.name = 't'};
    struct test_work works[3];
    memset(works, 0, sizeof(works));
    works[1].again = 2;
    loop_timer_start(loop, &timer.timer, 10 * SECOND, fire_note);
    for (size_t i = 0; i < 3; i++)
        loop_work_start(loop, &works[i].work, work_run, work_done);
    loop_run(loop);
    assert_string_equal(trace, "wwwwwt");
    assert_int_equal(works[1].done, 3);
    end();
}

static void free_in_done(struct loop_work *work)
{
    free(work);
    note('f');
}

static void test_work_may_free_itself(void **state)
{
    (void)state;
    begin(false);
    for (int i = 0; i < 3; i++) {
        struct test_work *test = xcalloc(1, sizeof(*test));
        loop_work_start(loop, &test->work, work_run, free_in_done);
    }
    loop_run(loop);
    assert_string_equal(trace, "fff");
    end();
}

/* Watches */

struct pipe_watch {
    struct loop_watch *watch;
    int ends[2];
};

static void on_readable(void *data)
{
    struct pipe_watch *pw = data;
    char c;
    assert_int_equal(read(pw->ends[0], &c, 1), 1);
    note(c);
    if (c == 'z') {
        loop_watch_free(pw->watch);
        pw->watch = NULL;
    }
}

static void *write_letters(void *data)
{
    struct pipe_watch *pw = data;
    usleep(5000);
    return write(pw->ends[1], "xyz", 3) == 3 ? NULL : data;
}

static void test_watching_a_descriptor(void **state)
{
    (void)state;
    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        begin(virtual_time);
        struct pipe_watch pw;
        assert_int_equal(pipe(pw.ends), 0);
        pw.watch = loop_watch_fd(loop, pw.ends[0], on_readable, &pw);
        assert_non_null(pw.watch);
        loop_run(loop); /* a watch alone does not keep it */
        assert_string_equal(trace, "");
        loop_watch_keep(pw.watch, true);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_letters, &pw), 0);
        loop_run(loop);
        assert_string_equal(trace, "xyz");
        void *failed;
        pthread_join(thread, &failed);
        assert_null(failed);
        close(pw.ends[0]);
        close(pw.ends[1]);
        loop_watch_free(NULL);
        FILE *file = tmpfile(); /* always readable, so there is nothing to watch */
        assert_null(loop_watch_fd(loop, fileno(file), on_readable, NULL));
        fclose(file);
        end();
    }
}

static void test_ready_comes_before_virtual_time(void **state)
{
    (void)state;
    begin(true);
    struct pipe_watch pw;
    assert_int_equal(pipe(pw.ends), 0);
    assert_int_equal(write(pw.ends[1], "abz", 3), 3);
    pw.watch = loop_watch_fd(loop, pw.ends[0], on_readable, &pw);
    struct named_timer timer = {.name = 't'};
    loop_timer_start(loop, &timer.timer, SECOND, fire_note);
    loop_run(loop);
    assert_string_equal(trace, "abzt");
    close(pw.ends[0]);
    close(pw.ends[1]);
    end();
}

static void on_signal(void *data)
{
    note('s');
    loop_watch_keep(data ? *(struct loop_watch **)data : NULL, false);
}

static void test_watching_a_signal(void **state)
{
    (void)state;
    begin(false);
    struct loop_watch *watch = NULL;
    watch = loop_watch_signal(loop, SIGUSR1, on_signal, &watch);
    loop_watch_keep(watch, true);
    raise(SIGUSR1);
    loop_run(loop);
    assert_string_equal(trace, "s");
    loop_watch_free(watch);
    end();
}

/* What must not go unnoticed */

static void run_nested(struct loop_task *task)
{
    (void)task;
    loop_run(loop);
}

enum misuse { LEAVE_TIMER, LEAVE_TASK, LEAVE_HOLD, LEAVE_WATCH, RUN_NESTED, MISUSES };

static void misuse(enum misuse way)
{
    struct loop_timer timer = {0};
    struct loop_task task = {0};
    if (way == LEAVE_TIMER)
        loop_timer_start(loop, &timer, 1, fire_note);
    if (way == LEAVE_TASK || way == RUN_NESTED)
        loop_post(loop, &task, run_nested);
    if (way == LEAVE_HOLD)
        loop_hold(loop);
    if (way == LEAVE_WATCH)
        loop_watch_signal(loop, SIGUSR2, on_signal, NULL);
    if (way == RUN_NESTED)
        loop_run(loop);
    loop_free(loop);
}

static void test_misuse_aborts(void **state)
{
    (void)state;
    for (int way = 0; way < MISUSES; way++) {
        pid_t pid = fork();
        if (pid == 0) {
            close(2);
            begin(true);
            misuse((enum misuse)way);
            _exit(0);
        }
        int status;
        waitpid(pid, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("misuse %d went unnoticed", way);
    }
    loop_free(NULL);
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
    fail_msg("nobody wrote");
}

static void on_alarm(int signum)
{
    (void)signum;
    static const char text[] = "a timer did not wake the loop\n";
    if (write(2, text, sizeof(text) - 1) > 0)
        _exit(1);
}

/* libuv runs timers before it polls: one that is due just then must not leave the loop asleep beside an open watch. */
static void a_due_timer_never_leaves_the_loop_asleep(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct loop *real = loop_new(clock_system());
    struct loop_watch *watch = loop_watch_fd(real, ends[0], never, NULL);
    loop_watch_keep(watch, true);
    struct ticker ticker = {.loop = real, .left = 3000};
    signal(SIGALRM, on_alarm);
    alarm(60); /* else it would hang for ever */
    loop_timer_start(real, &ticker.timer, loop_now_us(real), tick);
    loop_run(real);
    alarm(0);
    assert_int_equal(ticker.left, 0);
    loop_watch_free(watch);
    loop_free(real);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_due_timer_never_leaves_the_loop_asleep),
        cmocka_unit_test(test_misuse_aborts), /* first: it forks, and must not inherit pool threads */
        cmocka_unit_test(test_deadline_of_45_seconds_takes_no_time),
        cmocka_unit_test(test_order_of_timers),
        cmocka_unit_test(test_timers_that_change_timers),
        cmocka_unit_test(test_many_timers),
        cmocka_unit_test(test_an_eager_timer_shuts_nothing_out),
        cmocka_unit_test(test_real_timers_are_never_early),
        cmocka_unit_test(test_no_idle_wake_ups),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_posting_from_a_thread),
        cmocka_unit_test(test_work_comes_before_virtual_time),
        cmocka_unit_test(test_work_may_free_itself),
        cmocka_unit_test(test_watching_a_descriptor),
        cmocka_unit_test(test_ready_comes_before_virtual_time),
        cmocka_unit_test(test_watching_a_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
