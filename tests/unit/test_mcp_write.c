/* Tests that writes of tool servers go through the same steps as every write: shown, decided, saved, made, and
 * verified. */

#include "base/mem.h"
#include "support/mcp_rig.h"
#include "support/test.h"
#include "tools/registry.h"
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define LONG_S 60

#define OPEN(rig, ...)                                                \
    struct mcp_rig rig;                                               \
    (void)state;                                                      \
    mcp_rig_init(&rig);                                               \
    scratch_write(&rig.test.rig.scratch, "work/a.txt", "one\ntwo\n"); \
    mcp_rig_fake(&rig, "f", __VA_ARGS__);                             \
    mcp_rig_open(&rig, LONG_S)

static void check_file(const struct mcp_rig *rig, const char *name, const char *expected)
{
    CLEANUP(free) char *path = xasprintf("work/%s", name);
    CLEANUP(free) char *content = scratch_read(&rig->test.rig.scratch, path, NULL);
    if (expected)
        assert_string_equal(content ? content : "(none)", expected);
    else
        assert_null(content);
}

static void check_shown(const struct mcp_rig *rig, const char *path, const char *before, const char *after)
{
    assert_int_equal(rig->test.shown->count, 1);
    const struct change *change = &rig->test.shown->items[0];
    assert_string_equal(change->path, path);
    assert_int_equal(change->old.exists, before != NULL);
    if (before)
        assert_string_equal(change->old.bytes, before);
    assert_string_equal(change->new.bytes, after);
}

static void deny(struct mcp_rig *rig)
{
    rig->test.decision = (struct decision){.kind = DECISION_DENIED, .by = BY_KEY};
}

TEST(the_content_of_a_file_is_shown_and_written)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"a.txt\",\"content\":\"three\\n\"}");
    check_shown(&rig, "a.txt", "one\ntwo\n", "three\n");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, checkpoint c1, applied c1, result c1");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"wrote it\"}");
    check_file(&rig, "a.txt", "three\n");
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"new.txt\",\"content\":\"x\"}");
    check_shown(&rig, "new.txt", NULL, "x");
    check_file(&rig, "new.txt", "x");
    mcp_rig_release(&rig);
}

TEST(a_denial_changes_nothing)
{
    OPEN(rig, NULL);
    deny(&rig);
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"a.txt\",\"content\":\"three\\n\"}");
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"three\"}");
    mcp_rig_call(&rig, "f__write", "{}");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, denied c1, ask c2, denied c2, ask c3, denied c3");
    check_file(&rig, "a.txt", "one\ntwo\n");
    mcp_rig_release(&rig);
}

TEST(a_dry_run_gives_the_diff)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"three\"}");
    check_shown(&rig, "a.txt", "one\ntwo\n", "three\n");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, checkpoint c1, applied c1, result c1");
    check_file(&rig, "a.txt", "three\n");
    /* A model that requests a dry run itself gets one without a question. */
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"four\",\"dryRun\":true}");
    assert_int_equal(rig.test.questions, 1);
    check_file(&rig, "a.txt", "three\n");
    mcp_rig_release(&rig);
}

/* A call of an untrusted server needs approval even so: the server may ignore the argument. */
TEST(a_dry_run_of_an_untrusted_server_needs_approval)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    scratch_write(&rig.test.rig.scratch, "work/a.txt", "one\ntwo\n");
    mcp_rig_fake(&rig, "f", NULL)->trust = false;
    mcp_rig_open(&rig, LONG_S);
    deny(&rig);
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"four\",\"dryRun\":true}");
    assert_int_equal(rig.test.questions, 1);
    mcp_rig_release(&rig);
}

TEST(a_dry_run_that_writes_is_noticed)
{
    OPEN(rig, "false-dry-run", NULL);
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"three\"}");
    assert_string_equal(mcp_rig_error(&rig), "the server does not support a dry run: a.txt was changed");
    assert_int_equal(rig.test.questions, 0);
    mcp_rig_release(&rig);
}

TEST(failed_dry_run_reaches_the_model)
{
    OPEN(rig, NULL);
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\"}"); /* it dies of the missing argument */
    mcp_rig_error(&rig);
    assert_int_equal(rig.test.questions, 0);
    mcp_rig_release(&rig);
}

TEST(written_file_is_verified)
{
    OPEN(rig, "lies", NULL);
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"a.txt\",\"content\":\"three\\n\"}");
    assert_string_equal(
        mcp_rig_error(&rig),
        "the server reported success, but a.txt differs from what was approved (the old content is saved)");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, checkpoint c1, failure c1");
    mcp_rig_release(&rig);
}

static void link_to(const struct mcp_rig *rig, const char *target, const char *name)
{
    CLEANUP(free) char *below = xasprintf("work/%s", name);
    CLEANUP(free) char *path = scratch_path(&rig->test.rig.scratch, below);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}

/* Between the last look at the file and the server's write. */
static void turn_the_link(struct write_rig *test)
{
    link_to(CONTAINER_OF(test, struct mcp_rig, test), ".git", "l");
}

TEST(a_link_is_resolved_for_the_server)
{
    OPEN(rig, NULL);
    scratch_mkdir(&rig.test.rig.scratch, "work/d");
    scratch_mkdir(&rig.test.rig.scratch, "work/.git");
    link_to(&rig, "d", "l");
    rig.test.on_checkpoint = turn_the_link;
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"l/x\",\"content\":\"three\\n\"}");
    check_shown(&rig, "d/x", NULL, "three\n");
    assert_string_equal(rig.test.shown->items[0].through, "l/x");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"wrote it\"}");
    check_file(&rig, "d/x", "three\n");
    check_file(&rig, ".git/x", NULL);
    mcp_rig_release(&rig);
}

static void edit_to(struct mcp_rig *rig, const char *text)
{
    struct change_set *edited = change_set_copy(rig->test.shown);
    change_side_set(&edited->items[0].new, text, strlen(text), 0644);
    rig->test.decision = (struct decision){.kind = DECISION_EDITED, .by = BY_KEY, .edited = edited};
}

static void edit_shown(struct write_rig *test)
{
    edit_to(CONTAINER_OF(test, struct mcp_rig, test), "what the user wants\n");
}

TEST(the_version_of_the_user_is_written)
{
    OPEN(rig, NULL);
    rig.test.on_ask = edit_shown;
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"a.txt\",\"content\":\"three\\n\"}");
    check_file(&rig, "a.txt", "what the user wants\n");
    if (!strstr(mcp_rig_output(&rig), "wrote it")) /* by the server, with another content */
        fail_msg("%s", mcp_rig_output(&rig));
    change_set_free(rig.test.decision.edited);
    scratch_write(&rig.test.rig.scratch, "work/a.txt", "one\ntwo\n");
    mcp_rig_call(&rig, "f__edit_file", "{\"path\":\"a.txt\",\"new\":\"three\"}");
    check_file(&rig, "a.txt", "what the user wants\n");
    if (!strstr(mcp_rig_output(&rig), "not by the server"))
        fail_msg("%s", mcp_rig_output(&rig));
    change_set_free(rig.test.decision.edited);
    mcp_rig_release(&rig);
}

TEST(call_without_a_diff_needs_approval)
{
    OPEN(rig, NULL);
    CLEANUP(free) char *outside = scratch_path(&rig.test.rig.scratch, "outside.txt");
    CLEANUP(free) char *arguments = xasprintf("{\"path\":\"%s\",\"content\":\"x\"}", outside);
    mcp_rig_call(&rig, "f__write", "{\"text\":\"x\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"written\"}");
    mcp_rig_call(&rig, "f__write_file", arguments); /* not a file of the workspace */
    mcp_rig_call(&rig, "f__write_file", "{\"path\":\"a.txt\",\"content\":\"one\\ntwo\\n\"}"); /* nothing would change */
    assert_string_equal(
        rig.test.heard.words.buf,
        "ask c1, applied c1, result c1, ask c2, applied c2, result c2, output c3, ask c3, applied c3, result c3");
    assert_int_equal(rig.test.shown->count, 0);
    assert_string_equal(rig.test.heard.output.buf, "a.txt has 8 bytes now\n");
    mcp_rig_call(&rig, "f__plain", "{}"); /* it has no annotations */
    assert_int_equal(rig.test.questions, 4);
    mcp_rig_release(&rig);
}

/* For all names of its arguments: a file that is written, appended to or deleted is shown as a diff. */
TEST(files_are_known_by_other_names_too)
{
    OPEN(rig, "files", NULL);
    mcp_rig_call(&rig, "f__append", "{\"file_path\":\"a.txt\",\"text\":\"three\\n\"}");
    check_shown(&rig, "a.txt", "one\ntwo\n", "one\ntwo\nthree\n");
    check_file(&rig, "a.txt", "one\ntwo\nthree\n");
    mcp_rig_call(&rig, "f__put", "{\"filename\":\"a.txt\",\"content\":\"new\\n\"}");
    check_shown(&rig, "a.txt", "one\ntwo\nthree\n", "new\n");
    mcp_rig_call(&rig, "f__put", "{\"filename\":\"a.txt\",\"content\":\"er\\n\",\"mode\":\"append\"}");
    check_shown(&rig, "a.txt", "new\n", "new\ner\n");
    check_file(&rig, "a.txt", "new\ner\n");
    mcp_rig_call(&rig, "f__deleteFile", "{\"target\":\"a.txt\",\"force\":true}");
    assert_false(rig.test.shown->items[0].new.exists);
    check_file(&rig, "a.txt", NULL);
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"it is gone\"}");
    mcp_rig_release(&rig);
}

TEST(a_server_that_did_not_write_has_failed)
{
    OPEN(rig, "files", "lies", NULL);
    mcp_rig_call(&rig, "f__append", "{\"file_path\":\"a.txt\",\"text\":\"three\\n\"}");
    mcp_rig_error(&rig);
    mcp_rig_call(&rig, "f__deleteFile", "{\"target\":\"a.txt\"}");
    assert_string_equal(
        mcp_rig_error(&rig),
        "the server reported success, but a.txt differs from what was approved (the old content is saved)");
    mcp_rig_release(&rig);
}

/* If only the server knows what happens to a file, Keyturn does not guess: the question names the file and its
 * state. */
TEST(named_files_are_shown)
{
    OPEN(rig, "files", NULL);
    mcp_rig_call(&rig, "f__delete_lines", "{\"target\":\"a.txt\",\"first\":1}");
    mcp_rig_call(&rig, "f__put", "{\"filename\":\"b.txt\",\"content\":\"bmV3\",\"encoding\":\"base64\"}");
    mcp_rig_call(&rig, "f__stamp", "{\"what\":\"./a.txt\",\"how\":\"e.g. so\"}");
    assert_string_equal(rig.test.heard.output.buf,
                        "a.txt has 8 bytes now\nb.txt does not exist now\na.txt has 8 bytes now\n");
    mcp_rig_call(&rig, "f__create_or_update_file",
                 "{\"repo\":\"r\",\"path\":\"a.txt\",\"content\":\"x\"}"); /* not ours */
    mcp_rig_call(&rig, "f__stamp", "{\"what\":\"../a.txt\",\"how\":\"/etc/passwd\"}");
    assert_null(strstr(rig.test.heard.output.buf, "passwd"));
    assert_string_equal(rig.test.heard.words.buf + strlen(rig.test.heard.words.buf) -
                            strlen("ask c4, applied c4, result c4, ask c5, applied c5, result c5"),
                        "ask c4, applied c4, result c4, ask c5, applied c5, result c5");
    assert_int_equal(rig.test.shown->count, 0);
    mcp_rig_release(&rig);
}

TEST(calls_of_an_untrusted_server_need_approval)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "f", NULL)->trust = false;
    mcp_rig_open(&rig, LONG_S);
    deny(&rig);
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
    assert_string_equal(rig.test.heard.words.buf, "ask c1, denied c1");
    assert_int_equal(registry_find(rig.registry, "f__echo")->spec.effect, EFFECT_DESTRUCTIVE);
    mcp_rig_release(&rig);
}

/* The changes for a turn that begins now: "+came ~became-another -went", in any order. */
static void adopt(struct mcp_rig *rig, const char *expected)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    struct tool_changes changes = {0};
    struct tool_source *source = mcp_source(rig->mcp);
    source->adopt(source, rig->registry, 2, &changes);
    for (size_t i = 0; i < changes.count; i++) {
        CLEANUP(free) char *word = xasprintf("%c%s", "+~-"[changes.items[i].what], changes.items[i].name);
        if (!strstr(expected, word))
            fail_msg("%s is not in %s", word, expected);
        strbuf_addf(&got, "%s%s", got.len ? " " : "", word);
    }
    assert_int_equal(got.len, strlen(expected));
    tool_changes_release(&changes);
}

TEST(a_tool_that_was_changed_is_refused)
{
    OPEN(rig, "changes", NULL);
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
    mcp_rig_call(&rig, "f__write", "{}"); /* it then announces that its tools have changed */
    const char *said = "";
    int64_t late_us = loop_now_us(rig.test.rig.loop) + SECONDS(LONG_S);
    while (!*said && loop_now_us(rig.test.rig.loop) < late_us) {
        mcp_rig_call(&rig, "f__echo", "{}");
        const struct outcome *outcome = &rig.test.heard.outcomes[--rig.test.heard.outcome_count];
        said = outcome->type == OUTCOME_FAILURE ? "changed" : "";
        if (*said)
            assert_string_equal(outcome->failure.error,
                                "the server changed this tool; the next turn has the new version");
        outcome_release(&rig.test.heard.outcomes[rig.test.heard.outcome_count]);
    }
    assert_string_equal(said, "changed");
    assert_null(registry_find(rig.registry, "f__new"));
    assert_true(mcp_status(rig.mcp, 0).news);
    /* The next turn gets the changed tool. */
    adopt(&rig, "+f__new ~f__echo -f__plain");
    assert_null(registry_find(rig.registry, "f__plain"));
    assert_int_equal(registry_find(rig.registry, "f__echo")->spec.effect, EFFECT_LOCAL_WRITE);
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
    assert_false(mcp_status(rig.mcp, 0).news);
    adopt(&rig, "");
    mcp_rig_release(&rig);
}

TEST(a_server_that_comes_late_has_its_tools_in_the_next_turn)
{
    struct mcp_rig rig;
    mcp_rig_init(&rig);
    mcp_rig_fake(&rig, "f", NULL);
    mcp_rig_open(&rig, 0);
    assert_int_equal(registry_count(rig.registry), 0);
    mcp_rig_until(&rig, MCP_READY);
    struct mcp_status status = mcp_status(rig.mcp, 0);
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    mcp_status_write(&line, &status);
    assert_string_equal(line.buf, "MCP server f: ready, 16 tools; the next turn has the new tools");
    mcp_register(rig.mcp, rig.registry);
    assert_int_equal(registry_count(rig.registry), 16);
    mcp_rig_call(&rig, "f__echo", "{\"text\":\"hi\"}");
    assert_string_equal(mcp_rig_output(&rig), "{\"text\":\"echo: hi\"}");
    mcp_rig_release(&rig);
}
