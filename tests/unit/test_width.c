/* Column widths of all characters, as a table in golden/width.txt: a new table of characters must show every change.
 *
 * The table has the ranges that are not one column wide. UPDATE_GOLDEN=1 writes it. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/event_lines.h"
#include "support/test.h"

static void list_widths(struct strbuf *out)
{
    uint32_t first = 0;
    for (uint32_t cp = 1; cp <= 0x110000; cp++) {
        if (cp < 0x110000 && utf8_width(cp) == utf8_width(first))
            continue;
        if (utf8_width(first) != 1)
            strbuf_addf(out, "%04X %04X %d\n", first, cp - 1, utf8_width(first));
        first = cp;
    }
}

TEST(widths_are_those_of_the_golden_table)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    list_widths(&got);
    event_lines_golden(SOURCE_DIR "/tests/unit/golden/width.txt", &got);
}
