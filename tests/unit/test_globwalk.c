/* The search for a pattern finds what a look at every path finds, in order, and reads no folder it need not. */

#include "workspace/globwalk.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "workspace/glob.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct scratch files;
static struct beneath *root;

/* In the order of their bytes: a dot comes before a slash. */
static const char *const tree[] = {
    ".hidden",    "a.c",        "a.d/x.c",      "a/.x.c", "a/b/c/d.c",  "a/b/c/e.txt", "a/b/f.c",
    "a/g.h",      "out/[x].c",  "out/a b/c.c",  "out/x.c", "out/x/y.c", "w/z.c", "w/\xC3\xA9/z.c",
};

static int setup(void **state)
{
    (void)state;
    scratch_init(&files);
    for (size_t i = 0; i < COUNT_OF(tree); i++)
        scratch_write(&files, tree[i], "x");
    scratch_mkdir(&files, "empty/deeper");
    root = beneath_open(files.path, NULL);
    return root ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    beneath_close(root);
    scratch_release(&files);
    return 0;
}

static void test_same_as_a_look_at_every_path(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "**",       "**/*.c",  "*.c",        "*/*.c",        "a/**",          "a/**/*.c",   "a/b/f.c",     "out/{x,a b}/*.c",
        "{a,out}/**", "a/b*/**", "**/b/**",  "**/c/*",       "out/\\[x].c",   "out/[[]x[\\]].c", "w/*/z.c",  "w/\xC3\xA9/*",
        "w/?/z.c",  "nothing", "nothing/**", "a/b",          "**/**/d.c",  "a/**/b/**/*.txt",
        "[a-w]/**", "{a/{b/c,x},w}/**/*.c",  ".*",           "empty/**",      "a/g.h/x",
    };
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        CLEANUP(strbuf) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
        CLEANUP(glob_hits) struct glob_hits hits;
        struct err err = ERR_INIT;
        if (globwalk(root, patterns[i], &hits, &err) < 0)
            fail_msg("%s", err.text);
        struct glob *glob = glob_new(patterns[i], &err);
        assert_non_null(glob);
        for (size_t j = 0; j < COUNT_OF(tree); j++)
            if (glob_match(glob, tree[j]))
                strbuf_addf(&expected, "%s\n", tree[j]);
        for (size_t j = 0; j < hits.count; j++) {
            assert_false(hits.items[j].linked);
            strbuf_addf(&got, "%s\n", hits.items[j].path);
        }
        if (strcmp(got.buf, expected.buf) != 0)
            fail_msg("%s gave\n%sinstead of\n%s", patterns[i], got.buf, expected.buf);
        assert_false(hits.cut);
        glob_free(glob);
    }
}

/* A folder that the pattern cannot lead into may be whatever it likes. */
static void test_nothing_else_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *folder;
        bool leads;
    } cases[] = {
        {"a/**", "a", true},     {"a/**", "b", false},        {"a/*/c", "a/b", true},   {"a/*/c", "a/b/c", false},
        {"**/c", "x/y", true},   {"*.c", "a.c", false},       {"a/{b,c/d}/e", "a/c", true}, {"a/{b,c/d}/e", "a/d", false},
        {"a*/b", "abc", true},   {"a*/b", "bc", false},       {"a/b", "a", true},       {"a/b", "a/b", false},
        {"a/**/d", "a/b/c", true}, {"a/**/d", "ab", false},   {"[ab]/x", "c", false},   {"?/x", "ab", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct glob *glob = glob_new(cases[i].pattern, NULL);
        if (glob_may_lead(glob, cases[i].folder) != cases[i].leads)
            fail_msg("%s in %s", cases[i].pattern, cases[i].folder);
        glob_free(glob);
    }
}

static void test_base(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *base;
        bool whole;
    } cases[] = {
        {"a/b/*.c", "a/b", false}, {"a/b/c", "a/b/c", true},  {"*.c", "", false},          {"**", "", false},
        {"a\\*/b/?", "a*/b", false}, {"a/b{c,d}", "a", false}, {"a/{b/x*,b/y}", "a/b", false}, {"{a,b}/c", "", false}, {"a/b/{c,cd}/*", "a/b", false}, {"a/b[c]/d", "a", false}, {"\xC3\xA9/x*", "\xC3\xA9", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool whole;
        struct glob *glob = glob_new(cases[i].pattern, NULL);
        CLEANUP(free) char *base = glob_base(glob, &whole);
        assert_string_equal(base, cases[i].base);
        assert_int_equal(whole, cases[i].whole);
        glob_free(glob);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(glob_hits) struct glob_hits hits;
    assert_int_equal(globwalk(root, "../[", &hits, &err), -1);
    assert_non_null(strstr(err.text, "bad pattern"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_as_a_look_at_every_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_else_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_base, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
