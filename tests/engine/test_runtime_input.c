/* Tests input of a program: its command, data and end of input, from a call and from a key, with a terminal and
 * without. In real sandboxes. */

#include "base/mem.h"
#include "support/runtime_rig.h"
#include "support/test.h"
#include <string.h>

static struct runtime_rig rig;

static int set_up(void **state)
{
    *state = &rig;
    runtime_rig_set_up(state);
    runtime_rig_open(&rig);
    return 0;
}

#define RUNTIME_TEST(NAME) TEST_WITH(NAME, set_up, runtime_rig_tear_down)

static bool has_ended(struct runtime_rig *of)
{
    return turn_rig_count(&of->turn, EVENT_PROGRAM_ENDED) > 0;
}

static void start(const char *more)
{
    CLEANUP(free)
    char *arguments = xasprintf("{\"command\":\"sort; echo over\",\"background\":true,\"yield_time_ms\":1%s}", more);
    runtime_rig_call(&rig, "c1", "workspace_exec", arguments);
}

static void expect_end(void)
{
    runtime_rig_await(&rig, has_ended);
    assert_int_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0)->program_ended.exit_code, 0);
}

static void ends_by_a_call(const char *more)
{
    start(more);
    runtime_rig_call(&rig, "c2", "workspace_write_stdin",
                     "{\"session_id\":\"p1\",\"chars\":\"b\\na\\n\",\"eof\":true,\"yield_time_ms\":60000}");
    runtime_rig_turn(&rig);
    const char *output = runtime_rig_of(&rig, "c2", "output"), *first = strstr(output, "a"),
               *over = strstr(output, "over");
    assert_true(first && over && first < over);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_INPUT, 0)->program_input.text, "b\na\n\x04");
    expect_end();
}

RUNTIME_TEST(a_call_can_end_the_input)
{
    ends_by_a_call("");
}

RUNTIME_TEST(a_call_can_end_the_input_of_a_terminal)
{
    ends_by_a_call(",\"tty\":true");
}

static void type(const char *text)
{
    turn_rig_submit(&rig.turn,
                    &(struct intent){.type = INTENT_PROGRAM_INPUT, .program_input = {.program = "p1", .text = text}});
}

RUNTIME_TEST(a_key_can_end_the_input)
{
    start("");
    runtime_rig_turn(&rig);
    type("x\n");
    type("\x04");
    expect_end();
}

RUNTIME_TEST(a_key_can_end_the_input_of_a_terminal)
{
    start(",\"tty\":true");
    runtime_rig_turn(&rig);
    type("x\n");
    type("\x04");
    expect_end();
}

/* Input after the end is refused and not recorded. */
RUNTIME_TEST(input_after_the_end_is_refused)
{
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"cat; sleep 1000\",\"background\":true}");
    runtime_rig_call(&rig, "c2", "workspace_write_stdin", "{\"session_id\":\"p1\",\"eof\":true}");
    runtime_rig_call(&rig, "c3", "workspace_write_stdin", "{\"session_id\":\"p1\",\"chars\":\"x\"}");
    runtime_rig_turn(&rig);
    assert_string_equal(runtime_rig_error(&rig, "c3"), "stdin is not available");
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_PROGRAM_INPUT, .program_input = {.program = "p1", .text = "x\n"}};
    assert_int_equal(engine_submit(rig.turn.engine, &intent, &err), -1);
    assert_string_equal(err.text, "the program's input has ended");
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_INPUT), 1);
}

/* Every form of a program's name records the same input. */
RUNTIME_TEST(typed_input_is_recorded)
{
    runtime_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"cat\",\"background\":true}");
    runtime_rig_call(&rig, "c2", "workspace_write_stdin", "{\"session_id\":\" p1 \",\"chars\":\"a\\n\"}");
    runtime_rig_call(&rig, "c3", "workspace_write_stdin",
                     "{\"session_id\":\"\",\"sessionId\":\"p1\",\"chars\":\"b\\n\"}");
    runtime_rig_call(&rig, "c4", "workspace_write_stdin", "{\"session_id\":\"p1\"}");
    runtime_rig_turn(&rig);
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_INPUT), 2);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_INPUT, 1)->program_input.text, "b\n");
}

/* An error about arguments names their size. */
RUNTIME_TEST(a_too_long_command_is_refused)
{
    CLEANUP(free) char *blanks = xmalloc(200000);
    memset(blanks, ' ', 200000);
    CLEANUP(free) char *command = xasprintf("{\"command\":\"echo %.199000s x\"}", blanks);
    CLEANUP(free) char *variable = xasprintf("{\"command\":\"true\",\"env\":{\"X\":\"%.199000s\"}}", blanks);
    runtime_rig_call(&rig, "c1", "workspace_exec", command);
    runtime_rig_call(&rig, "c2", "workspace_exec", variable);
    runtime_rig_turn(&rig);
    static const char why[] = "is too long: the limit is 128 KB; put it into a file";
    assert_non_null(strstr(runtime_rig_error(&rig, "c1"), why));
    assert_non_null(strstr(runtime_rig_error(&rig, "c2"), why));
}
