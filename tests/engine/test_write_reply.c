/* What the model reads of a write that a built-in tool proposed: it runs once, and what was approved of its proposal is
 * committed and told for it. */

#include "base/mem.h"
#include "support/answers.h"
#include "support/test.h"
#include "support/write_rig.h"
#include "tools/registry.h"
#include <string.h>

static struct write_rig rig;

static int set_up(void **state)
{
    (void)state;
    write_rig_init(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    write_rig_release(&rig);
    return 0;
}

#define REPLY_TEST(name) TEST_WITH(name, set_up, tear_down)

static const struct tool *builtin(const char *name)
{
    for (const struct tool *const *tool = builtin_tools; *tool; tool++)
        if (strcmp((*tool)->spec.name, name) == 0)
            return *tool;
    fail_msg("there is no tool %s", name);
    return NULL;
}

static const struct outcome *call(const char *tool, const char *arguments)
{
    size_t before = rig.outcome_count;
    write_rig_start(&rig, builtin(tool), "c1", arguments, 60, 5);
    write_rig_run(&rig);
    assert_int_equal(rig.outcome_count, before + 1);
    return &rig.outcomes[before];
}

static void expect(const char *tool, const char *arguments, const char *output)
{
    const struct outcome *outcome = call(tool, arguments);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_string_equal(outcome->result.output, output);
}

static void file(const char *name, const char *text)
{
    CLEANUP(free) char *path = xasprintf("work/%s", name);
    scratch_write(&rig.rig.scratch, path, text);
}

static void expect_file(const char *name, const char *text)
{
    CLEANUP(free) char *content = turn_rig_read(&rig.rig, name);
    if (text)
        assert_string_equal(content ? content : "(none)", text);
    else
        assert_null(content);
}

REPLY_TEST(write_a_new_file)
{
    expect("write_file", "{\"path\":\"./d/new.txt\",\"content\":\"a\\nb\\n\"}",
           "{\"path\":\"d/new.txt\",\"applied\":true,\"created\":true,\"added\":2,\"removed\":0}");
    assert_string_equal(rig.log.buf, "ask c1, checkpoint c1, applied c1, result c1");
    expect_file("d/new.txt", "a\nb\n");
}

REPLY_TEST(write_over_a_file)
{
    file("a", "1\n2\n3\n");
    expect("write_file", "{\"path\":\"a\",\"content\":\"1\\ntwo\\n3\\n\"}",
           "{\"path\":\"a\",\"applied\":true,\"added\":1,\"removed\":1}");
    expect_file("a", "1\ntwo\n3\n");
    expect("write_file", "{\"path\":\"a\",\"content\":\"1\\ntwo\\n3\\n\"}", "{\"path\":\"a\",\"unchanged\":true}");
    assert_int_equal(rig.questions, 1);
}

REPLY_TEST(edit)
{
    file("a", "one two one\n");
    expect("edit_file", "{\"path\":\"a\",\"old\":\"two\",\"new\":\"2\"}",
           "{\"path\":\"a\",\"applied\":true,\"added\":1,\"removed\":1}");
    expect_file("a", "one 2 one\n");
    scratch_write_bytes(&rig.rig.scratch, "work/bin", "\xff\0mid\0\xfe", 7);
    expect("edit_file", "{\"path\":\"bin\",\"old\":\"mid\",\"new\":\"centre\"}",
           "{\"path\":\"bin\",\"applied\":true,\"added\":0,\"removed\":0,\"binary\":true}");
}

REPLY_TEST(delete)
{
    file("d/a", "1\n2\n");
    expect("delete_file", "{\"path\":\"d/a\"}",
           "{\"path\":\"d/a\",\"applied\":true,\"deleted\":true,\"added\":0,\"removed\":2}");
    expect_file("d/a", NULL);
}

REPLY_TEST(move)
{
    file("from", "bytes\n");
    expect("move_file", "{\"from\":\"from\",\"to\":\"x/y/to\"}",
           "{\"from\":\"from\",\"to\":\"x/y/to\",\"applied\":true}");
    expect_file("from", NULL);
    expect_file("x/y/to", "bytes\n");
}

/* One side of it only is a file that came. */
REPLY_TEST(part_of_a_move)
{
    file("from", "bytes\n");
    rig.decision = (struct decision){.kind = DECISION_PARTIAL, .hunks = HUNKS("to", 1, 1)};
    expect("move_file", "{\"from\":\"from\",\"to\":\"to\"}",
           "{\"path\":\"to\",\"applied\":true,\"created\":true,\"added\":1,\"removed\":0,\"approval\":{\"decision\":"
           "\"partial\",\"applied\":\"to: hunks 1 of 1; from: none of 1\",\"refused\":[{\"path\":\"from\",\"hunk\":1,"
           "\"lines\":\"-bytes\\n\"}]}}");
    expect_file("from", "bytes\n");
    expect_file("to", "bytes\n");
}

REPLY_TEST(only_what_was_approved)
{
    file("a", "old\n");
    struct err err = ERR_INIT;
    struct change_set *edited = change_set_new();
    struct change *change = change_set_add(edited, rig.rig.harness.root, "a", &err);
    change_side_set(&change->new, "edited\nby hand\n", 15, 0644);
    rig.decision = (struct decision){.kind = DECISION_EDITED, .edited = edited};
    const struct outcome *outcome = call("write_file", "{\"path\":\"a\",\"content\":\"proposed\\n\"}");
    change_set_free(edited);
    assert_int_equal(outcome->type, OUTCOME_RESULT);
    assert_non_null(strstr(outcome->result.output, "{\"path\":\"a\",\"applied\":true,\"added\":2,\"removed\":1,"
                                                   "\"approval\":{\"decision\":\"edited\""));
    expect_file("a", "edited\nby hand\n");
}

static void change_file(struct write_rig *test)
{
    scratch_write(&test->rig.scratch, "work/a", "by hand\n");
}

REPLY_TEST(changed_between_the_comparison_and_the_write)
{
    file("a", "old\n");
    rig.on_checkpoint = change_file;
    const struct outcome *outcome = call("write_file", "{\"path\":\"a\",\"content\":\"new\\n\"}");
    assert_int_equal(outcome->type, OUTCOME_FAILURE);
    assert_string_equal(outcome->failure.error, "a was changed by someone else meanwhile");
    assert_true(outcome->failure.retryable);
    assert_string_equal(rig.log.buf, "ask c1, checkpoint c1, failure c1");
    expect_file("a", "by hand\n");
}

/* The bytes may be on their way: a turn that is cancelled then tells what became of them. */
static void cancel_turn(struct loop_task *task)
{
    free(task);
    assert_int_equal(write_rig_cancel(&rig), 0);
}

static void cancel_soon(struct write_rig *test)
{
    assert_int_equal(test->turn->question->state, Q_CHECKING);
    loop_post(test->rig.loop, xcalloc(1, sizeof(struct loop_task)), cancel_turn);
}

REPLY_TEST(cancel_waits_for_a_commit)
{
    file("a", "old\n");
    rig.on_checkpoint = cancel_soon;
    expect("write_file", "{\"path\":\"a\",\"content\":\"new\\n\"}",
           "{\"path\":\"a\",\"applied\":true,\"added\":1,\"removed\":1}");
    assert_true(rig.turn->cancelled);
    expect_file("a", "new\n");
}
