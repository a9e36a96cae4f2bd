/* Tests of the rate limit on program output for the user. */

#include "base/mem.h"
#include "event/rate_limit.h"
#include "support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct fake_clock fake;
static struct loop *loop;
static struct rate_limit limit;
static struct strbuf told; /* pieces, with a | after each */
static size_t pieces;

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    (void)emitter;
    assert_int_equal(count, 1);
    assert_string_equal(events[0].program_output.program, "p1");
    strbuf_addf(&told, "%s|", events[0].program_output.text);
    pieces++;
    return 0;
}

static int begin(void **state)
{
    (void)state;
    fake_clock_init(&fake);
    loop = loop_new(&fake.base);
    strbuf_init(&told);
    pieces = 0;
    static struct emitter emitter = {.emit = record};
    rate_limit_init(&limit, loop, 100, &emitter,
                    &(struct event){.type = EVENT_PROGRAM_OUTPUT, .program_output = {.program = "p1"}});
    return 0;
}

static int end(void **state)
{
    (void)state;
    rate_limit_release(&limit);
    rate_limit_release(&limit);
    strbuf_release(&told);
    loop_free(loop);
    return 0;
}

static void add(const char *text)
{
    rate_limit_add(&limit, text, strlen(text));
}

TEST_WITH(pieces_are_gathered, begin, end)
{
    add("a");
    add("b\n");
    assert_int_equal(pieces, 0);
    loop_run(loop);
    add("c");
    loop_run(loop);
    assert_string_equal(told.buf, "ab\n|c|");
}

TEST_WITH(characters_are_whole, begin, end)
{
    add("x\xC3");
    loop_run(loop);
    add("\xA9\xF0\x9F");
    rate_limit_flush(&limit, false);
    add("\x98\x80\xE2\x82");
    rate_limit_flush(&limit, true);
    assert_string_equal(told.buf, "x|\xC3\xA9|\xF0\x9F\x98\x80\xEF\xBF\xBD|");
}

TEST_WITH(invalid_bytes, begin, end)
{
    rate_limit_add(&limit, "a\0b\xFF", 4);
    rate_limit_flush(&limit, true);
    assert_string_equal(told.buf, "a\xEF\xBF\xBD"
                                  "b\xEF\xBF\xBD|");
}

/* ---- a flood ---- */

static const char *last_piece(void)
{
    told.buf[told.len - 1] = '\0';
    const char *bar = strrchr(told.buf, '|');
    told.buf[told.len - 1] = '|';
    return bar ? bar + 1 : told.buf;
}

/* So many lines "line N". */
static void flood(size_t lines)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < lines; i++)
        strbuf_addf(&text, "line %zu\n", i);
    rate_limit_add(&limit, text.buf, text.len);
}

TEST_WITH(flood_keeps_the_newest_text, begin, end)
{
    flood(10000);
    assert_int_equal(pieces, 1); /* at once: more output was not expected yet */
    flood(10000);
    flood(10000);
    add("continue? ");
    assert_int_equal(pieces, 1);
    loop_run(loop);
    assert_int_equal(pieces, 2);
    const char *newest = last_piece();
    assert_string_equal(newest + strlen(newest) - strlen("\nline 9999\ncontinue? |"), "\nline 9999\ncontinue? |");
    uint64_t left_out = 0;
    assert_int_equal(sscanf(newest, RATE_LIMIT_LEFT_OUT "line", &left_out), 1);
    const char *lines = strstr(newest, "line");
    assert_int_equal(left_out + strlen(lines) - 1, 2 * 98890 + strlen("continue? "));
    assert_true(strlen(lines) <= RATE_LIMIT_NEWEST + 1);
}

TEST_WITH(a_flood_is_bounded_by_time, begin, end)
{
    flood(10000);
    size_t before = told.len;
    int64_t began = loop_now_us(loop);
    for (int i = 0; i < 100; i++) {
        flood(10000);
        loop_run(loop); /* until it is reported */
    }
    assert_int_equal(pieces, 101);
    int64_t seconds = (loop_now_us(loop) - began) / 1000000;
    assert_true((int64_t)(told.len - before) <= (seconds + 2) * RATE_LIMIT_RATE);
}

/* After a flood, an answer to the user's input appears as quickly as always. */
TEST_WITH(small_output_after_a_flood_is_quick, begin, end)
{
    flood(10000);
    flood(10000);
    loop_run(loop);
    fake_clock_advance(&fake, 2000000);
    int64_t now = loop_now_us(loop);
    add("$ ");
    loop_run(loop);
    assert_string_equal(last_piece(), "$ |");
    assert_int_equal(loop_now_us(loop) - now, RATE_LIMIT_EVERY_US);
}

/* A line without an end. */
TEST_WITH(a_flood_without_lines, begin, end)
{
    CLEANUP(free) char *line = xmalloc(3 * RATE_LIMIT_PIECE);
    memset(line, 'x', 3 * RATE_LIMIT_PIECE);
    rate_limit_add(&limit, line, 3 * RATE_LIMIT_PIECE);
    rate_limit_add(&limit, line, 3 * RATE_LIMIT_PIECE);
    add("\xE2\x82\xAC");
    rate_limit_flush(&limit, true);
    assert_int_equal(pieces, 2);
    assert_non_null(strstr(last_piece(), "recorded]\nxxx"));
    assert_non_null(strstr(last_piece(), "x\xE2\x82\xAC|"));
}

/* Bytes that begin no character: none can be shown as the newest, but the loss is still reported. */
TEST_WITH(a_flood_of_invalid_bytes_is_only_noted, begin, end)
{
    CLEANUP(free) char *bytes = xmalloc(RATE_LIMIT_PIECE);
    memset(bytes, 0x80, RATE_LIMIT_PIECE);
    flood(10000);
    rate_limit_add(&limit, bytes, RATE_LIMIT_PIECE);
    loop_run(loop);
    assert_int_equal(pieces, 2);
    CLEANUP(free) char *note = xasprintf(RATE_LIMIT_LEFT_OUT "|", (uint64_t)RATE_LIMIT_PIECE);
    assert_string_equal(last_piece(), note);
    rate_limit_flush(&limit, true);
    assert_int_equal(pieces, 2);
}

TEST_WITH(nothing_is_reported_after_the_release, begin, end)
{
    add("late");
    rate_limit_release(&limit);
    loop_run(loop);
    assert_int_equal(pieces, 0);
}
