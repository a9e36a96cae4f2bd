/* Interactive programs, where nothing is around them and in bubblewrap. */

#include "base/loop.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "workspace/program_session.h"
#include "workspace/workspace.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct program_rig rig;
static const char *engine;
static struct program_session *session;

static int begin(void **state)
{
    (void)state;
    program_rig_open(&rig, engine, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    program_session_free(session);
    session = NULL;
    program_rig_close(&rig);
    return 0;
}

static struct program_session *start(const char *command, bool tty)
{
    struct err err = ERR_INIT;
    struct program_spec spec = {.cmd = "sh", .args = ARGS("-c", command), .tty = tty, .timeout_ms = 60000};
    struct program_session *started = program_session_start(rig.programs, rig.ws, &spec, NULL, NULL, &err);
    if (!started)
        fail_msg("%s", err.text);
    return started;
}

static bool exited(void *user)
{
    return program_session_exited(user);
}

static const char *sought;

static bool says(void *user)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    session_lines_log(program_session_lines(user), 0, 0, &text);
    return strstr(text.buf, sought) != NULL;
}

static void await_text(struct program_session *of, const char *text)
{
    sought = text;
    program_rig_await(&rig, says, of);
}

static void type(struct program_session *to, const char *text)
{
    struct err err = ERR_INIT;
    if (program_session_write(to, text, strlen(text), true, &err))
        fail_msg("%s", err.text);
}

static void test_round_trip(void **state)
{
    (void)state;
    session = start("echo ready; read v; echo out:$v; echo err:$v >&2; exit 4", false);
    await_text(session, "ready");
    type(session, "hello");
    program_rig_await(&rig, exited, session);
    assert_int_equal(program_session_end(session)->exit_code, 4);
    assert_string_equal(program_session_stream(session, PROCESS_STDOUT)->buf, "ready\nout:hello\n");
    assert_string_equal(program_session_stream(session, PROCESS_STDERR)->buf, "err:hello\n");
    struct err err = ERR_INIT;
    assert_int_equal(program_session_write(session, "x", 1, false, &err), -1);
    assert_string_equal(err.text, "session is not running");
    assert_int_equal(program_session_write(session, "", 0, false, &err), 0);
    program_session_kill(session, 100);
    program_session_close(session);
}

static void test_terminal(void **state)
{
    (void)state;
    /* It is the program's own: job control works, and what is typed for an interrupt interrupts. */
    session =
        start("test -t 0 && test -t 1 && echo terminal; read v; echo got:$v; trap 'echo interrupted; exit 3' INT; "
              "echo waiting; while :; do sleep 0.05; done",
              true);
    await_text(session, "terminal");
    type(session, "7");
    await_text(session, "got:7");
    await_text(session, "waiting");
    struct err err = ERR_INIT;
    assert_int_equal(program_session_write(session, "\x03", 1, false, &err), 0);
    program_rig_await(&rig, exited, session);
    assert_int_equal(program_session_end(session)->exit_code, 3);
}

static void test_asked_and_killed(void **state)
{
    (void)state;
    session = start("trap 'echo bye; exit 6' TERM; echo on; while :; do sleep 0.05; done", false);
    await_text(session, "on");
    program_session_kill(session, 60000);
    program_session_kill(session, 60000);
    program_rig_await(&rig, exited, session);
    assert_int_equal(program_session_end(session)->exit_code, 6);
    assert_true(program_session_end(session)->asked);
    assert_false(program_session_end(session)->forced);
    assert_true(says((sought = "bye", session)));
    program_session_free(session);
    session = start("trap '' TERM; setsid sleep 98764.$MARK & echo on; while :; do sleep 0.05; done", false);
    await_text(session, "on");
    program_session_kill(session, 50);
    program_rig_await(&rig, exited, session);
    assert_int_equal(program_session_end(session)->exit_code, -1);
    assert_int_equal(program_session_end(session)->signum, SIGKILL);
    assert_true(program_session_end(session)->forced);
    assert_int_equal(program_session_end(session)->survivors, 0);
    assert_int_equal(program_rig_count("sleep 98764"), 0);
}

static void test_closed_input(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    session = start("cat; echo end", false);
    type(session, "a");
    program_session_close(session);
    program_session_close(session);
    assert_int_equal(program_session_write(session, "x", 1, false, &err), -1);
    assert_string_equal(err.text, "stdin is not available");
    program_rig_await(&rig, exited, session);
    assert_string_equal(program_session_stream(session, PROCESS_STDOUT)->buf, "a\nend\n");
}

static struct session_seen last;
static int waited;

static void on_seen(void *user, struct session_seen *seen)
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
    program_session_wait(session, yield_ms, SESSION_POLL_LINES, on_seen, NULL);
    program_rig_await(&rig, has_waited, &before);
}

static void test_waiting(void **state)
{
    (void)state;
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
    program_session_wait(session, 60000, 0, on_seen, NULL);
    program_session_wait_end(session);
    type(session, "");
    wait_for(60000);
    assert_true(last.exited);
    assert_int_equal(last.exit_code, 0);
    /* More than a look takes, told whole at the end. */
    program_session_free(session);
    session = start("i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done", false);
    program_rig_await(&rig, exited, session);
    wait_for(60000);
    assert_int_equal(last.window.next, 300);
    assert_int_equal(strncmp(last.output.buf, "0\n1\n", 4), 0);
    program_session_wait(session, 60000, 0, on_seen, NULL); /* forgotten with it */
    program_session_free(session);
    session = NULL;
    strbuf_release(&last.output);
}

static void test_many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    struct program_session *all[COUNT];
    for (int i = 0; i < COUNT; i++)
        all[i] = start("read v; echo got:$v; exit $v", i % 5 == 0);
    for (int i = 0; i < COUNT; i++) {
        CLEANUP(free) char *text = xasprintf("%d", i);
        type(all[i], text);
    }
    for (int i = 0; i < COUNT; i++) {
        CLEANUP(free) char *want = xasprintf("got:%d", i);
        program_rig_await(&rig, exited, all[i]);
        assert_int_equal(program_session_end(all[i])->exit_code, i);
        assert_true(says((sought = want, all[i])));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(program_session_id(all[i]), program_session_id(all[j]));
    }
    for (int i = 0; i < COUNT; i++)
        program_session_free(all[i]);
}

/* Nothing that is typed into a program that does not read, and nothing that floods who waits, costs more than so much.
 */
static void test_floods_are_bounded(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *text = xcalloc(1, 256 << 10);
    int refused = 0, writes = 0;
    memset(text, 'x', 256 << 10);
    session = start("echo ready; sleep 50", false);
    await_text(session, "ready");
    for (; writes < 100 && !refused; writes++)
        refused = program_session_write(session, text, 256 << 10, false, &err);
    assert_true(refused && writes < 10);
    assert_non_null(strstr(err.text, "the program does not read what is typed: "));
    program_session_free(session);
    session = start("yes $(head -c 100000 /dev/zero | tr '\\0' y)", false);
    wait_for(50000);
    assert_false(last.exited);
    assert_in_range(last.output.len, 1, SESSION_SEEN_BYTES + SESSION_LINES_BYTES);
    assert_in_range(program_session_lines(session)->bytes, 1, SESSION_LINES_BYTES);
    strbuf_release(&last.output);
}

static void test_lines_are_kept(void **state)
{
    (void)state;
    session = start("i=0; while [ $i -lt 25000 ]; do echo $i; i=$((i+1)); done; echo done", false);
    program_rig_await(&rig, exited, session);
    assert_int_equal(program_session_lines(session)->count, SESSION_LINES_MAX);
    assert_int_equal(program_session_lines(session)->base, 5001);
}

static int run_with(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_terminal, begin, end),
        cmocka_unit_test_setup_teardown(test_asked_and_killed, begin, end),
        cmocka_unit_test_setup_teardown(test_closed_input, begin, end),
        cmocka_unit_test_setup_teardown(test_waiting, begin, end),
        cmocka_unit_test_setup_teardown(test_many_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_floods_are_bounded, begin, end),
        cmocka_unit_test_setup_teardown(test_lines_are_kept, begin, end),
    };
    engine = name;
    return _cmocka_run_group_tests(name, tests, COUNT_OF(tests), NULL, NULL);
}

int main(void)
{
    int failed = run_with("none");
    return run_with("bwrap") + failed ? 1 : 0;
}
