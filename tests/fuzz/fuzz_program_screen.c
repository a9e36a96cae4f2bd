/* Fuzzes the output of a program, in pieces of whole characters; the first byte gives their size. The lines are those
 * of a single piece, bounds hold, runs cover each line, and painting stays inside its rectangle. */

#include "app/keymap.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "screen/program_screen.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_pieces(struct program_lines *text, const char *bytes, size_t len, size_t characters)
{
    while (len) {
        size_t piece = utf8_prefix(bytes, len, characters);
        program_lines_print(text, bytes, piece);
        bytes += piece;
        len -= piece;
    }
}

static void check_line(const struct program_line *line)
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

static void check_lines(struct program_lines *text)
{
    size_t count = program_lines_count(text), bytes = 0;
    for (size_t i = 0; i < count; i++) {
        check_line(program_lines_line(text, i));
        if (i < text->end - text->first)
            bytes += sizeof(struct program_line) + text->lines[text->first + i].len +
                     text->lines[text->first + i].run_count * sizeof(struct program_run);
    }
    if (count > PROGRAM_LINES_MAX + 1 || bytes != text->bytes)
        BUG("%zu lines of %zu bytes, counted as %zu", count, bytes, text->bytes);
}

/* The same on a whole screen that is resized, painted, read, typed into between pieces, and then becomes lines. */
static void check_screen(const char *bytes, size_t len, unsigned seed)
{
    struct program_screen screen;
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 8, 20);
    program_screen_init(&screen);
    if (seed & 1)
        program_screen_print(&screen, "\033[?1049h", 8);
    for (unsigned turn = seed; len; turn++) {
        size_t piece = utf8_prefix(bytes, len, turn % 40u + 1);
        program_screen_print(&screen, bytes, piece);
        bytes += piece;
        len -= piece;
        if (turn % 7 == 0)
            program_screen_resize(&screen, (int)(turn % 13), (int)(turn % 31));
        if (!screen.full)
            continue;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        program_screen_key(&screen, &(struct key){.code = KEYSYM_UP + turn % 14}, &text);
        if (text.len > 16)
            BUG("a key sends %zu bytes", text.len);
        program_screen_text(&screen, &text);
        program_screen_paint(&screen, &canvas, rect_make(1, 2, 5, 9), (int)(turn % 5), true);
    }
    for (int col = 0; col < 20; col++)
        for (int row = 0; row < 8; row++)
            if ((col < 2 || col > 10 || row < 1 || row > 5) && strcmp(canvas.cells[row * 20 + col].text, " ") != 0)
                BUG("something was painted beside its place");
    program_screen_end(&screen);
    if (screen.full)
        BUG("a program that has ended is full-screen");
    check_lines(&screen.lines);
    program_screen_release(&screen);
    canvas_release(&canvas);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct program_lines whole, pieces;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    utf8_scrub(&bytes, (const char *)data + 1, size - 1);
    program_lines_init(&whole);
    program_lines_init(&pieces);
    program_lines_print(&whole, bytes.buf, bytes.len);
    check_screen(bytes.buf, bytes.len, data[0]);
    print_pieces(&pieces, bytes.buf, bytes.len, data[0] % 16u + 1);
    size_t count = program_lines_count(&whole);
    if (count != program_lines_count(&pieces) || count > PROGRAM_LINES_MAX + 1)
        BUG("%zu lines whole, %zu in pieces", count, program_lines_count(&pieces));
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 3, 20);
    for (size_t i = 0; i < count; i++) {
        const struct program_line *line = program_lines_line(&whole, i), *other = program_lines_line(&pieces, i);
        check_line(line);
        if (line->len != other->len || memcmp(line->text, other->text, line->len) != 0)
            BUG("line %zu is another one in pieces", i);
        program_lines_paint(&whole, &canvas, rect_make(1, 2, 1, 9), 0, (int)(data[0] % 8u), i);
    }
    for (int col = 0; col < 20; col++)
        if ((col < 2 || col > 10) && strcmp(canvas.cells[20 + col].text, " ") != 0)
            BUG("something was painted beside its place");
    size_t at = SIZE_MAX;
    program_lines_search(&whole, "a", false, &at);
    canvas_release(&canvas);
    program_lines_release(&whole);
    program_lines_release(&pieces);
    return 0;
}
