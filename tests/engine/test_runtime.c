/* Tests programs of a turn in real sandboxes: their events and the order of these, what ends them, and that no process
 * is left. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/program_rig.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include "tools/artifact.h"
#include "workspace/exec.h"
#include <stdio.h>
#include <string.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    return runtime_rig_set_up(state);
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

/* "sleep …", with a time that no other run of this test uses. */
static const char *sleeper(void)
{
    static char text[40];
    snprintf(text, sizeof(text), "sleep 9%07d", (int)getpid());
    return text;
}

/* Calls for a command that ends with its call. */
static void call_sleeper(const char *call, const char *before, const char *behind)
{
    CLEANUP(free) char *arguments = xasprintf("{\"command\":\"%s%s\"%s}", before, sleeper(), behind);
    runtime_rig_call(&rig, call, "workspace_exec", arguments);
}

static void expect_before(enum event_type first, enum event_type second, const char *call)
{
    size_t a = turn_check_place(&rig.turn, first, NULL, 0), b = turn_check_place(&rig.turn, second, call, 0);
    assert_true(a < b);
}

RUNTIME_TEST(a_command_returns_its_output_and_exit_code)
{
    turn_rig_file(&rig.turn, "mine.txt", "the user's\n");
    runtime_rig_open(&rig);
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP), 0); /* nothing is created before the first use */
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"echo out; echo err >&2; echo r > out/r.txt; ls ..; exit 3\",\"cwd\":\"work\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "status"), "exited");
    assert_string_equal(runtime_rig_of(&rig, "c1", "exit_code"), "3");
    assert_non_null(strstr(runtime_rig_of(&rig, "c1", "output"), "out\n"));
    assert_non_null(strstr(runtime_rig_of(&rig, "c1", "output"), "err\n"));
    assert_null(strstr(runtime_rig_of(&rig, "c1", "output"), "mine"));
    const struct event *started = turn_rig_event(&rig.turn, EVENT_TOOL_STARTED, 0);
    assert_string_equal(started->tool_started.effect, "LOCAL_WRITE");
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, 0)->workspace_op.op, "workspace.create");
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, 1)->workspace_op.op, "workspace.run");
    const struct event *shown = turn_rig_event(&rig.turn, EVENT_TOOL_OUTPUT, 0);
    assert_string_equal(shown->tool_output.call, "c1");
    const struct event *now = turn_rig_event(&rig.turn, EVENT_WORKSPACE_STATE, 0);
    assert_string_equal(now->workspace_state.exec_id, "rig");
    assert_true(now->workspace_state.used > 0);
    assert_true(now->workspace_state.limit == EVENT_NULL_INT);
    expect_before(EVENT_WORKSPACE_OP, EVENT_TOOL_FINISHED, "c1");
    expect_before(EVENT_TOOL_OUTPUT, EVENT_TOOL_FINISHED, "c1");
    /* The output comes before the record of its run. */
    assert_true(turn_check_place(&rig.turn, EVENT_TOOL_OUTPUT, NULL, 1) <
                turn_check_place(&rig.turn, EVENT_WORKSPACE_OP, NULL, 1));
    expect_before(EVENT_WORKSPACE_STATE, EVENT_TOOL_FINISHED, "c1");
}

RUNTIME_TEST(long_output_is_kept_whole)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo first; seq 100000; echo last\"}");
    runtime_rig_turn(&rig);
    const char *output = runtime_rig_of(&rig, "c1", "output");
    assert_non_null(strstr(output, "first\n1\n"));
    assert_non_null(strstr(output, "100000\nlast\n"));
    assert_true(strlen(output) < 10000);
    assert_string_equal(runtime_rig_of(&rig, "c1", "truncated"), "true");
    assert_string_equal(runtime_rig_of(&rig, "c1", "total_bytes"), "588906");
    CLEANUP(free) char *read = xasprintf("{\"path\":\"%s\"}", runtime_rig_of(&rig, "c1", "artifact"));
    runtime_rig_call(&rig, "c2", "read_file", read);
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_result(&rig, "c2"), "first"));
}

/* More output than the memory limit: the result has its beginning, its end and the true length; the artifact has all of
 * it. */
RUNTIME_TEST(a_flood_is_kept_whole)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"seq 1 1000000\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"for i in range(1000000): print(i + 1)\"}");
    runtime_rig_turn(&rig);
    for (const char *const *call = (const char *const[]){"c1", "c2", NULL}; *call; call++) {
        CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
        const char *output = runtime_rig_of(&rig, *call, "output");
        assert_int_equal(strncmp(output, "1\n2\n3\n", 6), 0);
        assert_non_null(strstr(output, "\n999999\n1000000\n"));
        assert_true(strlen(output) > 7000);
        assert_string_equal(runtime_rig_of(&rig, *call, "truncated"), "true");
        assert_string_equal(runtime_rig_of(&rig, *call, "total_bytes"), "6888896");
        const char *id = runtime_rig_of(&rig, *call, "artifact") + strlen("artifact://");
        assert_true(artifact_store_get(rig.turn.config.artifacts, "rig", id, &whole));
        assert_int_equal(whole.len, 6888896);
        assert_string_equal(whole.buf + whole.len - 15, "999999\n1000000\n");
    }
}

static bool has_ended(struct runtime_rig *r)
{
    return turn_rig_count(&r->turn, EVENT_PROGRAM_ENDED) > 0;
}

static bool has_printed(struct runtime_rig *r)
{
    return turn_rig_count(&r->turn, EVENT_PROGRAM_OUTPUT) > 0;
}

RUNTIME_TEST(a_background_program_outlives_its_call)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"echo ready; while read a; do echo got $a; done\",\"background\":true}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "status"), "running");
    assert_string_equal(runtime_rig_of(&rig, "c1", "session_id"), "p1");
    const struct event *started = turn_rig_event(&rig.turn, EVENT_PROGRAM_STARTED, 0);
    assert_string_equal(started->program_started.call, "c1");
    runtime_rig_await(&rig, has_printed); /* between two turns */
    assert_int_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_OUTPUT, 0)->turn, 0);

    runtime_rig_call(&rig, "c2", "workspace_write_stdin",
                     "{\"session_id\":\"p1\",\"chars\":\"x y\",\"submit\":true,\"yield_time_ms\":60000}");
    runtime_rig_call(&rig, "c3", "workspace_kill", "{\"session_id\":\"p1\"}");
    runtime_rig_call(&rig, "c4", "workspace_kill", "{\"session_id\":\"p1\"}");
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_of(&rig, "c2", "output"), "got x y"));
    const struct event *typed = turn_rig_event(&rig.turn, EVENT_PROGRAM_INPUT, 0);
    assert_string_equal(typed->program_input.text, "x y\n");
    assert_string_equal(typed->program_input.by, "call");
    assert_string_equal(runtime_rig_of(&rig, "c3", "status"), "killed");
    const struct event *ended = turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0);
    assert_true(ended->program_ended.exit_code == EVENT_NULL_INT);
    assert_string_equal(ended->program_ended.why, "killed by a call");
    assert_string_equal(runtime_rig_error(&rig, "c4"), "unknown session_id: p1");
}

RUNTIME_TEST(a_program_is_typed_into_and_ended_by_keys)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"read a; echo got $a; sleep 1000\",\"background\":true}");
    runtime_rig_turn(&rig);
    turn_rig_submit(&rig.turn,
                    &(struct intent){.type = INTENT_PROGRAM_INPUT, .program_input = {.program = "p1", .text = "k\n"}});
    runtime_rig_await(&rig, has_printed);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_OUTPUT, 0)->program_output.text, "got k\n");
    turn_rig_submit(&rig.turn, &(struct intent){.type = INTENT_PROGRAM_KILL, .program_kill = {.program = "p1"}});
    runtime_rig_await(&rig, has_ended);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0)->program_ended.why, "killed by key");
}

RUNTIME_TEST(the_session_ends_background_programs)
{
    runtime_rig_open(&rig);
    call_sleeper("c1", "exec ", ",\"background\":true");
    runtime_rig_turn(&rig);
    turn_rig_submit(&rig.turn, &(struct intent){.type = INTENT_END});
    const struct event *ended = turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0);
    assert_non_null(ended);
    assert_string_equal(ended->program_ended.why, "killed: the session ended");
    for (int tries = 0; tries < 5000 && program_rig_count(sleeper()); tries++)
        usleep(2000);
    assert_int_equal(program_rig_count(sleeper()), 0);
    rig.ended = true;
}

RUNTIME_TEST(background_programs_are_limited)
{
    rig.options.programs_max = 1;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"sleep 1000\",\"background\":true}");
    runtime_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"sleep 1000\",\"background\":true}");
    runtime_rig_call(&rig, "c3", "workspace_exec", "{\"command\":\"echo still\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "status"), "running");
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "the limit of running programs (1)"));
    assert_string_equal(runtime_rig_of(&rig, "c3", "output"), "still\n");
}

/* ---- time ---- */

RUNTIME_TEST(a_command_ends_with_its_call)
{
    rig.turn.config.limits.wall_s = 5;
    runtime_rig_open(&rig);
    call_sleeper("c1", "echo before; ", "");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "timed_out"), "true");
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "before\n");
    assert_int_equal(program_rig_count(sleeper()), 0);
}

static bool shows_output(struct runtime_rig *r)
{
    return turn_rig_count(&r->turn, EVENT_TOOL_OUTPUT) > 0;
}

static bool is_idle(struct runtime_rig *r)
{
    return engine_idle(r->turn.engine);
}

static bool nothing_sleeps(struct runtime_rig *r)
{
    (void)r;
    return program_rig_count(sleeper()) == 0;
}

RUNTIME_TEST(cancel_ends_the_command_and_not_the_program)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"sleep 1000\",\"background\":true}");
    call_sleeper("c2", "echo here; setsid sleep 1000 & ", "");
    turn_rig_submit(&rig.turn, &(struct intent){.type = INTENT_START, .start = {.prompt = "do it"}});
    runtime_rig_await(&rig, shows_output);
    turn_rig_submit(&rig.turn, &(struct intent){.type = INTENT_CANCEL});
    runtime_rig_await(&rig, is_idle);
    assert_string_equal(turn_check_outcome(&rig.turn, "c2"), "failure");
    assert_string_equal(turn_check_finished(&rig.turn)->status, "cancelled");
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_ENDED), 0);
    runtime_rig_await(&rig, nothing_sleeps);
    assert_true(session_program_running(engine_session(rig.turn.engine), 0));
}

RUNTIME_TEST(a_signal_is_in_the_result)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"kill -SEGV $$\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"kill -USR1 $$\",\"language\":\"bash\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "exit_code"), "-1");
    assert_string_equal(runtime_rig_of(&rig, "c1", "signal"), "11");
    assert_string_equal(runtime_rig_of(&rig, "c2", "blocks[0].signal"), "10");
}

RUNTIME_TEST(run_code_runs_every_block)
{
    runtime_rig_open(&rig);
    runtime_rig_call(
        &rig, "c1", "run_code",
        "{\"text\":\"a\\n```python\\nprint(6*7)\\n```\\nb\\n```sh\\nexit 4\\n```\\n```ruby\\nputs\\n```\\n\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"echo $0; pwd\",\"language\":\"bash\"}");
    runtime_rig_call(&rig, "c3", "run_code", "{\"text\":\"nothing here\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "42\n");
    assert_string_equal(runtime_rig_of(&rig, "c1", "blocks[1].exit_code"), "4");
    assert_string_equal(runtime_rig_of(&rig, "c1", "blocks[2].error"), "unsupported language: ruby");
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "code_0.sh\n/workspace/src\n");
    size_t inlined = 0;
    for (size_t i = 0; i < turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP); i++)
        inlined += strcmp(turn_rig_event(&rig.turn, EVENT_WORKSPACE_OP, i)->workspace_op.op, "workspace.inline") == 0;
    assert_int_equal(inlined, 2);
    assert_non_null(strstr(runtime_rig_error(&rig, "c3"), "no code: set"));
}

/* The call failed; no program ended. */
RUNTIME_TEST(a_failing_engine_is_reported)
{
    static const char dead[] = "{\"dead\":{\"argv\":[\"{harness}\"],\"program\":{\"argv\":[\"sh\",\"-c\","
                               "\"echo Cannot connect. >&2; exit 125\",\"{command...}\"]}}}";
    static const char *const calls[] = {"c1", "c2", "c3"};
    assert_int_equal(sandbox_engines_read(&rig.engines, dead, strlen(dead), true, NULL), 0);
    rig.options.engine = sandbox_engines_find(&rig.engines, "dead");
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo hi\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"print(1)\"}");
    runtime_rig_call(&rig, "c3", "workspace_exec", "{\"command\":\"echo hi\",\"yield_time_ms\":60000}");
    runtime_rig_turn(&rig);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        assert_non_null(
            strstr(runtime_rig_error(&rig, calls[i]), "the sandbox dead failed (status 125): Cannot connect."));
}

RUNTIME_TEST(without_an_engine_programs_fail)
{
    rig.options.engine = NULL;
    rig.options.why_none = "there is none here";
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"true\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"1\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_error(&rig, "c1"), "there is none here");
    assert_string_equal(runtime_rig_error(&rig, "c2"), "there is none here");
}

RUNTIME_TEST(commands_outside_the_allow_list_are_refused)
{
    static const char *const allow[] = {"echo", NULL};
    rig.options.commands.allow = allow;
    static const struct network_rule everything = {.kind = NETWORK_ANY};
    rig.options.network = (struct network_rules){&everything, 1, NULL};
    rig.options.policy.max_disk_bytes = 1 << 20;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo fine\"}");
    runtime_rig_call(&rig, "c2", "workspace_exec", "{\"command\":\"ls\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "fine\n");
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "ls"));
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_TOOL_STARTED, 0)->tool_started.effect, "NETWORK");
    assert_int_equal(turn_rig_event(&rig.turn, EVENT_WORKSPACE_STATE, 0)->workspace_state.limit, 1 << 20);
}

/* Python and bash run any command in their input, so the command list covers them too. */
RUNTIME_TEST(command_lists_cover_run_code)
{
    static const char *const allow[] = {"echo", "python3", NULL};
    static const char *const deny[] = {"python3", NULL};
    rig.options.commands.allow = allow;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "run_code", "{\"code\":\"print(6*7)\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"touch out/no\",\"language\":\"bash\"}");
    runtime_rig_call(&rig, "c3", "run_code",
                     "{\"text\":\"```python\\nopen('../out/no','w')\\n```\\n```sh\\nls\\n```\\n\"}");
    runtime_rig_call(&rig, "c4", "collect_outputs", "{}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "42\n");
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "\"bash\" can start other commands"));
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), "workspace_exec"));
    runtime_rig_error(&rig, "c3"); /* and none of it has run */
    assert_string_equal(runtime_rig_of(&rig, "c4", "files[0].name"), "");
    runtime_rig_release(&rig);

    runtime_rig_init(&rig);
    rig.options.commands.deny = deny;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "run_code", "{\"code\":\"print(6*7)\"}");
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_error(&rig, "c1"), "\"python3\" is denied"));
}

/* The user's variables apply to every program. Those of a call override them. A policy of none allows every command. */
RUNTIME_TEST(configured_variables_reach_all_programs)
{
    static const char *const vars[] = {"A=a", "B=b", "WORK_DIR=w", "PATH=/usr/bin:/x", NULL};
    static const char *const allow[] = {"printenv", NULL};
    rig.options.env = vars;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo $A $B $WORK_DIR\",\"env\":{\"B\":\"mine\"}}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"echo $A $B $PATH\",\"language\":\"bash\"}");
    runtime_rig_call(&rig, "c3", "workspace_exec",
                     "{\"command\":\"echo $A; exit 1\",\"background\":true,\"yield_time_ms\":60000}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "a mine w\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "a b /usr/bin:/x\n");
    assert_string_equal(runtime_rig_of(&rig, "c3", "output"), "a");
    runtime_rig_release(&rig);

    runtime_rig_init(&rig);
    rig.options.env = vars;
    rig.options.commands.allow = allow;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"printenv A PATH\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "a\n" ENV_PATH "\n");
}

RUNTIME_TEST(a_missing_variable_is_reported)
{
    rig.options.env_missing = "MY_TOKEN";
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"true\"}");
    runtime_rig_call(&rig, "c2", "collect_outputs", "{}"); /* an engine without programs */
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_error(&rig, "c1"), "$MY_TOKEN is not set"));
    runtime_rig_result(&rig, "c2");
}

/* ---- without isolation ---- */

static void call_unheld(void)
{
    rig.options.engine = sandbox_engines_find(&rig.engines, "none");
    rig.options.policy.isolated = false;
    scratch_write(&rig.turn.scratch, "skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\n");
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"echo ran\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"print('ran')\"}");
    runtime_rig_call(&rig, "c3", "skill_run", "{\"skill\":\"s\",\"command\":\"echo ran\"}");
    runtime_rig_call(&rig, "c4", "workspace_exec", "{\"command\":\"read a; echo got $a\",\"background\":true}");
    runtime_rig_call(&rig, "c5", "workspace_write_stdin", "{\"session_id\":\"p4\",\"chars\":\"x\",\"submit\":true}");
    runtime_rig_turn(&rig);
}

RUNTIME_TEST(programs_without_a_sandbox_need_approval)
{
    rig.turn.answer = turn_rig_say_no;
    call_unheld();
    for (const char *const *call = (const char *const[]){"c1", "c2", "c3", "c4", NULL}; *call; call++)
        assert_string_equal(turn_check_outcome(&rig.turn, *call), "denied:write_denied");
    assert_int_equal(rig.turn.questions, 4);
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_WORKSPACE_OP),
                     1); /* created for input, but without an input to write to */
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_STARTED), 0);
}

RUNTIME_TEST(programs_without_a_sandbox_run_if_allowed)
{
    rig.turn.answer = turn_rig_say_yes;
    call_unheld();
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_TOOL_STARTED, 0)->tool_started.effect, "DESTRUCTIVE");
    assert_string_equal(runtime_rig_of(&rig, "c1", "output"), "ran\n");
    assert_string_equal(runtime_rig_of(&rig, "c2", "output"), "ran\n");
    assert_string_equal(runtime_rig_of(&rig, "c3", "stdout"), "ran\n");
    assert_string_equal(runtime_rig_of(&rig, "c4", "status"), "running");
    assert_int_equal(rig.turn.questions, 4); /* the rule includes typing */
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_INPUT), 1);
}

/* A session that was killed while a program ran and then resumed: the program's name stays taken. */
RUNTIME_TEST(names_are_not_given_twice)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"rig\"}\n"
        "{\"seq\":2,\"t\":1,\"turn\":0,\"type\":\"program.started\",\"program\":\"p6\",\"cmd\":\"x\"}\n";
    struct err err = ERR_INIT;
    scratch_write(&rig.turn.scratch, "old.jsonl", recorded);
    CLEANUP(free) char *path = scratch_path(&rig.turn.scratch, "old.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    struct journal *journal = journal_resume(path, loop_clock(rig.turn.loop), &err);
    assert_non_null(reader);
    assert_non_null(journal);
    rig.turn.config.runtime = runtime_new(&rig.options);
    rig.turn.config.programs = runtime_control(rig.turn.config.runtime);
    rig.turn.engine = engine_resume(&rig.turn.config, journal, reader, &rig.turn.sink, &err);
    assert_non_null(rig.turn.engine);
    rig.resumed = true;
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"sleep 1000\",\"background\":true}");
    runtime_rig_turn(&rig);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0)->program_ended.program, "p6");
    assert_string_equal(runtime_rig_of(&rig, "c1", "session_id"), "p7");
    journal_reader_free(reader);
}

/* The newest part of a flood is recorded, so that the last question of a program can be answered; the echo of that
 * input too. */
static bool asks_at_last(struct runtime_rig *r)
{
    size_t count = turn_rig_count(&r->turn, EVENT_PROGRAM_OUTPUT);
    return count && strstr(turn_rig_event(&r->turn, EVENT_PROGRAM_OUTPUT, count - 1)->program_output.text, "again? ");
}

RUNTIME_TEST(a_flood_is_bounded)
{
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"seq 3000000; printf 'again? '; read a; echo got $a\",\"background\":true}");
    runtime_rig_turn(&rig);
    runtime_rig_await(&rig, asks_at_last);
    size_t count = turn_rig_count(&rig.turn, EVENT_PROGRAM_OUTPUT), bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(turn_rig_event(&rig.turn, EVENT_PROGRAM_OUTPUT, i)->program_output.text);
    assert_true(bytes < EXEC_RECORDED_MAX + (1 << 20)); /* of 22 MB */
    const char *newest = turn_rig_event(&rig.turn, EVENT_PROGRAM_OUTPUT, count - 1)->program_output.text;
    assert_non_null(strstr(newest, "3000000\nagain? "));
    runtime_rig_call(&rig, "c2", "workspace_write_stdin", "{\"session_id\":\"p1\",\"chars\":\"no\",\"submit\":true}");
    runtime_rig_turn(&rig);
    runtime_rig_await(&rig, has_ended);
    count = turn_rig_count(&rig.turn, EVENT_PROGRAM_OUTPUT);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_OUTPUT, count - 1)->program_output.text, "got no\n");
}

RUNTIME_TEST(a_full_workspace_ends_the_program)
{
    rig.options.policy.max_disk_bytes = 100000;
    runtime_rig_open(&rig);
    runtime_rig_call(&rig, "c1", "workspace_exec",
                     "{\"command\":\"for i in 1 2 3; do head -c 50000 /dev/zero > work/$i; done\"}");
    runtime_rig_call(&rig, "c2", "run_code", "{\"code\":\"print(1)\"}");
    runtime_rig_turn(&rig);
    assert_non_null(strstr(runtime_rig_of(&rig, "c1", "error"), "the workspace is full: it has ")); /* once */
    assert_string_equal(runtime_rig_of(&rig, "c1", "warning"), "");
    runtime_rig_error(&rig, "c2"); /* nothing is added after that */
}
