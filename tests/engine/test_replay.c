/* A recorded session, run again: the recorded model, the recorded decisions, real tools where there are any and stand-ins
 * where there are none. On the same files nothing departs; on others, the first difference is named. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/scripted.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include "turn/departure.h"
#include "turn/replay.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* ---- running again ---- */

struct again {
    struct turn_rig rig;
    struct recording *recording;
    struct departures *departures;
    struct sink sink;
};

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)session;
    departures_see(((struct again *)((char *)sink - offsetof(struct again, sink)))->departures, event);
}

/* Everything as the program sets it up, up to the files. */
static void again_init(struct again *again, const char *path)
{
    struct err err = ERR_INIT;
    struct harness *harness = &again->rig.harness;

    turn_rig_init(&again->rig);
    again->recording = recording_open(path, &err);
    if (!again->recording)
        fail_msg("%s", err.text);
    provider_free(harness->provider);
    again->rig.model = NULL;
    harness->provider = scripted_new(again->rig.loop, recording_reader(again->recording), 0);
    recording_limits(again->recording, &harness->limits);
    harness->thinking = recording_thinking(again->recording);
    approval_free(harness->approval);
    harness->approval = approval_new(APPROVE_ASK, false);
    if (recording_decisions(again->recording, harness->approval, &err) < 0 ||
        recording_stand_ins(again->recording, harness->registry, &err) < 0)
        fail_msg("%s", err.text);
    again->departures = departures_new(recording_reader(again->recording));
    again->sink = (struct sink){.event = compare};
    again->rig.sink.next = &again->sink;
}

static void again_run(struct again *again)
{
    turn_rig_open(&again->rig);
    for (size_t i = 0; i < recording_turn_count(again->recording); i++) {
        scripted_turn(again->rig.harness.provider, recording_turn_number(again->recording, i));
        turn_rig_turn(&again->rig, recording_prompt(again->recording, i));
    }
    departures_end(again->departures);
}

static void again_release(struct again *again)
{
    turn_check_end(&again->rig);
    departures_free(again->departures);
    recording_free(again->recording);
}

static void check_none(const struct again *again)
{
    const struct departure *first = departures_at(again->departures, 0);

    if (first)
        fail_msg("departed: seq %lld %s.%s: recorded %s, got %s", (long long)first->seq, first->type, first->field,
                 first->recorded, first->got);
    assert_int_equal(departures_count(again->departures), 0);
}

/* ---- what is recorded ---- */

struct made {
    struct turn_rig rig;
    struct fake_tool look, slow, bad, foreign;
    char *path;
};

static void made_init(struct made *made)
{
    struct turn_rig *rig = &made->rig;

    turn_rig_init(rig);
    fake_tool_init(&made->look, "look", EFFECT_READ_ONLY);
    made->look.takes_ms = 300;
    made->look.output = "{\"seen\":[1,2,3]}";
    fake_tool_init(&made->slow, "slow", EFFECT_READ_ONLY);
    made->slow.tool.spec.timeout_s = 5;
    made->slow.takes_ms = 7000;
    fake_tool_init(&made->bad, "bad", EFFECT_NETWORK);
    made->bad.error = "it broke";
    made->bad.final = true;
    fake_tool_init(&made->foreign, "foreign", EFFECT_LOCAL_WRITE);
    made->foreign.asks = FAKE_ASKS_FIELD;
    made->foreign.takes_ms = 20;
    made->foreign.confirmed_ms = 40;
    turn_rig_add_tool(rig, &made->look.tool);
    turn_rig_add_tool(rig, &made->slow.tool);
    turn_rig_add_tool(rig, &made->bad.tool);
    turn_rig_add_tool(rig, &made->foreign.tool);
    made->path = scratch_path(&rig->scratch, "recorded.jsonl");
    rig->harness.limits.tool_calls = 40;
    rig->harness.limits.steps = 12;
    turn_rig_file(rig, "a.txt", "A\n");
    turn_rig_file(rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

static void made_release(struct made *made)
{
    turn_check_end(&made->rig);
    fake_tool_release(&made->look);
    fake_tool_release(&made->slow);
    fake_tool_release(&made->bad);
    fake_tool_release(&made->foreign);
    free(made->path);
}

static void copy_files(struct again *again)
{
    turn_rig_file(&again->rig, "a.txt", "A\n");
    turn_rig_file(&again->rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

/* Answers by the name of the call. */
static void decide(struct turn_rig *rig, const struct question *question)
{
    struct intent intent = {.type = INTENT_APPROVE, .approve = {.ask = question->ask, .digest = question->digest}};
    struct change_set *edited = NULL;

    if (strncmp(question->call, "no", 2) == 0)
        intent = (struct intent){.type = INTENT_DENY, .deny = {.ask = question->ask, .reason = "not like this"}};
    if (strncmp(question->call, "part", 4) == 0)
        intent.approve.hunks = "[{\"path\":\"n.txt\",\"keep\":[2],\"of\":2}]";
    if (strncmp(question->call, "edit", 4) == 0) {
        edited = change_set_copy(question->changes);
        change_side_set(&edited->items[0].new, "mine\n", 5, 0600);
        intent.approve.edited = edited;
    }
    if (strncmp(question->call, "late", 4) != 0) /* nobody answers that one */
        turn_rig_submit(rig, &intent);
    change_set_free(edited);
}

static void say_everything(struct turn_rig *rig)
{
    struct fake_answer *a = answer(rig);

    a->takes_us = 1200000;
    a->usage = (struct usage){.input = 100, .output = 10, .cache_read = 3};
    fake_answer_call(a, "l", "look", "{\"at\":1}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"a.txt\",\"content\":\"X\\n\"}");
    fake_answer_call(a, "part", "write_file",
                     "{\"path\":\"n.txt\",\"content\":\"ONE\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\nTWELVE\\n\"}");
    fake_answer_call(a, "edit", "write_file", "{\"path\":\"e.txt\",\"content\":\"theirs\\n\"}");
    fake_answer_call(a, "late", "write_file", "{\"path\":\"l.txt\",\"content\":\"l\\n\"}");
    fake_answer_call(a, "nof", "foreign", "{}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}"); /* the id once more, and a duplicate */
    fake_answer_call(a, "u", "unknown_tool", "{}");
    a = answer(rig);
    a->error = "overloaded";
    a->retryable = true;
    a = answer(rig);
    fake_answer_call(a, "b", "bad", "{}");
    fake_answer_call(a, "b2", "bad", "{\"again\":1}");
    answer(rig)->text = "first is over";
    a = answer(rig);
    fake_answer_call(a, "nof", "foreign", "{\"second\":1}"); /* the ids of the first turn, with other outcomes */
    fake_answer_call(a, "l", "look", "{\"at\":2}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"new.txt\"}");
    answer(rig)->text = "second is over";
}

static void record_everything(struct made *made)
{
    struct turn_rig *rig = &made->rig;
    struct fake_answer *look;

    made_init(made);
    rig->harness.thinking = THINKING_LOW;
    rig->harness.ask_timeout_ms = 9000;
    rig->answer = decide;
    rig->answer_after_us = 800000;
    turn_check_open(rig, made->path);
    say_everything(rig);
    look = fake_provider_reflection(rig->model);
    look->text = "I see.";
    look->usage = (struct usage){.input = 40, .output = 4};
    fake_provider_reflection(rig->model)->text = "I see that too.";
    turn_rig_turn(rig, "do everything");
    rig->answer = turn_rig_say_yes;
    turn_rig_turn(rig, "and again");
    turn_check_do(rig, INTENT_END);
}

static void test_recorded_session_run_again_on_the_same_files_departs_nowhere(void **state)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *edited = NULL;

    (void)state;
    record_everything(&made);
    assert_string_equal(turn_check_finished(&made.rig)->text, "second is over\n\nSources:\n- new.txt\n");
    assert_int_equal(turn_rig_count(&made.rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(turn_rig_count(&made.rig, EVENT_REFLECTION), 2);
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    edited = turn_rig_read(&again.rig, "e.txt");
    assert_string_equal(edited, "mine\n");
    assert_int_equal(scratch_mode(&again.rig.scratch, "work/e.txt"), 0600);
    assert_false(engine_nobody_asked(again.rig.engine));
    again_release(&again);
    made_release(&made);
}

static void test_recording_is_left_as_it_was(void **state)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *before = NULL;
    CLEANUP(free) char *after = NULL;

    (void)state;
    record_everything(&made);
    before = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    again_release(&again);
    after = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    assert_string_equal(before, after);
    made_release(&made);
}

/* ---- departures ---- */

static void record_read_and_writes(struct made *made)
{
    struct fake_answer *a;

    made_init(made);
    made->rig.answer = decide;
    turn_check_open(&made->rig, made->path);
    a = answer(&made->rig);
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"other.txt\",\"content\":\"o\\n\"}");
    answer(&made->rig)->text = "over";
    turn_rig_turn(&made->rig, "go");
}

static const struct departure *find(const struct again *again, int64_t seq, const char *type)
{
    for (size_t i = 0; i < departures_count(again->departures); i++) {
        const struct departure *departure = departures_at(again->departures, i);

        if (departure->seq == seq && strcmp(departure->type, type) == 0)
            return departure;
    }
    fail_msg("nothing departed at seq %lld in a %s", (long long)seq, type);
    return NULL;
}

static void test_changed_file_departs_where_it_was_read(void **state)
{
    struct made made;
    struct again again;
    const struct departure *first;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    turn_rig_file(&again.rig, "a.txt", "changed\n");
    again_run(&again);
    first = departures_at(again.departures, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_finished(&made.rig, "r")->seq);
    assert_string_equal(first->type, "tool.finished");
    assert_string_equal(first->field, "result.output.size");
    assert_string_equal(first->recorded, "2");
    assert_string_equal(first->got, "8");
    again_release(&again);
    made_release(&made);
}

static void test_changed_file_departs_where_it_was_to_be_written(void **state)
{
    struct made made;
    struct again again;
    const struct departure *first;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    turn_rig_file(&again.rig, "new.txt", "there already\n");
    again_run(&again);
    first = departures_at(again.departures, 0);
    assert_non_null(first);
    assert_int_equal(first->seq, turn_rig_event(&made.rig, EVENT_WRITE_PROPOSED, 0)->seq);
    assert_string_equal(first->field, "files[0].old_digest");
    assert_string_equal(first->recorded, "\"absent\"");
    again_release(&again);
    made_release(&made);
}

static void test_what_was_recorded_and_did_not_happen_departs(void **state)
{
    struct made made;
    struct again again;
    const struct departure *decided, *saved;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    approval_free(again.rig.harness.approval);
    again.rig.harness.approval = approval_new(APPROVE_DENY, false);
    again_run(&again);
    decided = find(&again, turn_rig_event(&made.rig, EVENT_WRITE_DECIDED, 0)->seq, "write.decided");
    assert_string_equal(decided->field, "decision");
    assert_string_equal(decided->recorded, "approved");
    assert_string_equal(decided->got, "denied");
    saved = find(&again, turn_rig_event(&made.rig, EVENT_CHECKPOINT_SAVED, 0)->seq, "checkpoint.saved");
    assert_string_equal(saved->field, "event");
    assert_string_equal(saved->got, "nothing");
    find(&again, turn_rig_event(&made.rig, EVENT_WRITE_APPLIED, 0)->seq, "write.applied");
    /* In the order of the recording. */
    for (size_t i = 1; i < departures_count(again.departures); i++)
        assert_true(departures_at(again.departures, i - 1)->seq <= departures_at(again.departures, i)->seq);
    again_release(&again);
    made_release(&made);
}

static void test_what_happened_and_was_not_recorded_departs(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    record_read_and_writes(&made);
    again_init(&again, made.path);
    copy_files(&again);
    approval_free(again.rig.harness.approval);
    again.rig.harness.approval = approval_new(APPROVE_ALLOW, false);
    again_run(&again);
    assert_string_equal(find(&again, 0, "write.applied")->field, "event");
    assert_string_equal(find(&again, 0, "write.applied")->recorded, "nothing");
    find(&again, 0, "checkpoint.saved");
    /* First what has a place in the recording. */
    assert_int_not_equal(departures_at(again.departures, 0)->seq, 0);
    again_release(&again);
    made_release(&made);
}

static void test_recorded_end_by_budget_ends_by_budget_again(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    made.rig.harness.limits.steps = 2;
    made.rig.model->repeat_last = true;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(answer(&made.rig), "l", "look", "{}");
    turn_rig_turn(&made.rig, "for ever");
    assert_string_equal(turn_check_finished(&made.rig)->status, "budget");
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->status, "budget");
    again_release(&again);
    made_release(&made);
}

static void test_recorded_end_by_a_failing_model_fails_again(void **state)
{
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    fake_answer_call(answer(&made.rig), "l", "look", "{}");
    answer(&made.rig)->error = "gone";
    turn_rig_turn(&made.rig, "try");
    again_init(&again, made.path);
    copy_files(&again);
    again_run(&again);
    check_none(&again);
    again_release(&again);
    made_release(&made);
}

static void test_hand_written_recording_is_compared_as_far_as_it_goes(void **state)
{
    static const char lines[] =
        "{\"type\":\"session.started\",\"v\":1}\n"
        "{\"type\":\"turn.started\",\"prompt\":\"look\"}\n"
        "{\"type\":\"model.responded\",\"tool_calls\":[{\"name\":\"list_dir\",\"arguments\":{}}]}\n"
        "{\"type\":\"model.responded\",\"text\":\"seen\"}\n";
    struct made made;
    struct again again;

    (void)state;
    made_init(&made);
    turn_rig_open(&made.rig);
    scratch_write(&made.rig.scratch, "recorded.jsonl", lines);
    again_init(&again, made.path);
    again_run(&again);
    check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->text, "seen");
    assert_int_equal(turn_rig_count(&again.rig, EVENT_TOOL_FINISHED), 1);
    again_release(&again);
    made_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_session_run_again_on_the_same_files_departs_nowhere),
        cmocka_unit_test(test_recording_is_left_as_it_was),
        cmocka_unit_test(test_changed_file_departs_where_it_was_read),
        cmocka_unit_test(test_changed_file_departs_where_it_was_to_be_written),
        cmocka_unit_test(test_what_was_recorded_and_did_not_happen_departs),
        cmocka_unit_test(test_what_happened_and_was_not_recorded_departs),
        cmocka_unit_test(test_recorded_end_by_budget_ends_by_budget_again),
        cmocka_unit_test(test_recorded_end_by_a_failing_model_fails_again),
        cmocka_unit_test(test_hand_written_recording_is_compared_as_far_as_it_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
