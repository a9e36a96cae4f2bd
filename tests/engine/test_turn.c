/* A whole turn, through intents in and events out: the order of what is told, one outcome and one message for every
 * call whatever happens to its siblings, and nothing that one turn leaves to the next. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

static const char *arguments_of(struct turn_rig *rig, const char *path, const char *content)
{
    return arena_printf(&rig->arena, "{\"path\":\"%s\",\"content\":\"%s\"}", path, content);
}

/* ---- order ---- */

static void test_plain_turn_tells_everything_in_order(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    answer(&rig)->text = "hello";
    turn_rig_turn(&rig, "say hello");
    assert_string_equal(turn_check_story(&rig, 0),
                        "session.started turn.started context.loaded budget.opened turn.prepared model.requested "
                        "model.responded budget.charged writes.closed turn.finalized turn.finished");
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_string_equal(turn_check_finished(&rig)->text, "hello");
    assert_int_equal(turn_check_finished(&rig)->steps, 1);
    assert_int_equal(turn_check_finished(&rig)->tool_calls, 0);
    turn_check_end(&rig);
}

static void test_write_is_proposed_decided_kept_applied_and_finished_in_this_order(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *content = NULL;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    fake_answer_call(answer(&rig), "w", "write_file", arguments_of(&rig, "a.txt", "new\\n"));
    rig.answer = turn_rig_say_yes;
    turn_rig_turn(&rig, "write");
    assert_string_equal(
        turn_check_story(&rig, turn_check_place(&rig, EVENT_MODEL_RESPONDED, NULL, 0)),
        "model.responded budget.charged waves.planned tool.started(w) write.proposed held(before write) write.decided "
        "released(before write) checkpoint.saved write.applied tool.finished(w) budget.charged model.requested "
        "model.responded budget.charged writes.closed turn.finalized turn.finished");
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, "new\n");
    turn_check_end(&rig);
}

static void test_turn_stays_quiet_without_a_prompt_or_while_another_runs(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    assert_string_not_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = ""}}),
                            "");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "one"}});
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "two"}}),
                        "a turn is running");
    assert_string_not_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_END}), "");
    turn_rig_run(&rig);
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_STARTED), 1);
    turn_check_do(&rig, INTENT_END);
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "three"}}),
                        "the session has ended");
    turn_check_end(&rig);
}

static void test_deltas_of_one_frame_become_one_event_before_the_answer(void **state)
{
    static const char *const pieces[] = {"one ", "two ", "three", NULL};
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    a = answer(&rig);
    a->text = "one two three";
    a->deltas = pieces;
    turn_rig_turn(&rig, "count");
    assert_int_equal(turn_rig_count(&rig, EVENT_MODEL_DELTA), 1);
    assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_DELTA, 0)->model_delta.text, "one two three");
    assert_true(turn_check_place(&rig, EVENT_MODEL_DELTA, NULL, 0) <
                turn_check_place(&rig, EVENT_MODEL_RESPONDED, NULL, 0));
    turn_check_end(&rig);
}

/* ---- calls ---- */

static void test_d32_messages_stand_in_call_order_whatever_the_wave_does(void **state)
{
    static const int64_t takes[] = {300, 100, 200};
    static const char *const names[] = {"first", "second", "third"};
    struct turn_rig rig;
    struct fake_tool tools[3];
    struct fake_answer *a;
    const struct message_list *messages;

    (void)state;
    turn_rig_init(&rig);
    a = answer(&rig);
    for (size_t i = 0; i < 3; i++) {
        fake_tool_init(&tools[i], names[i], EFFECT_READ_ONLY);
        tools[i].takes_ms = takes[i];
        turn_rig_add_tool(&rig, &tools[i].tool);
        fake_answer_call(a, names[i], names[i], "{}");
    }
    turn_rig_open(&rig);
    turn_rig_turn(&rig, "look");
    assert_true(turn_check_place(&rig, EVENT_TOOL_STARTED, "third", 0) <
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "second", 0));
    assert_true(turn_check_place(&rig, EVENT_TOOL_FINISHED, "second", 0) <
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "third", 0));
    assert_true(turn_check_place(&rig, EVENT_TOOL_FINISHED, "third", 0) <
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "first", 0));
    messages = turn_rig_messages(&rig);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(messages->items[messages->count - 3 + i].role, ROLE_TOOL);
        assert_string_equal(messages->items[messages->count - 3 + i].call_id, names[i]);
    }
    assert_int_equal(messages->items[messages->count - 4].role, ROLE_ASSISTANT);
    assert_int_equal(messages->items[messages->count - 4].call_count, 3);
    turn_check_end(&rig);
    for (size_t i = 0; i < 3; i++)
        fake_tool_release(&tools[i]);
}

static void test_bad_calls_never_touch_their_siblings(void **state)
{
    static const struct {
        const char *id, *tool, *arguments, *outcome;
    } calls[] = {
        {"good", "read_file", "{\"path\":\"a.txt\"}", "result"},
        {"unknown", "raed_file", "{\"path\":\"a.txt\"}", "denied:validation"},
        {"nonsense", "read_file", "{\"path\":", "denied:validation"},
        {"list", "read_file", "[1]", "denied:validation"},
        {"invalid", "read_file", "{\"path\":7}", "denied:validation"},
        {"missing", "read_file", "{\"path\":\"none.txt\"}", "failure"},
        {"broken", "broken", "{}", "failure"},
        {"slow", "slow", "{}", "timeout"},
        {"refused", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}", "denied:write_denied"},
        {"again", "read_file", "{\"path\":\"a.txt\"}", "denied:duplicate"},
        {"last", "read_file", "{\"path\":\"b.txt\"}", "result"},
    };
    struct turn_rig rig;
    struct fake_tool broken, slow;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&broken, "broken", EFFECT_READ_ONLY);
    broken.error = "it is broken";
    turn_rig_add_tool(&rig, &broken.tool);
    fake_tool_init(&slow, "slow", EFFECT_READ_ONLY);
    slow.takes_ms = 20000;
    slow.tool.spec.timeout_s = 10;
    turn_rig_add_tool(&rig, &slow.tool);
    rig.harness.limits.tool_calls = 20;
    rig.answer = turn_rig_say_no;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "A\n");
    turn_rig_file(&rig, "b.txt", "B\n");
    a = answer(&rig);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        fake_answer_call(a, calls[i].id, calls[i].tool, calls[i].arguments);
    turn_rig_turn(&rig, "everything at once");
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_string_equal(turn_check_outcome(&rig, calls[i].id), calls[i].outcome);
        assert_non_null(turn_check_message(&rig, calls[i].id));
    }
    assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "good"), "entries[0]"), "A");
    assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "last"), "entries[0]"), "B");
    assert_non_null(strstr(turn_check_message(&rig, "unknown"), "did you mean read_file?"));
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    turn_check_end(&rig);
    fake_tool_release(&broken);
    fake_tool_release(&slow);
}

static void test_each_call_of_a_long_answer_gets_its_message_without_nesting(void **state)
{
    enum { COUNT = MODEL_CALLS_MAX };
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    a = answer(&rig);
    for (int i = 0; i < COUNT; i++)
        fake_answer_call(a, NULL, "no_such_tool_at_all", "{}");
    turn_rig_turn(&rig, "go");
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_FINISHED), COUNT);
    assert_non_null(turn_check_message(&rig, "c1"));
    assert_non_null(turn_check_message(&rig, "c512"));
    turn_check_end(&rig);
}

static void test_empty_and_repeated_call_ids_are_made_unique(void **state)
{
    static const char *const expected[] = {"call", "call#2", "x", "x#2", "x#3"};
    struct turn_rig rig;
    struct fake_answer *a;
    const struct message_list *messages;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.tool_calls = 20;
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "", "list_dir", "{\"path\":\".\"}");
    fake_answer_call(a, "", "list_dir", "{\"offset\":0}");
    fake_answer_call(a, "x", "list_dir", "{\"offset\":1}");
    fake_answer_call(a, "x", "list_dir", "{\"offset\":2}");
    fake_answer_call(answer(&rig), "x", "list_dir", "{\"offset\":3}");
    turn_rig_turn(&rig, "same ids");
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_string_equal(turn_check_outcome(&rig, expected[i]), "result");
        assert_non_null(turn_check_message(&rig, expected[i]));
    }
    messages = turn_rig_messages(&rig);
    assert_string_equal(messages->items[messages->count - 2].calls[0].id, "x#3");
    turn_check_end(&rig);
}

static void test_d27_d28_d29_reads_share_a_wave_while_their_keys_are_disjoint(void **state)
{
    struct turn_rig rig;
    struct fake_tool unclassed;
    struct fake_answer *a;
    const char *waves;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&unclassed, "unclassed", EFFECT_UNKNOWN);
    turn_rig_add_tool(&rig, &unclassed.tool);
    rig.harness.limits.tool_calls = 20;
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "a", "read_file", "{\"path\":\"a\"}");
    fake_answer_call(a, "b", "read_file", "{\"path\":\"b\"}");
    fake_answer_call(a, "a2", "read_file", "{\"path\":\"a\",\"offset\":2}");
    fake_answer_call(a, "c", "read_file", "{\"path\":\"c\"}");
    fake_answer_call(a, "u", "unclassed", "{}");
    fake_answer_call(a, "d", "read_file", "{\"path\":\"d\"}");
    fake_answer_call(a, "e", "read_file", "{\"path\":\"e\"}");
    turn_rig_turn(&rig, "look");
    waves = event_json(turn_rig_event(&rig, EVENT_WAVES_PLANNED, 0), "waves");
    assert_string_equal(turn_check_json(&rig, waves, "[0].calls"), "[\"a\",\"b\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[1].calls"), "[\"a2\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[2].calls"), "[\"c\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[3].calls"), "[\"u\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[4].calls"), "[\"d\",\"e\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[4].mode"), "parallel");
    /* The second wave begins when the first is over. */
    assert_true(turn_check_place(&rig, EVENT_TOOL_STARTED, "a2", 0) >
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "a", 0));
    assert_true(turn_check_place(&rig, EVENT_TOOL_STARTED, "a2", 0) >
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "b", 0));
    turn_check_end(&rig);
    fake_tool_release(&unclassed);
}

static void test_d30_without_parallel_every_call_is_a_wave(void **state)
{
    struct turn_rig rig;
    struct fake_answer *a;
    const char *waves;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.parallel = false;
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "a", "read_file", "{\"path\":\"a\"}");
    fake_answer_call(a, "b", "read_file", "{\"path\":\"b\"}");
    turn_rig_turn(&rig, "look");
    waves = event_json(turn_rig_event(&rig, EVENT_WAVES_PLANNED, 0), "waves");
    assert_string_equal(turn_check_json(&rig, waves, "[1].calls"), "[\"b\"]");
    assert_string_equal(turn_check_json(&rig, waves, "[1].mode"), "sequential");
    assert_true(turn_check_place(&rig, EVENT_TOOL_STARTED, "b", 0) >
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "a", 0));
    turn_check_end(&rig);
}

static void test_writes_of_one_answer_never_run_side_by_side(void **state)
{
    struct turn_rig rig;
    struct fake_tool net[2];
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&net[0], "net", EFFECT_NETWORK);
    fake_tool_init(&net[1], "destroy", EFFECT_DESTRUCTIVE);
    net[0].takes_ms = net[1].takes_ms = 100;
    turn_rig_add_tool(&rig, &net[0].tool);
    turn_rig_add_tool(&rig, &net[1].tool);
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "n", "net", "{}");
    fake_answer_call(a, "d", "destroy", "{}");
    turn_rig_turn(&rig, "both");
    assert_true(turn_check_place(&rig, EVENT_TOOL_STARTED, "d", 0) >
                turn_check_place(&rig, EVENT_TOOL_FINISHED, "n", 0));
    turn_check_end(&rig);
    fake_tool_release(&net[0]);
    fake_tool_release(&net[1]);
}

static void test_d35_a_refusal_does_not_let_the_third_call_run_but_a_failure_does(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool, twice;
    struct fake_answer *a;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.limits.tool_calls = 20;
    fake_tool_init(&tool, "look", EFFECT_READ_ONLY);
    fake_tool_init(&twice, "send", EFFECT_NETWORK); /* not idempotent */
    turn_rig_add_tool(&rig, &tool.tool);
    turn_rig_add_tool(&rig, &twice.tool);
    turn_rig_open(&rig);
    a = answer(&rig);
    fake_answer_call(a, "1", "look", "{\"q\":1,\"r\":2}");
    fake_answer_call(a, "2", "look", "{\"r\":2, \"q\":1}"); /* the same, told otherwise */
    fake_answer_call(a, "3", "look", "{\"q\":1,\"r\":2}");
    fake_answer_call(a, "4", "look", "{\"q\":2}");
    fake_answer_call(a, "5", "send", "{}");
    fake_answer_call(a, "6", "send", "{}");
    fake_answer_call(a, "7", "read_file", "{\"path\":\"none\"}");
    fake_answer_call(a, "8", "read_file", "{\"path\":\"none\"}");
    turn_rig_turn(&rig, "look");
    assert_string_equal(turn_check_outcome(&rig, "1"), "result");
    assert_string_equal(turn_check_outcome(&rig, "2"), "denied:duplicate");
    assert_string_equal(turn_check_outcome(&rig, "3"), "denied:duplicate");
    assert_string_equal(turn_check_outcome(&rig, "4"), "result");
    assert_int_equal(tool.executions, 2);
    assert_int_equal(twice.executions, 2);
    assert_string_equal(turn_check_outcome(&rig, "8"), "failure");
    assert_int_equal(turn_check_finished(&rig)->tool_calls, 6);
    turn_check_end(&rig);
    fake_tool_release(&tool);
    fake_tool_release(&twice);
}

static void test_failure_that_nothing_mends_blocks_the_tool_for_the_turn(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "look", EFFECT_READ_ONLY);
    tool.error = "no licence";
    tool.final = true;
    turn_rig_add_tool(&rig, &tool.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "1", "look", "{}");
    fake_answer_call(answer(&rig), "2", "look", "{\"other\":1}");
    turn_rig_turn(&rig, "look");
    assert_string_equal(turn_check_outcome(&rig, "2"), "denied:blocked");
    assert_int_equal(tool.executions, 1);
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

static void test_d33_d49_only_web_mode_off_fails_web_search_and_only_that(void **state)
{
    static const enum web_mode modes[] = {WEB_OFF, WEB_AUTO, WEB_ON};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct turn_rig rig;
        struct fake_tool other;
        struct fake_answer *a;
        bool disabled;

        turn_rig_init(&rig);
        rig.harness.web = modes[i];
        fake_tool_init(&other, "fetch", EFFECT_NETWORK);
        turn_rig_add_tool(&rig, &other.tool);
        turn_rig_open(&rig);
        a = answer(&rig);
        fake_answer_call(a, "w", "web_search", "{\"query\":\"x\"}");
        fake_answer_call(a, "o", "fetch", "{}");
        turn_rig_turn(&rig, "search");
        assert_string_equal(turn_check_outcome(&rig, "w"), "failure"); /* there is no endpoint either */
        disabled = strstr(turn_check_message(&rig, "w"), "web_search is disabled") != NULL;
        assert_int_equal(disabled, modes[i] == WEB_OFF);
        assert_string_equal(turn_check_outcome(&rig, "o"), "result");
        turn_check_end(&rig);
        fake_tool_release(&other);
    }
}

static void test_what_a_tool_prints_is_told_while_it_runs(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "talk", EFFECT_READ_ONLY);
    tool.says = "working\n";
    turn_rig_add_tool(&rig, &tool.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "t", "talk", "{}");
    turn_rig_turn(&rig, "talk");
    assert_string_equal(turn_rig_event(&rig, EVENT_TOOL_OUTPUT, 0)->tool_output.text, "working\n");
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_turn_tells_everything_in_order),
        cmocka_unit_test(test_write_is_proposed_decided_kept_applied_and_finished_in_this_order),
        cmocka_unit_test(test_turn_stays_quiet_without_a_prompt_or_while_another_runs),
        cmocka_unit_test(test_deltas_of_one_frame_become_one_event_before_the_answer),
        cmocka_unit_test(test_d32_messages_stand_in_call_order_whatever_the_wave_does),
        cmocka_unit_test(test_bad_calls_never_touch_their_siblings),
        cmocka_unit_test(test_each_call_of_a_long_answer_gets_its_message_without_nesting),
        cmocka_unit_test(test_empty_and_repeated_call_ids_are_made_unique),
        cmocka_unit_test(test_d27_d28_d29_reads_share_a_wave_while_their_keys_are_disjoint),
        cmocka_unit_test(test_d30_without_parallel_every_call_is_a_wave),
        cmocka_unit_test(test_writes_of_one_answer_never_run_side_by_side),
        cmocka_unit_test(test_d35_a_refusal_does_not_let_the_third_call_run_but_a_failure_does),
        cmocka_unit_test(test_failure_that_nothing_mends_blocks_the_tool_for_the_turn),
        cmocka_unit_test(test_d33_d49_only_web_mode_off_fails_web_search_and_only_that),
        cmocka_unit_test(test_what_a_tool_prints_is_told_while_it_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
