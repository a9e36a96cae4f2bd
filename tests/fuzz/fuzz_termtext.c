/* What a program may print, in pieces of whole characters: the first byte says how long they are. Whatever it is, the
 * lines are those of one piece, bounds hold, runs cover each line, and what is painted stays in its place. */

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "termtext.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_pieces(struct termtext *text, const char *bytes, size_t len, size_t characters)
{
    while (len) {
        size_t piece = utf8_prefix(bytes, len, characters);
        termtext_print(text, bytes, piece);
        bytes += piece;
        len -= piece;
    }
}

static void check_line(const struct termtext_line *line)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < line->run_count; i++) {
        if (line->runs[i].at != at || !line->runs[i].len)
            BUG("a run begins at %u and not at %u", line->runs[i].at, at);
        at += line->runs[i].len;
    }
    if (at != line->len || !utf8_valid(line->text, line->len))
        BUG("the runs of a line are not all of it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct termtext whole, pieces;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    utf8_scrub(&bytes, (const char *)data + 1, size - 1);
    termtext_init(&whole);
    termtext_init(&pieces);
    termtext_print(&whole, bytes.buf, bytes.len);
    print_pieces(&pieces, bytes.buf, bytes.len, data[0] % 16u + 1);
    size_t count = termtext_count(&whole);
    if (count != termtext_count(&pieces) || count > TERMTEXT_LINES_MAX + 1)
        BUG("%zu lines whole, %zu in pieces", count, termtext_count(&pieces));
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 3, 20);
    for (size_t i = 0; i < count; i++) {
        const struct termtext_line *line = termtext_line(&whole, i), *other = termtext_line(&pieces, i);
        check_line(line);
        if (line->len != other->len || memcmp(line->text, other->text, line->len) != 0)
            BUG("line %zu is another one in pieces", i);
        termtext_paint(&whole, &canvas, rect_make(1, 2, 1, 9), 0, (int)(data[0] % 8u), i);
    }
    for (int col = 0; col < 20; col++)
        if ((col < 2 || col > 10) && strcmp(canvas.cells[20 + col].text, " ") != 0)
            BUG("something was painted beside its place");
    size_t at = SIZE_MAX;
    termtext_search(&whole, "a", false, &at);
    canvas_release(&canvas);
    termtext_release(&whole);
    termtext_release(&pieces);
    return 0;
}
