/* Fuzzes hostile text on its way to a terminal. The output is valid UTF-8 without any control except the requested
 * ones, has the predicted width, and does not change when it is sanitized again. */

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t len, unsigned keep)
{
    CLEANUP(strbuf) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    size_t width = 0;
    utf8_sanitize(&once, text, len, keep);
    if (!utf8_valid(once.buf, once.len))
        BUG("it is no UTF-8");
    for (size_t at = 0; at < once.len;) {
        size_t used;
        uint32_t cp = utf8_decode(once.buf + at, once.len - at, &used);
        bool kept = (cp == '\n' && keep & UTF8_KEEP_NEWLINE) || (cp == '\t' && keep & UTF8_KEEP_TAB);
        if (!kept && (cp < 0x20 || cp == 0x7F || (cp >= 0x80 && cp < 0xA0)))
            BUG("U+%04X got through", (unsigned)cp);
        if ((cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0x200B || cp == 0xFEFF)
            BUG("U+%04X got through", (unsigned)cp);
        width += (size_t)utf8_width(cp);
        at += used;
    }
    if (keep == UTF8_KEEP_NOTHING && (width != utf8_columns(text, len) || width != utf8_columns(once.buf, once.len)))
        BUG("%zu columns, %zu foretold, %zu after", width, utf8_columns(text, len), utf8_columns(once.buf, once.len));
    utf8_sanitize(&twice, once.buf, once.len, keep);
    if (twice.len != once.len || memcmp(twice.buf, once.buf, once.len) != 0)
        BUG("the second time it is another");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned keep = 0; keep < 4; keep++)
        check((const char *)data, size, keep);
    return 0;
}
