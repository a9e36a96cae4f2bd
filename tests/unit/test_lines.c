/* Tests of splitting bytes into lines: any pieces give the same lines, and a too long line costs nothing. */

#include "base/lines.h"
#include "base/mem.h"
#include "support/test.h"
#include <stdint.h>

struct got {
    struct strbuf text; /* the lines, each with | behind it */
    size_t stop_after;  /* lines; 0: never */
    size_t count;
};

static bool on_line(void *user, const char *text, size_t len)
{
    struct got *got = user;
    strbuf_add(&got->text, text, len);
    strbuf_addch(&got->text, '|');
    return ++got->count != got->stop_after;
}

static size_t feed(struct lines *lines, struct got *got, const char *text)
{
    /* Memory of exactly that size, so that ASan sees a byte read too many. */
    size_t len = strlen(text);
    CLEANUP(free) char *exact = xmalloc(len ? len : 1);
    memcpy(exact, text, len);
    return lines_feed(lines, exact, len, on_line, got);
}

static void check(struct lines *lines, struct got *got, const char *text, const char *expected)
{
    strbuf_reset(&got->text);
    assert_int_equal(feed(lines, got, text), strlen(text));
    assert_string_equal(got->text.buf, expected);
}

TEST(lines_come_together_from_pieces)
{
    struct lines lines = LINES_INIT(0);
    struct got got = {.text = STRBUF_INIT};
    check(&lines, &got, "", "");
    check(&lines, &got, "one\ntwo\n", "one|two|");
    check(&lines, &got, "th", "");
    check(&lines, &got, "re", "");
    check(&lines, &got, "e\n\nfour", "three||");
    check(&lines, &got, "\n", "four|");
    check(&lines, &got, "\n\n", "||");
    check(&lines, &got, "rest", "");
    lines_release(&lines);
    strbuf_release(&got.text);
}

TEST(any_pieces_give_the_same_lines)
{
    const char *text = "a\n\nbcd\nefghijkl\nmn\nopqrstuvwxyz\n0\n12345\n";
    const char *expected = "a||bcd|mn|0|12345|"; /* what has at most five bytes */
    for (size_t step = 1; step <= strlen(text); step++) {
        struct lines lines = LINES_INIT(5);
        struct got got = {.text = STRBUF_INIT};
        for (size_t at = 0; at < strlen(text); at += step) {
            CLEANUP(free) char *piece = xasprintf("%.*s", (int)step, text + at);
            assert_int_equal(feed(&lines, &got, piece), strlen(piece));
            assert_true(lines.part.len <= 5);
        }
        assert_string_equal(got.text.buf, expected);
        lines_release(&lines);
        strbuf_release(&got.text);
    }
}

TEST(a_line_without_end_costs_no_memory)
{
    struct lines lines = LINES_INIT(1000);
    struct got got = {.text = STRBUF_INIT};
    CLEANUP(free) char *chunk = xmalloc(1 << 16);
    memset(chunk, 'x', 1 << 16);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(lines_feed(&lines, chunk, 1 << 16, on_line, &got), 1 << 16);
        assert_true(lines.part.room <= 2000);
    }
    check(&lines, &got, "x\nnext\n", "next|");
    lines_release(&lines);
    strbuf_release(&got.text);
}

TEST(stops_on_request)
{
    struct lines lines = LINES_INIT(0);
    struct got got = {.text = STRBUF_INIT, .stop_after = 2};
    assert_int_equal(feed(&lines, &got, "on"), 2);
    assert_int_equal(feed(&lines, &got, "e\ntwo\nthree\n"), 6);
    assert_string_equal(got.text.buf, "one|two|");
    assert_int_equal(lines.part.len, 0);
    got.stop_after = 3;
    assert_int_equal(feed(&lines, &got, "three\nfo"), 6);
    assert_string_equal(got.text.buf, "one|two|three|");
    lines_release(&lines);
    strbuf_release(&got.text);
}
