/* Tests of workspaces and programs as read from a journal, for all kinds of paths and every way through a recording. */

#include "base/mem.h"
#include "panes/program.h"
#include "panes/workspace_tree.h"
#include "support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define STARTED "{\"type\":\"session.started\",\"v\":1}\n"

/* A view of the first lines of a text. */
struct shown {
    struct journal_reader *reader;
    struct view_cache *cache;
    struct session session;
    struct view view;
};

static void look_at(struct shown *look, size_t count)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    session_release(&look->session);
    session_init(&look->session);
    for (size_t i = 0; i < count; i++) {
        struct event event;
        assert_int_equal(journal_event(look->reader, i, &event, &arena, NULL), 0);
        session_apply(&look->session, &event);
    }
    look->view = (struct view){.session = &look->session, .lines = look->reader, .cache = look->cache};
}

static void look_init(struct shown *look, const char *text)
{
    struct err err = ERR_INIT;
    look->reader = journal_open_bytes(text, strlen(text), &err);
    if (!look->reader)
        fail_msg("%s", err.text);
    look->cache = view_cache_new();
    session_init(&look->session);
    look_at(look, journal_count(look->reader));
}

static void look_release(struct shown *look)
{
    session_release(&look->session);
    view_cache_free(look->cache);
    journal_reader_free(look->reader);
}

/* "skills/ work/ (a.txt b/ (c))": labels, with the contents of a folder in parentheses. */
static char *shape(const struct treeview *tree)
{
    struct strbuf out = STRBUF_INIT;
    for (uint32_t i = 0, depth = 0; i <= tree->count; i++) {
        uint32_t now = i < tree->count ? tree->nodes[i].depth : 0;
        for (; depth > now; depth--)
            strbuf_addch(&out, ')');
        if (i == tree->count)
            break;
        strbuf_addstr(&out, i ? " " : "");
        if (now > depth)
            strbuf_addch(&out, '(');
        depth = now;
        strbuf_addstr(&out, tree->nodes[i].label);
    }
    return strbuf_detach(&out, NULL);
}

static void check_entries(const char *entries, const char *want)
{
    CLEANUP(free)
    char *text = xasprintf(STARTED "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"entries\":%s}\n", entries);
    struct workspacetree tree = {0};
    struct shown look;
    look_init(&look, text);
    workspacetree_update(&tree, &look.view);
    CLEANUP(free) char *got = shape(&tree.tree);
    assert_string_equal(got, want);
    workspacetree_release(&tree);
    look_release(&look);
}

TEST(paths_make_a_tree)
{
    check_entries("[]", "skills/ work/ runs/ out/");
    check_entries("[{\"path\":\"out/b\"},{\"path\":\"work/x/y/z\"},{\"path\":\"out/a\"},{\"path\":\"metadata.json\"}]",
                  "skills/ work/ (x/ (y/ (z))) runs/ out/ (a b) metadata.json");
    /* A folder before its contents, and before a name that begins like it. */
    check_entries("[{\"path\":\"work/a-b\"},{\"path\":\"work/a/x\"},{\"path\":\"work/a\",\"kind\":\"dir\"}]",
                  "skills/ work/ (a/ (x) a-b) runs/ out/");
    check_entries(
        "[{\"path\":\"work\",\"kind\":\"dir\"},{\"path\":\"work/\"},{\"path\":\"work/a\"},{\"path\":\"work/a\"}]",
        "skills/ work/ (a) runs/ out/");
    check_entries("[{\"path\":\"/etc/passwd\"},{\"path\":\"..//x\"},{\"path\":\"/\"},{\"path\":\"\"},{},7,null]",
                  "skills/ work/ runs/ out/ etc/ (passwd) ../ (x)");
}

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

TEST(any_paths_make_a_sound_tree)
{
    static const char *const parts[] = {"a", "b", "/", "//", "work", "out", ".", "..", "a/b", "work/", "\\u0001", "é"};
    uint32_t seed = 20261116;
    for (int round = 0; round < 300; round++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        struct workspacetree tree = {0};
        struct shown look;
        strbuf_addstr(&text, STARTED "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"entries\":[");
        for (uint32_t i = 0, count = next_random(&seed) % 20; i < count; i++) {
            strbuf_addf(&text, "%s{\"path\":\"", i ? "," : "");
            for (uint32_t k = next_random(&seed) % 90; k > 0; k--)
                strbuf_addstr(&text, parts[next_random(&seed) % COUNT_OF(parts)]);
            strbuf_addf(&text, "\",\"size\":%u,\"bytes\":%u,\"more\":%d,\"kind\":\"%s\"}", next_random(&seed),
                        next_random(&seed), (int)(next_random(&seed) % 5) - 2, next_random(&seed) % 3 ? "file" : "dir");
        }
        strbuf_addstr(&text, "]}\n");
        look_init(&look, text.buf);
        workspacetree_update(&tree, &look.view);
        assert_true(tree.tree.count >= 4);
        for (uint32_t i = 0; i < tree.tree.count; i++) {
            const struct tree_node *node = &tree.tree.nodes[i];
            CLEANUP(document) struct document document;
            assert_true(node->parent == TREE_NONE ? node->depth == 0
                                                  : node->parent < i && tree.tree.nodes[node->parent].branch);
            assert_true(node->depth == 0 || node->depth == tree.tree.nodes[node->parent].depth + 1);
            document_init(&document, 40);
            workspacetree_describe(&document, &tree, &look.view, i);
            assert_true(document.count > 0);
        }
        workspacetree_release(&tree);
        look_release(&look);
    }
}

TEST(folders_are_as_large_as_their_contents)
{
    struct workspacetree tree = {0};
    struct shown look;
    look_init(&look,
              STARTED "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"entries\":[{\"path\":\"work/a\",\"size\":3},"
                      "{\"path\":\"work/b/c\",\"size\":4},{\"path\":\"work/b\",\"kind\":\"dir\",\"size\":4096}]}\n");
    workspacetree_update(&tree, &look.view);
    assert_string_equal(tree.tree.nodes[1].label, "work/");
    assert_int_equal(tree.tree.nodes[1].size, 7);
    workspacetree_release(&tree);
    look_release(&look);
}

static const struct tree_node *node_of(const struct workspacetree *tree, const char *path)
{
    for (uint32_t i = 0; i < tree->tree.count; i++) {
        CLEANUP(strbuf) struct strbuf here = STRBUF_INIT;
        workspacetree_path(&here, tree, i);
        if (strcmp(here.buf, path) == 0)
            return &tree->tree.nodes[i];
    }
    fail_msg("there is no %s", path);
    return NULL;
}

#define MANY                                                                                                      \
    STARTED                                                                                                       \
    "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"path\":\"/w/e\",\"used\":15000000,\"limit\":20971520,"     \
    "\"count\":613,\"count_limit\":200000,\"more\":600,\"entries\":["                                             \
    "{\"path\":\"out\",\"kind\":\"dir\",\"bytes\":5000000,\"count\":1},"                                          \
    "{\"path\":\"src\",\"kind\":\"dir\",\"bytes\":498000,\"count\":600,\"more\":597},"                            \
    "{\"path\":\"build\",\"kind\":\"dir\",\"bytes\":9000000,\"count\":2,\"more\":2},"                             \
    "{\"path\":\"out/result.txt\",\"kind\":\"file\",\"size\":5000000},"                                           \
    "{\"path\":\"src/1.c\",\"kind\":\"file\",\"size\":1000},{\"path\":\"src/2.c\",\"kind\":\"file\",\"size\":0}," \
    "{\"path\":\"src/p\",\"kind\":\"pipe\"},{\"path\":\"src-l\",\"kind\":\"link\",\"target\":\"src\"}]}\n"

/* A folder shows how many of its entries are not listed, and its size includes them. */
TEST(unlisted_entries_are_counted_in_their_folder)
{
    struct workspacetree tree = {0};
    struct shown look;
    look_init(&look, MANY);
    workspacetree_update(&tree, &look.view);
    CLEANUP(free) char *got = shape(&tree.tree);
    assert_string_equal(got,
                        "skills/ work/ runs/ out/ (result.txt) build/ (… 2 more) src/ (1.c 2.c p … 597 more) src-l "
                        "1 more not listed");
    assert_int_equal(node_of(&tree, "out/")->size, 5000000);
    assert_int_equal(node_of(&tree, "src/")->size, 498000);
    assert_int_equal(node_of(&tree, "src/… 597 more")->size, 497000);
    assert_int_equal(node_of(&tree, "build/… 2 more")->size, 9000000);
    assert_string_equal(node_of(&tree, "src/p")->note, "pipe");
    assert_string_equal(node_of(&tree, "src-l")->note, "link to src");
    const struct workspace_use *use = workspacetree_use(&tree, 0);
    assert_int_equal(use->count, 613);
    assert_int_equal(use->count_limit, 200000);
    workspacetree_release(&tree);
    look_release(&look);
}

TEST(copy_gives_a_path)
{
    struct workspacetree tree = {0};
    struct shown look;
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    look_init(&look, MANY);
    workspacetree_update(&tree, &look.view);
    assert_true(workspacetree_entry(&path, &tree, (uint32_t)(node_of(&tree, "src/2.c") - tree.tree.nodes)));
    assert_string_equal(path.buf, "src/2.c");
    strbuf_reset(&path);
    assert_true(workspacetree_entry(&path, &tree, (uint32_t)(node_of(&tree, "src/") - tree.tree.nodes)));
    assert_string_equal(path.buf, "src");
    assert_false(workspacetree_entry(&path, &tree, (uint32_t)(node_of(&tree, "src/… 597 more") - tree.tree.nodes)));
    workspacetree_release(&tree);
    look_release(&look);
}

/* The tree is what a full state and the changes after it say together, and each detail is as its event has it. */
TEST(changes_make_the_same_tree)
{
    struct workspacetree tree = {0};
    struct shown look;
    look_init(&look, MANY "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"used\":9,\"count\":9,\"delta\":true,"
                          "\"entries\":[{\"path\":\"src/3.c\",\"kind\":\"file\",\"size\":7,\"note\":\"new\"}],"
                          "\"gone\":[\"src/1.c\",\"src-l\",\"none\"]}\n"
                          "{\"type\":\"workspace.state\",\"exec_id\":\"e\",\"used\":8,\"count\":8,\"delta\":true,"
                          "\"outputs\":[{\"name\":\"src/3.c\",\"size\":7}]}\n");
    workspacetree_update(&tree, &look.view);
    CLEANUP(free) char *got = shape(&tree.tree);
    assert_string_equal(got, "skills/ work/ runs/ out/ (result.txt) build/ (… 2 more) src/ (2.c 3.c p … 597 more) "
                             "outputs (src/3.c)");
    assert_int_equal(workspacetree_use(&tree, 0)->used, 8);
    struct document document;
    document_init(&document, 80);
    workspacetree_describe(&document, &tree, &look.view, (uint32_t)(node_of(&tree, "src/3.c") - tree.tree.nodes));
    assert_true(document_search(&document, "note", false, &(size_t){0}));
    assert_true(document_search(&document, "collected as", false, &(size_t){0}));
    document_release(&document);
    look_at(&look, 2); /* a step back */
    workspacetree_update(&tree, &look.view);
    assert_int_equal(node_of(&tree, "src/1.c")->size, 1000);
    workspacetree_release(&tree);
    look_release(&look);
}

/* A removed workspace comes last and folded; with several, each path names its workspace. */
TEST(removed_workspaces_come_last)
{
    struct workspacetree tree = {0};
    struct shown look;
    look_init(&look, MANY "{\"type\":\"workspace.op\",\"op\":\"workspace.cleanup\",\"attrs\":{\"path\":\"/w/e\"}}\n"
                          "{\"type\":\"workspace.state\",\"exec_id\":\"f\",\"path\":\"/w/f\",\"entries\":"
                          "[{\"path\":\"out/a\"}]}\n");
    workspacetree_update(&tree, &look.view);
    assert_string_equal(tree.tree.nodes[0].label, "f");
    uint32_t last = tree.tree.shown[tree.tree.shown_count - 1];
    assert_string_equal(tree.tree.nodes[last].label, "e");
    assert_string_equal(tree.tree.nodes[last].note, "deleted with its session");
    assert_false(tree.tree.nodes[last].open);
    assert_true(workspacetree_gone(&tree, &look.view, last + 1));
    assert_false(workspacetree_gone(&tree, &look.view, 0));
    assert_string_equal(node_of(&tree, "f: out/a")->label, "a");
    /* Unfolded it stays so, and before it was cleaned up it is open. */
    assert_true(tree_toggle(&tree.tree, last));
    look_at(&look, 3);
    workspacetree_update(&tree, &look.view);
    assert_true(tree.tree.nodes[0].open);
    assert_true(workspacetree_gone(&tree, &look.view, 0));
    look_at(&look, 2);
    workspacetree_update(&tree, &look.view);
    assert_false(workspacetree_gone(&tree, &look.view, 0));
    assert_string_equal(tree.tree.nodes[0].label, "skills/");
    workspacetree_release(&tree);
    look_release(&look);
}

/* ---- programs ---- */

static char *program_lines(struct program_text *text)
{
    struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < program_lines_count(&text->screen.lines); i++)
        strbuf_addf(&out, "%s|", program_lines_line(&text->screen.lines, i)->text);
    return strbuf_detach(&out, NULL);
}

TEST(program_text_does_not_depend_on_how_it_is_read)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct program_text kept;
    struct shown look;
    uint32_t seed = 7;
    strbuf_addstr(&text, STARTED "{\"type\":\"program.started\",\"program\":\"p1\",\"cmd\":\"x\"}\n"
                                 "{\"type\":\"program.started\",\"program\":\"p2\",\"cmd\":\"y\"}\n");
    for (int i = 0; i < 60; i++)
        strbuf_addf(&text, "{\"type\":\"program.%s\",\"program\":\"p%d\",\"text\":\"%d%s\"}\n",
                    i % 7 == 3 ? "input" : "output", 1 + (i % 3 == 0), i, i % 4 ? "\\n" : "\\r");
    look_init(&look, text.buf);
    program_text_init(&kept);
    for (int round = 0; round < 400; round++) {
        struct program_text fresh;
        look_at(&look, 3 + next_random(&seed) % 61);
        uint32_t program = round % 5 ? 0 : next_random(&seed) % 2;
        program_text_init(&fresh);
        program_text_update(&kept, &look.view, program, 24, 80);
        program_text_update(&fresh, &look.view, program, 24, 80);
        CLEANUP(free) char *a = program_lines(&kept);
        CLEANUP(free) char *b = program_lines(&fresh);
        assert_string_equal(a ? a : "", b ? b : "");
        program_text_release(&fresh);
    }
    program_text_release(&kept);
    look_release(&look);
}

TEST(of_a_long_program_the_end_is_read)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct program_text shown;
    struct shown look;
    strbuf_addstr(&text, STARTED "{\"type\":\"program.started\",\"program\":\"p\",\"cmd\":\"x\"}\n");
    for (int i = 0; i < 3000; i++)
        strbuf_addf(&text,
                    "{\"type\":\"program.output\",\"program\":\"p\",\"text\":"
                    "\"a\\nb\\nc\\nd\\ne\\nf\\ng\\nh\\ni\\n%d\\n\"}\n",
                    i);
    look_init(&look, text.buf);
    program_text_init(&shown);
    program_text_update(&shown, &look.view, 0, 24, 80);
    assert_true(shown.earlier);
    assert_int_equal(program_lines_count(&shown.screen.lines), PROGRAM_LINES_MAX);
    assert_string_equal(program_lines_line(&shown.screen.lines, PROGRAM_LINES_MAX - 1)->text, "2999");
    assert_true(shown.screen.lines.dropped < 100); /* invisible output was not even read */
    program_text_release(&shown);
    look_release(&look);
}

/* Reports lines that left at the front, so that a scrolled view can keep its position. */
TEST(lines_that_leave_are_counted)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct program_text shown;
    struct shown look;
    strbuf_addstr(&text, STARTED "{\"type\":\"program.started\",\"program\":\"p\",\"cmd\":\"x\"}\n");
    for (int i = 0; i < 5000; i++)
        strbuf_addf(
            &text,
            "{\"type\":\"program.output\",\"program\":\"p\",\"text\":\"a\\nb\\nc\\nd\\ne\\nf\\ng\\nh\\ni\\n%d\\n\"}\n",
            i);
    look_init(&look, text.buf);
    program_text_init(&shown);
    look_at(&look, 2100);
    assert_int_equal(program_text_update(&shown, &look.view, 0, 24, 80), 0);
    CLEANUP(free) char *before = xstrdup(program_lines_line(&shown.screen.lines, 999)->text);
    look_at(&look, 2103);
    assert_int_equal(program_text_update(&shown, &look.view, 0, 24, 80), 30);
    assert_string_equal(program_lines_line(&shown.screen.lines, 969)->text, before);
    assert_int_equal(program_text_update(&shown, &look.view, 0, 24, 80), 0);
    look_at(&look, 2050); /* a recording that moves back starts again */
    assert_int_equal(program_text_update(&shown, &look.view, 0, 24, 80), 0);
    look_at(&look, 5000); /* every earlier row is gone */
    assert_int_equal(program_text_update(&shown, &look.view, 0, 24, 80), SIZE_MAX);
    program_text_release(&shown);
    look_release(&look);
}

TEST(the_program_of_a_call_is_found)
{
    struct shown look;
    look_init(&look, STARTED
              "{\"type\":\"turn.started\",\"turn\":1,\"prompt\":\"x\"}\n"
              "{\"type\":\"model.responded\",\"turn\":1,\"step\":1,\"tool_calls\":[{\"id\":\"c1\",\"name\":\"a\","
              "\"arguments\":{}},{\"id\":\"c2\",\"name\":\"b\",\"arguments\":{\"session_id\":\"p1\"}},"
              "{\"id\":\"c3\",\"name\":\"b\",\"arguments\":{\"session_id\":7}}]}\n"
              "{\"type\":\"program.started\",\"turn\":1,\"program\":\"p1\",\"call\":\"c1\"}\n"
              "{\"type\":\"program.started\",\"turn\":1,\"program\":\"p2\"}\n"
              "{\"type\":\"program.ended\",\"turn\":1,\"program\":\"p2\",\"exit_code\":0}\n");
    assert_int_equal(program_of_call(&look.view, 0), 0);
    assert_int_equal(program_of_call(&look.view, 1), 0);
    assert_int_equal(program_of_call(&look.view, 2), SESSION_NONE);
    assert_int_equal(program_of_call(&look.view, SESSION_NONE), SESSION_NONE);
    assert_int_equal(program_wanted(&look.view, SESSION_NONE), 0);
    assert_int_equal(program_wanted(&look.view, 1), 0); /* it was shown last, and has ended */
    look_at(&look, 3);
    assert_int_equal(program_wanted(&look.view, SESSION_NONE), SESSION_NONE);
    look_release(&look);
}

/* The program that was shown last, one that waits, the newest running one, the newest. */
TEST(a_program_that_runs_is_shown_again)
{
    struct shown look;
    look_init(&look, STARTED "{\"type\":\"program.started\",\"program\":\"p1\"}\n"
                             "{\"type\":\"program.started\",\"program\":\"p2\"}\n"
                             "{\"type\":\"program.output\",\"program\":\"p2\",\"text\":\"Title? \"}\n"
                             "{\"type\":\"program.started\",\"program\":\"p3\"}\n"
                             "{\"type\":\"program.ended\",\"program\":\"p2\",\"exit_code\":0}\n"
                             "{\"type\":\"program.ended\",\"program\":\"p1\",\"exit_code\":0}\n"
                             "{\"type\":\"program.ended\",\"program\":\"p3\",\"exit_code\":0}\n");
    assert_int_equal(program_wanted(&look.view, 0), 2);
    look_at(&look, 5);
    assert_int_equal(program_wanted(&look.view, 0), 0);
    assert_int_equal(program_wanted(&look.view, SESSION_NONE), 1);
    assert_int_equal(program_wanted(&look.view, 7), 1);
    look_at(&look, 6);
    assert_int_equal(program_wanted(&look.view, 1), 2);
    look_release(&look);
}
