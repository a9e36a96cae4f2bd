#pragma once
/* Reads an event stream (text/event-stream) from bytes that come in any pieces.
 *
 * It passes on only the data of events. Providers repeat an event's name in its data and do not use comments, ids,
 * retry times or unknown fields. An event is passed on at the empty line after it, so a cut-off event is never seen.
 * Data that is complete in the fed bytes is not copied; it is valid until the callback returns. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

#define SSE_EVENT_MAX (4u << 20) /* bytes of one event: no model sends more, and the loop would take too long */

struct sse {
    struct strbuf line; /* the beginning of an unfinished line */
    struct strbuf data; /* of an unfinished event, its lines joined by
                         *  */
    const char *whole;  /* its only line of data so far, in the fed bytes; NULL: in `data`, or none */
    size_t whole_len;
    bool has_data;
    bool skip_lf; /* the last byte was \r: skip a
                   *
                   * right after it */
    bool begun;   /* the first bytes were checked for a byte order mark */
    /* Returns false to ignore the rest of the fed bytes. */
    bool (*event)(void *user, const char *data, size_t len);
    void *user;
};

void sse_init(struct sse *sse, bool (*event)(void *user, const char *data, size_t len), void *user);
void sse_release(struct sse *sse);
/* Returns -1 if the stream cannot be read any further. */
int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err) CHECKED;
