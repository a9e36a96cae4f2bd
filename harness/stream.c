/* Turns printed bytes into log events, masked and cut into lines. */

#include "stream.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "events.h"

void stream_init(struct stream *stream, const char *level)
{
    *stream = (struct stream){.level = level, .held = STRBUF_INIT, .line = STRBUF_INIT};
}

void stream_release(struct stream *stream)
{
    strbuf_release(&stream->held);
    strbuf_release(&stream->line);
}

/* Returns how many bytes at the end begin a character whose rest may still come. */
static size_t unfinished(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        const unsigned char c = (unsigned char)text[len - back];
        const size_t wants = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
        if ((c & 0xc0) != 0x80)
            return wants > back && c < 0xf5 ? back : 0;
    }
    return 0;
}

/* Sends the first `len` bytes of the line. */
static void send_front(struct stream *stream, struct event_sink *sink, size_t len)
{
    struct strbuf *line = &stream->line;
    event_printed(sink, stream->level, line->buf, len);
    memmove(line->buf, line->buf + len, line->len - len);
    strbuf_set_len(line, line->len - len);
}

static void add_masked(struct stream *stream, struct event_sink *sink, const char *text, size_t len)
{
    struct strbuf *line = &stream->line;
    while (len) {
        const char *newline = memchr(text, '\n', len);
        size_t part = newline ? (size_t)(newline - text) : len;
        if (line->len + part > STREAM_PIECE)
            part = STREAM_PIECE > line->len ? STREAM_PIECE - line->len : 0;
        strbuf_add(line, text, part);
        text += part;
        len -= part;
        if (len && *text == '\n') {
            send_front(stream, sink, line->len);
            text++;
            len--;
        } else if (len) { /* full; an unfinished character has at most three bytes, so this always sends some */
            send_front(stream, sink, line->len - unfinished(line->buf, line->len));
        }
    }
}

void stream_add(struct stream *stream, struct event_sink *sink, const char *bytes, size_t len)
{
    CLEANUP(strbuf) struct strbuf masked = STRBUF_INIT;
    if (!sink->mask.count) {
        add_masked(stream, sink, bytes, len);
        return;
    }
    strbuf_add(&stream->held, bytes, len);
    size_t taken = mask_part(&masked, &sink->mask, stream->held.buf, stream->held.len);
    memmove(stream->held.buf, stream->held.buf + taken, stream->held.len - taken);
    strbuf_set_len(&stream->held, stream->held.len - taken);
    add_masked(stream, sink, masked.buf, masked.len);
}

void stream_flush(struct stream *stream, struct event_sink *sink)
{
    size_t whole = stream->line.len - unfinished(stream->line.buf, stream->line.len);
    if (whole)
        send_front(stream, sink, whole);
}

void stream_finish(struct stream *stream, struct event_sink *sink)
{
    CLEANUP(strbuf) struct strbuf rest = STRBUF_INIT;
    mask_text(&rest, &sink->mask, stream->held.buf, stream->held.len);
    strbuf_reset(&stream->held);
    add_masked(stream, sink, rest.buf, rest.len);
    if (stream->line.len)
        send_front(stream, sink, stream->line.len);
}
