/* Fuzzes drawing text on a canvas. Six bytes give the rectangle, the mode and the look; the rest is text. No cell
 * outside the rectangle changes, no cell has half a character or a control, and the drawn width is the measured one. */

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "screen/canvas.h"
#include "screen/input.h"
#include <string.h>

#define ROWS 8
#define COLS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cell(const struct cell *cell, int col, bool ascii)
{
    size_t len = strnlen(cell->text, sizeof(cell->text));
    if (len == sizeof(cell->text) || !utf8_valid(cell->text, len))
        BUG("a cell is no text");
    if (cell->width == 2 && (col + 1 == COLS || cell[1].width != 0))
        BUG("half a character on the right");
    if (cell->width == 0 && (col == 0 || cell[-1].width != 2 || len))
        BUG("half a character on the left");
    if (cell->width && utf8_columns(cell->text, len) != cell->width)
        BUG("a cell of %d columns has %zu", cell->width, utf8_columns(cell->text, len));
    for (size_t at = 0, used; at < len; at += used) {
        char spelled[16];
        uint32_t cp = utf8_decode(cell->text + at, len - at, &used);
        if (utf8_spell(cp, spelled) || (ascii && cp > 0x7E))
            BUG("U+%04X is in a cell", (unsigned)cp);
    }
}

static void check_canvas(const struct canvas *canvas, struct rect rect)
{
    for (int row = 0; row < ROWS; row++) {
        for (int col = 0; col < COLS; col++) {
            const struct cell *cell = &canvas->cells[row * COLS + col];
            bool inside =
                row >= rect.row && row < rect.row + rect.rows && col >= rect.col && col < rect.col + rect.cols;
            check_cell(cell, col, canvas->ascii);
            if (!inside && (strcmp(cell->text, "x") != 0 || cell->look != LOOK_DIM))
                BUG("a cell outside changed at %d, %d", row, col);
        }
    }
}

static void cover(struct canvas *canvas)
{
    canvas_clear(canvas);
    for (int row = 0; row < ROWS; row++)
        for (int col = 0; col < COLS; col++)
            canvas_str(canvas, rect_make(0, 0, ROWS, COLS), row, col, LOOK_DIM, "x");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6)
        return 0;
    struct rect rect = rect_make((int8_t)data[0] / 8, (int8_t)data[1] / 2, data[2] % 12, data[3] % 50);
    int col = (int8_t)data[4];
    struct canvas canvas;
    canvas_init(&canvas);
    canvas.ascii = data[5] & 1;
    canvas_resize(&canvas, ROWS, COLS);
    const char *text = (const char *)data + 6;
    size_t len = size - 6;
    CLEANUP(free) char *string = xmemdup0(text, len);
    cover(&canvas);
    int took = canvas_text(&canvas, rect, 0, col, LOOK_TEXT, text, len);
    int columns = canvas_columns(&canvas, text, len);
    int room = rect.cols > col ? rect.cols - col : 0;
    if (took != (columns < room ? columns : room))
        BUG("%d of %d columns in %d", took, columns, room);
    check_canvas(&canvas, rect);

    cover(&canvas);
    canvas_frame(&canvas, rect, string, string, data[5] & 2);
    check_canvas(&canvas, rect);

    cover(&canvas);
    canvas_right(&canvas, rect, 0, 1, LOOK_TEXT, string);
    canvas_text(&canvas, rect, 0, col / 2, LOOK_TEXT, text, len);
    check_canvas(&canvas, rect);

    struct input input;
    input_init(&input, true);
    input_set(&input, string);
    struct key left = {.code = data[5] & 4 ? KEYSYM_LEFT : KEYSYM_BACKSPACE};
    for (int i = 0; i < data[5] >> 4; i++)
        input_key(&input, &left);
    cover(&canvas);
    input_paint(&input, &canvas, rect, "> ");
    check_canvas(&canvas, rect);
    input_release(&input);
    canvas_release(&canvas);
    return 0;
}
