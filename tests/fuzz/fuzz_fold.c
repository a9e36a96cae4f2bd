/* Fuzzes the fold with any lines as a session. It accepts them all and folds twice to the same state. */

#include "base/mem.h"
#include "support/session_dump.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fold(struct strbuf *out, const char *at, const char *end)
{
    CLEANUP(session) struct session session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    session_init(&session);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline ? newline : end) - at);
        struct event event;
        if (event_decode(&event, &arena, at, len, NULL) == 0) {
            if (event.seq < 0)
                event.seq = session.last_seq + 1;
            session_apply(&session, &event);
        }
        arena_reset(&arena);
        at += len + 1;
    }
    session_dump(out, &session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    const char *text = (const char *)data;
    fold(&first, text, text + size);
    fold(&second, text, text + size);
    if (first.len != second.len || memcmp(first.buf, second.buf, first.len) != 0)
        BUG("two folds of the same lines differ");
    return 0;
}
