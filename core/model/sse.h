#pragma once
/* An event stream (text/event-stream) out of bytes that come in any pieces.
 *
 * Only the data of events is given on: the providers repeat an event's name in its data, and everything else (comments,
 * ids, retry times, unknown fields) means nothing to them. An event is given when the empty line behind it came, so one
 * that was cut off is never seen. Data that stands whole in the bytes that were fed is given where it stands, not
 * copied; it is good until the callback returns. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

#define SSE_EVENT_MAX (4u << 20) /* bytes of one event: more is no answer of a model, and takes the loop too long */

struct sse {
    struct strbuf line; /* the beginning of a line whose end did not come yet */
    struct strbuf data; /* of an event that is not complete, its lines joined by \n */
    const char *whole;  /* its one line of data so far, in the bytes being fed; NULL: in `data`, or there is none */
    size_t whole_len;
    bool has_data;
    bool skip_lf; /* the last byte was a \r: a \n right behind it belongs to it */
    bool begun;   /* the first bytes have been looked at for a byte order mark */
    /* False: nothing more is wanted of what was fed. */
    bool (*event)(void *user, const char *data, size_t len);
    void *user;
};

void sse_init(struct sse *sse, bool (*event)(void *user, const char *data, size_t len), void *user);
void sse_release(struct sse *sse);
/* -1: the stream is none that could be read to its end. */
int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err) CHECKED;
