/* Fuzzes diffs: two texts with a byte 0x1e between them. All hunks give the new text, none the old one, and the lines
 * of the hunks add up. The first byte selects hunks for a third try, which must at least apply. */

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/diff.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply(struct strbuf *out, const struct diff *diff, const char *old, size_t len, unsigned choice)
{
    bool *keep = xcalloc(diff->hunk_count, sizeof(*keep));
    for (size_t i = 0; i < diff->hunk_count; i++)
        keep[i] = choice >> (i % 8) & 1;
    strbuf_reset(out);
    diff_apply(out, diff, old, len, keep);
    free(keep);
}

static void expect(const struct strbuf *out, const char *text, size_t len)
{
    if (out->len != len || (len && memcmp(out->buf, text, len) != 0))
        BUG("%zu bytes instead of %zu", out->len, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size > 1 ? memchr(data + 1, 0x1e, size - 1) : NULL;
    if (!mark)
        return 0;
    const char *old = (const char *)data + 1, *new = (const char *)mark + 1;
    size_t old_len = (size_t)(mark - data) - 1, new_len = size - (size_t)(mark + 1 - data);
    struct err err = ERR_INIT;
    struct diff *diff = diff_new("f", old, old_len, new, new_len, &err);
    if (!diff)
        BUG("%s", err.text);
    if (!diff->binary) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        apply(&out, diff, old, old_len, 0xff);
        expect(&out, new, new_len);
        apply(&out, diff, old, old_len, 0);
        expect(&out, old, old_len);
        apply(&out, diff, old, old_len, data[0]);
        size_t lines = 0, added = 0, removed = 0;
        for (size_t i = 0; i < diff->hunk_count; i++) {
            const struct diff_hunk *hunk = &diff->hunks[i];
            size_t context = hunk->line_count - hunk->added - hunk->removed;
            if (context + hunk->removed != (size_t)hunk->old_count || context + hunk->added != (size_t)hunk->new_count)
                BUG("hunk %zu does not add up", i);
            lines += hunk->line_count;
            added += hunk->added;
            removed += hunk->removed;
        }
        if (lines != diff->line_count || added != diff->added || removed != diff->removed)
            BUG("the sums are wrong");
        diff_write(&out, diff, "f", true, true);
    }
    diff_free(diff);
    return 0;
}
