/* Patterns of search_files: what they find, what is refused, and that a hostile one ends in bounded time. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "tools/search.h"
#include <pthread.h>
#include <regex.h>
#include <string.h>
#include <time.h>

static struct pattern *compile(const char *text)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new(text, true, PATTERN_CPU_MS, NULL, &err);
    if (!pattern)
        fail_msg("%s: %s", text, err.text);
    return pattern;
}

static void expect_at(const char *text, const char *line, int at)
{
    struct pattern *pattern = compile(text);
    size_t found = 0;
    enum pattern_result match = pattern_find(pattern, line, strlen(line), &found);
    if (match != (at >= 0) || (match && (int)found != at))
        fail_msg("/%s/ in \"%s\": %d at %zu, not at %d", text, line, match, found, at);
    pattern_free(pattern);
}

TEST(plain_text_is_taken_literally)
{
    struct err err = ERR_INIT;
    struct pattern *pattern = pattern_new("a.c*", false, PATTERN_CPU_MS, NULL, &err);
    size_t at;
    assert_int_equal(pattern_find(pattern, "xxa.c*", 6, &at), PATTERN_FOUND);
    assert_int_equal(at, 2);
    assert_int_equal(pattern_find(pattern, "abccc", 5, &at), PATTERN_NOT_FOUND);
    assert_int_equal(pattern_find(pattern, "", 0, &at), PATTERN_NOT_FOUND);
    pattern_free(pattern);
    pattern_free(NULL);
}

TEST(common_expressions_match)
{
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

TEST(expressions_match_characters_not_bytes)
{
    expect_at("^.$", "é", 0);
    expect_at("^..$", "é", -1);
    expect_at("[à-ü]x", "aéx", 1);
    expect_at("[^a]$", "aé", 1);
    expect_at("é+", "aéé", 1);
    expect_at("\\é", "é", 0);
    expect_at("\\w", "é", -1); /* \w \d \s \b are about ASCII */
    struct pattern *pattern = compile("a.c");
    size_t at;
    assert_int_equal(pattern_find(pattern, "x\0a\0c", 5, &at), PATTERN_FOUND);
    assert_int_equal(at, 2);
    pattern_free(pattern);
}

TEST(malformed_bytes_neither_match_nor_hide_matches)
{
    expect_at("x.z", "x\xffz", -1);
    expect_at("\xef\xbf\xbd", "a\xff", -1);
    expect_at("needle", "caf\xe9 needle", 5);
    expect_at("^caf", "caf\xe9 needle", 0);
    expect_at("needle$", "caf\xe9 needle", 5);
}

TEST(perl_extensions_work)
{
    expect_at("(?i)Needle", "a nEEDLE", 2);
    expect_at("(a|b)\\1", "abba", 1);
    expect_at("foo(?!bar)", "foobar food", 7);
    expect_at("(?<=x)y", "yxy", 2);
    expect_at("\\p{Lu}", "aÉ", 1);
    expect_at("a\\Kb", "ab", 1);
}

TEST(malformed_expressions_are_refused)
{
    static const char *const bad[][2] = {
        {"(", "at character 2: missing closing parenthesis"},
        {"a)", "at character 2: unmatched closing parenthesis"},
        {"[a", "at character 3: missing terminating ]"},
        {"[b-a]", "range out of order"},
        {"[[:what:]]", "unknown POSIX class name"},
        {"*a", "at character 1: quantifier does not follow a repeatable item"},
        {"a|+", "quantifier does not follow a repeatable item"},
        {"a\\", "\\ at end of pattern"},
        {"é\\q", "at character 3: unrecognized character follows \\"},
        {"a{3,2}", "numbers out of order"},
        {"a{70000}", "number too big"},
        {"((a{100}){100}){100}", "too large"},
        {"(?<=a*)b", "lookbehind assertion is not fixed length"},
        {"\\C", "using \\C is disabled"},
        {"\xff", "UTF-8 error"},
        {"(*LIMIT_MATCH=4000000000)a", "it may not begin with (*"},
        {"(*NO_START_OPT)a", "it may not begin with (*"},
        {"(*CR)a", "it may not begin with (*"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = ERR_INIT;
        if (pattern_new(bad[i][0], true, PATTERN_CPU_MS, NULL, &err))
            fail_msg("%s is taken", bad[i][0]);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.text);
    }
}

static void expect_refused(const char *part, int times, const char *why)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < times; i++)
        strbuf_addstr(&text, part);
    struct err err = ERR_INIT;
    assert_null(pattern_new(text.buf, true, PATTERN_CPU_MS, NULL, &err));
    if (!strstr(err.text, why))
        fail_msg("%s, %d times: %s", part, times, err.text);
}

TEST(large_expressions_are_refused)
{
    expect_refused("x", 4097, "the regular expression is longer than 4096 bytes");
    expect_refused("x", 1000000, "the regular expression is longer than 4096 bytes");
    expect_refused("(", 400, "too deeply nested");
    expect_refused("(?=", 400, "too deeply nested");
    expect_refused("(?:a{9999}b{9999}){9999}", 100, "too large");
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
        if (depth < 2 && roll(3) == 0) {
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

TEST(expressions_match_like_the_c_library)
{
    size_t matches = 0, others = 0, expensive = 0;
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
        for (int k = 0, limit = 20; k < limit; k++) {
            char line[16];
            size_t len = roll(sizeof(line) - 1);
            for (size_t i = 0; i < len; i++)
                line[i] = "abcd"[roll(4)];
            line[len] = '\0';
            regmatch_t where;
            bool expected = regexec(&theirs, line, 1, &where, 0) == 0;
            size_t at;
            enum pattern_result result = pattern_find(ours, line, len, &at);
            if (result == PATTERN_TOO_EXPENSIVE)
                limit = 0;
            expensive += result == PATTERN_TOO_EXPENSIVE;
            if (result != PATTERN_TOO_EXPENSIVE && result != (expected ? PATTERN_FOUND : PATTERN_NOT_FOUND))
                fail_msg("/%s/ in \"%s\": must%s match", text.buf, line, expected ? "" : " not");
            matches += expected;
            others += !expected;
        }
        pattern_free(ours);
        regfree(&theirs);
    }
    assert_true(matches > 1000 && others > 1000 && expensive < 100);
}

/* Each of these takes years, a lot of memory or a lot of stack if nothing stops it. */
static const char *const hostile[] = {
    "((((a+)+)+)+)+[cd]",
    "(a*)*(a*)*(a*)*[cd]",
    "(a|aa|aaa)+[cd]",
    "(.{0,50}){30}[cd]",
    "a.*b.*a.*b.*.*[cd]",
    "[ab]*+[cd]",                                    /* few steps, each over the whole line */
    "(?:(?=.*+)(?=.*+)(?=.*+)(?=.*+)(?=.*+).)*[cd]", /* the same at each character */
    "(?:(?=(.*+))(?=(.*+))(?=\\1)(?=\\2).)*[cd]",
    "(?:a|b|(?R))*[cd]", /* recursion */
    "^(?:(?1)|(a|b(?1)))*[cd]",
    "((?<=a{200}|b{200}|(?:ab){100}|(?:a|b){255})[ab])*[cd]", /* a lookbehind at each character */
    "(?:(a|b)*\\1)*[cd]",
    "(?>a|b|(?=(?>.*)).)*[cd]",
    "(?:[ab]{1,65535}){1,3}[cd]",
    "(((((a?){99}){9}){9})b?)*[cd]",
};

/* A line of 64 KiB, the longest that search_files reads. */
static char *hostile_line(void)
{
    char *line = xmalloc(65536);
    for (size_t i = 0; i < 65536; i++)
        line[i] = i % 3 ? 'a' : 'b';
    return line;
}

static double thread_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

TEST(hostile_expressions_end_within_the_cpu_time_of_a_search)
{
    CLEANUP(free) char *line = hostile_line();
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct err err = ERR_INIT;
        struct pattern *pattern = pattern_new(hostile[i], true, 100, NULL, &err);
        if (!pattern && !strstr(err.text, "too large"))
            fail_msg("%s: %s", hostile[i], err.text);
        double begin = thread_cpu_s();
        enum pattern_result result = PATTERN_NOT_FOUND;
        size_t at;
        for (int k = 0; pattern && k < 10000 && result != PATTERN_TOO_EXPENSIVE; k++) {
            result = pattern_find(pattern, line, k % 2 ? 300 : 65536, &at);
            assert_int_not_equal(result, PATTERN_FOUND);
        }
        if (pattern && result != PATTERN_TOO_EXPENSIVE)
            fail_msg("%s takes no time", hostile[i]);
        if (thread_cpu_s() - begin > 5) /* 0.1 s, and what sanitizers add to the last step */
            fail_msg("%s takes %.1f s", hostile[i], thread_cpu_s() - begin);
        pattern_free(pattern);
    }
}

static atomic_bool cancelled;

static void *cancel_soon(void *none)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    atomic_store(&cancelled, true);
    return none;
}

TEST(canceling_ends_a_match)
{
    CLEANUP(free) char *line = hostile_line();
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct err err = ERR_INIT;
        struct pattern *pattern = pattern_new(hostile[i], true, 3600000, &cancelled, &err);
        if (!pattern)
            continue;
        atomic_store(&cancelled, false);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
        size_t at;
        while (!atomic_load(&cancelled))
            assert_int_not_equal(pattern_find(pattern, line, 65536, &at), PATTERN_FOUND);
        assert_int_equal(pthread_join(thread, NULL), 0);
        pattern_free(pattern);
    }
}

TEST(empty_repeats_take_no_time)
{
    struct err err = ERR_INIT;
    struct pattern *pattern =
        pattern_new("((((((){1000}){1000}){1000}){1000}){1000}){1000}", true, PATTERN_CPU_MS, NULL, &err);
    if (!pattern)
        assert_non_null(strstr(err.text, "too large"));
    pattern_free(pattern);
}
