#pragma once
/* Turns printed bytes into `log` events. It masks secrets first, across the boundaries between reads. Then it cuts the
 * text at newlines, or after STREAM_PIECE bytes between two characters. */

#include "base/strbuf.h"
#include <stddef.h>

struct event_sink;

#define STREAM_PIECE ((size_t)8192)

struct stream {
    const char *level;
    struct strbuf held; /* may be the beginning of a secret */
    struct strbuf line; /* masked, without a newline yet */
};

void stream_init(struct stream *stream, const char *level);
void stream_release(struct stream *stream);
void stream_add(struct stream *stream, struct event_sink *sink, const char *bytes, size_t len);
/* Sends an unfinished line, because another event follows it. */
void stream_flush(struct stream *stream, struct event_sink *sink);
/* Sends an unfinished line at the end of the stream. */
void stream_finish(struct stream *stream, struct event_sink *sink);
