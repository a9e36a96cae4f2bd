/* Writes a canvas as text (canvas_dump.h). */

#include "canvas_dump.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

static const struct cell *cell_at(const struct canvas *canvas, int row, int col)
{
    return &canvas->cells[(size_t)row * (size_t)canvas->cols + (size_t)col];
}

static bool same_look(const struct cell *a, const struct cell *b)
{
    return a->look == b->look && a->marks == b->marks;
}

static void dump_run(struct strbuf *out, const struct cell *cell, int from, int to)
{
    static const char *const names[] = {"reverse", "underline", "bold", "dim"};
    bool colors = CELL_HAS_COLORS(cell->look);
    const char *name = look_name(colors ? LOOK_PROGRAM : (enum look)cell->look);
    if (from == to)
        strbuf_addf(out, "%d %s", from, name);
    else
        strbuf_addf(out, "%d-%d %s", from, to, name);
    if (colors)
        strbuf_addf(out, "+%d,%d", CELL_FG(cell->look), CELL_BG(cell->look));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (cell->marks & 1u << i)
            strbuf_addf(out, "+%s", names[i]);
}

static void dump_roles(struct strbuf *out, const struct canvas *canvas, int row)
{
    const char *between = "";
    for (int from = 0, to; from < canvas->cols; from = to) {
        const struct cell *first = cell_at(canvas, row, from);
        bool empty = first->look == LOOK_TEXT && !first->marks;
        for (to = from; to < canvas->cols && same_look(first, cell_at(canvas, row, to)); to++)
            empty &= strcmp(cell_at(canvas, row, to)->text, " ") == 0;
        if (empty)
            continue;
        if (!*between)
            strbuf_addf(out, "%d: ", row);
        strbuf_addstr(out, between);
        dump_run(out, first, from, to - 1);
        between = ", ";
    }
    if (*between)
        strbuf_addch(out, '\n');
}

void canvas_dump(struct strbuf *out, const struct canvas *canvas, bool roles)
{
    for (int row = 0; row < canvas->rows; row++) {
        size_t seen = out->len;
        for (int col = 0; col < canvas->cols; col++) {
            const struct cell *cell = cell_at(canvas, row, col);
            strbuf_addstr(out, cell->text);
            if (strcmp(cell->text, " ") != 0)
                seen = out->len;
        }
        strbuf_set_len(out, seen);
        strbuf_addch(out, '\n');
    }
    if (!roles)
        return;
    strbuf_addstr(out, "--\n");
    for (int row = 0; row < canvas->rows; row++)
        dump_roles(out, canvas, row);
    if (canvas->cursor_row >= 0)
        strbuf_addf(out, "cursor: %d, %d\n", canvas->cursor_row, canvas->cursor_col);
}
