/* Fuzzes the redactor with any text and a secret: the first line is the value, the rest is the text. The output does
 * not contain the value, JSON stays JSON, and a stream in pieces gives the same output as the whole. */

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t len, const char *value)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    bool found = redact_text(&out, text, len);
    if (found != (out.len > 0))
        BUG("found %d, wrote %zu", found, out.len);
    if (!found && memmem(text, len, value, strlen(value)))
        BUG("the value was not found");
}

static void check_json(const char *text, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    bool was = json_parse(&arena, text, len, NULL) != NULL;
    if (redact_json(&out, text, len) && was && !json_parse(&arena, out.buf, out.len, NULL))
        BUG("it was JSON and is none: %s", out.buf);
}

static void check_stream(const char *text, size_t len, size_t piece)
{
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT, rest = STRBUF_INIT, out = STRBUF_INIT;
    for (size_t at = 0; at < len; at += piece) {
        strbuf_add(&rest, text + at, len - at < piece ? len - at : piece);
        size_t took = redact_part(&out, rest.buf, rest.len);
        memmove(rest.buf, rest.buf + took, rest.len - took);
        strbuf_set_len(&rest, rest.len - took);
    }
    if (!redact_text(&out, rest.buf, rest.len))
        strbuf_add(&out, rest.buf, rest.len);
    if (!redact_text(&whole, text, len))
        strbuf_add(&whole, text, len);
    if (out.len != whole.len || memcmp(out.buf, whole.buf, out.len) != 0)
        BUG("in pieces of %zu it is %s, whole %s", piece, out.buf, whole.buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
    if (!end)
        return 0;
    CLEANUP(free) char *value = xmemdup0(text, (size_t)(end - text));
    size_t len = size - (size_t)(end + 1 - text);
    redact_forget();
    if (redact_add("FUZZ", value)) {
        check_text(end + 1, len, value);
        check_json(end + 1, len);
        for (size_t piece = 1; piece < 8; piece += 3)
            check_stream(end + 1, len, piece);
    }
    redact_forget();
    return 0;
}
