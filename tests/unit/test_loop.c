/* Tests of the loop: tasks and their order, stopping, threads, the pool, watches, and cleanup. Every test ends with
 * loop_free, which aborts if a handle leaked. */

#include "base/err.h"
#include "base/mem.h"
#include "support/loop_rig.h"
#include "support/test.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Errors that must abort. It forks, so it comes first: no thread of the pool must be running. */

static void on_signal(void *data)
{
    note('s');
    loop_watch_keep(data ? *(struct loop_watch **)data : NULL, false);
}

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

TEST(misuse_aborts)
{
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

/* ---- tasks ---- */

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

TEST(tasks_run_in_order)
{
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
    loop_post(loop, &t[3].task, run_note); /* dropped, but still usable */
    loop_run(loop);
    assert_string_equal(trace, "a.befd");
    end();
}

static void run_stop(struct loop_task *task)
{
    run_note(task);
    loop_stop(loop);
}

TEST(stop_ends_the_loop)
{
    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        begin(virtual_time);
        struct named_task a = {.name = 'a'}, b = {.name = 'b'};
        struct named_timer timer = {.name = 't'};
        loop_post(loop, &a.task, run_stop);
        loop_post(loop, &b.task, run_note);
        loop_timer_start(loop, &timer.timer, 0, fire_note);
        loop_run(loop);
        assert_string_equal(trace, "a");
        loop_run(loop); /* the remaining tasks are still there */
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

/* ---- threads and the pool ---- */

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

TEST(posting_from_a_thread)
{
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
    assert_int_equal(loop_now_us(loop) < 10 * SECOND, 1); /* virtual time stopped meanwhile */
    test->done++;
    assert_int_equal(test->ran, test->done);
    note('w');
    if (test->again-- > 0)
        loop_work_start(loop, work, work_run, work_done);
}

TEST(work_comes_before_virtual_time)
{
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

TEST(a_disowned_work_is_awaited)
{
    begin(false);
    struct test_work *test = xcalloc(1, sizeof(*test));
    loop_work_start(loop, &test->work, work_run, free_in_done);
    loop_work_disown(loop, &test->work);
    loop_work_disown(loop, &test->work);
    end(); /* BUG() if it did not wait */
    assert_string_equal(trace, "f");
}

TEST(work_may_free_itself)
{
    begin(false);
    for (int i = 0; i < 3; i++) {
        struct test_work *test = xcalloc(1, sizeof(*test));
        loop_work_start(loop, &test->work, work_run, free_in_done);
    }
    loop_run(loop);
    assert_string_equal(trace, "fff");
    end();
}

/* ---- watches ---- */

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

TEST(watching_a_descriptor)
{
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

TEST(ready_comes_before_virtual_time)
{
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

TEST(watching_a_signal)
{
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
