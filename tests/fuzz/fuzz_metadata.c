/* Fuzzes metadata.json: an accepted file is written so that it is accepted again, and the second output equals the
 * first. */

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "workspace/metadata.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(metadata) struct metadata md, back;
    CLEANUP(strbuf) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    CLEANUP(free) char *name = xmemdup0(data, size);
    struct err err = ERR_INIT;
    (void)metadata_is_temp(name);
    back = (struct metadata){0};
    if (metadata_parse(&md, (const char *)data, size, &err) < 0) {
        if (err.code != METADATA_CORRUPT || !err.text[0])
            BUG("refused without a reason");
        return 0;
    }
    metadata_write(&md, &once);
    if (metadata_parse(&back, once.buf, once.len, &err) < 0)
        BUG("%s: %s", err.text, once.buf);
    metadata_write(&back, &twice);
    if (once.len != twice.len || memcmp(once.buf, twice.buf, once.len) != 0)
        BUG("%s became %s", once.buf, twice.buf);
    return 0;
}
