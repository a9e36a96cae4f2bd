/* Tests of the event stream reader: the same events however the bytes are cut. */

#include "base/mem.h"
#include "model/sse.h"
#include "support/test.h"
#include <stdint.h>

static struct strbuf seen = STRBUF_INIT;
static int wanted;

static bool on_event(void *user, const char *data, size_t len)
{
    (void)user;
    strbuf_addch(&seen, '[');
    strbuf_add(&seen, data, len);
    strbuf_addch(&seen, ']');
    return --wanted != 0;
}

static int feed(const char *text, size_t len, size_t piece, struct err *err)
{
    struct sse sse;
    int result = 0;
    strbuf_reset(&seen);
    sse_init(&sse, on_event, NULL);
    for (size_t at = 0; at < len && !result; at += piece) {
        size_t now = piece < len - at ? piece : len - at;
        CLEANUP(free) char *copy = xmemdup0(text + at, now); /* gone afterwards: nothing may point into it */
        result = sse_feed(&sse, copy, now, err);
    }
    sse_release(&sse);
    return result;
}

static void gives(const char *text, const char *events)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        wanted = 0;
        assert_int_equal(feed(text, strlen(text), piece, NULL), 0);
        assert_string_equal(seen.buf, events);
    }
}

TEST(data_of_events_comes_in_order)
{
    gives("data: a\n\ndata: b\n\n", "[a][b]");
    gives("event: x\ndata: a\nid: 7\nretry: 1\nwhatever: z\n\n", "[a]");
    gives("data:a\n\ndata:  b\n\ndata\n\ndata:\n\n", "[a][ b][][]");
    gives("data: one\ndata: two\ndata\n\n", "[one\ntwo\n]");
}

TEST(lines_end_in_every_way)
{
    gives("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "[a][b][c]");
    gives("data: a\r\ndata: b\r\n\n", "[a\nb]");
}

TEST(other_fields_are_ignored)
{
    gives(": comment\n\n\n\n: another\nevent: ping\n\ndatax: no\n\nDATA: no\n\n data: no\n\n", "");
    gives("\xef\xbb\xbf"
          "data: behind a mark\n\n",
          "[behind a mark]");
}

TEST(event_that_is_cut_off_is_never_seen)
{
    gives("data: whole\n\ndata: half\n", "[whole]");
    gives("data: whole\n\ndata: ha", "[whole]");
}

TEST(callback_can_stop_the_stream)
{
    wanted = 1;
    assert_int_equal(feed("data: a\n\ndata: b\n\n", 18, 18, NULL), 0);
    assert_string_equal(seen.buf, "[a]");
}

TEST(line_and_event_without_an_end_are_refused)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    strbuf_addstr(&text, "data: ");
    while (text.len <= SSE_EVENT_MAX + 10)
        strbuf_addstr(&text, "0123456789012345678901234567890123456789012345678901234567890123456789");
    assert_int_equal(feed(text.buf, text.len, 1u << 20, &err), -1);
    assert_non_null(strstr(err.text, "longer than 4 MB"));
    strbuf_reset(&text);
    while (text.len <= SSE_EVENT_MAX + SSE_EVENT_MAX / 4)
        strbuf_addstr(&text, "data: 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    assert_int_equal(feed(text.buf, text.len, 1u << 20, &err), -1);
    assert_non_null(strstr(err.text, "an event"));
}

static int release(void **state)
{
    (void)state;
    strbuf_release(&seen);
    return 0;
}

TEST_GROUP(NULL, release)
