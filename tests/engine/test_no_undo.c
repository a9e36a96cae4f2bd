/* A write whose old bytes cannot be kept (D43): nothing is written; where somebody is there to be asked, the question
 * is asked again and says so, and only a yes that means it writes without undo. */

#include "base/mem.h"
#include "support/answers.h"
#include "support/turn_check.h"
#include "turn/engine_inside.h"
#include "turn/turn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct intent yes(const struct question *question, bool without_undo)
{
    return answer_with(question, (struct decision){.kind = DECISION_APPROVED, .without_undo = without_undo});
}

/* A turn that has been allowed to write a.txt and could not keep its old bytes: the folder for them is gone. */
static void init(struct turn_rig *rig, bool interactive)
{
    turn_rig_init(rig);
    rig->harness.interactive = interactive;
    turn_rig_open(rig);
    turn_rig_file(rig, "a.txt", "old\n");
    scratch_remove(&rig->scratch, "checkpoints");
    fake_answer_call(fake_provider_answer(rig->model), "w", "write_file",
                     "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    turn_rig_turn(rig, "write");
}

static void give(struct turn_rig *rig, const struct intent *intent)
{
    turn_rig_submit(rig, intent);
    turn_rig_run(rig);
}

static void check_file(const struct turn_rig *rig, const char *expected)
{
    CLEANUP(free) char *content = turn_rig_read(rig, "a.txt");

    assert_string_equal(content, expected);
}

/* Says yes to the first question; gives the second. */
static const struct question *second_question(struct turn_rig *rig)
{
    const struct question *question = engine_question(rig->engine);
    struct intent intent;

    assert_non_null(question);
    assert_null(question->no_undo);
    assert_string_equal(question->id, "a1");
    intent = yes(question, true);
    assert_string_equal(turn_check_submit(rig, &intent), "this write can be undone: approve it as it is");
    intent = yes(question, false);
    give(rig, &intent);
    check_file(rig, "old\n");
    question = engine_question(rig->engine);
    assert_non_null(question);
    assert_string_equal(question->id, "a2");
    assert_non_null(question->no_undo);
    assert_non_null(strstr(question->no_undo, "cannot make a checkpoint"));
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_PROPOSED), 2);
    return question;
}

static void test_approved_without_undo(void **state)
{
    struct turn_rig rig;
    struct intent intent;

    (void)state;
    init(&rig, true);
    intent = yes(second_question(&rig), true);
    give(&rig, &intent);
    check_file(&rig, "new\n");
    assert_string_equal(turn_check_outcome(&rig, "w"), "result");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_APPLIED), 1);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    assert_non_null(strstr(turn_rig_event(&rig, EVENT_WRITE_DECIDED, 1)->write_decided.reason, "without undo: "));
    turn_check_end(&rig);
}

static void test_refused_without_undo(void **state)
{
    struct turn_rig rig;
    struct intent intent;

    (void)state;
    init(&rig, true);
    intent = answer_no(second_question(&rig), NULL);
    give(&rig, &intent);
    check_file(&rig, "old\n");
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    turn_check_end(&rig);
}

/* A plain yes tries again: the reason may have gone. */
static void test_plain_yes_tries_again(void **state)
{
    struct turn_rig rig;
    struct intent intent;

    (void)state;
    init(&rig, true);
    intent = yes(second_question(&rig), false);
    give(&rig, &intent);
    check_file(&rig, "old\n");
    assert_string_equal(engine_question(rig.engine)->id, "a3");
    scratch_mkdir(&rig.scratch, "checkpoints");
    intent = yes(engine_question(rig.engine), false);
    give(&rig, &intent);
    check_file(&rig, "new\n");
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 1);
    turn_check_end(&rig);
}

/* Whoever allowed it beforehand did not allow it without undo. */
static void test_rule_does_not_answer_it(void **state)
{
    struct turn_rig rig;
    const struct question *question;
    struct intent intent;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    rules_allow(rig.harness.rules, "write_file", "a.txt");
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", "old\n");
    scratch_remove(&rig.scratch, "checkpoints");
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    turn_rig_turn(&rig, "write");
    question = engine_question(rig.engine);
    assert_non_null(question);
    assert_non_null(question->no_undo);
    check_file(&rig, "old\n");
    intent = answer_no(question, NULL);
    give(&rig, &intent);
    turn_check_end(&rig);
}

/* Cancels the turn as soon as the second question is being made, or else when it is open. */
static struct turn_rig *watched;
static bool caught; /* before it was told */

static void watch(struct loop_task *task)
{
    const struct question *question = watched->engine->turn ? watched->engine->turn->question : NULL;

    if (!question || !question->no_undo) {
        loop_post(watched->loop, task, watch);
        return;
    }
    caught = question->state == Q_DIFFING;
    turn_rig_submit(watched, &(struct intent){.type = INTENT_CANCEL});
}

static void test_cancelled_before_it_is_asked_again(void **state)
{
    struct turn_rig rig;
    struct loop_task task = {0};
    struct intent intent;

    (void)state;
    init(&rig, true);
    watched = &rig;
    intent = yes(engine_question(rig.engine), false);
    turn_rig_submit(&rig, &intent);
    loop_post(rig.loop, &task, watch);
    turn_rig_run(&rig);
    check_file(&rig, "old\n");
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:write_denied");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_PROPOSED), caught ? 1 : 2);
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_DECIDED), caught ? 1 : 2);
    assert_string_equal(turn_check_finished(&rig)->status, "cancelled");
    turn_check_end(&rig);
}

static void test_nobody_there_is_a_failure(void **state)
{
    struct turn_rig rig;
    struct intent intent;

    (void)state;
    init(&rig, false);
    intent = yes(engine_question(rig.engine), false);
    give(&rig, &intent);
    check_file(&rig, "old\n");
    assert_null(engine_question(rig.engine));
    assert_string_equal(turn_check_outcome(&rig, "w"), "failure");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_PROPOSED), 1);
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_approved_without_undo),
        cmocka_unit_test(test_refused_without_undo),
        cmocka_unit_test(test_plain_yes_tries_again),
        cmocka_unit_test(test_rule_does_not_answer_it),
        cmocka_unit_test(test_cancelled_before_it_is_asked_again),
        cmocka_unit_test(test_nobody_there_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
