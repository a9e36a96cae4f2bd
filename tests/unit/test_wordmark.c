/* Words that differ between two lines. Expectations are lines with [brackets] around what is marked. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "wordmark.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static void add_marked(struct strbuf *out, const char *text, const struct wordmark *mark)
{
    size_t at = 0;
    for (size_t i = 0; i < mark->count; i++) {
        assert_true(mark->spans[i].from >= at && mark->spans[i].to > mark->spans[i].from);
        assert_true(mark->spans[i].to <= strlen(text));
        strbuf_add(out, text + at, mark->spans[i].from - at);
        strbuf_addch(out, '[');
        strbuf_add(out, text + mark->spans[i].from, mark->spans[i].to - mark->spans[i].from);
        strbuf_addch(out, ']');
        at = mark->spans[i].to;
    }
    strbuf_addstr(out, text + at);
}

static void check(const char *old, const char *new, const char *old_marked, const char *new_marked)
{
    struct wordmark removed, added;
    CLEANUP(strbuf) struct strbuf a = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf b = STRBUF_INIT;
    wordmark_lines(old, strlen(old), new, strlen(new), &removed, &added);
    add_marked(&a, old, &removed);
    add_marked(&b, new, &added);
    assert_string_equal(a.buf, old_marked);
    assert_string_equal(b.buf, new_marked);
}

static void test_words(void **state)
{
    (void)state;
    check("int count = 1;", "int amount = 1;", "int [count] = 1;", "int [amount] = 1;");
    check("- [ ] write", "- [x] write", "- [[ ]] write", "- [[x]] write");
    check("f(a, b)", "f(a, b, c)", "f(a, b)", "f(a, b[, c])");
    check("    if (!end) return false;", "    if (!end) {", "    if (!end) [return false;]", "    if (!end) [{]");
    check("same", "same", "same", "same");
    check("", "", "", "");
    check("naïve café", "naïve cafe", "naïve [café]", "naïve [cafe]");
    check("a + b + c", "a + x + c", "a + [b] + c", "a + [x] + c");
}

static void test_blanks_are_seen(void **state)
{
    (void)state;
    check("  return x;", "\treturn x;", "[  ]return x;", "[\t]return x;");
    check("return x;", "return x;  ", "return x;", "return x;[  ]");
}

static void test_unlike_lines_have_no_marks(void **state)
{
    (void)state;
    struct wordmark removed, added;
    assert_false(wordmark_lines("alpha beta", 10, "gamma delta", 11, &removed, &added));
    assert_int_equal(removed.count, 0);
    assert_int_equal(added.count, 0);
    check("", "new text", "", "new text");
}

/* Lines too long for words are compared by their ends, in whole characters; huge ones not at all. */
static void test_long_lines(void **state)
{
    (void)state;
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    struct wordmark removed, added;
    for (int i = 0; i < 1000; i++) {
        strbuf_addstr(&old, "w ");
        strbuf_addstr(&new, "w ");
    }
    strbuf_addstr(&old, "\xC3\xA9 end");
    strbuf_addstr(&new, "\xC3\xA8 end");
    assert_true(wordmark_lines(old.buf, old.len, new.buf, new.len, &removed, &added));
    assert_int_equal(removed.count, 1);
    assert_int_equal(removed.spans[0].from, 2000);
    assert_int_equal(removed.spans[0].to, 2002);
    assert_int_equal(added.spans[0].from, 2000);
    strbuf_grow(&old, 1 << 20);
    memset(old.buf, 'x', 1 << 20);
    strbuf_set_len(&old, 1 << 20);
    assert_false(wordmark_lines(old.buf, old.len, new.buf, new.len, &removed, &added));
}

/* However many differences there are, the spans stay within their array and cover the last one. */
static void test_many_spans(void **state)
{
    (void)state;
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    struct wordmark removed, added;
    for (int i = 0; i < 45; i++) {
        strbuf_addf(&old, "a%d,same,", i);
        strbuf_addf(&new, "b%d,same,", i);
    }
    wordmark_lines(old.buf, old.len, new.buf, new.len, &removed, &added);
    assert_true(removed.count <= WORDMARK_SPANS);
}

static struct diff_line line(const char *text)
{
    return (struct diff_line){.text = text, .len = strlen(text)};
}

static void test_pairs(void **state)
{
    (void)state;
    int partner[WORDMARK_RUN];
    struct diff_line removed[] = {line("int alpha = 1;"), line("int beta = 2;")};
    struct diff_line added[] = {line("/* new */"), line("int alpha = 3;"), line("int beta = 4;")};
    wordmark_pair(removed, 2, added, 3, partner);
    assert_int_equal(partner[0], 1);
    assert_int_equal(partner[1], 2);
    struct diff_line other[] = {line("zzz"), line("yyy")};
    wordmark_pair(removed, 2, other, 2, partner);
    assert_int_equal(partner[0], -1);
    assert_int_equal(partner[1], -1);
    wordmark_pair(removed, 0, added, 3, partner);
    assert_int_equal(partner[0], -1);
}

static void test_long_runs(void **state)
{
    (void)state;
    int partner[WORDMARK_RUN];
    static struct diff_line many[WORDMARK_RUN + 1];
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = line("int x = 1;");
    wordmark_pair(many, 100, many, 100, partner);
    assert_int_equal(partner[99], 99);
    wordmark_pair(many, 100, many, 99, partner);
    assert_int_equal(partner[50], -1);
    wordmark_pair(many, COUNT_OF(many), many, COUNT_OF(many), partner);
    assert_int_equal(partner[0], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_blanks_are_seen),
        cmocka_unit_test(test_unlike_lines_have_no_marks),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
