/* Tests of words that differ between two lines. Expectations are lines with [brackets] around the marked text. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "panes/word_diff.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static void add_marked(struct strbuf *out, const char *text, const struct word_diff *mark)
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
    struct word_diff removed, added;
    CLEANUP(strbuf) struct strbuf a = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf b = STRBUF_INIT;
    word_diff_lines(old, strlen(old), new, strlen(new), &removed, &added);
    add_marked(&a, old, &removed);
    add_marked(&b, new, &added);
    assert_string_equal(a.buf, old_marked);
    assert_string_equal(b.buf, new_marked);
}

TEST(changed_words_are_marked)
{
    check("int count = 1;", "int amount = 1;", "int [count] = 1;", "int [amount] = 1;");
    check("- [ ] write", "- [x] write", "- [[ ]] write", "- [[x]] write");
    check("f(a, b)", "f(a, b, c)", "f(a, b)", "f(a, b[, c])");
    check("    if (!end) return false;", "    if (!end) {", "    if (!end) [return false;]", "    if (!end) [{]");
    check("same", "same", "same", "same");
    check("", "", "", "");
    check("naïve café", "naïve cafe", "naïve [café]", "naïve [cafe]");
    check("a + b + c", "a + x + c", "a + [b] + c", "a + [x] + c");
}

TEST(blanks_are_seen)
{
    check("  return x;", "\treturn x;", "[  ]return x;", "[\t]return x;");
    check("return x;", "return x;  ", "return x;", "return x;[  ]");
}

TEST(unlike_lines_have_no_marks)
{
    struct word_diff removed, added;
    assert_false(word_diff_lines("alpha beta", 10, "gamma delta", 11, &removed, &added));
    assert_int_equal(removed.count, 0);
    assert_int_equal(added.count, 0);
    check("", "new text", "", "new text");
}

/* Lines too long for words are compared by their ends, in whole characters; huge ones not at all. */
TEST(long_lines)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    struct word_diff removed, added;
    for (int i = 0; i < 1000; i++) {
        strbuf_addstr(&old, "w ");
        strbuf_addstr(&new, "w ");
    }
    strbuf_addstr(&old, "\xC3\xA9 end");
    strbuf_addstr(&new, "\xC3\xA8 end");
    assert_true(word_diff_lines(old.buf, old.len, new.buf, new.len, &removed, &added));
    assert_int_equal(removed.count, 1);
    assert_int_equal(removed.spans[0].from, 2000);
    assert_int_equal(removed.spans[0].to, 2002);
    assert_int_equal(added.spans[0].from, 2000);
    strbuf_grow(&old, 1 << 20);
    memset(old.buf, 'x', 1 << 20);
    strbuf_set_len(&old, 1 << 20);
    assert_false(word_diff_lines(old.buf, old.len, new.buf, new.len, &removed, &added));
}

/* For any number of differences, the spans stay within their array and cover the last one. */
TEST(many_spans)
{
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    struct word_diff removed, added;
    for (int i = 0; i < 45; i++) {
        strbuf_addf(&old, "a%d,same,", i);
        strbuf_addf(&new, "b%d,same,", i);
    }
    word_diff_lines(old.buf, old.len, new.buf, new.len, &removed, &added);
    assert_true(removed.count <= WORD_DIFF_SPANS);
}

static struct diff_line line(const char *text)
{
    return (struct diff_line){.text = text, .len = strlen(text)};
}

TEST(similar_lines_are_paired)
{
    int partner[WORD_DIFF_RUN];
    struct diff_line removed[] = {line("int alpha = 1;"), line("int beta = 2;")};
    struct diff_line added[] = {line("/* new */"), line("int alpha = 3;"), line("int beta = 4;")};
    word_diff_pair(removed, 2, added, 3, partner);
    assert_int_equal(partner[0], 1);
    assert_int_equal(partner[1], 2);
    struct diff_line other[] = {line("zzz"), line("yyy")};
    word_diff_pair(removed, 2, other, 2, partner);
    assert_int_equal(partner[0], -1);
    assert_int_equal(partner[1], -1);
    word_diff_pair(removed, 0, added, 3, partner);
    assert_int_equal(partner[0], -1);
}

TEST(long_runs)
{
    int partner[WORD_DIFF_RUN];
    static struct diff_line many[WORD_DIFF_RUN + 1];
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = line("int x = 1;");
    word_diff_pair(many, 100, many, 100, partner);
    assert_int_equal(partner[99], 99);
    word_diff_pair(many, 100, many, 99, partner);
    assert_int_equal(partner[50], -1);
    word_diff_pair(many, COUNT_OF(many), many, COUNT_OF(many), partner);
    assert_int_equal(partner[0], -1);
}
