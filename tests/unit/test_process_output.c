/* Tests of a program's lines: numbers, the cursor, the unfinished line, and how much is kept. */

#include "base/mem.h"
#include "support/test.h"
#include "workspace/running_program.h"
#include <stdint.h>

static struct output_lines lines;

static int begin(void **state)
{
    (void)state;
    output_lines_init(&lines, 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    output_lines_release(&lines);
    return 0;
}

static void add(const char *text)
{
    output_lines_add(&lines, text, strlen(text));
}

static void expect(struct line_range window, struct strbuf *out, const char *text, size_t offset, size_t next)
{
    assert_string_equal(out->buf, text);
    assert_int_equal(window.offset, offset);
    assert_int_equal(window.next, next);
    strbuf_release(out);
}

static void polls(size_t limit, const char *text, size_t offset, size_t next)
{
    struct strbuf out = STRBUF_INIT;
    expect(output_lines_poll(&lines, limit, &out), &out, text, offset, next);
}

static void logs(size_t from, size_t limit, const char *text, size_t offset, size_t next)
{
    struct strbuf out = STRBUF_INIT;
    expect(output_lines_log(&lines, from, limit, &out), &out, text, offset, next);
}

TEST_WITH(the_cursor_reads_each_line_once, begin, end)
{
    polls(0, "", 0, 0);
    add("one\ntwo\r\nthr");
    polls(1, "one", 0, 1);
    polls(0, "two\nthr", 1, 2);
    polls(0, "thr", 2, 2);
    add("ee\n\n");
    polls(0, "three\n", 2, 4);
    logs(0, 0, "two\nthree\n", 1, 4); /* the first one is gone */
    logs(3, 0, "", 3, 4);
    logs(99, 5, "", 4, 4);
    polls(0, "", 4, 4);
}

TEST_WITH(old_lines_are_dropped, begin, end)
{
    add("1\n2\n3\n4\n5\n");
    polls(1, "3", 2, 3);
    add("6\n7\n8\n");
    polls(2, "6\n7", 5, 7);
}

TEST_WITH(the_end_completes_the_last_line, begin, end)
{
    add("1\n2\n3\nlast");
    output_lines_end(&lines, 4);
    output_lines_end(&lines, 5);
    assert_true(lines.exited);
    assert_int_equal(lines.exit_code, 4);
    polls(0, "1\n2\n3\nlast", 0, 4);
    polls(0, "", 4, 4);
}

TEST_WITH(taking_whole_lines, begin, end)
{
    struct strbuf out = STRBUF_INIT;
    add("a\nb\nrest");
    struct line_range first = output_lines_take(&lines, 1, &out);
    struct line_range second = output_lines_take(&lines, 0, &out);
    assert_int_equal(first.next, 1);
    expect(second, &out, "a\nb\n", 1, 2);
}

TEST_WITH(many_lines_in_a_bounded_room, begin, end)
{
    output_lines_release(&lines);
    output_lines_init(&lines, OUTPUT_LINES_MAX);
    for (int i = 0; i < 50000; i++) {
        CLEANUP(free) char *line = xasprintf("%d\n", i);
        add(line);
    }
    assert_int_equal(lines.count, OUTPUT_LINES_MAX);
    assert_int_equal(lines.base, 30000);
    logs(30000, 1, "30000", 30000, 30001);
    polls(2, "30000\n30001", 30000, 30002);
    /* One that never ends is broken up, and long ones push out the others. */
    CLEANUP(strbuf) struct strbuf chunk = STRBUF_INIT;
    strbuf_grow(&chunk, 1 << 16);
    memset(chunk.buf, 'x', 1 << 16);
    for (int i = 0; i < 1024; i++)
        output_lines_add(&lines, chunk.buf, 1 << 16);
    assert_true(lines.bytes <= OUTPUT_LINES_BYTES);
    assert_true(lines.partial.len <= OUTPUT_LINE_BYTES_MAX);
    assert_true(lines.count < 40);
}

/* Polls like a caller that waits for at most 10 s; returns when the wait ended, in ms. */
static int64_t waits(const char *later, int64_t at_ms, const char *text)
{
    struct output_wait waiter;
    int64_t now_ms = 0;
    output_wait_begin(&waiter, 0, 10000, OUTPUT_POLL_LINES);
    for (; !output_wait_look(&waiter, &lines, now_ms * 1000); now_ms += OUTPUT_POLL_MS)
        if (now_ms == at_ms)
            add(later);
    assert_string_equal(waiter.seen.output.buf, text);
    output_wait_release(&waiter);
    return now_ms;
}

TEST_WITH(an_unfinished_line_is_new_once, begin, end)
{
    add("Working... ");
    assert_in_range(waits("", 0, "Working... "), 0, 200);
    assert_in_range(waits("finished\n", 4000, "Working... finished"), 4000, 4200);
    add("more ");
    assert_in_range(waits("", 0, "more "), 0, 200);
    assert_int_equal(waits("", 0, "more "), 10000);
}
