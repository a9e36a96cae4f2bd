/* Tests of engines that fail, and how that differs from a failing program. An engine without a control line reports on
 * standard error. */

#include "base/mem.h"
#include "sandbox/engines.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/workspace.h"
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* "deaf" and "binary" have no control line, like docker; "dead" never starts the program, and "mute" does not even
 * report that. */
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

TEST_WITH(an_engine_that_fails, NULL, end)
{
    open_with("dead");
    run((struct program_spec){.cmd = "true"});
    assert_true(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_string_equal(rig.result.why, "the sandbox dead failed (status 125): Cannot connect to the daemon.");
    assert_string_equal(rig.result.err.buf, ""); /* it is not output of the program */
    run((struct program_spec){.cmd = "true", .tty = true, .keep_input = true});
    assert_true(rig.result.end.engine_failed);
    assert_non_null(strstr(rig.result.why, "Cannot connect to the daemon."));
}

TEST_WITH(a_silent_engine_is_reported, NULL, end)
{
    open_with("mute");
    run((struct program_spec){.cmd = "true"});
    assert_true(rig.result.end.engine_failed);
    assert_string_equal(rig.result.why, "the sandbox mute failed (status 0)");
}

TEST_WITH(without_a_line, NULL, end)
{
    open_with("deaf");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "echo out; echo err >&2; exit 125")});
    assert_false(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, 125);
    assert_string_equal(rig.result.out.buf, "out\n");
    /* Neither the engine's own output nor keyturn-launch's words count as the program's. */
    assert_string_equal(rig.result.err.buf, "err\n");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 127")});
    assert_int_equal(rig.result.end.exit_code, 127); /* its own */
    assert_null(rig.result.why);
    run((struct program_spec){
        .cmd = "sh", .args = ARGS("-c", "tty -s && echo x; exit 3"), .tty = true, .keep_input = true});
    assert_int_equal(rig.result.end.exit_code, 3);
    assert_string_equal(rig.result.out.buf, "x\r\n");
}

/* An exit code of 137 does not mean SIGKILL, and a program cannot forge the launcher's report. */
TEST_WITH(signals_without_a_line, NULL, end)
{
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
TEST_WITH(a_warning_of_the_engine_is_no_failure, NULL, end)
{
    open_with("warns");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "echo err >&2")});
    assert_int_equal(rig.result.end.exit_code, 0);
    assert_string_equal(rig.result.err.buf, "err\n");
}

/* Bytes are bytes: a NUL before the word does not hide it. */
TEST_WITH(a_nul_byte_does_not_hide_the_report, NULL, end)
{
    open_with("binary");
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 6")});
    assert_false(rig.result.end.engine_failed);
    assert_int_equal(rig.result.end.exit_code, 6);
    assert_int_equal(rig.result.err.len, 0);
}

/* Inside an engine that works it is the program that cannot be started. */
TEST_WITH(a_program_that_cannot_be_started, NULL, end)
{
    open_with("deaf");
    run((struct program_spec){.cmd = "no-such-program"});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_false(rig.result.end.engine_failed);
    assert_string_equal(rig.result.why, "cannot start no-such-program: No such file or directory");
}

/* Files that an engine leaves in its start folder disturb no program. */
TEST_WITH(where_an_engine_is_started, NULL, end)
{
    struct stat st;
    open_with("near");
    run((struct program_spec){.cmd = "ls"});
    assert_null(strstr(rig.result.out.buf, "oom"));
    CLEANUP(free) char *beside = xasprintf("%s/oom", rig.folder), *own = realpath(rig.folder, NULL);
    assert_int_equal(strncmp(rig.result.out.buf, own, strlen(own)), 0);
    assert_int_equal(stat(beside, &st), 0);
    assert_int_equal(stat("oom", &st), -1);
}

TEST_WITH(an_empty_command_is_reported, NULL, end)
{
    static const char *const blank[] = {NULL, "", " \t\n"};
    open_with("none");
    for (size_t i = 0; i < COUNT_OF(blank); i++) {
        run((struct program_spec){.cmd = blank[i]});
        assert_int_equal(rig.result.end.exit_code, -1);
        assert_false(rig.result.end.timed_out || rig.result.end.engine_failed);
        assert_string_equal(rig.result.why, "no program to start");
    }
}

TEST_GROUP(prepare, finish)
