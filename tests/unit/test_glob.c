/* Tests of path patterns. A search finds exactly the paths that match, in order, and reads no folder it does not
 * need. */

#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "workspace/glob.h"
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void expect(const char *pattern, const char *name, bool match)
{
    struct err err = ERR_INIT;
    struct glob *glob = glob_new(pattern, &err);
    if (!glob)
        fail_msg("%s", err.text);
    if (glob_match(glob, name) != match)
        fail_msg("%s %s match %s", pattern, match ? "must" : "must not", name);
    glob_free(glob);
}

static void expect_all(const char *pattern, const char *const *yes, const char *const *no)
{
    for (; *yes; yes++)
        expect(pattern, *yes, true);
    for (; *no; no++)
        expect(pattern, *no, false);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOTHING    ((const char *const[]){NULL})

TEST(within_a_component)
{
    expect_all("main.c", NAMES("main.c"), NAMES("main.cc", "main", "Main.c", "src/main.c", ""));
    expect_all("*.c", NAMES("a.c", ".c", ".hidden.c"), NAMES("a.h", "d/a.c", "a.c/"));
    expect_all("a*b*c", NAMES("abc", "axxbxxc", "abbcc", "a*b*c"), NAMES("ab", "acb", "a/bc", "axbx"));
    expect_all("???", NAMES("abc", "\xc3\xa9\xe2\x82\xac!"), NAMES("ab", "abcd", "a/c"));
    expect_all("a/*/c", NAMES("a/b/c", "a/.x/c"), NAMES("a/c", "a/b/b/c", "a//b/c"));
    expect("", "", true);
    expect("", "a", false);
    expect("*", "", true);
    expect("a/", "a", false);
    expect("/*", "/", true);
}

TEST(wildcards_cross_components_only_as_two_stars)
{
    expect_all("**", NAMES("a", "a/b", "", "a/b/.c"), NOTHING);
    expect_all("src/**", NAMES("src", "src/a", "src/a/b/c"), NAMES("srcs", "srcs/a", "a/src"));
    expect_all("src/**/", NAMES("src", "src/", "src/a/"), NAMES("src/a"));
    expect_all("**/x.c", NAMES("x.c", "a/x.c", "a/b/x.c"), NAMES("ax.c", "a/bx.c", "x.c/a"));
    expect_all("a/**/z", NAMES("a/z", "a/b/z", "a/b/c/z", "a/z/z"), NAMES("az", "a/bz", "a/b", "b/a/z"));
    expect_all("**/a/**/b*", NAMES("a/b", "x/a/y/bcd", "a/a/a/b"), NAMES("b", "a/c"));
    expect_all("a**", NAMES("a", "abc"), NAMES("a/b"));
    expect_all("**a", NAMES("a", "bca"), NAMES("b/a"));
    expect_all("a/**b", NAMES("a/b", "a/xb"), NAMES("a/x/b"));
    expect_all("a/***/b", NAMES("a/x/b"), NAMES("a/b", "a/x/y/b"));
}

TEST(character_classes_match)
{
    expect_all("[abc]", NAMES("a", "b", "c"), NAMES("d", "ab", ""));
    expect_all("[a-cx-z]", NAMES("b", "y"), NAMES("d", "w", "-"));
    expect_all("[^a-c]", NAMES("d", "^", "\xe2\x98\xba"), NAMES("a", "/"));
    expect_all("[!a]", NAMES("b", "!"), NAMES("a"));
    expect_all("[a-]", NAMES("a", "-"), NAMES("b"));
    expect_all("[-a]", NAMES("a", "-"), NAMES("b"));
    expect_all("[a-c-e]", NAMES("a", "c", "-", "e"), NAMES("d"));
    expect_all("[\\]\\-\\\\]", NAMES("]", "-", "\\"), NAMES("a"));
    expect_all("[α-ω]", NAMES("β"), NAMES("b", "é"));
    expect_all("a[{,}]b", NAMES("a{b", "a,b"), NAMES("ab"));
}

TEST(choices_in_braces_match)
{
    expect_all("*.{c,h}", NAMES("a.c", "a.h"), NAMES("a.o", "a.{c,h}"));
    expect_all("a{,b,bc}", NAMES("a", "ab", "abc"), NAMES("abcd", "a,"));
    expect_all("{a,b/{c,d/e}}/f", NAMES("a/f", "b/c/f", "b/d/e/f"), NAMES("b/f", "c/f", "b/d/f"));
    expect_all("{src,tests}/**", NAMES("src", "src/a/b", "tests/c"), NAMES("lib/a"));
    expect_all("{a,**}/z", NAMES("a/z", "z", "b/c/z"), NAMES("a"));
    expect_all("{one}", NAMES("one"), NAMES("{one}"));
    expect_all("x{}", NAMES("x"), NAMES("x{}"));
    expect_all("{\\,,\\},\\{}", NAMES(",", "}", "{"), NAMES("\\"));
    expect_all("{[a,b],c}", NAMES("a", ",", "b", "c"), NAMES("[a"));
}

TEST(escaped_characters_are_literal)
{
    expect_all("\\*\\?\\[\\{\\\\", NAMES("*?[{\\"), NAMES("a?[{\\"));
    expect_all("a/\\**", NAMES("a/*", "a/*b"), NAMES("a/b", "a/*/b"));
    expect("\\a", "a", true);
    expect("]", "]", true);
    expect("a,b", "a,b", true);
}

TEST(malformed_patterns_are_refused)
{
    static const char *const bad[] = {"[",    "a[",   "[^",  "[!",  "[]",    "[]a]",   "[^]a", "[a",
                                      "[a\\", "a\\",  "{",   "{a",  "{a,b",  "a{b{c}", "}",    "a}b",
                                      "{a}}", "{[}]", "{\\", "x/[", "{a,[}", "a\\\\\\"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = ERR_INIT;
        if (glob_new(bad[i], &err))
            fail_msg("%s is taken", bad[i]);
        assert_memory_equal(err.text, "bad pattern ", 12);
    }
}

TEST(bytes_that_are_no_utf8)
{
    expect("a?c",
           "a\xff"
           "c",
           true);
    expect("a*", "a\xc3", true);
    expect("*\xc3\xa9", "\xff\xc3\xa9", true);
}

/* None of these may take long: choices are limited, and a star backtracks only to the last one. */
TEST(hostile_patterns)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT, stars = STRBUF_INIT, folders = STRBUF_INIT, choices = STRBUF_INIT;
    for (int i = 0; i < 500; i++) {
        strbuf_addstr(&name, i % 20 ? "a" : "a/");
        strbuf_addstr(&stars, "*a");
        strbuf_addstr(&folders, "**/");
        strbuf_addstr(&choices, "{a,b}");
    }
    strbuf_addch(&stars, 'b');
    strbuf_addch(&folders, 'b');
    expect(stars.buf, name.buf, false);
    expect(folders.buf, name.buf, false);
    struct err err = ERR_INIT;
    assert_null(glob_new(choices.buf, &err));
    assert_non_null(strstr(err.text, "too many choices"));
    CLEANUP(strbuf) struct strbuf nested = STRBUF_INIT;
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&nested, "{a,");
    for (int i = 0; i < 1000; i++)
        strbuf_addch(&nested, '}');
    struct glob *deep = glob_new(nested.buf, &err);
    assert_non_null(deep);
    assert_true(glob_match(deep, "a"));
    glob_free(deep);
    glob_free(NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 20);
}

static struct scratch files;
static struct beneath *root;

/* In the order of their bytes: a dot comes before a slash. */
static const char *const tree[] = {
    ".hidden", "a.c",       "a.d/x.c",     "a/.x.c",  "a/b/c/d.c", "a/b/c/e.txt", "a/b/f.c",
    "a/g.h",   "out/[x].c", "out/a b/c.c", "out/x.c", "out/x/y.c", "w/z.c",       "w/\xC3\xA9/z.c",
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

TEST_WITH(same_as_a_look_at_every_path, setup, teardown)
{
    static const char *const patterns[] = {
        "**",          "**/*.c",          "*.c",        "*/*.c",
        "a/**",        "a/**/*.c",        "a/b/f.c",    "out/{x,a b}/*.c",
        "{a,out}/**",  "a/b*/**",         "**/b/**",    "**/c/*",
        "out/\\[x].c", "out/[[]x[\\]].c", "w/*/z.c",    "w/\xC3\xA9/*",
        "w/?/z.c",     "nothing",         "nothing/**", "a/b",
        "**/**/d.c",   "a/**/b/**/*.txt", "[a-w]/**",   "{a/{b/c,x},w}/**/*.c",
        ".*",          "empty/**",        "a/g.h/x",
    };
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        CLEANUP(strbuf) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
        CLEANUP(glob_hits) struct glob_hits hits;
        struct err err = ERR_INIT;
        if (glob_find(root, patterns[i], &hits, &err) < 0)
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

/* A folder that the pattern cannot match may contain anything. */
TEST(nothing_else_is_read)
{
    static const struct {
        const char *pattern, *folder;
        bool leads;
    } cases[] = {
        {"a/**", "a", true},       {"a/**", "b", false},    {"a/*/c", "a/b", true},       {"a/*/c", "a/b/c", false},
        {"**/c", "x/y", true},     {"*.c", "a.c", false},   {"a/{b,c/d}/e", "a/c", true}, {"a/{b,c/d}/e", "a/d", false},
        {"a*/b", "abc", true},     {"a*/b", "bc", false},   {"a/b", "a", true},           {"a/b", "a/b", false},
        {"a/**/d", "a/b/c", true}, {"a/**/d", "ab", false}, {"[ab]/x", "c", false},       {"?/x", "ab", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct glob *glob = glob_new(cases[i].pattern, NULL);
        if (glob_may_lead(glob, cases[i].folder) != cases[i].leads)
            fail_msg("%s in %s", cases[i].pattern, cases[i].folder);
        glob_free(glob);
    }
}

TEST(the_fixed_prefix_of_a_pattern_is_found)
{
    static const struct {
        const char *pattern, *base;
        bool whole;
    } cases[] = {
        {"a/b/*.c", "a/b", false},
        {"a/b/c", "a/b/c", true},
        {"*.c", "", false},
        {"**", "", false},
        {"a\\*/b/?", "a*/b", false},
        {"a/b{c,d}", "a", false},
        {"a/{b/x*,b/y}", "a/b", false},
        {"{a,b}/c", "", false},
        {"a/b/{c,cd}/*", "a/b", false},
        {"a/b[c]/d", "a", false},
        {"\xC3\xA9/x*", "\xC3\xA9", false},
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

TEST_WITH(malformed_search, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(glob_hits) struct glob_hits hits;
    assert_int_equal(glob_find(root, "../[", &hits, &err), -1);
    assert_non_null(strstr(err.text, "bad pattern"));
}
