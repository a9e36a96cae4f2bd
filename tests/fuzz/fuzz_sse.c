/* Fuzzes event streams (SSE): any bytes give the same events in any pieces. */

#include "base/mem.h"
#include "model/sse.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool on_event(void *user, const char *data, size_t len)
{
    struct strbuf *seen = user;
    strbuf_add(seen, data, len);
    strbuf_addch(seen, '\0');
    return true;
}

static void run(const char *bytes, size_t len, size_t piece, struct strbuf *seen)
{
    struct sse sse;
    sse_init(&sse, on_event, seen);
    for (size_t at = 0; at < len; at += piece) {
        size_t now = piece < len - at ? piece : len - at;
        CLEANUP(free) char *copy = xmemdup0(bytes + at, now);
        if (sse_feed(&sse, copy, now, NULL))
            break;
    }
    sse_release(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    if (!size)
        return 0;
    run((const char *)data, size, size, &whole);
    for (size_t piece = 1; piece < 4; piece++) {
        CLEANUP(strbuf) struct strbuf pieces = STRBUF_INIT;
        run((const char *)data, size, piece, &pieces);
        if (pieces.len != whole.len || memcmp(pieces.buf, whole.buf, whole.len) != 0)
            BUG("other pieces, other events");
    }
    return 0;
}
