/* Tests of reading a stream of records in pieces. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "events.h"
#include "stream.h"
#include "support/test.h"
#include <string.h>

struct rig {
    struct event_sink sink;
    struct stream stream;
};

static void rig_init(struct rig *rig)
{
    event_sink_init(&rig->sink);
    rig->sink.id = "e";
    stream_init(&rig->stream, "stdout");
}

static void rig_release(struct rig *rig)
{
    stream_release(&rig->stream);
    event_sink_release(&rig->sink);
}

static void say(struct rig *rig, const char *text)
{
    stream_add(&rig->stream, &rig->sink, text, strlen(text));
}

/* The messages so far, with a bar after each; and forgets them. */
static void heard(struct rig *rig, const char *expected)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    for (const char *line = rig->sink.out.buf, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct err err = ERR_INIT;
        const struct json *event = json_parse(&arena, line, (size_t)(end - line), &err);
        assert_non_null(event);
        assert_string_equal(json_str(json_get(event, "level"), ""), "stdout");
        strbuf_addf(&told, "%s|", json_str(json_get(event, "message"), ""));
    }
    assert_string_equal(told.buf, expected);
    strbuf_reset(&rig->sink.out);
}

TEST(lines_become_events)
{
    struct rig rig;
    rig_init(&rig);
    say(&rig, "one\ntwo\n\nthr");
    heard(&rig, "one|two||");
    say(&rig, "ee\n");
    heard(&rig, "three|");
    say(&rig, "no end");
    stream_flush(&rig.stream, &rig.sink);
    heard(&rig, "no end|");
    stream_flush(&rig.stream, &rig.sink);
    say(&rig, "last");
    stream_finish(&rig.stream, &rig.sink);
    heard(&rig, "last|");
    stream_finish(&rig.stream, &rig.sink);
    heard(&rig, "");
    rig_release(&rig);
}

TEST(characters_stay_whole)
{
    struct rig rig;
    rig_init(&rig);
    say(&rig, "\xe2\x82");
    stream_flush(&rig.stream, &rig.sink);
    heard(&rig, "");
    say(&rig, "\xac\xf0\x9f");
    stream_flush(&rig.stream, &rig.sink);
    heard(&rig, "\xe2\x82\xac|");
    say(&rig, "x\n");
    heard(&rig, "\xef\xbf\xbdx|"); /* it was none */
    say(&rig, "\xff\x80\xc3");
    stream_finish(&rig.stream, &rig.sink);
    heard(&rig, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
    rig_release(&rig);
}

TEST(long_lines_come_in_pieces)
{
    struct rig rig;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t events = 0;
    rig_init(&rig);
    for (int i = 0; i < 10000; i++)
        strbuf_addstr(&text, "\xe2\x82\xac");
    say(&rig, text.buf);
    stream_finish(&rig.stream, &rig.sink);
    assert_null(strstr(rig.sink.out.buf, "\xef\xbf\xbd"));
    for (const char *at = rig.sink.out.buf; (at = strchr(at, '\n')); at++)
        events++;
    assert_int_equal(events, 4);
    rig_release(&rig);
}

TEST(secrets_are_masked_across_lines_and_pieces)
{
    struct rig rig;
    rig_init(&rig);
    mask_add(&rig.sink.mask, "KEY", "one\ntwo!");
    say(&rig, "see one\n");
    heard(&rig, "");
    say(&rig, "two!\none\nthree\n");
    heard(&rig, "see [secret KEY]|one|three|");
    say(&rig, "on");
    stream_flush(&rig.stream, &rig.sink); /* it may still become one */
    heard(&rig, "");
    stream_finish(&rig.stream, &rig.sink);
    heard(&rig, "on|");
    rig_release(&rig);
}
