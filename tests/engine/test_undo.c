/* Undo: a write back, kept like any other, and refused when somebody else has been there since. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/answers.h"
#include "support/event_json.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

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

/* A turn that makes "a" out of "old", then "b", in two writes. */
static void init_written(struct turn_rig *rig)
{
    turn_rig_init(rig);
    rig->answer = turn_rig_say_yes;
    turn_rig_open(rig);
    turn_rig_file(rig, "a.txt", "old");
    fake_answer_call(answer(rig), "1", "write_file", "{\"path\":\"a.txt\",\"content\":\"a\"}");
    fake_answer_call(answer(rig), "2", "write_file", "{\"path\":\"a.txt\",\"content\":\"b\"}");
    turn_rig_turn(rig, "write");
    check_file(rig, "a.txt", "b");
}

static const char *try_undo(struct turn_rig *rig, const char *checkpoint)
{
    const char *refusal =
        turn_check_submit(rig, &(struct intent){.type = INTENT_UNDO, .undo = {.checkpoint = checkpoint}});

    turn_rig_run(rig);
    return refusal;
}

static const char *checkpoint_of(const struct turn_rig *rig, size_t n)
{
    return turn_rig_event(rig, EVENT_CHECKPOINT_SAVED, n)->checkpoint_saved.checkpoint;
}

static void test_undo_takes_back_the_newest_write_and_then_the_one_before(void **state)
{
    struct turn_rig rig;

    (void)state;
    init_written(&rig);
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "a");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "old");
    assert_string_equal(try_undo(&rig, NULL), "there is no write to undo");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_UNDONE), 2);
    assert_string_equal(turn_rig_event(&rig, EVENT_WRITE_UNDONE, 0)->write_undone.checkpoint, checkpoint_of(&rig, 1));
    assert_string_equal(event_json(turn_rig_event(&rig, EVENT_WRITE_UNDONE, 0), "paths"), "[\"a.txt\"]");
    turn_check_end(&rig);
}

static void test_undo_leaves_a_checkpoint_by_which_it_can_be_undone(void **state)
{
    struct turn_rig rig;

    (void)state;
    init_written(&rig);
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "a");
    assert_true(turn_check_place(&rig, EVENT_CHECKPOINT_SAVED, NULL, 2) <
                turn_check_place(&rig, EVENT_WRITE_UNDONE, NULL, 0));
    assert_string_equal(try_undo(&rig, checkpoint_of(&rig, 2)), "");
    check_file(&rig, "a.txt", "b");
    assert_string_equal(try_undo(&rig, checkpoint_of(&rig, 3)), "");
    check_file(&rig, "a.txt", "a");
    /* Done again, it is the newest write again. */
    assert_string_equal(try_undo(&rig, checkpoint_of(&rig, 4)), "");
    check_file(&rig, "a.txt", "b");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "a");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "old");
    turn_check_end(&rig);
}

static void test_undo_of_a_new_file_removes_it_and_of_a_deleted_one_brings_it_back(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "gone.txt", "kept");
    fake_answer_call(answer(&rig), "1", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\"}");
    fake_answer_call(answer(&rig), "2", "delete_file", "{\"path\":\"gone.txt\"}");
    turn_rig_turn(&rig, "write");
    check_file(&rig, "gone.txt", NULL);
    assert_string_equal(try_undo(&rig, NULL), "");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "new.txt", NULL);
    check_file(&rig, "gone.txt", "kept");
    turn_check_end(&rig);
}

static void test_undo_is_refused_after_somebody_else_changed_the_file(void **state)
{
    struct turn_rig rig;
    const struct event *event;

    (void)state;
    init_written(&rig);
    turn_rig_file(&rig, "a.txt", "mine");
    assert_string_equal(try_undo(&rig, NULL), ""); /* the refusal comes when it has looked */
    check_file(&rig, "a.txt", "mine");
    event = turn_rig_event(&rig, EVENT_WORKSPACE_OP, 0);
    assert_non_null(event);
    assert_string_equal(event->workspace_op.op, "undo");
    assert_non_null(strstr(event->workspace_op.error, "a.txt"));
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_UNDONE), 0);
    /* Not the end of it: once the file is as it was left, it can be taken back. */
    turn_rig_file(&rig, "a.txt", "b");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "a.txt", "a");
    turn_check_end(&rig);
}

static void test_undo_of_a_checkpoint_that_the_journal_does_not_know_is_refused(void **state)
{
    static const char *const unknown[] = {"cp_99", "../../etc", "", "cp_0"};
    struct turn_rig rig;

    (void)state;
    init_written(&rig);
    /* One that was kept for a write which was then not made is on the disk, and unknown all the same. */
    scratch_write(&rig.scratch, "checkpoints/cp_99/manifest.json", "{}");
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_non_null(strstr(try_undo(&rig, unknown[i]), "there is no checkpoint"));
    check_file(&rig, "a.txt", "b");
    scratch_remove(&rig.scratch, "checkpoints/cp_99/manifest.json");
    scratch_remove(&rig.scratch, "checkpoints/cp_99");
    turn_check_end(&rig);
}

static void test_undo_that_cannot_keep_what_it_replaces_is_not_done(void **state)
{
    struct turn_rig rig;
    struct rlimit usual, none;

    (void)state;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\"}");
    turn_rig_turn(&rig, "write");
    /* No file can grow any more. Taking a file away needs no room, keeping what was in it does. */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    none = usual;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    turn_check_do(&rig, INTENT_UNDO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    check_file(&rig, "new.txt", "n");
    assert_int_equal(turn_rig_count(&rig, EVENT_WRITE_UNDONE), 0);
    assert_int_equal(turn_rig_count(&rig, EVENT_WORKSPACE_OP), 1);
    turn_check_end(&rig);
}

static void test_one_undo_at_a_time_and_the_session_ends_after_it(void **state)
{
    struct turn_rig rig;

    (void)state;
    init_written(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_UNDO});
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_UNDO}), "an undo is under way");
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_END}), "an undo is under way");
    assert_false(engine_idle(rig.engine));
    turn_rig_run(&rig);
    assert_true(engine_idle(rig.engine));
    check_file(&rig, "a.txt", "a");
    turn_check_end(&rig);
}

static void test_undo_within_a_turn_belongs_to_it_and_does_not_disturb_it(void **state)
{
    struct turn_rig rig;

    (void)state;
    init_written(&rig);
    answer(&rig)->takes_us = 5000000;
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "next"}});
    turn_rig_run_for(&rig, 1000000);
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_UNDO}), "");
    turn_rig_run(&rig);
    check_file(&rig, "a.txt", "a");
    assert_int_equal(turn_rig_event(&rig, EVENT_WRITE_UNDONE, 0)->turn, 2);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    turn_check_end(&rig);
}

static void test_partly_approved_write_is_undone_to_what_was_there(void **state)
{
    struct turn_rig rig;
    const struct question *question;
    struct event_hunk_choice_list first = HUNKS("n.txt", 2, 1);
    struct intent part;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    turn_rig_file(&rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    fake_answer_call(answer(&rig), "w", "write_file",
                     "{\"path\":\"n.txt\",\"content\":\"A\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\nB\\n\"}");
    turn_rig_turn(&rig, "write");
    question = engine_question(rig.engine);
    assert_non_null(question);
    part = answer_part(question, first);
    turn_rig_submit(&rig, &part);
    turn_rig_run(&rig);
    check_file(&rig, "n.txt", "A\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    assert_string_equal(try_undo(&rig, NULL), "");
    check_file(&rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undo_takes_back_the_newest_write_and_then_the_one_before),
        cmocka_unit_test(test_undo_leaves_a_checkpoint_by_which_it_can_be_undone),
        cmocka_unit_test(test_undo_of_a_new_file_removes_it_and_of_a_deleted_one_brings_it_back),
        cmocka_unit_test(test_undo_is_refused_after_somebody_else_changed_the_file),
        cmocka_unit_test(test_undo_of_a_checkpoint_that_the_journal_does_not_know_is_refused),
        cmocka_unit_test(test_undo_that_cannot_keep_what_it_replaces_is_not_done),
        cmocka_unit_test(test_one_undo_at_a_time_and_the_session_ends_after_it),
        cmocka_unit_test(test_undo_within_a_turn_belongs_to_it_and_does_not_disturb_it),
        cmocka_unit_test(test_partly_approved_write_is_undone_to_what_was_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
