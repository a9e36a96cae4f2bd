/* Tests of the tool search_files. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/output_limit.h"
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
    tool_rig_release(&rig);
    return 0;
}

static void search(const char *arguments)
{
    tool_rig_run(&rig, &tool_search_files, arguments);
}

/* The matches as "path:line path:line". */
static void expect_places(const char *expected)
{
    CLEANUP(strbuf) struct strbuf places = STRBUF_INIT;
    json_each (entry, json_get(rig.output, "entries"))
        strbuf_addf(&places, "%s%s:%lld", places.len ? " " : "", json_str(json_get(entry, "path"), "?"),
                    (long long)json_int(json_get(entry, "line"), -1));
    if (!rig.output)
        fail_msg("%s", rig.reply.error);
    assert_string_equal(places.buf, expected);
}

static void link_to(const char *target, const char *name)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    assert_int_equal(symlink(target, path), 0);
}

TEST_WITH(plain_and_in_order, setup, teardown)
{
    scratch_write(&rig.files, "b.txt", "needle\nhay\nneedle again\n");
    scratch_write(&rig.files, "a/x.txt", "no\nneedle");
    scratch_write(&rig.files, "a-b/x.txt", "needle\n");
    scratch_write(&rig.files, "a.txt", "needle\n");
    scratch_write(&rig.files, ".hidden", "needle\n");
    search("{\"pattern\":\"needle\"}");
    /* The order of the whole paths: '-' and '.' come before '/'. */
    expect_places(".hidden:1 a-b/x.txt:1 a.txt:1 a/x.txt:2 b.txt:1 b.txt:3");
    assert_int_equal(tool_rig_int(&rig, "files_searched"), 5);
    assert_false(json_bool(json_get(rig.output, "truncated"), true));
    assert_string_equal(json_str(json_get(json_at(json_get(rig.output, "entries"), 5), "text"), ""), "needle again");
    search("{\"pattern\":\"needle\",\"path\":\"a\"}");
    expect_places("a/x.txt:2");
    search("{\"pattern\":\"needle\",\"path\":\"./b.txt\"}");
    expect_places("b.txt:1 b.txt:3");
    search("{\"pattern\":\"n.edle\"}");
    expect_places("");
    search("{\"pattern\":\"nothing like this\"}");
    tool_rig_expect_output(
        &rig, "{\"pattern\":\"nothing like this\",\"files_searched\":5,\"truncated\":false,\"entries\":[]}");
}

TEST_WITH(expressions_are_matched, setup, teardown)
{
    scratch_write(&rig.files, "a.c", "int f(void);\r\nint g(int x)\n  f();\n");
    search("{\"pattern\":\"^int [a-z]+\\\\(.*\\\\);$\",\"regex\":true}");
    expect_places("a.c:1");
    assert_string_equal(json_str(json_get(json_at(json_get(rig.output, "entries"), 0), "text"), ""), "int f(void);");
    search("{\"pattern\":\"\\\\bf\\\\(\",\"regex\":true}");
    expect_places("a.c:1 a.c:3");
    search("{\"pattern\":\"(\",\"regex\":true}");
    tool_rig_expect_error(&rig, "bad regular expression at character 2: missing closing parenthesis");
    search("{\"pattern\":\"a\\nb\"}");
    tool_rig_expect_error(&rig, "pattern must be on one line: lines are searched one by one");
}

TEST_WITH(globs_choose_the_files, setup, teardown)
{
    scratch_write(&rig.files, "src/a.c", "x\n");
    scratch_write(&rig.files, "src/deep/b.c", "x\n");
    scratch_write(&rig.files, "src/b.h", "x\n");
    scratch_write(&rig.files, "c.c", "x\n");
    search("{\"pattern\":\"x\",\"glob\":\"*.c\"}");
    expect_places("c.c:1 src/a.c:1 src/deep/b.c:1");
    search("{\"pattern\":\"x\",\"glob\":\"src/*.c\"}");
    expect_places("src/a.c:1");
    search("{\"pattern\":\"x\",\"glob\":\"src/**/*.{c,h}\"}");
    expect_places("src/a.c:1 src/b.h:1 src/deep/b.c:1");
    search("{\"pattern\":\"x\",\"glob\":\"deep/*\",\"path\":\"src\"}");
    expect_places("src/deep/b.c:1");
    search("{\"pattern\":\"x\",\"glob\":\"[\"}");
    tool_rig_expect_error_with(&rig, "bad pattern [");
}

TEST_WITH(skipped_files, setup, teardown)
{
    scratch_write(&rig.beside, "secret", "needle\n");
    CLEANUP(free) char *secret = scratch_path(&rig.beside, "secret");
    CLEANUP(free) char *fifo = scratch_path(&rig.files, "fifo");
    scratch_write(&rig.files, "real.txt", "needle\n");
    scratch_write(&rig.files, ".git/config", "needle\n");
    scratch_write(&rig.files, "sub/.git", "needle\n");
    scratch_write_bytes(&rig.files, "binary", "needle\0needle\n", 14);
    link_to("real.txt", "link");
    link_to(secret, "out");
    link_to(rig.beside.path, "outdir");
    link_to("..", "sub/up");
    link_to("loop", "loop");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    alarm(20);
    search("{\"pattern\":\"needle\"}");
    alarm(0);
    expect_places("real.txt:1");
    assert_int_equal(tool_rig_int(&rig, "files_searched"), 1);
    search("{\"pattern\":\"needle\",\"path\":\"out\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: out");
    search("{\"pattern\":\"needle\",\"path\":\"../x\"}");
    tool_rig_expect_error(&rig, "path escapes workspace: ../x");
    search("{\"pattern\":\"needle\",\"path\":\"none\"}");
    tool_rig_expect_error(&rig, "none does not exist");
    search("{\"pattern\":\"needle\",\"path\":\"fifo\"}");
    tool_rig_expect_error(&rig, "fifo is a FIFO, neither a file nor a folder");
    search("{\"pattern\":\"needle\",\"path\":\"link\"}"); /* asked for by name, and it stays inside */
    expect_places("link:1");
}

TEST_WITH(long_lines, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 70000; i++)
        strbuf_addch(&text, 'x');
    strbuf_addstr(&text, "needle\n");
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&text, "é");
    strbuf_addstr(&text, "needle");
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&text, "é");
    strbuf_addstr(&text, "\n");
    scratch_write_bytes(&rig.files, "long", text.buf, text.len);
    search("{\"pattern\":\"needle\"}");
    expect_places("long:2");
    assert_int_equal(tool_rig_int(&rig, "long_lines_skipped"), 1);
    const char *shown = json_str(json_get(json_at(json_get(rig.output, "entries"), 0), "text"), "");
    assert_non_null(strstr(shown, "éneedleé"));
    assert_memory_equal(shown, "…é", 5);
    assert_string_equal(shown + strlen(shown) - 5, "é…");
    assert_true(strlen(shown) < 260);
    assert_null(strstr(shown, "\xef\xbf\xbd"));
}

/* Page after page gives every match once, and each page fits. */
TEST_WITH(matches_come_in_pages, setup, teardown)
{
    int total = 0;
    for (int f = 0; f < 30; f++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        for (int i = 0; i < 40; i++, total++)
            strbuf_addf(
                &text, "match %d %.*s\n", total, i * 4,
                "\"quoted\" and é and some more text that makes the line long, longer, and longer still, to here, "
                "and then some more of it, so that pages differ");
        CLEANUP(free) char *name = xasprintf("f%02d", f);
        scratch_write_bytes(&rig.files, name, text.buf, text.len);
    }
    int seen = 0, pages = 0;
    for (int64_t offset = 0; offset >= 0; pages++) {
        tool_rig_runf(&rig, &tool_search_files, "{\"pattern\":\"match \",\"offset\":%lld}", (long long)offset);
        offset = tool_rig_int(&rig, "next_offset");
        assert_true(output_limit_length(rig.output) <= OUTPUT_LIMIT_INLINE_MAX);
        json_each (entry, json_get(rig.output, "entries")) {
            CLEANUP(free) char *begin = xasprintf("match %d ", seen++);
            assert_memory_equal(json_str(json_get(entry, "text"), ""), begin, strlen(begin));
        }
        assert_true(json_get(rig.output, "entries")->count <= 200);
        assert_int_equal(json_bool(json_get(rig.output, "truncated"), false), offset >= 0);
    }
    assert_int_equal(seen, total);
    assert_true(pages > 6);
    search("{\"pattern\":\"match \",\"max\":3}");
    expect_places("f00:1 f00:2 f00:3");
    assert_int_equal(tool_rig_int(&rig, "next_offset"), 3);
    search("{\"pattern\":\"match 1199\",\"max\":1}");
    expect_places("f29:40");
    assert_int_equal(tool_rig_int(&rig, "next_offset"), -1);
}

TEST_WITH(strange_bytes, setup, teardown)
{
    scratch_write(&rig.files, "latin\xe9", "caf\xe9 needle\n");
    search("{\"pattern\":\"needle\"}");
    expect_places("latin\xef\xbf\xbd:1");
    assert_string_equal(json_str(json_get(json_at(json_get(rig.output, "entries"), 0), "text"), ""),
                        "caf\xef\xbf\xbd needle");
}

/* What was found before does not count: a page with holes would look complete. */
TEST_WITH(expensive_pattern, setup, teardown)
{
    scratch_write(&rig.files, "a", "aac\n");
    scratch_write(&rig.files, "b", "x\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");
    search("{\"pattern\":\"(a|aa|aaa)+[cd]\",\"regex\":true}");
    tool_rig_expect_error(&rig, "the pattern is too expensive for b:2; simplify it");
}

TEST_WITH(deep_folders, setup, teardown)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    for (int i = 0; i < 150; i++)
        strbuf_addstr(&path, "d/");
    strbuf_addstr(&path, "f");
    scratch_write(&rig.files, path.buf, "needle\n");
    search("{\"pattern\":\"needle\"}");
    assert_int_equal(json_get(rig.output, "entries")->count, 1);
}

TEST_WITH(a_canceled_search_stops, setup, teardown)
{
    scratch_write(&rig.files, "a", "needle\n");
    rig.cancelled = true;
    search("{\"pattern\":\"needle\"}");
    tool_rig_expect_error(&rig, "canceled after 0 files");
}
