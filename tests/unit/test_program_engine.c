/* Engines that fail, and what tells them from programs that do. One without a line to keyturn-launch hears its word on
 * standard error. */

#include "base/mem.h"
#include "sandbox/engines.h"
#include "support/program_rig.h"
#include "workspace/workspace.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* "deaf" has no line to us, like docker, nor has "binary"; "dead" never gets to a program, and "mute" says nothing
 * about it either. */
static const char text[] =
    "{\"deaf\": {\"unsafe\": true, \"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", "
    "\"echo a warning >&2; exec \\\"$@\\\"\", \"sh\", \"{launcher}\", \"{command...}\"]}},"
    " \"binary\": {\"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", "
    "\"printf '\\\\0\\\\n' >&2; exec \\\"$@\\\"\", \"sh\", \"{launcher}\", \"{command...}\"]}},"
    " \"dead\": {\"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", "
    "\"echo Cannot connect to the daemon. >&2; exit 125\", \"{command...}\"]}},"
    " \"warns\": {\"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", "
    "\"echo a warning >&2; exec \\\"$@\\\"\", \"sh\", \"{launcher}\", \"{command...}\"], \"control\": true}},"
    " \"near\": {\"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", "
    "\"pwd; touch oom; exec \\\"$@\\\"\", \"sh\", \"{launcher}\", \"{command...}\"]}},"
    " \"mute\": {\"argv\": [\"{harness}\"], \"program\": {\"argv\": [\"sh\", \"-c\", \"exit 0\", \"{command...}\"],"
    " \"control\": true}}}";

static struct sandbox_engines engines;
static struct program_rig rig;

static void open_with(const char *name)
{
    program_rig_open(&rig, name, &(struct programs_options){.engine = sandbox_engines_find(&engines, name)});
}

static int prepare(void **state)
{
    (void)state;
    return sandbox_engines_read(&engines, text, strlen(text), true, NULL);
}

static int finish(void **state)
{
    (void)state;
    sandbox_engines_release(&engines);
    return 0;
}

static int end(void **state)
{
    (void)state;
    program_rig_close(&rig);
    return 0;
}

static void run(struct program_spec spec)
{
    struct err err = ERR_INIT;
    spec.timeout_ms = 60000;
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
}

static void test_an_engine_that_fails(void **state)
{
    (void)state;
    open_with("dead");
    run((struct program_spec){.cmd = "true"});
    assert_true(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_string_equal(rig.result.why, "the sandbox dead failed (status 125): Cannot connect to the daemon.");
    assert_string_equal(rig.result.err.buf, ""); /* it is no output of the program's */
    run((struct program_spec){.cmd = "true", .tty = true, .keep_input = true});
    assert_true(rig.result.end.engine_failed);
    assert_non_null(strstr(rig.result.why, "Cannot connect to the daemon."));
}

static void test_an_engine_that_says_nothing(void **state)
{
    (void)state;
    open_with("mute");
    run((struct program_spec){.cmd = "true"});
    assert_true(rig.result.end.engine_failed);
    assert_string_equal(rig.result.why, "the sandbox mute failed (status 0)");
}

static void test_without_a_line(void **state)
{
    (void)state;
    open_with("deaf");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "echo out; echo err >&2; exit 125")});
    assert_false(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, 125);
    assert_string_equal(rig.result.out.buf, "out\n");
    /* What the engine says on the way is not the program's, nor are the words of keyturn-launch. */
    assert_string_equal(rig.result.err.buf, "err\n");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 127")});
    assert_int_equal(rig.result.end.exit_code, 127); /* its own */
    assert_null(rig.result.why);
    run((struct program_spec){
        .cmd = "sh", .args = ARGS("-c", "tty -s && echo x; exit 3"), .tty = true, .keep_input = true});
    assert_int_equal(rig.result.end.exit_code, 3);
    assert_string_equal(rig.result.out.buf, "x\r\n");
}

/* An exit code of 137 is not what SIGKILL comes to, and what a program says of itself is not what we say of it. */
static void test_signals_without_a_line(void **state)
{
    (void)state;
    open_with("deaf");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "printf end >&2; kill -KILL $$")});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGKILL);
    assert_string_equal(rig.result.err.buf, "end");
    assert_null(rig.result.why);
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 137")});
    assert_int_equal(rig.result.end.exit_code, 137);
    assert_int_equal(rig.result.end.signum, 0);
    run((struct program_spec){
        .cmd = "sh",
        .args = ARGS("-c", "printf 'keyturn-launch> ended\nkeyturn-launch> exit 4\nkeyturn' >&2; exit 5")});
    assert_int_equal(rig.result.end.exit_code, 5);
    assert_string_equal(rig.result.err.buf, "keyturn-launch> ended\nkeyturn-launch> exit 4\nkeyturn");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "setsid sleep 60 & sleep 0.2; exit 0")});
    assert_int_equal(rig.result.end.left_count, 1);
    assert_string_equal(rig.result.left[0].name, "sleep");
}

/* With a line to us the engine may speak on the way, too. */
static void test_an_engine_that_warns(void **state)
{
    (void)state;
    open_with("warns");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "echo err >&2")});
    assert_int_equal(rig.result.end.exit_code, 0);
    assert_string_equal(rig.result.err.buf, "err\n");
}

/* Bytes are bytes: a NUL before the word does not hide it. */
static void test_a_word_behind_anything(void **state)
{
    (void)state;
    open_with("binary");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 6")});
    assert_false(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, 6);
    assert_int_equal(rig.result.err.len, 0);
}

/* Inside an engine that works it is the program that cannot be started. */
static void test_a_program_that_cannot_be_started(void **state)
{
    (void)state;
    open_with("deaf");
    run((struct program_spec){.cmd = "no-such-program"});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_false(rig.result.end.engine_failed);
    assert_string_equal(rig.result.why, "cannot start no-such-program: No such file or directory");
}

/* What an engine leaves where it is started is in nobody's way. */
static void test_where_an_engine_is_started(void **state)
{
    (void)state;
    struct stat st;
    open_with("near");
    run((struct program_spec){.cmd = "ls"});
    assert_null(strstr(rig.result.out.buf, "oom"));
    CLEANUP(free) char *beside = xasprintf("%s/oom", rig.folder), *own = realpath(rig.folder, NULL);
    assert_int_equal(strncmp(rig.result.out.buf, own, strlen(own)), 0);
    assert_int_equal(stat(beside, &st), 0);
    assert_int_equal(stat("oom", &st), -1);
}

static void test_no_program(void **state)
{
    (void)state;
    static const char *const blank[] = {NULL, "", " \t\n"};
    open_with("none");
    for (size_t i = 0; i < COUNT_OF(blank); i++) {
        run((struct program_spec){.cmd = blank[i]});
        assert_int_equal(rig.result.end.exit_code, -1);
        assert_false(rig.result.end.timed_out || rig.result.end.engine_failed);
        assert_string_equal(rig.result.why, "there is no program to start");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_an_engine_that_fails, end),
        cmocka_unit_test_teardown(test_an_engine_that_says_nothing, end),
        cmocka_unit_test_teardown(test_without_a_line, end),
        cmocka_unit_test_teardown(test_signals_without_a_line, end),
        cmocka_unit_test_teardown(test_an_engine_that_warns, end),
        cmocka_unit_test_teardown(test_a_word_behind_anything, end),
        cmocka_unit_test_teardown(test_a_program_that_cannot_be_started, end),
        cmocka_unit_test_teardown(test_where_an_engine_is_started, end),
        cmocka_unit_test_teardown(test_no_program, end),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
