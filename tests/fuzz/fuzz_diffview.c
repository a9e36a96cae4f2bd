/* Fuzzes the view of a recorded diff: any bytes are read, indexed, selected and painted. The first byte gives the width
 * of the screen and the discarded hunks. Every row belongs to the hunk that claims it. */

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/event.h"
#include "panes/diff_rows.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void paint(const struct diffview *view, struct canvas *canvas, int left)
{
    struct rect in = rect_make(1, 1, canvas->rows - 2, canvas->cols - 2);
    for (size_t top = 0; top < diffview_rows(view); top += (size_t)in.rows)
        diffview_paint(view, canvas, in, top, left, 0, "a");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    struct diff *diff = diff_read(text, size - 1);
    size_t lines = 0;
    for (size_t i = 0; i < diff->hunk_count; i++)
        lines += diff->hunks[i].line_count;
    if (lines != diff->line_count)
        BUG("%zu lines in hunks, %zu in all", lines, diff->line_count);
    diff_free(diff);

    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct json_writer w = json_begin(&line);
    json_open(&w, NULL, '{');
    json_add_str(&w, "type", "write.proposed");
    json_open(&w, "files", '[');
    json_open(&w, NULL, '{');
    json_add_str(&w, "path", "f");
    json_add_strn(&w, "diff", text, size - 1);
    json_close(&w, '}');
    json_close(&w, ']');
    json_close(&w, '}');
    struct event event;
    struct err err = ERR_INIT;
    if (event_decode(&event, &arena, line.buf, line.len, &err) < 0)
        BUG("%s", err.text);
    struct diffview view;
    struct canvas canvas;
    diffview_init(&view);
    canvas_init(&canvas);
    canvas_resize(&canvas, 12, 20 + data[0] % 64);
    diffview_load_recorded(&view, &event.write_proposed.files);
    diffview_arrange(&view, data[0] & 1, data[0] & 2);
    view.choices = true;
    for (size_t i = 0; i < view.piece_count; i++) {
        diffview_keep(&view, i, !(data[0] >> (i % 8) & 1));
        if (diffview_piece_at(&view, diffview_row_of(&view, i)) != i)
            BUG("row %zu is not of piece %zu", diffview_row_of(&view, i), i);
    }
    paint(&view, &canvas, 0);
    paint(&view, &canvas, data[0]);
    diffview_release(&view);
    canvas_release(&canvas);
    return 0;
}
