/* Tests of interactive programs, without a sandbox and in bubblewrap. */

#include "base/loop.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/running_program.h"
#include "workspace/workspace.h"
#include <signal.h>
#include <string.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct program_rig rig;
static struct running_program *session;

static int begin_bare(void **state)
{
    (void)state;
    program_rig_open(&rig, "none", NULL);
    return 0;
}

static int begin_in_bwrap(void **state)
{
    (void)state;
    program_rig_open(&rig, "bwrap", NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    running_program_free(session);
    session = NULL;
    program_rig_close(&rig);
    return 0;
}

/* The same test without a sandbox and in bubblewrap. */
#define PROGRAM_TEST(NAME)                          \
    static void check_##NAME(void);                 \
    TEST_WITH(NAME##_bare, begin_bare, end)         \
    {                                               \
        check_##NAME();                             \
    }                                               \
    TEST_WITH(NAME##_in_bwrap, begin_in_bwrap, end) \
    {                                               \
        check_##NAME();                             \
    }                                               \
    static void check_##NAME(void)

static struct running_program *start(const char *command, bool tty)
{
    struct err err = ERR_INIT;
    struct program_spec spec = {.cmd = "sh", .args = ARGS("-c", command), .tty = tty, .timeout_ms = 60000};
    struct running_program *started = running_program_start(rig.programs, rig.ws, &spec, NULL, NULL, &err);
    if (!started)
        fail_msg("%s", err.text);
    return started;
}

static bool exited(void *user)
{
    return running_program_exited(user);
}

static const char *sought;

static bool says(void *user)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    output_lines_log(running_program_lines(user), 0, 0, &text);
    return strstr(text.buf, sought) != NULL;
}

static void await_text(struct running_program *of, const char *text)
{
    sought = text;
    program_rig_await(&rig, says, of);
}

static void type(struct running_program *to, const char *text)
{
    struct err err = ERR_INIT;
    if (running_program_write(to, text, strlen(text), true, &err))
        fail_msg("%s", err.text);
}

PROGRAM_TEST(round_trip)
{
    session = start("echo ready; read v; echo out:$v; echo err:$v >&2; exit 4", false);
    await_text(session, "ready");
    type(session, "hello");
    program_rig_await(&rig, exited, session);
    assert_int_equal(running_program_end(session)->exit_code, 4);
    assert_string_equal(running_program_stream(session, PROCESS_STDOUT)->buf, "ready\nout:hello\n");
    assert_string_equal(running_program_stream(session, PROCESS_STDERR)->buf, "err:hello\n");
    struct err err = ERR_INIT;
    assert_int_equal(running_program_write(session, "x", 1, false, &err), -1);
    assert_string_equal(err.text, "session is not running");
    assert_int_equal(running_program_write(session, "", 0, false, &err), 0);
    running_program_kill(session, 100);
    running_program_close(session);
}

PROGRAM_TEST(programs_can_have_a_terminal)
{
    /* The terminal belongs to the program: job control works, and Ctrl-C interrupts. */
    session =
        start("test -t 0 && test -t 1 && echo terminal; read v; echo got:$v; trap 'echo interrupted; exit 3' INT; "
              "echo waiting; while :; do sleep 0.05; done",
              true);
    await_text(session, "terminal");
    type(session, "7");
    await_text(session, "got:7");
    await_text(session, "waiting");
    struct err err = ERR_INIT;
    assert_int_equal(running_program_write(session, "\x03", 1, false, &err), 0);
    program_rig_await(&rig, exited, session);
    assert_int_equal(running_program_end(session)->exit_code, 3);
}

PROGRAM_TEST(a_kill_sends_sigterm_first)
{
    session = start("trap 'echo bye; exit 6' TERM; echo on; while :; do sleep 0.05; done", false);
    await_text(session, "on");
    running_program_kill(session, 60000);
    running_program_kill(session, 60000);
    program_rig_await(&rig, exited, session);
    assert_int_equal(running_program_end(session)->exit_code, 6);
    assert_true(running_program_end(session)->asked);
    assert_false(running_program_end(session)->forced);
    assert_true(says((sought = "bye", session)));
    running_program_free(session);
    session = start("trap '' TERM; setsid sleep 98764.$MARK & echo on; while :; do sleep 0.05; done", false);
    await_text(session, "on");
    running_program_kill(session, 50);
    program_rig_await(&rig, exited, session);
    assert_int_equal(running_program_end(session)->exit_code, -1);
    assert_int_equal(running_program_end(session)->signum, SIGKILL);
    assert_true(running_program_end(session)->forced);
    assert_int_equal(running_program_end(session)->survivors, 0);
    assert_int_equal(program_rig_count("sleep 98764"), 0);
}

PROGRAM_TEST(closed_input)
{
    struct err err = ERR_INIT;
    session = start("cat; echo end", false);
    type(session, "a");
    running_program_close(session);
    running_program_close(session);
    assert_int_equal(running_program_write(session, "x", 1, false, &err), -1);
    assert_string_equal(err.text, "stdin is not available");
    program_rig_await(&rig, exited, session);
    assert_string_equal(running_program_stream(session, PROCESS_STDOUT)->buf, "a\nend\n");
}

static struct output_seen last;
static int waited;

static void on_seen(void *user, struct output_seen *seen)
{
    (void)user;
    strbuf_release(&last.output);
    last = *seen;
    strbuf_init(&seen->output);
    waited++;
}

static bool has_waited(void *user)
{
    return waited > *(int *)user;
}

static void wait_for(int64_t yield_ms)
{
    int before = waited;
    running_program_wait(session, yield_ms, OUTPUT_POLL_LINES, on_seen, NULL);
    program_rig_await(&rig, has_waited, &before);
}

PROGRAM_TEST(waiting_collects_output)
{
    strbuf_init(&last.output);
    session = start("printf 'Name: '; read v; echo hello $v; read v", false);
    wait_for(0);
    assert_string_equal(last.output.buf, "Name: ");
    assert_false(last.exited);
    type(session, "x");
    wait_for(0);
    assert_string_equal(last.output.buf, "Name: hello x");
    wait_for(60);
    assert_string_equal(last.output.buf, "");
    running_program_wait(session, 60000, 0, on_seen, NULL);
    running_program_wait_end(session);
    type(session, "");
    wait_for(60000);
    assert_true(last.exited);
    assert_int_equal(last.exit_code, 0);
    /* More than one poll returns, reported completely at the end. */
    running_program_free(session);
    session = start("i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done", false);
    program_rig_await(&rig, exited, session);
    wait_for(60000);
    assert_int_equal(last.window.next, 300);
    assert_int_equal(strncmp(last.output.buf, "0\n1\n", 4), 0);
    running_program_wait(session, 60000, 0, on_seen, NULL); /* forgotten with it */
    running_program_free(session);
    session = NULL;
    strbuf_release(&last.output);
}

PROGRAM_TEST(many_at_once)
{
    enum { COUNT = 50 };
    struct running_program *all[COUNT];
    for (int i = 0; i < COUNT; i++)
        all[i] = start("read v; echo got:$v; exit $v", i % 5 == 0);
    for (int i = 0; i < COUNT; i++) {
        CLEANUP(free) char *text = xasprintf("%d", i);
        type(all[i], text);
    }
    for (int i = 0; i < COUNT; i++) {
        CLEANUP(free) char *want = xasprintf("got:%d", i);
        program_rig_await(&rig, exited, all[i]);
        assert_int_equal(running_program_end(all[i])->exit_code, i);
        assert_true(says((sought = want, all[i])));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(running_program_id(all[i]), running_program_id(all[j]));
    }
    for (int i = 0; i < COUNT; i++)
        running_program_free(all[i]);
}

/* Input for a program that does not read, and output that floods a waiting call, cost bounded memory. */
PROGRAM_TEST(floods_are_bounded)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *text = xcalloc(1, 256 << 10);
    int refused = 0, writes = 0;
    memset(text, 'x', 256 << 10);
    session = start("echo ready; sleep 50", false);
    await_text(session, "ready");
    for (; writes < 100 && !refused; writes++)
        refused = running_program_write(session, text, 256 << 10, false, &err);
    assert_true(refused && writes < 10);
    assert_non_null(strstr(err.text, "the program does not read its input ("));
    running_program_free(session);
    session = start("yes $(head -c 100000 /dev/zero | tr '\\0' y)", false);
    wait_for(50000);
    assert_false(last.exited);
    assert_in_range(last.output.len, 1, OUTPUT_SEEN_BYTES + OUTPUT_LINES_BYTES);
    assert_in_range(running_program_lines(session)->bytes, 1, OUTPUT_LINES_BYTES);
    strbuf_release(&last.output);
}

PROGRAM_TEST(lines_are_kept)
{
    session = start("i=0; while [ $i -lt 25000 ]; do echo $i; i=$((i+1)); done; echo done", false);
    program_rig_await(&rig, exited, session);
    assert_int_equal(running_program_lines(session)->count, OUTPUT_LINES_MAX);
    assert_int_equal(running_program_lines(session)->base, 5001);
}
