/* What a program is given: its command, and the end of its input, by a call and by a key, with a terminal and without.
 * In real sandboxes. */

#include "base/mem.h"
#include "support/place_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct place_rig rig;

static int set_up(void **state)
{
    place_rig_set_up(state);
    place_rig_open(&rig);
    return 0;
}

static bool has_ended(struct place_rig *of)
{
    return turn_rig_count(&of->turn, EVENT_PROGRAM_ENDED) > 0;
}

static void start(const char *more)
{
    CLEANUP(free)
    char *arguments = xasprintf("{\"command\":\"sort; echo over\",\"background\":true,\"yield_time_ms\":1%s}", more);
    place_rig_call(&rig, "c1", "workspace_exec", arguments);
}

static void expect_end(void)
{
    place_rig_await(&rig, has_ended);
    assert_int_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_ENDED, 0)->program_ended.exit_code, 0);
}

static void ends_by_a_call(const char *more)
{
    start(more);
    place_rig_call(&rig, "c2", "workspace_write_stdin",
                   "{\"session_id\":\"p1\",\"chars\":\"b\\na\\n\",\"eof\":true,\"yield_time_ms\":60000}");
    place_rig_turn(&rig);
    const char *output = place_rig_of(&rig, "c2", "output"), *first = strstr(output, "a"),
               *over = strstr(output, "over");
    assert_true(first && over && first < over);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_INPUT, 0)->program_input.text, "b\na\n\x04");
    expect_end();
}

static void test_by_a_call(void **state)
{
    (void)state;
    ends_by_a_call("");
}

static void test_by_a_call_on_a_terminal(void **state)
{
    (void)state;
    ends_by_a_call(",\"tty\":true");
}

static void type(const char *text)
{
    turn_rig_submit(&rig.turn,
                    &(struct intent){.type = INTENT_PROGRAM_INPUT, .program_input = {.program = "p1", .text = text}});
}

static void test_by_a_key(void **state)
{
    (void)state;
    start("");
    place_rig_turn(&rig);
    type("x\n");
    type("\x04");
    expect_end();
}

static void test_by_a_key_on_a_terminal(void **state)
{
    (void)state;
    start(",\"tty\":true");
    place_rig_turn(&rig);
    type("x\n");
    type("\x04");
    expect_end();
}

/* Whoever types behind the end is told so, and nothing is recorded. */
static void test_nothing_behind_the_end(void **state)
{
    (void)state;
    place_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"cat; sleep 1000\",\"background\":true}");
    place_rig_call(&rig, "c2", "workspace_write_stdin", "{\"session_id\":\"p1\",\"eof\":true}");
    place_rig_call(&rig, "c3", "workspace_write_stdin", "{\"session_id\":\"p1\",\"chars\":\"x\"}");
    place_rig_turn(&rig);
    assert_string_equal(place_rig_error(&rig, "c3"), "stdin is not available");
    struct err err = ERR_INIT;
    struct intent intent = {.type = INTENT_PROGRAM_INPUT, .program_input = {.program = "p1", .text = "x\n"}};
    assert_int_equal(engine_submit(rig.turn.engine, &intent, &err), -1);
    assert_string_equal(err.text, "the program's input has ended");
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_INPUT), 1);
}

/* Whatever way a program is named by, what it gets is recorded. */
static void test_what_is_typed_is_recorded(void **state)
{
    (void)state;
    place_rig_call(&rig, "c1", "workspace_exec", "{\"command\":\"cat\",\"background\":true}");
    place_rig_call(&rig, "c2", "workspace_write_stdin", "{\"session_id\":\" p1 \",\"chars\":\"a\\n\"}");
    place_rig_call(&rig, "c3", "workspace_write_stdin",
                   "{\"session_id\":\"\",\"sessionId\":\"p1\",\"chars\":\"b\\n\"}");
    place_rig_call(&rig, "c4", "workspace_write_stdin", "{\"session_id\":\"p1\"}");
    place_rig_turn(&rig);
    assert_int_equal(turn_rig_count(&rig.turn, EVENT_PROGRAM_INPUT), 2);
    assert_string_equal(turn_rig_event(&rig.turn, EVENT_PROGRAM_INPUT, 1)->program_input.text, "b\n");
}

/* What is too much for a program's arguments is said as what it is. */
static void test_a_command_that_is_too_long(void **state)
{
    (void)state;
    CLEANUP(free) char *blanks = xmalloc(200000);
    memset(blanks, ' ', 200000);
    CLEANUP(free) char *command = xasprintf("{\"command\":\"echo %.199000s x\"}", blanks);
    CLEANUP(free) char *variable = xasprintf("{\"command\":\"true\",\"env\":{\"X\":\"%.199000s\"}}", blanks);
    place_rig_call(&rig, "c1", "workspace_exec", command);
    place_rig_call(&rig, "c2", "workspace_exec", variable);
    place_rig_turn(&rig);
    static const char why[] = "is too long: a program takes at most 128 KB at once (put it into a file)";
    assert_non_null(strstr(place_rig_error(&rig, "c1"), why));
    assert_non_null(strstr(place_rig_error(&rig, "c2"), why));
}

#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, set_up, place_rig_tear_down, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_by_a_call),
        TEST(test_by_a_call_on_a_terminal),
        TEST(test_by_a_key),
        TEST(test_by_a_key_on_a_terminal),
        TEST(test_nothing_behind_the_end),
        TEST(test_what_is_typed_is_recorded),
        TEST(test_a_command_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
