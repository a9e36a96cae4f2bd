/* write_file, edit_file, delete_file, move_file: they only propose a change, and the commit makes exactly that
 * change. */

#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include <sys/stat.h>

static struct tool_rig rig;

static int setup(void **state)
{
    (void)state;
    tool_rig_init(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tool_rig_expect_no_leftovers(&rig);
    tool_rig_release(&rig);
    return 0;
}

static void expect_file(const char *name, const char *text)
{
    CLEANUP(free) char *content = scratch_read(&rig.files, name, NULL);
    if (!text) {
        assert_null(content);
        return;
    }
    assert_non_null(content);
    assert_string_equal(content, text);
}

TEST_WITH(write_a_new_file, setup, teardown)
{
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"./d/new.txt\",\"content\":\"a\\nb\\n\"}");
    assert_int_equal(rig.reply.type, REPLY_PROPOSAL);
    assert_int_equal(rig.reply.changes->count, 1);
    assert_string_equal(rig.reply.changes->items[0].path, "d/new.txt");
    assert_false(rig.reply.changes->items[0].old.exists);
    assert_false(scratch_exists(&rig.files, "d")); /* nothing yet */
    tool_rig_commit(&rig);
    expect_file("d/new.txt", "a\nb\n");
    assert_int_equal(scratch_mode(&rig.files, "d/new.txt"), 0644);
}

TEST_WITH(write_over_a_file, setup, teardown)
{
    scratch_write(&rig.files, "a", "1\n2\n3\n");
    scratch_chmod(&rig.files, "a", 0755);
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"a\",\"content\":\"1\\ntwo\\n3\\n\"}");
    expect_file("a", "1\n2\n3\n");
    tool_rig_commit(&rig);
    expect_file("a", "1\ntwo\n3\n");
    assert_int_equal(scratch_mode(&rig.files, "a"), 0755);
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"a\",\"content\":\"1\\ntwo\\n3\\n\"}");
    tool_rig_expect_output(&rig, "{\"path\":\"a\",\"unchanged\":true}");
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"a\",\"content\":\"\"}");
    tool_rig_commit(&rig);
    expect_file("a", "");
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"empty\",\"content\":\"\"}");
    tool_rig_commit(&rig);
    expect_file("empty", "");
}

TEST_WITH(changed_between_approval_and_write, setup, teardown)
{
    scratch_write(&rig.files, "a", "old\n");
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"a\",\"content\":\"new\\n\"}");
    scratch_write(&rig.files, "a", "by hand\n");
    tool_rig_commit(&rig);
    tool_rig_expect_error(&rig, "a was changed by someone else since it was read");
    expect_file("a", "by hand\n");
}

TEST_WITH(edit_replaces_a_unique_text, setup, teardown)
{
    scratch_write(&rig.files, "a", "one two one\n");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"two\",\"new\":\"2\"}");
    expect_file("a", "one two one\n");
    tool_rig_commit(&rig);
    expect_file("a", "one 2 one\n");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"one\",\"new\":\"1\"}");
    tool_rig_expect_error(&rig, "old text occurs 2 times in a; give more context or set all");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"one\",\"new\":\"\",\"all\":true}");
    tool_rig_commit(&rig);
    expect_file("a", " 2 \n");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"One\",\"new\":\"x\"}");
    tool_rig_expect_error(&rig, "old text not found in a");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"2\",\"new\":\"2\"}");
    tool_rig_expect_output(&rig, "{\"path\":\"a\",\"unchanged\":true}");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"none\",\"old\":\"x\",\"new\":\"y\"}");
    tool_rig_expect_error(&rig, "none does not exist; write_file creates new files");
}

TEST_WITH(edit_overlaps_and_line_ends, setup, teardown)
{
    scratch_write(&rig.files, "a", "aaa");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"aa\",\"new\":\"b\"}");
    tool_rig_expect_error(&rig, "old text occurs 2 times in a; give more context or set all");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"a\",\"old\":\"aa\",\"new\":\"b\",\"all\":true}");
    tool_rig_commit(&rig);
    expect_file("a", "ba");
    scratch_write(&rig.files, "dos", "one\r\ntwo\r\n");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"dos\",\"old\":\"one\\ntwo\",\"new\":\"x\"}");
    tool_rig_expect_error(&rig, "old text not found in dos (its lines end with \\r\\n)");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"dos\",\"old\":\"one\\r\\ntwo\",\"new\":\"1\\r\\n2\"}");
    tool_rig_commit(&rig);
    expect_file("dos", "1\r\n2\r\n");
    /* Bytes that are not UTF-8 are unchanged around the edit. */
    scratch_write_bytes(&rig.files, "bin", "\xff\0mid\0\xfe", 7);
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"bin\",\"old\":\"mid\",\"new\":\"centre\"}");
    tool_rig_commit(&rig);
    size_t len;
    CLEANUP(free) char *content = scratch_read(&rig.files, "bin", &len);
    assert_int_equal(len, 10);
    assert_memory_equal(content, "\xff\0centre\0\xfe", 10);
}

TEST_WITH(delete_removes_a_file, setup, teardown)
{
    scratch_write(&rig.files, "d/a", "1\n2\n");
    tool_rig_run(&rig, &tool_delete_file, "{\"path\":\"d/a\"}");
    expect_file("d/a", "1\n2\n");
    tool_rig_commit(&rig);
    expect_file("d/a", NULL);
    tool_rig_run(&rig, &tool_delete_file, "{\"path\":\"d/a\"}");
    tool_rig_expect_error(&rig, "d/a does not exist");
    tool_rig_run(&rig, &tool_delete_file, "{\"path\":\"d\"}");
    tool_rig_expect_error(&rig, "d is a folder, not a file that can be changed");
    tool_rig_run(&rig, &tool_delete_file, "{\"path\":\"../x\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: ../x");
}

TEST_WITH(move_renames_a_file, setup, teardown)
{
    scratch_write_bytes(&rig.files, "from", "by\0tes", 6);
    scratch_chmod(&rig.files, "from", 0700);
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"from\",\"to\":\"x/y/to\"}");
    assert_int_equal(rig.reply.changes->count, 2);
    tool_rig_commit(&rig);
    expect_file("from", NULL);
    size_t len;
    CLEANUP(free) char *content = scratch_read(&rig.files, "x/y/to", &len);
    assert_int_equal(len, 6);
    assert_memory_equal(content, "by\0tes", 6);
    assert_int_equal(scratch_mode(&rig.files, "x/y/to"), 0700);

    scratch_write(&rig.files, "other", "o");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"other\",\"to\":\"x/y/to\"}");
    tool_rig_expect_error(&rig, "x/y/to already exists; delete it first or choose another name");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"other\",\"to\":\"./other\"}");
    tool_rig_expect_error(&rig, "other already exists; delete it first or choose another name");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"other\",\"to\":\"x\"}");
    tool_rig_expect_error(&rig, "x is a folder, not a file that can be changed");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"none\",\"to\":\"n\"}");
    tool_rig_expect_error(&rig, "none does not exist");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"other\",\"to\":\"/tmp/x\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: /tmp/x");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"other\",\"to\":\"late\"}");
    scratch_write(&rig.files, "late", "theirs");
    tool_rig_commit(&rig);
    tool_rig_expect_error(&rig, "late was created by someone else since it was read");
    expect_file("late", "theirs");
    expect_file("other", "o");
}

TEST_WITH(links_and_special_files_are_not_written, setup, teardown)
{
    CLEANUP(free) char *secret = scratch_path(&rig.beside, "secret");
    CLEANUP(free) char *link = scratch_path(&rig.files, "link"), *out = scratch_path(&rig.files, "out");
    CLEANUP(free) char *fifo = scratch_path(&rig.files, "fifo"), *dir = scratch_path(&rig.files, "outdir");
    scratch_write(&rig.beside, "secret", "untouched");
    scratch_write(&rig.files, "real", "r");
    assert_int_equal(symlink("real", link), 0);
    assert_int_equal(symlink(secret, out), 0);
    assert_int_equal(symlink(rig.beside.path, dir), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    alarm(20);
    tool_rig_run(&rig, &tool_delete_file, "{\"path\":\"link\"}");
    tool_rig_expect_error(&rig, "link is a symbolic link to real; name real itself");
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"link\",\"to\":\"moved\"}");
    tool_rig_expect_error(&rig, "link is a symbolic link to real; name real itself");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"out\",\"old\":\"untouched\",\"new\":\"x\"}");
    tool_rig_expect_error_with(&rig, "which is outside the project");
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"outdir/new\",\"content\":\"x\"}");
    tool_rig_expect_error_with(&rig, "path escapes workspace: outdir/new (outdir is a symbolic link to /");
    tool_rig_run(&rig, &tool_write_file, "{\"path\":\"fifo\",\"content\":\"x\"}");
    tool_rig_expect_error(&rig, "fifo is a FIFO, not a file that can be changed");
    tool_rig_runf(&rig, &tool_write_file, "{\"path\":\"%s\",\"content\":\"x\"}", secret);
    tool_rig_expect_error_with(&rig, "path escapes workspace: /");
    alarm(0);
    CLEANUP(free) char *names = scratch_list(&rig.beside, ".");
    assert_string_equal(names, "secret");
    /* An absolute path below the root is fine. */
    tool_rig_runf(&rig, &tool_write_file, "{\"path\":\"%s/abs\",\"content\":\"x\"}", beneath_path(rig.root));
    tool_rig_commit(&rig);
    expect_file("abs", "x");
}

/* Old code compared the whole text again at each line: minutes here. The alarm is for a test that hangs. */
TEST_WITH(many_places_of_a_long_text, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, arguments = STRBUF_INIT;
    size_t lines = 2u << 20, wanted = 300000;
    for (size_t i = 0; i < lines; i++)
        strbuf_addstr(&text, "bb\n");
    scratch_write_bytes(&rig.files, "many", text.buf, text.len);
    strbuf_addstr(&arguments, "{\"path\":\"many\",\"new\":\"x\",\"old\":\"");
    for (size_t i = 0; i < wanted; i++)
        strbuf_addstr(&arguments, "bb\\n");
    strbuf_addstr(&arguments, "\"}");
    alarm(100);
    tool_rig_run(&rig, &tool_edit_file, arguments.buf);
    alarm(0);
    CLEANUP(free)
    char *error = xasprintf("old text occurs %zu times in many; give more context or set all", lines - wanted + 1);
    tool_rig_expect_error(&rig, error);
    scratch_write(&rig.files, "few", "aabaabaaab");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"few\",\"old\":\"aabaa\",\"new\":\"\"}");
    tool_rig_expect_error(&rig, "old text occurs 2 times in few; give more context or set all");
    tool_rig_run(&rig, &tool_edit_file, "{\"path\":\"few\",\"old\":\"aaab\",\"new\":\"!\"}");
    tool_rig_commit(&rig);
    expect_file("few", "aabaab!");
}

TEST_WITH(too_large_results_are_refused, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, arguments = STRBUF_INIT;
    strbuf_grow(&text, 1 << 20);
    for (int i = 0; i < 1 << 18; i++)
        strbuf_addstr(&text, "abc\n");
    scratch_write_bytes(&rig.files, "a", text.buf, text.len);
    strbuf_addstr(&arguments, "{\"path\":\"a\",\"old\":\"\\n\",\"all\":true,\"new\":\"");
    for (int i = 0; i < 300; i++)
        strbuf_addch(&arguments, 'x');
    strbuf_addstr(&arguments, "\"}");
    tool_rig_run(&rig, &tool_edit_file, arguments.buf);
    tool_rig_expect_error(&rig, "a would be larger than 32 MB");
}

TEST(tools_declare_their_arguments_and_effects)
{
    static const struct {
        const struct tool *tool;
        enum effect effect;
        bool idempotent;
    } expected[] = {
        {&tool_list_dir, EFFECT_READ_ONLY, true},       {&tool_read_file, EFFECT_READ_ONLY, true},
        {&tool_search_files, EFFECT_READ_ONLY, true},   {&tool_get_context_pack, EFFECT_READ_ONLY, true},
        {&tool_write_file, EFFECT_LOCAL_WRITE, false},  {&tool_edit_file, EFFECT_LOCAL_WRITE, false},
        {&tool_delete_file, EFFECT_DESTRUCTIVE, false}, {&tool_move_file, EFFECT_LOCAL_WRITE, false},
        {&tool_run_script, EFFECT_LOCAL_WRITE, false},
    };
    size_t count = 0;
    while (builtin_tools[count])
        count++;
    assert_int_equal(count, 22); /* those of workspaces are tried in the engine's test_place*.c */
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(expected[i].tool->spec.effect, expected[i].effect);
        assert_int_equal(expected[i].tool->spec.idempotent, expected[i].idempotent);
        assert_non_null(expected[i].tool->spec.resource_keys);
        assert_non_null(strstr(expected[i].tool->spec.parameters, "\"additionalProperties\":false"));
    }
}
