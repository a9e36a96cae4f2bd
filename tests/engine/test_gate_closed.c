/* The write gate is closed before anything is finalized, however the turn ends (D47), and a write that is on its way
 * when the turn ends lands nowhere. The write is held at a place of the test's choosing: in the comparison that working
 * out an edited answer needs, or in the making of its checkpoint's folder. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/turn_check.h"
#include "support/write_door.h"
#include "turn/engine_inside.h"
#include "turn/turn.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- a turn with a write that is held ---- */

static const char before[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
static const char after[] = "A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n";

static void approve_edited(struct turn_rig *rig, const struct question *question)
{
    struct change_set *version = change_set_copy(question->changes);

    change_side_set(&version->items[0].new, "mine\n", 5, 0644);
    struct intent mine = answer_edited(question, version);
    door_shut(rig, AT_COMPARING, door.held); /* from now on: the question itself is shown with a comparison too */
    turn_rig_submit(rig, &mine);
    change_set_free(version);
}

static void approve_all(struct turn_rig *rig, const struct question *question)
{
    door_shut(rig, AT_SAVING, door.held);
    turn_rig_say_yes(rig, question);
}

static void cancel_turn(void *rig)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

/* More than the turn has: the call times out, and after it the budget has ended. Virtual time does not pass by itself
 * while a pool thread is out. */
static void let_time_pass(void *data)
{
    struct turn_rig *rig = data;

    fake_clock_advance(&rig->clock, (int64_t)600 * 1000000);
}

static void end_while_writing(void (*answer)(struct turn_rig *, const struct question *), void (*held)(void *rig),
                              const char *status)
{
    struct turn_rig rig;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    CLEANUP(free) char *content = NULL;
    CLEANUP(free) char *left = NULL;
    CLEANUP(free) char *kept = NULL;

    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", "a.txt");
    json_add_str(&w, "content", after);
    json_close(&w, '}');
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", text.buf);
    rig.answer = answer;
    door_shut(&rig, NOWHERE, held);
    /* Only when the whole turn is over may the write go on. */
    engine_on_turn_end(rig.engine, door_open, NULL);
    turn_rig_turn(&rig, "write");

    assert_int_equal(door.passed, 1);
    assert_string_equal(turn_check_finished(&rig)->status, status);
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, before);
    left = scratch_list(&rig.scratch, "work");
    assert_string_equal(left, "a.txt");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_APPLIED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_LATE_SUPPRESSED), 1);
    assert_true(turn_check_place(&rig, EVENT_LATE_SUPPRESSED, "w", 0) >
                turn_check_place(&rig, EVENT_TURN_FINISHED, NULL, 0));
    kept = scratch_list(&rig.scratch, "checkpoints");
    assert_string_equal(kept, ""); /* what was saved on its account is of no use to anybody */
    turn_check_end(&rig);
}

static void test_cancelled_while_the_answer_is_checked(void **state)
{
    (void)state;
    end_while_writing(approve_edited, cancel_turn, "cancelled");
}

static void test_cancelled_while_the_checkpoint_is_made(void **state)
{
    (void)state;
    end_while_writing(approve_all, cancel_turn, "cancelled");
}

static void test_budget_ends_while_the_answer_is_checked(void **state)
{
    (void)state;
    end_while_writing(approve_edited, let_time_pass, "budget");
}

static void test_budget_ends_while_the_checkpoint_is_made(void **state)
{
    (void)state;
    end_while_writing(approve_all, let_time_pass, "budget");
}

/* ---- writes that are closed between the check and the commit ---- */

/* Nobody has settled the call: it is refused when its checkpoint is there, which nothing refers to then. */
static void close_writes(void *data)
{
    struct turn_rig *rig = data;

    trace_close_writes(&rig->engine->turn->state.trace);
    door_open(NULL);
}

static void test_checkpoint_of_a_write_that_is_no_longer_accepted_is_removed(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *content = NULL;
    CLEANUP(free) char *kept = NULL;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "a.txt", before);
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\"}");
    rig.answer = approve_all;
    door_shut(&rig, NOWHERE, close_writes);
    turn_rig_turn(&rig, "write");
    assert_int_equal(door.passed, 1);
    assert_string_equal(turn_check_outcome(&rig, "w"), "denied:deadline");
    content = turn_rig_read(&rig, "a.txt");
    assert_string_equal(content, before);
    assert_int_equal(turn_rig_count(&rig, EVENT_CHECKPOINT_SAVED), 0);
    kept = scratch_list(&rig.scratch, "checkpoints");
    assert_string_equal(kept, "");
    turn_check_end(&rig);
}

/* ---- the gate as the finalizer sees it ---- */

static int look_at_gate(void *data, const struct finalize_input *input, struct err *err)
{
    const struct turn *turn = (const struct turn *)((const char *)input - offsetof(struct turn, final_input));
    int *seen = data;

    (void)err;
    *seen = trace_accepting_writes(&turn->state.trace) ? -1 : *seen + 1;
    return 0;
}

enum ending { END_DONE, END_BUDGET, END_CANCEL, END_ERROR };

static void cancel_at_once(struct loop_task *task)
{
    struct turn_rig *rig = door.rig;

    free(task);
    turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
}

static void test_gate_is_closed_when_the_finalizer_runs(void **state)
{
    static const char *const statuses[] = {
        [END_DONE] = "done", [END_BUDGET] = "budget", [END_CANCEL] = "cancelled", [END_ERROR] = "failed"};

    (void)state;
    for (int ending = END_DONE; ending <= END_ERROR; ending++) {
        struct turn_rig rig;
        int seen = 0;

        turn_rig_init(&rig);
        rig.harness.hooks = (struct finalize_hooks){.data = &seen,
                                                    .decision = look_at_gate,
                                                    .memory = look_at_gate,
                                                    .learner = look_at_gate,
                                                    .judges = look_at_gate};
        if (ending == END_BUDGET)
            rig.harness.limits.steps = 1;
        turn_rig_open(&rig);
        turn_rig_file(&rig, "a.txt", before);
        if (ending == END_BUDGET)
            fake_answer_call(fake_provider_answer(rig.model), "r", "read_file", "{\"path\":\"a.txt\"}");
        if (ending == END_ERROR) {
            struct fake_answer *a = fake_provider_answer(rig.model);

            a->error = "no such model";
        }
        turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
        if (ending == END_CANCEL) {
            door.rig = &rig;
            loop_post(rig.loop, xcalloc(1, sizeof(struct loop_task)), cancel_at_once);
        }
        turn_rig_run(&rig);
        assert_string_equal(turn_check_finished(&rig)->status, statuses[ending]);
        assert_true(seen > 0);
        turn_check_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancelled_while_the_answer_is_checked),
        cmocka_unit_test(test_cancelled_while_the_checkpoint_is_made),
        cmocka_unit_test(test_budget_ends_while_the_answer_is_checked),
        cmocka_unit_test(test_budget_ends_while_the_checkpoint_is_made),
        cmocka_unit_test(test_checkpoint_of_a_write_that_is_no_longer_accepted_is_removed),
        cmocka_unit_test(test_gate_is_closed_when_the_finalizer_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
