/* Between the yes and the bytes: a file that changed meanwhile, a tool of somebody else, a checkpoint that cannot be
 * made, an answer that comes too late. Whatever happens there, nothing is written that was not shown and allowed. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

static void check_file(const struct turn_rig *rig, const char *path, const char *expected)
{
    CLEANUP(free) char *content = turn_rig_read(rig, path);

    if (!expected)
        assert_null(content);
    else
        assert_string_equal(content ? content : "(none)", expected);
}

/* ---- the file changes (D31b) ---- */

/* Somebody writes the file while each of the first questions is open. */
struct meddler {
    const char *versions[4]; /* NULL-terminated */
    size_t next;
    char asks[4][24];
    bool again[4];
};

static void meddle_and_say_yes(struct turn_rig *rig, const struct question *question)
{
    struct meddler *meddler = rig->data;
    size_t n = rig->questions - 1;

    snprintf(meddler->asks[n], sizeof(meddler->asks[n]), "%s", question->id);
    meddler->again[n] = question->again;
    if (meddler->versions[meddler->next])
        turn_rig_file(rig, "a.txt", meddler->versions[meddler->next++]);
    turn_rig_say_yes(rig, question);
}

static void test_d31b_file_that_changed_under_the_question_is_asked_about_anew(void **state)
{
    struct turn_rig rig;
    struct meddler meddler = {.versions = {"old\nand more\n", "old\nand yet more\n", NULL}};

    (void)state;
    turn_rig_init(&rig);
    rig.data = &meddler;
    rig.answer = meddle_and_say_yes;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    fake_answer_call(answer(&rig), "e", "edit_file", "{\"path\":\"a.txt\",\"old\":\"old\",\"new\":\"new\"}");
    turn_rig_turn(&rig, "edit");
    assert_int_equal(rig.questions, 3);
    assert_false(meddler.again[0]);
    assert_true(meddler.again[1] && meddler.again[2]);
    assert_string_not_equal(meddler.asks[0], meddler.asks[1]);
    assert_string_not_equal(meddler.asks[1], meddler.asks[2]);
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_PROPOSED), 3);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 1);
    check_file(&rig, "a.txt", "new\nand yet more\n"); /* what was shown last, on top of what was there then */
    assert_string_equal(turn_check_outcome(&rig, "e"), "result");
    turn_check_end(&rig);
}

static void test_d31b_tool_that_has_nothing_to_propose_any_more_says_so(void **state)
{
    struct turn_rig rig;
    struct meddler meddler = {.versions = {"something else\n", NULL}};

    (void)state;
    turn_rig_init(&rig);
    rig.data = &meddler;
    rig.answer = meddle_and_say_yes;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    fake_answer_call(answer(&rig), "e", "edit_file", "{\"path\":\"a.txt\",\"old\":\"old\",\"new\":\"new\"}");
    turn_rig_turn(&rig, "edit");
    assert_string_equal(turn_check_outcome(&rig, "e"), "failure");
    check_file(&rig, "a.txt", "something else\n");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_APPLIED), 0);
    turn_check_end(&rig);
}

/* ---- tools of somebody else ---- */

static const enum fake_asking foreign_ways[] = {FAKE_ASKS_FIELD, FAKE_ASKS_ERROR, FAKE_ASKS_MESSAGE};

static void init_foreign(struct turn_rig *rig, struct fake_tool *tool, enum fake_asking asks)
{
    turn_rig_init(rig);
    fake_tool_init(tool, "foreign", EFFECT_LOCAL_WRITE);
    tool->asks = asks;
    turn_rig_add_tool(rig, &tool->tool);
    fake_answer_call(answer(rig), "f", "foreign", "{}");
}

static void test_d41_tool_that_asks_in_words_runs_a_second_time_only_after_a_yes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(foreign_ways); i++)
        for (int yes = 0; yes < 2; yes++) {
            struct turn_rig rig;
            struct fake_tool tool;

            init_foreign(&rig, &tool, foreign_ways[i]);
            rig.answer = yes ? turn_rig_say_yes : turn_rig_say_no;
            turn_rig_open(&rig);
            turn_rig_turn(&rig, "go");
            assert_int_equal(rig.questions, 1);
            assert_int_equal(tool.confirmed, yes);
            assert_string_equal(turn_check_outcome(&rig, "f"), yes ? "result" : "denied:write_denied");
            assert_string_equal(event_json(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0), "files"), "[]");
            turn_check_end(&rig);
            fake_tool_release(&tool);
        }
}

static void test_d42_tool_that_asks_again_after_a_yes_has_failed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(foreign_ways); i++) {
        struct turn_rig rig;
        struct fake_tool tool;

        init_foreign(&rig, &tool, foreign_ways[i]);
        tool.always_asks = true;
        rig.answer = turn_rig_say_yes;
        turn_rig_open(&rig);
        turn_rig_turn(&rig, "go");
        assert_int_equal(rig.questions, 1);
        assert_string_equal(turn_check_outcome(&rig, "f"), "failure");
        turn_check_end(&rig);
        fake_tool_release(&tool);
    }
}

static void test_rule_about_a_path_never_covers_a_tool_that_does_not_say_what_it_writes(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;

    (void)state;
    init_foreign(&rig, &tool, FAKE_ASKS_FIELD);
    rig.answer = turn_rig_say_no;
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_ALLOW, .allow = {.tool = "foreign", .path = "a.txt"}});
    turn_rig_turn(&rig, "go");
    assert_int_equal(rig.questions, 1);
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

/* ---- checkpoints ---- */

static void test_d43_write_whose_old_content_cannot_be_kept_is_not_made(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    scratch_remove(&rig.scratch, "checkpoints");
    scratch_write(&rig.scratch, "checkpoints", "in the way");
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\"}");
    turn_rig_turn(&rig, "write");
    assert_string_equal(turn_check_outcome(&rig, "w"), "failure");
    assert_non_null(strstr(turn_check_message(&rig, "w"), "nothing was written"));
    check_file(&rig, "a.txt", "old\n");
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    turn_check_end(&rig);
}

static void test_session_without_checkpoints_writes_all_the_same(void **state)
{
    struct turn_rig rig;
    struct checkpoints *unused;

    (void)state;
    turn_rig_init(&rig);
    unused = rig.harness.checkpoints;
    rig.harness.checkpoints = NULL;
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\"}");
    turn_rig_turn(&rig, "write");
    check_file(&rig, "a.txt", "new");
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_UNDO}),
                        "this session keeps no checkpoints");
    turn_check_promises(&rig, true);
    engine_free(rig.engine);
    rig.engine = NULL;
    rig.harness.checkpoints = unused;
    turn_rig_release(&rig);
}

static void test_commit_that_fails_leaves_no_applied_write_behind(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "dir/file", "x");
    /* The folder of the new file is a file by the time of the commit. */
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"dir/file/deeper\",\"content\":\"new\"}");
    turn_rig_turn(&rig, "write");
    assert_string_equal(turn_check_outcome(&rig, "w"), "failure");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_APPLIED), 0);
    check_file(&rig, "dir/file", "x");
    turn_check_end(&rig);
}

/* ---- too late ---- */

/* What became of the answer. */
static void try_yes(struct turn_rig *rig, const struct question *question)
{
    struct intent yes = answer_yes(question);

    *(const char **)rig->data = arena_strdup(&rig->arena, turn_check_submit(rig, &yes));
}

static void test_d31_late_yes_never_writes_where_the_question_runs_on_the_clock(void **state)
{
    /* Before, at, and after the instant at which the call gives up. At the instant, the call's own timer is first and
     * the answer comes before anybody has heard of it. */
    static const struct {
        double after_s;
        const char *refusal;
        bool written;
    } cases[] = {{9.999999, "", true}, {10, "this question is no longer open", false}, {10.000001, NULL, false}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct turn_rig rig;
        const struct event_write_decided *decided;
        const char *refusal = NULL;

        turn_rig_init(&rig);
        rig.harness.ask_runs_clock = true;
        rig.harness.limits.tool_cap_s = 10;
        rig.harness.limits.wall_s = 100;
        rig.answer = try_yes;
        rig.answer_after_us = SECONDS(cases[i].after_s);
        rig.data = &refusal;
        turn_rig_open(&rig);
        turn_rig_file(&rig, "a.txt", "old\n");
        fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
        turn_rig_turn(&rig, "write");
        if (cases[i].refusal)
            assert_string_equal(refusal, cases[i].refusal);
        else
            assert_null(refusal);
        check_file(&rig, "a.txt", cases[i].written ? "new\n" : "old\n");
        assert_string_equal(turn_check_outcome(&rig, "w"), cases[i].written ? "result" : "timeout");
        decided = &turn_rig_event(&rig, EVENT_WRITE_DECIDED, 0)->write_decided;
        assert_string_equal(decided->decision, cases[i].written ? "approved" : "expired");
        assert_string_equal(decided->by, cases[i].written ? "key" : "timeout");
        assert_int_equal(turn_check_finished(&rig)->waited_ms, 0);
        turn_check_end(&rig);
    }
}

static void test_question_and_call_that_expire_together_end_once(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.ask_runs_clock = true;
    rig.harness.limits.tool_cap_s = 10;
    rig.harness.ask_timeout_ms = 10000;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    turn_rig_turn(&rig, "write");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), 1);
    assert_string_equal(turn_check_outcome(&rig, "w"), "timeout");
    check_file(&rig, "a.txt", NULL);
    turn_check_end(&rig);
}

static void cancel_now(struct turn_rig *rig, const struct question *question)
{
    (void)question;
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

static void test_turn_cancelled_as_its_question_times_out_ends_once(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.ask_runs_clock = true;
    rig.harness.limits.tool_cap_s = 10;
    rig.answer = cancel_now;
    rig.answer_after_us = SECONDS(10);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    turn_rig_turn(&rig, "write");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), 1);
    assert_string_equal(turn_check_outcome(&rig, "w"), "timeout");
    assert_string_equal(turn_check_finished(&rig)->status, "cancelled");
    turn_check_end(&rig);
}

/* ---- a question whose diff takes long ---- */

/* A turn with two writes; the diff of the first keeps a thread of the pool busy for a while, and `act` happens then. */
struct big_diff {
    struct turn_rig rig;
    struct fake_tool tool;
    struct strbuf text;
    struct sink sink;
    struct loop_task task;
    int rounds;
    bool in_time; /* the diff was still being made; on a busy machine it may be quicker than two rounds of the loop */
    void (*act)(struct big_diff *big);
};

static void act_soon(struct loop_task *task)
{
    struct big_diff *big = (struct big_diff *)((char *)task - offsetof(struct big_diff, task));

    if (big->rounds-- > 0) {
        loop_post(big->rig.loop, task, act_soon);
        return;
    }
    big->in_time = turn_rig_count(&big->rig, EVENT_WRITE_PROPOSED) == 0;
    big->act(big);
}

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct big_diff *big = (struct big_diff *)((char *)sink - offsetof(struct big_diff, sink));

    (void)session;
    if (event->type == EVENT_TOOL_STARTED && strcmp(event->tool_started.call, "1") == 0) {
        big->rounds = 2; /* it has proposed by then */
        loop_post(big->rig.loop, &big->task, act_soon);
    }
}

static void big_diff_run(struct big_diff *big, void (*act)(struct big_diff *big))
{
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;

    *big = (struct big_diff){.sink = {.event = hear}, .act = act, .text = STRBUF_INIT};
    turn_rig_init(&big->rig);
    for (unsigned i = 0; i < 60000; i++) {
        strbuf_addf(&before, "%u\n", i * 2654435761u);
        strbuf_addf(&big->text, "%u\n", (i + 7) * 2246822519u);
    }
    turn_rig_file(&big->rig, "big.txt", before.buf);
    fake_tool_init(&big->tool, "big", EFFECT_LOCAL_WRITE);
    big->tool.asks = FAKE_PROPOSES;
    big->tool.path = "big.txt";
    big->tool.text = big->text.buf;
    turn_rig_add_tool(&big->rig, &big->tool.tool);
    big->rig.harness.ask_runs_clock = true;
    big->rig.harness.limits.tool_cap_s = 10;
    big->rig.answer = turn_rig_say_no;
    big->rig.answer_after_us = SECONDS(1); /* once no thread is out any more */
    big->rig.sink.next = &big->sink;
    turn_rig_open(&big->rig);
    fake_answer_call(answer(&big->rig), "1", "big", "{}");
    fake_answer_call(big->rig.model->answers.items[0], "2", "write_file", "{\"path\":\"small\",\"content\":\"s\"}");
    turn_rig_turn(&big->rig, "write");
}

static void big_diff_end(struct big_diff *big)
{
    turn_check_end(&big->rig);
    fake_tool_release(&big->tool);
    strbuf_release(&big->text);
}

static void cancel_turn(struct big_diff *big)
{
    turn_rig_submit(&big->rig, &(struct intent){.type = INTENT_CANCEL});
}

static void test_turn_that_ended_waits_for_the_diff_of_its_question(void **state)
{
    struct big_diff big;

    (void)state;
    big_diff_run(&big, cancel_turn);
    assert_string_equal(turn_check_finished(&big.rig)->status, "cancelled");
    assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_PROPOSED), big.in_time ? 0 : 1); /* it was not asked yet */
    assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_DECIDED), big.in_time ? 0 : 1);
    assert_string_equal(turn_check_outcome(&big.rig, "1"), "denied:write_denied");
    assert_string_equal(turn_check_outcome(&big.rig, "2"), "denied:blocked");
    big_diff_end(&big);
}

static void let_time_pass(struct big_diff *big)
{
    fake_clock_advance(&big->rig.clock, SECONDS(10));
}

static void test_diff_of_a_question_that_is_gone_is_dropped(void **state)
{
    struct big_diff big;

    (void)state;
    big_diff_run(&big, let_time_pass);
    assert_string_equal(turn_check_outcome(&big.rig, "2"), "denied:write_denied");
    if (big.in_time) {
        assert_string_equal(turn_check_outcome(&big.rig, "1"), "timeout");
        assert_int_equal(turn_rig_count(&big.rig, EVENT_WRITE_PROPOSED), 1);
        assert_string_equal(turn_rig_event(&big.rig, EVENT_WRITE_PROPOSED, 0)->write_proposed.call, "2");
    }
    big_diff_end(&big);
}

static void test_foreign_tool_that_hangs_after_the_yes_times_out_and_is_not_repeated(void **state)
{
    struct turn_rig rig;
    struct fake_tool tool;

    (void)state;
    init_foreign(&rig, &tool, FAKE_ASKS_FIELD);
    tool.confirmed_hangs = true;
    tool.heeds_cancel = true;
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "g", "foreign", "{\"again\":true}");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_outcome(&rig, "f"), "timeout");
    assert_string_equal(turn_check_outcome(&rig, "g"), "denied:blocked"); /* it may have written */
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_d31b_file_that_changed_under_the_question_is_asked_about_anew),
        cmocka_unit_test(test_d31b_tool_that_has_nothing_to_propose_any_more_says_so),
        cmocka_unit_test(test_d41_tool_that_asks_in_words_runs_a_second_time_only_after_a_yes),
        cmocka_unit_test(test_d42_tool_that_asks_again_after_a_yes_has_failed),
        cmocka_unit_test(test_rule_about_a_path_never_covers_a_tool_that_does_not_say_what_it_writes),
        cmocka_unit_test(test_d43_write_whose_old_content_cannot_be_kept_is_not_made),
        cmocka_unit_test(test_session_without_checkpoints_writes_all_the_same),
        cmocka_unit_test(test_commit_that_fails_leaves_no_applied_write_behind),
        cmocka_unit_test(test_d31_late_yes_never_writes_where_the_question_runs_on_the_clock),
        cmocka_unit_test(test_question_and_call_that_expire_together_end_once),
        cmocka_unit_test(test_turn_cancelled_as_its_question_times_out_ends_once),
        cmocka_unit_test(test_turn_that_ended_waits_for_the_diff_of_its_question),
        cmocka_unit_test(test_diff_of_a_question_that_is_gone_is_dropped),
        cmocka_unit_test(test_foreign_tool_that_hangs_after_the_yes_times_out_and_is_not_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
