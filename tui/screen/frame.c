/* The difference between two frames, as bytes for a terminal.
 *
 * Sends only cells that differ from what the terminal shows, with a cursor move before each run. A character whose
 * width terminals disagree about (wide, or with combining marks) is followed by a cursor move too, so that a wrong
 * guess costs one cell and not the rest of the row. */

#include "frame.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

void frame_init(struct frame *frame)
{
    *frame = (struct frame){.row = -1, .col = -1};
}

void frame_release(struct frame *frame)
{
    free(frame->cells);
    frame_init(frame);
}

void frame_forget(struct frame *frame)
{
    free(frame->cells);
    frame->cells = NULL;
    frame->pen_known = false;
    frame->row = frame->col = -1;
}

static void add_text(struct strbuf *out, const char *text)
{
    if (text)
        strbuf_addstr(out, text);
}

/* ---- the pen ---- */

static bool same_style(const struct style *a, const struct style *b)
{
    return a->fg == b->fg && a->bg == b->bg && a->bold == b->bold && a->dim == b->dim && a->italic == b->italic &&
           a->underline == b->underline && a->reverse == b->reverse;
}

/* Terminals with that many colors understand the standard sequences, whatever terminfo says. */
static void add_rgb(struct strbuf *out, int32_t color, bool background)
{
    if (color & COLOR_RGB)
        strbuf_addf(out, "\033[%d;2;%d;%d;%dm", background ? 48 : 38, color >> 16 & 0xFF, color >> 8 & 0xFF,
                    color & 0xFF);
    else if (color < 8)
        strbuf_addf(out, "\033[%dm", (background ? 40 : 30) + color);
    else if (color < 16)
        strbuf_addf(out, "\033[%dm", (background ? 100 : 90) + color - 8);
    else
        strbuf_addf(out, "\033[%d;5;%dm", background ? 48 : 38, color);
}

static void add_color(struct strbuf *out, const struct frame_caps *caps, int32_t color, bool background)
{
    if (color == COLOR_DEFAULT)
        return;
    if (caps->colors == FRAME_RGB)
        add_rgb(out, color, background);
    else
        caps->color(out, color, background);
}

static void add_colors(struct strbuf *out, const struct frame_caps *caps, const struct style *style)
{
    if (!caps->colors)
        return;
    struct style shown = caps->colors == FRAME_RGB ? *style : style_reduce(style, caps->colors);
    add_color(out, caps, shown.fg, false);
    add_color(out, caps, shown.bg, true);
}

static void set_pen(struct frame *frame, const struct frame_caps *caps, const struct style *style, struct strbuf *out)
{
    if (frame->pen_known && same_style(&frame->pen, style))
        return;
    add_text(out, caps->reset);
    if (style->bold)
        add_text(out, caps->bold);
    if (style->dim)
        add_text(out, caps->dim);
    if (style->italic)
        add_text(out, caps->italic);
    if (style->underline)
        add_text(out, caps->underline);
    if (style->reverse)
        add_text(out, caps->reverse);
    add_colors(out, caps, style);
    frame->pen = *style;
    frame->pen_known = true;
}

static struct style cell_style(const struct theme *theme, const struct cell *cell)
{
    bool own = CELL_HAS_COLORS(cell->look);
    struct style style = theme->styles[own ? LOOK_PROGRAM : cell->look < LOOK_COUNT ? cell->look : LOOK_TEXT];
    if (own && theme->styles[LOOK_ERROR].fg != COLOR_DEFAULT) { /* a theme without colors hides them */
        style.fg = CELL_FG(cell->look) ? CELL_FG(cell->look) - 1 : style.fg;
        style.bg = CELL_BG(cell->look) ? CELL_BG(cell->look) - 1 : style.bg;
    }
    style.reverse ^= (cell->marks & MARK_REVERSE) != 0;
    style.underline |= (cell->marks & MARK_UNDERLINE) != 0;
    style.bold |= (cell->marks & MARK_BOLD) != 0;
    style.dim |= (cell->marks & MARK_DIM) != 0;
    return style;
}

/* ---- cells ---- */

static const struct cell blank = {.text = " ", .width = 1, .look = LOOK_TEXT};

static bool same_cell(const struct cell *a, const struct cell *b)
{
    return a->look == b->look && a->marks == b->marks && a->width == b->width && strcmp(a->text, b->text) == 0;
}

static bool is_plain(const struct style *style)
{
    const struct style nothing = {.fg = COLOR_DEFAULT, .bg = COLOR_DEFAULT};
    return same_style(style, &nothing);
}

static void begin_anew(struct frame *frame, const struct frame_caps *caps, const struct theme *theme, int rows,
                       int cols, struct strbuf *out)
{
    frame_forget(frame);
    frame->rows = rows;
    frame->cols = cols;
    frame->theme = *theme;
    frame->cells = xcalloc((size_t)rows * (size_t)cols, sizeof(*frame->cells));
    add_text(out, caps->reset);
    add_text(out, caps->clear);
    /* Clearing leaves blanks in the terminal's own colors. If the theme has other colors, all cells must be sent. */
    if (caps->clear && is_plain(&theme->styles[LOOK_TEXT]))
        for (size_t i = 0; i < (size_t)rows * (size_t)cols; i++)
            frame->cells[i] = blank;
}

static void send_cell(struct frame *frame, const struct frame_caps *caps, const struct theme *theme,
                      const struct cell *cell, int row, int col, struct strbuf *out)
{
    if (frame->row != row || frame->col != col)
        caps->position(out, row, col);
    struct style style = cell_style(theme, cell);
    set_pen(frame, caps, &style, out);
    bool ascii = (unsigned char)cell->text[0] < 0x80 && !cell->text[1];
    if (ascii || caps->utf8)
        add_text(out, cell->text[0] ? cell->text : " ");
    else
        strbuf_addstr(out, cell->width == 2 ? "??" : "?");
    frame->row = row;
    frame->col = col + (cell->width ? cell->width : 1);
    bool single = (cell->text[0] & 0xE0) == 0xC0   ? !cell->text[2]
                  : (cell->text[0] & 0xF0) == 0xE0 ? !cell->text[3]
                                                   : ascii;
    if (!single || cell->width != 1 || frame->col >= frame->cols)
        frame->row = -1;
}

static void send_row(struct frame *frame, const struct frame_caps *caps, const struct canvas *canvas,
                     const struct theme *theme, int row, struct strbuf *out)
{
    for (int col = 0; col < frame->cols; col++) {
        struct cell *shown = &frame->cells[(size_t)row * (size_t)frame->cols + (size_t)col];
        const struct cell *cell = row < canvas->rows && col < canvas->cols
                                      ? &canvas->cells[(size_t)row * (size_t)canvas->cols + (size_t)col]
                                      : &blank;
        if (same_cell(shown, cell))
            continue;
        bool last = row == frame->rows - 1 && col + (cell->width ? cell->width : 1) >= frame->cols;
        bool overhang = cell->width == 2 && col + 1 >= frame->cols;
        /* The right half of a wide character was sent with its left half. */
        if (cell->width && !overhang && !(last && caps->last_scrolls))
            send_cell(frame, caps, theme, cell, row, col, out);
        /* A wide character that appears or disappears also changes the next cell, whatever was there. */
        if (shown->width == 2 && cell->width != 2 && col + 1 < frame->cols)
            shown[1] = (struct cell){.text = "", .width = 9};
        *shown = *cell;
        if (cell->width == 2 && col + 1 < frame->cols)
            shown[1] = (struct cell){.text = "", .width = 9};
    }
}

static void place_cursor(struct frame *frame, const struct frame_caps *caps, const struct canvas *canvas,
                         struct strbuf *out)
{
    bool show = canvas->cursor_row >= 0 && canvas->cursor_row < frame->rows && canvas->cursor_col >= 0 &&
                canvas->cursor_col < frame->cols;
    if (show && (frame->row != canvas->cursor_row || frame->col != canvas->cursor_col)) {
        caps->position(out, canvas->cursor_row, canvas->cursor_col);
        frame->row = canvas->cursor_row;
        frame->col = canvas->cursor_col;
    }
    if (show != frame->cursor_shown)
        add_text(out, show ? caps->show_cursor : caps->hide_cursor);
    frame->cursor_shown = show;
}

void frame_diff(struct frame *frame, const struct frame_caps *caps, int rows, int cols, const struct canvas *canvas,
                const struct theme *theme, struct strbuf *out)
{
    CLEANUP(strbuf) struct strbuf body = STRBUF_INIT;
    bool other_theme = memcmp(frame->theme.styles, theme->styles, sizeof(theme->styles)) != 0;
    if (rows <= 0 || cols <= 0)
        return;
    if (!frame->cells || frame->rows != rows || frame->cols != cols || other_theme)
        begin_anew(frame, caps, theme, rows, cols, &body);
    for (int row = 0; row < rows; row++)
        send_row(frame, caps, canvas, theme, row, &body);
    place_cursor(frame, caps, canvas, &body);
    if (!body.len)
        return;
    add_text(out, caps->sync ? "\033[?2026h" : NULL);
    strbuf_add(out, body.buf, body.len);
    add_text(out, caps->sync ? "\033[?2026l" : NULL);
}
