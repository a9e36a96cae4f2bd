/* Tests of the streams of children: what they read and print, a terminal instead of pipes, the control line, and
 * pauses. */

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/child_rig.h"
#include "support/test.h"
#include <fcntl.h>
#include <sys/wait.h>

static void expect_numbers(const struct strbuf *text, int last, const char *end_of_line)
{
    CLEANUP(strbuf) struct strbuf expected = STRBUF_INIT;
    for (int i = 1; i <= last; i++)
        strbuf_addf(&expected, "%d%s", i, end_of_line);
    assert_int_equal(text->len, expected.len);
    assert_memory_equal(text->buf, expected.buf, expected.len);
}

TEST_WITH(streams_and_exit_code, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "echo out; echo err >&2; exit 3", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "out\n");
    assert_string_equal(child.err.buf, "err\n");
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 3);
    assert_int_equal(child.signum, 0);
    seen_release(&child);
}

TEST_WITH(stdin_is_written_and_closed, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    /* More than the pipes hold, both ways at once. */
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    for (int i = 0; i < 200000; i++)
        strbuf_addf(&bytes, "%d\n", i);
    struct seen_child child;
    seen_shell(&child, loop, "cat; echo done >&2", true);
    child_write(child.child, bytes.buf, bytes.len);
    child_write(child.child, "", 0);
    child_write(child.child, "last", 4);
    child_close_stdin(child.child);
    child_close_stdin(child.child);
    child_write(child.child, "not any more", 12);
    strbuf_addstr(&bytes, "last");
    loop_run(loop);
    assert_int_equal(child.out.len, bytes.len);
    assert_memory_equal(child.out.buf, bytes.buf, bytes.len);
    assert_string_equal(child.err.buf, "done\n");
    assert_int_equal(child.status, 0);
    seen_release(&child);
}

TEST_WITH(a_child_that_does_not_read, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    strbuf_grow(&bytes, 1000000);
    memset(bytes.buf, 'x', 1000000);
    struct seen_child child;
    seen_shell(&child, loop, "exec 0<&-; echo started; exit 0", true);
    child_write(child.child, bytes.buf, 1000000); /* the pipe breaks; SIGPIPE must not kill us */
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 0);
    child_write(child.child, "x", 1);
    child_close_stdin(child.child);
    seen_release(&child);
}

TEST_WITH(no_stdin_is_empty, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "cat; echo $?", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "0\n");
    seen_release(&child);
}

TEST_WITH(streams_can_be_opened_by_name, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "echo one > /dev/stdout; echo two > /dev/stderr", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "one\n");
    assert_string_equal(child.err.buf, "two\n");
    seen_release(&child);
}

static void on_bare_exit(void *data, int status, int signum)
{
    *(int *)data = status * 1000 + signum;
}

TEST_WITH(without_streams, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    const char *argv[] = {"sh", "-c", "echo lost; echo x >&2; exit 4", NULL};
    int seen = -1;
    struct process_spec options = {.argv = argv};
    struct child_ops ops = {.exited = on_bare_exit};
    struct err err = ERR_INIT;
    struct child *child = child_start(loop, &options, &ops, &seen, &err);
    assert_non_null(child);
    loop_run(loop);
    assert_int_equal(seen, 4000);
    child_free(child);
}

/* Bytes that a child left in the pipe while reading was paused arrive when it resumes, and the end comes after them. */
static struct {
    struct loop_timer timer;
    struct seen_child *child;
    size_t seen;
} pausing;

static void unpause(struct loop_timer *timer)
{
    (void)timer;
    pausing.seen = pausing.child->out.len;
    assert_int_equal(pausing.child->exits, 0);
    child_pause(pausing.child->child, false);
}

TEST_WITH(a_paused_stream_is_not_read, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "echo one; echo two", false);
    child_pause(child.child, true);
    child_pause(child.child, true);
    pausing.child = &child;
    loop_timer_start(loop, &pausing.timer, loop_now_us(loop) + 600000, unpause);
    loop_run(loop);
    assert_int_equal(pausing.seen, 0);
    assert_string_equal(child.out.buf, "one\ntwo\n");
    assert_int_equal(child.exits, 1);
    seen_release(&child);
}

TEST_WITH(a_child_can_have_a_terminal, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    const char *argv[] = {"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && read x && echo got:$x",
                          NULL};
    seen_start(&child, loop, (struct process_spec){.argv = argv, .open = PROCESS_PTY});
    child_write(child.child, "7\n", 2);
    loop_run(loop);
    assert_int_equal(child.status, 0);
    assert_int_equal(child.out_ends, 1);
    assert_non_null(strstr(child.out.buf, "24 80\r\n"));
    assert_non_null(strstr(child.out.buf, "got:7\r\n"));
    seen_release(&child);
    /* The end of its input is the key that a person would press. */
    const char *cat[] = {"cat", NULL};
    seen_start(&child, loop, (struct process_spec){.argv = cat, .open = PROCESS_PTY});
    child_write(child.child, "x\n", 2);
    child_close_stdin(child.child);
    loop_run(loop);
    assert_int_equal(child.status, 0);
    seen_release(&child);
}

/* When its child ends, a terminal holds more than one read returns. All of it is read before the end is reported. */
TEST_WITH(terminal_that_ends_full, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    siginfo_t info;
    const char *argv[] = {"seq", "2000", NULL};
    seen_start(&child, loop, (struct process_spec){.argv = argv, .open = PROCESS_PTY});
    assert_int_equal(waitid(P_PID, (id_t)child_pid(child.child), &info, WEXITED | WNOWAIT), 0);
    loop_run(loop);
    expect_numbers(&child.out, 2000, "\r\n");
    assert_int_equal(child.exits, 1);
    seen_release(&child);
}

/* A separate control line: its text is not in the streams, and its end stops the listener without a kill. */
static struct strbuf said = STRBUF_INIT;

static void on_control(void *data, const char *bytes, size_t len)
{
    struct seen_child *child = data;
    strbuf_add(&said, bytes, len);
    if (strcmp(said.buf, "ready\n") == 0)
        child_write_control(child->child, "go\n", 3);
}

TEST_WITH(the_control_stream_is_separate, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    const char *argv[] = {"sh", "-c", "echo ready >&3; read x <&3; echo out; echo $x >&3", NULL};
    seen_start_line(&child, loop, &(struct process_spec){.argv = argv}, on_control, NULL);
    loop_run(loop);
    assert_string_equal(said.buf, "ready\ngo\n");
    assert_string_equal(child.out.buf, "out\n");
    assert_int_equal(child.exits, 1);
    seen_release(&child);
    strbuf_release(&said);
    /* After the free, the child still has time to leave something. */
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-child-", &err);
    CLEANUP(free) char *script = xasprintf("echo on; read x <&3; sleep 0.1; echo cleaned > %s/mark", folder);
    argv[2] = script;
    seen_start_line(&child, loop, &(struct process_spec){.argv = argv}, on_control, NULL);
    child.free_on_output = true;
    loop_run(loop);
    loop_free(loop); /* waits for it */
    *state = NULL;
    CLEANUP(free) char *mark = xasprintf("%s/mark", folder);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(mark, &text, 0, &err), 0);
    assert_string_equal(text.buf, "cleaned\n");
    seen_release(&child);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

/* Above this many bytes, a stream is read with pauses. */
#define CALM_AFTER 65536

TEST_WITH(slow_output_is_complete, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    const char *both[] = {"sh", "-c", "seq 200000 & seq 150000 >&2; wait; exit 3", NULL};
    seen_start(&child, loop, (struct process_spec){.argv = both, .calm_after = CALM_AFTER});
    loop_run(loop);
    expect_numbers(&child.out, 200000, "\n");
    expect_numbers(&child.err, 150000, "\n");
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 3);
    seen_release(&child);
    const char *one[] = {"seq", "100000", NULL};
    seen_start(&child, loop, (struct process_spec){.argv = one, .open = PROCESS_PTY, .calm_after = CALM_AFTER});
    loop_run(loop);
    expect_numbers(&child.out, 100000, "\r\n");
    assert_int_equal(child.exits, 1);
    seen_release(&child);
}

/* Counts the rounds of the loop that brought data. All of it is in the pipe before the first round, so speed does not
 * matter. */
#define FILLED (1 << 20)

static struct {
    struct loop_task round;
    int rounds;
    size_t ends_at; /* the child is ended after this many bytes */
} counting;

static void round_over(struct loop_task *task)
{
    (void)task;
}

static void count_round(struct seen_child *child)
{
    counting.rounds += !child->out_ends && !counting.round.posted;
    loop_post(child->loop, &counting.round, round_over);
    if (child->out.len >= counting.ends_at)
        child_close_stdin(child->child);
}

static void fill_pipe(const struct seen_child *child, const char *bytes)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/fd/1", child_pid(child->child));
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETPIPE_SZ, FILLED), FILLED);
    assert_int_equal(write(fd, bytes, FILLED), FILLED);
}

static int rounds_of(struct loop *loop, uint64_t calm_after, size_t ends_at)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    for (int i = 0; bytes.len < FILLED; i++)
        strbuf_addf(&bytes, "%d\n", i);
    const char *argv[] = {"cat", NULL};
    struct seen_child child;
    seen_start(&child, loop, (struct process_spec){.argv = argv, .keep_input = true, .calm_after = calm_after});
    fill_pipe(&child, bytes.buf);
    child.heard = count_round;
    counting.rounds = 0;
    counting.ends_at = ends_at;
    loop_run(loop);
    assert_int_equal(child.out.len, FILLED);
    assert_memory_equal(child.out.buf, bytes.buf, FILLED);
    assert_int_equal(child.exits, 1);
    seen_release(&child);
    return counting.rounds;
}

TEST_WITH(slow_output_is_read_in_small_pieces, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    int floor = rounds_of(loop, 0, FILLED);
    assert_int_equal(rounds_of(loop, FILLED + 1, FILLED), floor);
    assert_true(rounds_of(loop, CALM_AFTER, FILLED) > 2 * floor);
    rounds_of(loop, CALM_AFTER, 1); /* it ends in the first pause */
}

/* Many endless children use no more of our time than one. */
#define FLOODS      8
#define FLOODS_MS   1000
#define FLOODS_MOST ((size_t)60 << 20)

static void stop_flooding(struct loop_timer *timer)
{
    loop_stop(pausing.child->loop);
    loop_timer_stop(pausing.child->loop, timer);
}

static void drop_output(struct seen_child *child)
{
    counting.ends_at += child->out.len + child->err.len;
    strbuf_reset(&child->out);
    strbuf_reset(&child->err);
}

TEST_WITH(floods_share_the_loop, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    const char *both[] = {"sh", "-c", "yes & exec yes >&2", NULL};
    struct seen_child children[FLOODS];
    counting.ends_at = 0;
    for (size_t i = 0; i < FLOODS; i++) {
        seen_start(&children[i], loop, (struct process_spec){.argv = both, .calm_after = CALM_AFTER});
        children[i].heard = drop_output;
    }
    pausing.child = &children[0];
    loop_timer_start(loop, &pausing.timer, loop_now_us(loop) + FLOODS_MS * 1000, stop_flooding);
    loop_run(loop);
    for (size_t i = 0; i < FLOODS; i++) {
        seen_free(&children[i]);
        seen_release(&children[i]);
    }
    assert_in_range(counting.ends_at, FLOODS * CALM_AFTER, FLOODS_MOST);
}

/* Bytes of an endless child: more than arrives before a pause. */
#define ENDLESS ((size_t)64 << 20)

static void free_paused(struct loop_timer *timer)
{
    loop_timer_stop(pausing.child->loop, timer);
    pausing.seen = pausing.child->out.len;
    seen_free(pausing.child);
}

/* After its start, a moment without data only means that the stream is not read. */
static void await_pause(struct seen_child *child)
{
    if (child->out.len > ENDLESS)
        free_paused(&pausing.timer);
    else if (child->out.len > 1 << 20)
        loop_timer_start(child->loop, &pausing.timer, loop_now_us(child->loop) + 10000, free_paused);
}

TEST_WITH(free_in_a_pause, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    const char *yes[] = {"yes", NULL}, *gentle[] = {"sh", "-c", "yes & read x <&3", NULL};
    const struct process_spec ways[] = {
        {.argv = yes, .calm_after = CALM_AFTER},
        {.argv = yes, .calm_after = CALM_AFTER, .open = PROCESS_PTY},
        {.argv = gentle, .calm_after = CALM_AFTER},
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct seen_child child;
        seen_start_line(&child, loop, &ways[i], ways[i].argv == gentle ? on_control : NULL, NULL);
        child.heard = await_pause;
        pausing.child = &child;
        loop_run(loop);
        assert_true(pausing.seen <= ENDLESS);
        assert_int_equal(child.out.len, pausing.seen);
        assert_int_equal(child.out_ends + child.err_ends + child.exits, 0);
        seen_release(&child);
    }
}
