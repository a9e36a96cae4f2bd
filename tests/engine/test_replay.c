/* Tests running a recorded session again on the same files: no divergence, however the recording ended, and the
 * recording stays unchanged. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/replay_rig.h"
#include "support/test.h"
#include <string.h>

TEST(replay_on_the_same_files_does_not_diverge)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *edited = NULL;
    made_everything(&made);
    assert_string_equal(turn_check_finished(&made.rig)->text, "second is over");
    assert_int_equal(turn_rig_count(&made.rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(turn_rig_count(&made.rig, EVENT_REFLECTION), 2);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    edited = turn_rig_read(&again.rig, "e.txt");
    assert_string_equal(edited, "mine\n");
    assert_int_equal(scratch_mode(&again.rig.scratch, "work/e.txt"), 0600);
    assert_false(engine_nobody_asked(again.rig.engine));
    again_release(&again);
    made_release(&made);
}

static void restore(struct turn_rig *rig, enum intent_type type)
{
    turn_rig_submit(rig, &(struct intent){.type = type});
    turn_rig_run(rig);
}

/* Each turn reads what the undo before it left. So a run that skips one departs at the read. */
TEST(undos_between_turns_are_repeated)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.rig.answer = turn_rig_say_yes;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"B\\n\"}");
    replay_answer(&made.rig)->text = "one";
    fake_answer_call(replay_answer(&made.rig), "r", "read_file", "{\"path\":\"a.txt\"}");
    replay_answer(&made.rig)->text = "two";
    fake_answer_call(replay_answer(&made.rig), "r", "read_file", "{\"path\":\"a.txt\"}");
    replay_answer(&made.rig)->text = "three";
    turn_rig_turn(&made.rig, "write");
    restore(&made.rig, INTENT_UNDO);
    turn_rig_turn(&made.rig, "read");
    restore(&made.rig, INTENT_REDO);
    turn_rig_turn(&made.rig, "read it again");
    restore(&made.rig, INTENT_UNDO);
    turn_check_do(&made.rig, INTENT_END);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_int_equal(turn_rig_count(&again.rig, EVENT_WRITE_UNDONE), 2);
    assert_int_equal(turn_rig_count(&again.rig, EVENT_WRITE_REDONE), 1);
    CLEANUP(free) char *left = turn_rig_read(&again.rig, "a.txt");
    assert_string_equal(left, "A\n");
    again_release(&again);
    made_release(&made);
}

TEST(undo_within_a_turn_is_repeated_before_the_request_that_followed_it)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.rig.answer = turn_rig_say_yes;
    made.rig.config.interactive = true;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"B\\n\"}");
    fake_answer_call(replay_answer(&made.rig), "r", "read_file", "{\"path\":\"a.txt\"}");
    replay_answer(&made.rig)->text = "over";
    turn_rig_submit(&made.rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {"gate=model"}});
    turn_rig_turn(&made.rig, "write");
    restore(&made.rig, INTENT_CONTINUE);
    restore(&made.rig, INTENT_UNDO);
    restore(&made.rig, INTENT_CONTINUE);
    restore(&made.rig, INTENT_CONTINUE);
    assert_int_equal(turn_rig_count(&made.rig, EVENT_TURN_FINISHED), 1);
    turn_check_do(&made.rig, INTENT_END);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_int_equal(turn_rig_count(&again.rig, EVENT_WRITE_UNDONE), 1);
    again_release(&again);
    made_release(&made);
}

/* Older recordings redo with write.undone, from the checkpoint that the undo saved. */
TEST(redo_of_an_older_recording_is_repeated)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.rig.answer = turn_rig_say_yes;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"B\\n\"}");
    replay_answer(&made.rig)->text = "one";
    turn_rig_turn(&made.rig, "write");
    restore(&made.rig, INTENT_UNDO);
    restore(&made.rig, INTENT_REDO);
    turn_check_do(&made.rig, INTENT_END);
    CLEANUP(free) char *text = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    char *word = strstr(text, "write.redone");
    assert_non_null(word);
    memcpy(word, "write.undone", strlen("write.undone"));
    scratch_write(&made.rig.scratch, "recorded.jsonl", text);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    CLEANUP(free) char *left = turn_rig_read(&again.rig, "a.txt");
    assert_string_equal(left, "B\n");
    again_release(&again);
    made_release(&made);
}

TEST(recording_is_not_changed)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *before = NULL;
    CLEANUP(free) char *after = NULL;
    made_everything(&made);
    before = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_release(&again);
    after = scratch_read(&made.rig.scratch, "recorded.jsonl", NULL);
    assert_string_equal(before, after);
    made_release(&made);
}

TEST(recorded_end_by_budget_ends_by_budget_again)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.rig.config.limits.steps = 2;
    made.rig.model->repeat_last = true;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "l", "look", "{}");
    turn_rig_turn(&made.rig, "endless");
    assert_string_equal(turn_check_finished(&made.rig)->status, "budget");
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->status, "budget");
    again_release(&again);
    made_release(&made);
}

TEST(recorded_end_by_a_failing_model_fails_again)
{
    struct made made;
    struct again again;
    made_init(&made);
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "l", "look", "{}");
    replay_answer(&made.rig)->error = "gone";
    turn_rig_turn(&made.rig, "try");
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    again_release(&again);
    made_release(&made);
}

/* The user or the deadline stops the turn while the model works on its second answer, which never comes. */
static void record_stopped(struct made *made, bool cancel)
{
    made_init(made);
    made->rig.config.limits.wall_s = 100;
    turn_check_open(&made->rig, made->path);
    fake_answer_call(replay_answer(&made->rig), "l", "look", "{}");
    replay_answer(&made->rig)->takes_us = -1;
    turn_rig_submit(&made->rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    turn_rig_run_for(&made->rig, 5000000);
    if (cancel)
        turn_rig_submit(&made->rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&made->rig);
}

TEST(turn_canceled_during_a_request_ends_so_again)
{
    static const char *const ends[] = {"budget", "cancelled"};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct made made;
        struct again again;
        record_stopped(&made, i == 1);
        assert_string_equal(turn_check_finished(&made.rig)->status, ends[i]);
        again_init(&again, made.path);
        again_copy_files(&again);
        again_run(&again);
        again_check_none(&again);
        assert_string_equal(turn_check_finished(&again.rig)->status, ends[i]);
        again_release(&again);
        made_release(&made);
    }
}

TEST(calls_that_the_user_canceled_are_canceled_again)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.slow.tool.spec.timeout_s = 50;
    turn_check_open(&made.rig, made.path);
    struct fake_answer *a = replay_answer(&made.rig);
    fake_answer_call(a, "l", "look", "{}");
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "w", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    turn_rig_submit(&made.rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    turn_rig_run_for(&made.rig, 2000000);
    turn_rig_submit(&made.rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&made.rig);
    assert_int_equal(turn_rig_count(&made.rig, EVENT_LATE_SUPPRESSED), 1);
    assert_string_equal(turn_check_outcome(&made.rig, "w"), "denied:blocked");
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->status, "cancelled");
    again_release(&again);
    made_release(&made);
}

TEST(turn_canceled_at_a_question_ends_so_again)
{
    struct made made;
    struct again again;
    made_init(&made);
    made.rig.config.interactive = true;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "w", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    turn_rig_submit(&made.rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    turn_rig_run_for(&made.rig, 2000000);
    turn_rig_submit(&made.rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&made.rig);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->status, "cancelled");
    again_release(&again);
    made_release(&made);
}

/* A text of this many characters, as a member of an object. */
static char *long_output(size_t chars)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"stdout\":\"");
    for (size_t i = 0; i < chars; i++)
        strbuf_addch(&text, (char)('a' + i % 26));
    strbuf_addstr(&text, "\"}");
    return strbuf_detach(&text, NULL);
}

static void print_page(struct tool_run *run, struct tool_reply *reply)
{
    (void)run;
    tool_reply_page(reply, long_output(3500));
}

TEST(long_page_of_a_missing_tool_is_answered_in_full)
{
    static const struct tool prints = {.spec = {.name = "prints",
                                                .description = "",
                                                .effect = EFFECT_READ_ONLY,
                                                .idempotent = true,
                                                .parameters = "{\"type\":\"object\"}"},
                                       .work = print_page};
    struct made made;
    struct again again;
    made_init(&made);
    turn_rig_add_tool(&made.rig, &prints);
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "p", "prints", "{}");
    replay_answer(&made.rig)->text = "over";
    turn_rig_turn(&made.rig, "go");
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_true(strlen(turn_check_json(&again.rig, event_json(turn_rig_finished(&again.rig, "p"), "result"),
                                       "output.stdout")) == 3500);
    again_release(&again);
    made_release(&made);
}

/* Short strings, but so many of them that the result becomes an artifact. */
static char *many_lines(void)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"lines\":[\"first\"");
    for (int i = 0; i < 2000; i++)
        strbuf_addf(&text, ",\"line %d\"", i);
    strbuf_addstr(&text, "]}");
    return strbuf_detach(&text, NULL);
}

TEST(artifact_of_a_missing_tool_is_named_again)
{
    struct made made;
    struct again again;
    CLEANUP(free) char *lines = many_lines();
    made_init(&made);
    made.look.output = lines;
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "l", "look", "{}");
    replay_answer(&made.rig)->text = "over";
    turn_rig_turn(&made.rig, "go");
    assert_string_equal(turn_check_outcome(&made.rig, "l"), "artifact");
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    assert_string_equal(event_json(turn_rig_finished(&again.rig, "l"), "artifact"),
                        event_json(turn_rig_finished(&made.rig, "l"), "artifact"));
    again_release(&again);
    made_release(&made);
}

TEST(hand_written_recording_is_compared_as_far_as_it_goes)
{
    static const char lines[] =
        "{\"type\":\"session.started\",\"v\":1}\n"
        "{\"type\":\"turn.started\",\"prompt\":\"look\"}\n"
        "{\"type\":\"model.responded\",\"tool_calls\":[{\"name\":\"list_dir\",\"arguments\":{}}]}\n"
        "{\"type\":\"model.responded\",\"text\":\"seen\"}\n";
    struct made made;
    struct again again;
    made_init(&made);
    turn_rig_open(&made.rig);
    scratch_write(&made.rig.scratch, "recorded.jsonl", lines);
    again_init(&again, made.path);
    again_run(&again);
    again_check_none(&again);
    assert_string_equal(turn_check_finished(&again.rig)->text, "seen");
    assert_int_equal(turn_rig_count(&again.rig, EVENT_TOOL_FINISHED), 1);
    again_release(&again);
    made_release(&made);
}
