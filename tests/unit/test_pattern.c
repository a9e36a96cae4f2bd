/* Regular expressions: the same lines as the C library finds, in time that does not explode. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/pattern.h"
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static struct pattern *compile(const char *text)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new(text, true, &err);
    if (!pattern)
        fail_msg("%s: %s", text, err.text);
    return pattern;
}

static void expect_at(const char *text, const char *line, int at)
{
    struct pattern *pattern = compile(text);
    size_t found = 0;
    bool match = pattern_find(pattern, line, strlen(line), &found);
    if (match != (at >= 0) || (match && (int)found != at))
        fail_msg("/%s/ in \"%s\": %d at %zu, not at %d", text, line, match, found, at);
    pattern_free(pattern);
}

static void test_plain(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new("a.c*", false, &err);
    size_t at;
    assert_true(pattern_find(pattern, "xxa.c*", 6, &at));
    assert_int_equal(at, 2);
    assert_false(pattern_find(pattern, "abccc", 5, &at));
    assert_false(pattern_find(pattern, "", 0, &at));
    pattern_free(pattern);
    pattern_free(NULL);
}

static void test_what_everybody_writes(void **state)
{
    (void)state;
    expect_at("abc", "xxabcxx", 2);
    expect_at("", "xyz", 0);
    expect_at("^int main\\(", "int main(void)", 0);
    expect_at("^int main\\(", " int main(void)", -1);
    expect_at(";$", "a; b;", 4);
    expect_at("^$", "", 0);
    expect_at("^$", "x", -1);
    expect_at("a|bc|def", "xxdef", 2);
    expect_at("\\d+\\.\\d*", "v 12.5", 2);
    expect_at("\\bfoo\\b", "food foo", 5);
    expect_at("\\bfoo\\b", "foo_ food", -1);
    expect_at("\\Boo", "oo foo", 4);
    expect_at("[[:space:]]+x", "a \tx", 1);
    expect_at("\\s\\S", "ab c", 2);
    expect_at("[^\\w]", "ab_1-", 4);
    expect_at("[\\d-]+z", "a1-2z", 1);
    expect_at("(?:ab)+c", "xababc", 1);
    expect_at("a.*?b", "xxaxxb", 2);
    expect_at("a+?b", "b aab", 2);
    expect_at("colou?r", "the color", 4);
    expect_at("x{3}", "xx xxx", 3);
    expect_at("^x{2,3}$", "xxxx", -1);
    expect_at("^x{2,}$", "xxxx", 0);
    expect_at("^x{0}y", "y", 0);
    expect_at("if \\(x\\) {", "  if (x) {", 2);
    expect_at("{\"a\"}", "x{\"a\"}", 1);
    expect_at("a{,3}", "a{,3}", 0);
    expect_at("[]a]+$", "x]a]", 1);
    expect_at("[^]]", "]]x", 2);
    expect_at("[a\\]b]+$", "xa]b", 1);
    expect_at("\\t\\/\\-", "a\t/-", 1);
    expect_at("()", "a", 0);
    expect_at("(|a)+b", "aab", 0);
    expect_at("(a*)*b", "aaac", -1);
    expect_at("(a\\b|b )*c", "a b c", 2);
}

static void test_characters_not_bytes(void **state)
{
    (void)state;
    expect_at("^.$", "é", 0);
    expect_at("^..$", "é", -1);
    expect_at("[à-ü]x", "aéx", 1);
    expect_at("[^a]$", "aé", 1);
    expect_at("é+", "aéé", 1);
    expect_at("a.c",
              "a\xff"
              "c",
              0);
    expect_at("\xef\xbf\xbd", "a\xff", 1); /* malformed bytes read as U+FFFD */
    expect_at("\\é", "é", 0);
    struct pattern *pattern = compile("a.c");
    size_t at;
    assert_true(pattern_find(pattern, "x\0a\0c", 5, &at));
    assert_int_equal(at, 2);
    pattern_free(pattern);
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"(", "at character 2: a ( is not closed"},
        {"a)", "at character 2: a ) closes nothing"},
        {"[a", "a [ is not closed"},
        {"[", "a [ is not closed"},
        {"[b-a]", "a range ends before it begins"},
        {"[[:what:]]", "unknown class"},
        {"*a", "there is nothing to repeat"},
        {"a|+", "there is nothing to repeat"},
        {"(a)\\1", "back references are not supported"},
        {"a\\", "it ends with a backslash"},
        {"é\\q", "at character 3: unknown escape"},
        {"[\\q]", "unknown escape"},
        {"(?=a)", "only (?:…) is supported"},
        {"a{3,2}", "a repetition like this is not possible"},
        {"a{2000}", "a repetition like this is not possible"},
        {"((a{100}){100}){100}", "too large"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = ERR_INIT;
        if (pattern_new(bad[i][0], true, &err))
            fail_msg("%s is taken", bad[i][0]);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.text);
    }
    CLEANUP(strbuf) struct strbuf deep = STRBUF_INIT;
    for (int i = 0; i < 400; i++)
        strbuf_addch(&deep, '(');
    struct err err = ERR_INIT;
    assert_null(pattern_new(deep.buf, true, &err));
    assert_non_null(strstr(err.text, "nested too deeply"));
    for (int i = 0; i < 1000; i++)
        strbuf_addch(&deep, 'x');
    assert_null(pattern_new(deep.buf, true, &err));
    assert_string_equal(err.text, "the regular expression is longer than 1000 bytes");
}

/* The C library as judge of small random expressions over a small alphabet. */

static uint32_t seed;

static uint32_t roll(uint32_t sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

static void random_expression(struct strbuf *out, int depth)
{
    static const char *const atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "[[:alpha:]]"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,1}", "{2,}"};
    uint32_t parts = 1 + roll(3);
    for (uint32_t i = 0; i < parts; i++) {
        if (depth < 3 && roll(3) == 0) {
            strbuf_addch(out, '(');
            random_expression(out, depth + 1);
            if (roll(2)) {
                strbuf_addch(out, '|');
                random_expression(out, depth + 1);
            }
            strbuf_addch(out, ')');
        } else {
            strbuf_addstr(out, atoms[roll(COUNT_OF(atoms))]);
        }
        strbuf_addstr(out, repeats[roll(COUNT_OF(repeats))]);
    }
}

static void test_like_the_c_library(void **state)
{
    (void)state;
    size_t matches = 0, others = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        seed = 77000 + round;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        if (roll(6) == 0)
            strbuf_addch(&text, '^');
        random_expression(&text, 0);
        if (roll(6) == 0)
            strbuf_addch(&text, '$');
        regex_t theirs;
        assert_int_equal(regcomp(&theirs, text.buf, REG_EXTENDED), 0);
        struct pattern *ours = compile(text.buf);
        for (int k = 0; k < 20; k++) {
            char line[16];
            size_t len = roll(sizeof(line) - 1);
            for (size_t i = 0; i < len; i++)
                line[i] = "abcd"[roll(4)];
            line[len] = '\0';
            regmatch_t where;
            bool expected = regexec(&theirs, line, 1, &where, 0) == 0;
            size_t at;
            if (pattern_find(ours, line, len, &at) != expected)
                fail_msg("/%s/ in \"%s\": must%s match", text.buf, line, expected ? "" : " not");
            matches += expected;
            others += !expected;
        }
        pattern_free(ours);
        regfree(&theirs);
    }
    assert_true(matches > 1000 && others > 1000);
}

static void test_time_does_not_explode(void **state)
{
    (void)state;
    static const char *const slow[] = {"(a|b)*a(a|b){18}c", "(a*)*(a*)*(a*)*c", "((((a+)+)+)+)+c",
                                       "a.*b.*c.*d",        "(a|aa|aaa)+c",     "(.{0,50}){30}c"};
    char *line = xmalloc(65536);
    for (size_t i = 0; i < 65536; i++)
        line[i] = i % 3 ? 'a' : 'b';
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        struct err err = ERR_INIT;
        struct pattern *pattern = pattern_new(slow[i], true, &err);
        size_t at;
        if (pattern)
            assert_false(pattern_find(pattern, line, 65536, &at));
        else
            assert_non_null(strstr(err.text, "too large"));
        pattern_free(pattern);
    }
    /* Nothing, repeated: takes no instructions, and must take no time. */
    pattern_free(compile("((((((){1000}){1000}){1000}){1000}){1000}){1000}"));
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 60);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_what_everybody_writes),
        cmocka_unit_test(test_characters_not_bytes),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_like_the_c_library),
        cmocka_unit_test(test_time_does_not_explode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
