/* Tests of the loop's meter: it finds callbacks that use the processor for too long, and calls that block in one. */

#include "base/loop.h"
#include "base/loop_meter.h"
#include "support/test.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void nothing(struct loop_task *task)
{
    (void)task;
}

/* Until 100 ms of this thread's time are used. */
static void spin(struct loop_task *task)
{
    struct timespec used, now;
    (void)task;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - used.tv_sec) * 1000 + (now.tv_nsec - used.tv_nsec) / 1000000 < 100);
}

static void doze(struct loop_task *task)
{
    (void)task;
    usleep(100000);
}

static void wait_for_pipe(struct loop_task *task)
{
    char byte;
    (void)task;
    alarm(5); /* no writer; the alarm ends a process that the meter missed */
    if (read(ends[0], &byte, 1) < 0)
        _exit(2);
}

/* A byte is there: the read does not wait. */
static void read_ready(struct loop_task *task)
{
    char byte;
    (void)task;
    if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        _exit(2);
}

/* Runs the task in a loop of a separate process with a limit of 50 ms. Returns how it ended and what it printed. */
static int run_metered(void (*run)(struct loop_task *), char *said, size_t size)
{
    int words[2];
    assert_int_equal(pipe(words), 0);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct loop_task task = {0};
        dup2(words[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        struct loop *loop = loop_new(clock_system());
        loop_post(loop, &task, run);
        loop_run(loop);
        loop_free(loop);
        _exit(loop_metered ? 0 : 3);
    }
    close(words[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(words[0], said + len, size - 1 - len)) > 0;)
        len += (size_t)got;
    said[len] = '\0';
    close(words[0]);
    close(ends[0]);
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void check_fine(void (*run)(struct loop_task *))
{
    char said[1000];
    int status = run_metered(run, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(status, 0);
}

static void check_found(void (*run)(struct loop_task *), const char *words)
{
    char said[1000];
    int status = run_metered(run, said, sizeof(said));
    assert_non_null(strstr(said, words));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(callback_that_uses_too_much_time_is_found)
{
    check_fine(nothing);
    check_found(spin, "a callback of the loop used ");
}

/* Only if the library of the tests is loaded, which ctest does in builds without sanitizers. */
TEST(call_that_blocks_in_a_callback_is_found)
{
    if (!dlsym(RTLD_DEFAULT, "keyturn_loop_inside"))
        skip();
    check_fine(read_ready);
    check_found(doze, "usleep may block inside a callback of the loop");
    check_found(wait_for_pipe, "read may block inside a callback of the loop");
}

void test_begin(void)
{
    setenv("KEYTURN_LOOP_LIMIT_MS", "50", 1);
}
