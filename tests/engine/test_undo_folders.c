/* Undo of a file that was made in new folders takes the folders away too: those the write made, and only when nothing
 * else is in them. */

#include "base/mem.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void init(struct turn_rig *rig, const char *tool, const char *arguments)
{
    turn_rig_init(rig);
    rig->answer = turn_rig_say_yes;
    turn_rig_open(rig);
    turn_rig_file(rig, "was/here.txt", "here\n");
    turn_rig_file(rig, "from.txt", "moved\n");
    fake_answer_call(fake_provider_answer(rig->model), "w", tool, arguments);
    turn_rig_turn(rig, "write");
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_APPLIED), 1);
}

static void undo(struct turn_rig *rig, const char *checkpoint)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_UNDO, .undo = {.checkpoint = checkpoint}});
    turn_rig_run(rig);
}

static void check_folder(const struct turn_rig *rig, const char *name, const char *expected)
{
    CLEANUP(free) char *names = scratch_list(&rig->scratch, name);

    assert_string_equal(names, expected);
}

static void test_folders_that_were_made_go(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig, "write_file", "{\"path\":\"was/a/b/new.txt\",\"content\":\"x\"}");
    assert_true(scratch_exists(&rig.scratch, "work/was/a/b/new.txt"));
    undo(&rig, NULL);
    check_folder(&rig, "work/was", "here.txt");
    /* And come again when that is undone. */
    undo(&rig, turn_rig_event(&rig, EVENT_CHECKPOINT_SAVED, 1)->checkpoint_saved.checkpoint);
    assert_true(scratch_exists(&rig.scratch, "work/was/a/b/new.txt"));
    turn_check_end(&rig);
}

static void test_folder_with_something_else_in_it_stays(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig, "write_file", "{\"path\":\"was/a/b/new.txt\",\"content\":\"x\"}");
    turn_rig_file(&rig, "was/a/theirs.txt", "theirs\n");
    undo(&rig, NULL);
    check_folder(&rig, "work/was/a", "theirs.txt");
    turn_check_end(&rig);
}

static void test_folder_that_was_there_stays(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    scratch_mkdir(&rig.scratch, "work/empty");
    fake_answer_call(fake_provider_answer(rig.model), "w", "write_file",
                     "{\"path\":\"empty/new.txt\",\"content\":\"x\"}");
    turn_rig_turn(&rig, "write");
    undo(&rig, NULL);
    check_folder(&rig, "work", "empty");
    check_folder(&rig, "work/empty", "");
    turn_check_end(&rig);
}

static void test_move_into_a_new_folder(void **state)
{
    struct turn_rig rig;

    (void)state;
    init(&rig, "move_file", "{\"from\":\"from.txt\",\"to\":\"x/y/to.txt\"}");
    check_folder(&rig, "work", "was x");
    undo(&rig, NULL);
    check_folder(&rig, "work", "from.txt was");
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders_that_were_made_go),
        cmocka_unit_test(test_folder_with_something_else_in_it_stays),
        cmocka_unit_test(test_folder_that_was_there_stays),
        cmocka_unit_test(test_move_into_a_new_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
