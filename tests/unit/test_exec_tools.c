/* Tests of the tools that pass a model's commands and code blocks on. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "support/program_rig.h"
#include "support/shortcuts.h"
#include "support/test.h"
#include "workspace/exec.h"
#include "workspace/inline.h"
#include "workspace/program_control.h"
#include "workspace/workspace.h"
#include <string.h>

static struct program_rig rig;
static struct exec *exec;
static struct exec_options chosen;
static struct arena arena;
static const struct json *result;
static struct err err;

static void on_result(void *user, const char *text)
{
    (void)user;
    const char *copy = arena_strdup(&arena, text);
    result = json_parse(&arena, copy, strlen(copy), &err);
    loop_stop(rig.loop);
}

static const char *const allowed[] = {"echo", NULL};

static void open_exec(struct command_policy policy, size_t max_output)
{
    exec_free(exec);
    chosen = (struct exec_options){.programs = rig.programs, .policy = policy, .max_output = max_output};
    exec = exec_new(&chosen);
}

static int begin(void **state)
{
    (void)state;
    program_rig_open(&rig, "bwrap", NULL);
    open_exec((struct command_policy){0}, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    exec_free(exec);
    exec = NULL;
    arena_release(&arena);
    program_rig_close(&rig);
    return 0;
}

typedef int call_function(struct exec *exec, const struct json *args, exec_done *done, void *user, struct err *err);

static int command(struct exec *to, const struct json *args, exec_done *done, void *user, struct err *error)
{
    return exec_command(to, &chosen, rig.ws, args, done, user, error);
}

static int type(struct exec *to, const struct json *args, exec_done *done, void *user, struct err *error)
{
    return exec_write_within(to, args, INT64_MAX, done, user, error);
}

/* The value of a member of the result as text; "!…" for an error. */
static const char *call(call_function *function, const char *args, const char *member)
{
    err = (struct err)ERR_INIT;
    result = NULL;
    const struct json *parsed = json_parse(&arena, args, strlen(args), &err);
    assert_non_null(parsed);
    if (function(exec, parsed, on_result, NULL, &err))
        return arena_printf(&arena, "!%s", err.text);
    loop_run(rig.loop);
    const struct json *value = json_get(result, member);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (value && value->type == JSON_STRING)
        return value->text;
    if (value)
        json_write(&text, value, JSON_COMPACT);
    return arena_strdup(&arena, text.buf);
}

static const char *member(const char *name)
{
    return json_str(json_get(result, name), "");
}

TEST_WITH(commands_return_output_and_exit_code, begin, end)
{
    assert_string_equal(call(command, "{\"command\":\"echo out; echo err >&2; exit 3\"}", "output"), "out\nerr\n");
    assert_int_equal(json_int(json_get(result, "exit_code"), -9), 3);
    assert_null(json_get(result, "session_id"));
    assert_string_equal(
        call(command,
             "{\"command\":\"pwd; cat; echo $K\",\"cwd\":\"/workspace/work\",\"stdin\":\"in \",\"env\":{\"K\":\"v\"}}",
             "output"),
        "/workspace/work\nin v\n");
    assert_string_equal(call(command, "{\"command\":\" \"}", ""), "!command is required");
    assert_non_null(strstr(call(command, "{\"command\":\"ls\",\"cwd\":\"../x\"}", ""), "within the workspace"));
    assert_string_equal(call(command, "{\"command\":\"ls\",\"env\":{\"A\":1}}", ""), "!env.A must be a text");
    assert_string_equal(call(command, "{\"command\":\"sleep 60\",\"timeout_sec\":1}", "timed_out"), "true");
}

TEST_WITH(how_it_ended, begin, end)
{
    assert_string_equal(call(command, "{\"command\":\"kill -SEGV $$\"}", "signal"), "11");
    assert_string_equal(member("signal_name"), "SIGSEGV");
    assert_int_equal(json_int(json_get(result, "exit_code"), 0), -1);
    const char *left = call(command, "{\"command\":\"setsid sleep 60 & sleep 0.2\"}", "left_behind");
    assert_non_null(strstr(left, " sleep\"]"));
    assert_string_equal(call(command, "{\"command\":\"true\"}", "left_behind"), "");
    assert_null(json_get(result, "signal"));
    left = call(command, "{\"command\":\"setsid sleep 60 & sleep 0.2\",\"yield_time_ms\":20000}", "left_behind");
    assert_non_null(strstr(left, " sleep\"]"));
}

/* Absurdly long times are cut to the maximum. */
TEST_WITH(huge_times, begin, end)
{
    struct exec_request request;
    struct command_policy policy = {0};
    static const char huge[] = "{\"command\":\"x\",\"timeout_sec\":9223372036854775807}";
    assert_int_equal(
        exec_request_read(&request, &arena, json_parse(&arena, huge, strlen(huge), &err), &policy, "/", &err), 0);
    assert_int_equal(request.timeout_ms, INT64_C(1000) * INT32_MAX);
    struct output_wait waiter;
    output_wait_begin(&waiter, 1000, INT64_MAX, 0);
    assert_true(waiter.until_us > 1000);
    output_wait_release(&waiter);
    assert_string_equal(
        call(command, "{\"command\":\"sleep 0.3; echo on; read x\",\"yield_time_ms\":9223372036854775807}", "output"),
        "on");
    /* For a caller with a shorter limit. */
    static const char look[] = "{\"session_id\":\"p1\",\"yield_time_ms\":9223372036854775807}";
    assert_int_equal(exec_write_within(exec, json_parse(&arena, look, strlen(look), &err), 100, on_result, NULL, &err),
                     0);
    loop_run(rig.loop);
    assert_string_equal(member("status"), "running");
}

TEST_WITH(background_programs_are_polled_and_ended, begin, end)
{
    const char *id = call(
        command, "{\"command\":\"printf 'Name: '; read n; echo hi $n; read m\",\"yield_time_ms\":20000}", "session_id");
    assert_string_equal(id, "p1");
    assert_string_equal(member("output"), "Name: ");
    assert_string_equal(json_str(json_get(json_get(result, "interaction"), "kind"), ""), "prompt");
    assert_string_equal(
        call(type, "{\"session_id\":\"p1\",\"chars\":\"Ann\",\"submit\":true,\"yieldMs\":20000}", "output"),
        "Name: hi Ann");
    struct program_control *control = exec_control(exec);
    assert_int_equal(control->ready(control, "p1", &err), 0);
    assert_int_equal(control->ready(control, "p9", &err), -1);
    control->write(control, "p1", "x\n", 2);
    assert_string_equal(call(type, "{\"session_id\":\"p1\",\"yield_time_ms\":20000}", "status"), "exited");
    assert_string_equal(call(type, "{\"session_id\":\"p1\"}", ""), "!unknown session_id: p1");
    assert_string_equal(call(type, "{}", ""), "!session_id is required");
    assert_non_null(strstr(recorder_text(&rig.recorder), "started p1 printf 'Name: '; read n; echo hi $n; read m .\n"
                                                         "output p1 Name: \n"
                                                         "input p1 Ann\n\n"
                                                         "output p1 hi Ann\n\n"));
    assert_non_null(strstr(recorder_text(&rig.recorder), "ended p1 0 exited\n"));
}

/* Hidden input: only while a terminal reads lines without echo. */
TEST_WITH(hidden_input, begin, end)
{
    call(command,
         "{\"command\":\"stty -echo; printf 'Password: '; read p; stty echo; printf 'Name: '; read n; stty -icanon "
         "-echo; printf 'Key: '; read k\",\"tty\":true,\"yield_time_ms\":20000}",
         "session_id");
    struct program_control *control = exec_control(exec);
    assert_string_equal(member("output"), "Password: ");
    assert_true(control->hides(control, "p1"));
    assert_false(control->hides(control, "p9"));
    call(type, "{\"session_id\":\"p1\",\"chars\":\"x\\n\",\"yield_time_ms\":20000}", "output");
    assert_non_null(strstr(member("output"), "Name: "));
    assert_false(control->hides(control, "p1"));
    call(type, "{\"session_id\":\"p1\",\"chars\":\"x\\n\",\"yield_time_ms\":20000}", "output");
    assert_non_null(strstr(member("output"), "Key: "));
    assert_false(control->hides(control, "p1")); /* such a program echoes its input itself */
    call(command, "{\"command\":\"printf 'Name: '; read n\",\"yield_time_ms\":20000}", "session_id");
    assert_false(control->hides(control, "p2")); /* no terminal */
}

TEST_WITH(background_and_kill, begin, end)
{
    assert_string_equal(call(command, "{\"command\":\"sleep 98765.$MARK\",\"background\":true}", "status"), "running");
    assert_string_equal(call(exec_kill, "{\"session_id\":\"p1\"}", "status"), "killed");
    assert_string_equal(call(exec_kill, "{\"session_id\":\"p1\"}", ""), "!unknown session_id: p1");
    assert_int_equal(program_rig_count("sleep 98765"), 0);
    assert_string_equal(
        call(command, "{\"command\":\"tty >/dev/null && echo tty:$(stty size)\",\"pty\":true,\"yield_time_ms\":20000}",
             "status"),
        "exited");
    /* A waiting call ends with its owner, and no callback runs. */
    static const char text[] = "{\"command\":\"sleep 98766.$MARK\"}";
    const struct json *args = json_parse(&arena, text, sizeof(text) - 1, &err);
    result = NULL;
    assert_int_equal(exec_command(exec, &chosen, rig.ws, args, on_result, &rig, &err), 0);
    exec_cancel(exec, &rig);
    assert_int_equal(exec_command(exec, &chosen, rig.ws, args, on_result, NULL, &err), 0);
    exec_free(exec);
    exec = NULL;
    assert_null(result);
}

TEST_WITH(policy_and_window, begin, end)
{
    open_exec((struct command_policy){.allow = allowed}, 40);
    assert_string_equal(call(command, "{\"command\":\"echo hi\",\"env\":{\"PATH\":\"/evil\"}}", "output"), "hi\n");
    assert_non_null(strstr(call(command, "{\"command\":\"ls\"}", ""), "is not allowed"));
    assert_non_null(strstr(call(command, "{\"command\":\"echo $(ls)\"}", ""), "command substitution"));
    call(command, "{\"command\":\"echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
         "output");
    assert_true(strlen(member("output")) <= 40);
    assert_int_equal(json_int(json_get(result, "total_bytes"), 0), 73);
}

/* ---- blocks ---- */

static struct inline_result inlined;

static void on_inlined(void *user, struct inline_result *take_result)
{
    (void)user;
    inlined = *take_result;
    loop_stop(rig.loop);
}

static void run_blocks(bool combined, int64_t timeout_ms)
{
    static const char python[] = "import sys\nprint('py')\nsys.exit(2)\n",
                      shell[] = "cat code_0.py >/dev/null && echo sh\n";
    static const char slow[] = "echo begun; sleep 60\n";
    struct code_block blocks[] = {{"python", python, sizeof(python) - 1},
                                  {"ruby", "1", 1},
                                  {"sh", shell, sizeof(shell) - 1},
                                  {"bash", slow, sizeof(slow) - 1}};
    struct workspace_options workspaces = {.base = rig.folder, .ops = rig.ws->ops};
    struct inline_options options = {
        .programs = rig.programs, .workspace = &workspaces, .timeout_ms = timeout_ms, .combined = combined};
    assert_non_null(inline_run(&options, blocks, COUNT_OF(blocks), on_inlined, NULL, &err));
    loop_run(rig.loop);
}

TEST_WITH(code_blocks_are_run, begin, end)
{
    run_blocks(false, 3000);
    assert_string_equal(inlined.out.buf, "py\nsh\nbegun\n");
    assert_string_equal(inlined.err.buf, "unsupported language: ruby\n");
    assert_int_equal(inlined.exit_code, 0);
    static const int codes[] = {2, -1, 0, -1};
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        assert_int_equal(inlined.ends[i].exit_code, codes[i]);
    assert_true(inlined.timed_out);
    inline_result_release(&inlined);
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.inline - {\"count\":4}"));
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.cleanup - "));
    run_blocks(true, 3000);
    assert_string_equal(inlined.out.buf, "Error executing code block 0: exit status 2: py\n"
                                         "Error executing code block 1: unsupported language: ruby\nsh\n"
                                         "Error executing code block 3: timed out after 3000 ms: begun\n");
    inline_result_release(&inlined);
}

static void never(void *user, struct inline_result *take_result)
{
    (void)user;
    (void)take_result;
    fail();
}

static bool sleeps(void *user)
{
    (void)user;
    return program_rig_count("sleep 98767") > 0;
}

TEST_WITH(blocks_are_dropped_with_their_programs, begin, end)
{
    static const char slow[] = "sleep 98767.$MARK\n";
    struct code_block block = {"sh", slow, sizeof(slow) - 1};
    struct workspace_options workspaces = {.base = rig.folder, .ops = rig.ws->ops};
    struct inline_options options = {.programs = rig.programs, .workspace = &workspaces, .timeout_ms = 60000};
    assert_non_null(inline_run(&options, &block, 1, never, NULL, &err));
    assert_non_null(inline_run(&options, &block, 1, never, NULL, &err));
    exec_free(exec);
    exec = NULL;
    program_rig_await(&rig, sleeps, NULL); /* one runs, or both */
}

/* In an existing workspace: it stays, output is reported as it comes, and calls may be canceled. */
static void on_watched(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    (void)stream;
    strbuf_add(user, bytes, len);
}

static void on_watched_done(void *user, struct inline_result *take_result)
{
    (void)user;
    on_inlined(NULL, take_result);
}

static int64_t no_time(void *user)
{
    (void)user;
    return 0;
}

TEST_WITH(blocks_in_a_workspace_that_stays, begin, end)
{
    CLEANUP(strbuf) struct strbuf printed = STRBUF_INIT;
    static const char code[] = "echo here; pwd\n", slow[] = "sleep 98767.$MARK\n";
    struct code_block block = {"sh", code, sizeof(code) - 1}, sleeper = {"sh", slow, sizeof(slow) - 1};
    struct inline_options options = {
        .programs = rig.programs, .ws = rig.ws, .prints = {.watch = on_watched, .user = &printed}};
    assert_int_equal(inline_put(rig.ws, 0, &block, &err), 0);
    assert_non_null(inline_run(&options, &block, 1, on_watched_done, &printed, &err));
    loop_run(rig.loop);
    assert_string_equal(printed.buf, "here\n/workspace/src\n");
    assert_int_equal(inlined.out.len, 0);
    inline_result_release(&inlined);
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.inline - {\"count\":1}"));
    assert_null(strstr(recorder_text(&rig.recorder), "workspace.cleanup"));
    options.time_ms = no_time;
    assert_non_null(inline_run(&options, &block, 1, on_watched_done, &printed, &err));
    loop_run(rig.loop);
    assert_string_equal(inlined.ends[0].why, "no time left");
    inline_result_release(&inlined);
    options.time_ms = NULL;
    options.timeout_ms = 60000;
    assert_int_equal(inline_put(rig.ws, 0, &sleeper, &err), 0);
    struct inline_work *work = inline_run(&options, &sleeper, 1, never, &printed, &err);
    program_rig_await(&rig, sleeps, NULL);
    inline_cancel(work);
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.inline it was stopped {\"count\":1}"));
}

TEST_WITH(capabilities, begin, end)
{
    struct workspace_capabilities can = programs_capabilities(rig.programs);
    assert_string_equal(can.isolation, "bwrap");
    assert_false(can.network_allowed);
    assert_true(can.clean_env);
}
