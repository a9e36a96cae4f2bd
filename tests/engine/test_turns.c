/* Turn after turn: the conversation goes on, and nothing else does. The harness stays as it was given; everything of a
 * turn lives and dies with it. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
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

/* Roles and texts of the messages between the runtime metadata and the context pack, in one line. */
static char *history_of(const struct turn_rig *rig)
{
    const struct message_list *messages = turn_rig_messages(rig);
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < messages->count; i++)
        if (messages->items[i].role != ROLE_SYSTEM)
            strbuf_addf(&text, "%s%s: %s", text.len ? " | " : "", role_name(messages->items[i].role),
                        messages->items[i].text);
    return strbuf_detach(&text, NULL);
}

static void test_later_turns_read_what_was_said_and_nothing_of_the_tools(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *history = NULL;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "1", "list_dir", "{}");
    answer(&rig)->text = "two files";
    turn_rig_turn(&rig, "count");
    answer(&rig)->text = "bye";
    turn_rig_turn(&rig, "thanks");
    answer(&rig)->text = "really";
    turn_rig_turn(&rig, "really?");
    history = history_of(&rig);
    assert_string_equal(history, "user: count | assistant: two files | user: thanks | assistant: bye | user: really?");
    turn_check_end(&rig);
}

static void test_turn_without_an_answer_leaves_no_empty_message_behind(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *history = NULL;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    answer(&rig)->takes_us = -1;
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "never"}});
    turn_rig_run_for(&rig, 1000000);
    turn_check_do(&rig, INTENT_CANCEL);
    assert_string_equal(turn_check_finished(&rig)->text, "");
    turn_rig_turn(&rig, "again");
    history = history_of(&rig);
    assert_string_equal(history, "user: never | assistant: [no answer: cancelled] | user: again");
    turn_check_end(&rig);
}

static void test_edited_prompt_is_what_later_turns_remember(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *history = NULL;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=model"}});
    answer(&rig)->text = "yes";
    turn_rig_turn(&rig, "as typed");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_EDIT, .edit = {.what = EDIT_PROMPT, .text = "as meant"}});
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {.id = 1}});
    turn_check_do(&rig, INTENT_CONTINUE);
    turn_rig_turn(&rig, "next");
    history = history_of(&rig);
    assert_string_equal(history, "user: as meant | assistant: yes | user: next");
    turn_check_end(&rig);
}

static void test_harness_is_the_same_to_the_byte_after_any_turn(void **state)
{
    struct turn_rig rig;
    struct fake_tool bad;
    unsigned char before[sizeof(rig.harness)];

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&bad, "bad", EFFECT_READ_ONLY);
    bad.error = "no";
    turn_rig_add_tool(&rig, &bad.tool);
    rig.harness.interactive = true;
    rig.harness.thinking = THINKING_HIGH;
    rig.harness.limits.steps = 2;
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    memcpy(before, &rig.harness, sizeof(before));
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
    fake_answer_call(answer(&rig), "b", "bad", "{}");
    turn_rig_turn(&rig, "one");
    assert_memory_equal(before, &rig.harness, sizeof(before));
    /* It ended its steps: more of them for this turn are not more of them for the session. */
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_EXTEND, .extend = {.key = BUDGET_STEPS, .share = 1}});
    turn_rig_run(&rig);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_memory_equal(before, &rig.harness, sizeof(before));
    turn_rig_turn(&rig, "two");
    assert_memory_equal(before, &rig.harness, sizeof(before));
    turn_check_end(&rig);
    fake_tool_release(&bad);
}

static void test_turns_share_no_blocks_no_duplicates_and_no_trace(void **state)
{
    struct turn_rig rig;
    struct fake_tool blocked, seen;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&blocked, "blocked", EFFECT_READ_ONLY);
    blocked.error = "never";
    blocked.final = true;
    fake_tool_init(&seen, "seen", EFFECT_READ_ONLY);
    turn_rig_add_tool(&rig, &blocked.tool);
    turn_rig_add_tool(&rig, &seen.tool);
    turn_rig_open(&rig);
    for (int turn = 1; turn <= 2; turn++) {
        struct fake_answer *a = answer(&rig);

        fake_answer_call(a, "x", "blocked", "{}");
        fake_answer_call(a, "y", "seen", "{}");
        answer(&rig)->text = "over";
        turn_rig_turn(&rig, "do it");
        assert_int_equal(blocked.executions, turn);
        assert_int_equal(seen.executions, turn);
        assert_int_equal(turn_check_finished(&rig)->tool_calls, 2);
        assert_int_equal(turn_check_finished(&rig)->steps, 2);
    }
    /* The same ids again: made unique within a turn, not across turns. */
    assert_string_equal(rig.events[turn_check_place(&rig, EVENT_TOOL_FINISHED, "x", 1)].tool_finished.outcome,
                        "failure");
    turn_check_end(&rig);
    fake_tool_release(&blocked);
    fake_tool_release(&seen);
}

static void test_each_turn_counts_its_own_time_and_tokens(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    for (int turn = 0; turn < 3; turn++) {
        struct fake_answer *a = answer(&rig);

        a->text = "ok";
        a->takes_us = 2000000;
        a->usage = (struct usage){.input = 10, .output = 2};
        turn_rig_turn(&rig, "wait");
        assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 2000);
        assert_int_equal(turn_check_finished(&rig)->waited_ms, 0);
        assert_string_equal(
            turn_check_json(&rig, event_body_json(EVENT_TURN_FINISHED, turn_check_finished(&rig), "usage"), "input"),
            "10");
    }
    turn_check_end(&rig);
}

static void start_another(void *data)
{
    struct turn_rig *rig = data;

    if (turn_rig_count(rig, EVENT_TURN_FINISHED) < 3)
        turn_rig_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "and on"}});
}

static void test_next_turn_may_begin_from_within_the_end_of_the_last(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    engine_on_turn_end(rig.engine, start_another, &rig);
    turn_rig_turn(&rig, "begin");
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_FINISHED), 3);
    turn_check_end(&rig);
}

/* ---- resuming ---- */

static void test_resumed_session_goes_on_where_it_was(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *path = NULL;
    CLEANUP(free) char *history = NULL;
    struct journal_reader *reader;
    struct journal *journal;
    struct err err = ERR_INIT;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    path = scratch_path(&rig.scratch, "s.jsonl");
    turn_check_open(&rig, path);
    rig.answer = turn_rig_say_yes;
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"1\"}");
    answer(&rig)->text = "written";
    turn_rig_turn(&rig, "first");
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"2\"}");
    answer(&rig)->text = "again";
    turn_rig_turn(&rig, "second");
    turn_check_do(&rig, INTENT_END);
    engine_free(rig.engine);

    reader = journal_open(path, &err);
    assert_non_null(reader);
    journal = journal_resume(path, &rig.clock.base, &err);
    assert_non_null(journal);
    rig.engine = engine_resume(&rig.harness, journal, reader, &rig.sink, &err);
    assert_non_null(rig.engine);
    journal_reader_free(reader);
    assert_int_equal(engine_session(rig.engine)->turn_count, 2);
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"3\"}");
    turn_rig_turn(&rig, "third");
    history = history_of(&rig);
    assert_non_null(
        strstr(history, "user: first | assistant: written | user: second | assistant: again | user: third"));
    assert_string_equal(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 2)->write_proposed.ask, "a3");
    assert_int_equal(turn_rig_event(&rig, EVENT_TURN_STARTED, 2)->turn, 3);
    turn_check_end(&rig);
}

static void test_resumed_session_never_gives_the_number_of_a_question_twice(void **state)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n"
        "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"p\"}\n"
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"model.requested\",\"step\":1}\n"
        "{\"seq\":4,\"t\":0,\"turn\":1,\"type\":\"model.responded\",\"step\":1,"
        "\"tool_calls\":[{\"id\":\"w\",\"name\":\"write_file\",\"arguments\":{}}]}\n"
        "{\"seq\":5,\"t\":0,\"turn\":1,\"type\":\"tool.started\",\"call\":\"w\",\"tool\":\"write_file\"}\n"
        "{\"seq\":6,\"t\":0,\"turn\":1,\"type\":\"write.proposed\",\"call\":\"w\",\"ask\":\"a7\",\"files\":[]}\n";
    struct turn_rig rig;
    CLEANUP(free) char *path = NULL;
    struct journal_reader *reader;
    struct journal *journal;
    struct err err = ERR_INIT;

    (void)state;
    turn_rig_init(&rig);
    scratch_write(&rig.scratch, "s.jsonl", recorded);
    path = scratch_path(&rig.scratch, "s.jsonl");
    reader = journal_open(path, &err);
    assert_non_null(reader);
    journal = journal_resume(path, &rig.clock.base, &err);
    assert_non_null(journal);
    rig.engine = engine_resume(&rig.harness, journal, reader, &rig.sink, &err);
    assert_non_null(rig.engine);
    journal_reader_free(reader);
    rig.answer = turn_rig_say_yes;
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"3\"}");
    turn_rig_turn(&rig, "on");
    assert_string_equal(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0)->write_proposed.ask, "a8");
    turn_rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_turns_read_what_was_said_and_nothing_of_the_tools),
        cmocka_unit_test(test_turn_without_an_answer_leaves_no_empty_message_behind),
        cmocka_unit_test(test_edited_prompt_is_what_later_turns_remember),
        cmocka_unit_test(test_harness_is_the_same_to_the_byte_after_any_turn),
        cmocka_unit_test(test_turns_share_no_blocks_no_duplicates_and_no_trace),
        cmocka_unit_test(test_each_turn_counts_its_own_time_and_tokens),
        cmocka_unit_test(test_next_turn_may_begin_from_within_the_end_of_the_last),
        cmocka_unit_test(test_resumed_session_goes_on_where_it_was),
        cmocka_unit_test(test_resumed_session_never_gives_the_number_of_a_question_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
