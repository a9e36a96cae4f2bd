#pragma once
/* Printed bytes on their way to `log` events: secrets are masked first, across the seams between reads; then the text
 * is cut at newlines, or after STREAM_PIECE bytes between two characters. */

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
/* Sends a line that is not finished, because something else was said after it. */
void stream_flush(struct stream *stream, struct event_sink *sink);
/* The same, and nothing more will come. */
void stream_finish(struct stream *stream, struct event_sink *sink);
