/* The canvas: paints text, signs and frames into a grid of cells.
 *
 * Text becomes cells in two steps. next_piece takes the next piece of a text: a character with its width, a mark that
 * joins the previous character, a tab, or the spelling of a character that must never reach a terminal. paint puts
 * pieces into the part of a row that is inside the rectangle.
 *
 * A wide character is two cells, the right one empty. Both are written and overwritten together: painting one half
 * leaves a blank in the other. So no cell ever shows half a character, and columns match the terminal's. */

#include "canvas.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <limits.h>
#include <stdio.h>

#define TAB_COLUMNS 8

static const struct {
    const char *utf8, *ascii;
} signs[SIGN_COUNT] = {
    [SIGN_H] = {"─", "-"},        [SIGN_V] = {"│", "|"},          [SIGN_TL] = {"┌", "+"},
    [SIGN_TR] = {"┐", "+"},       [SIGN_BL] = {"└", "+"},         [SIGN_BR] = {"┘", "+"},
    [SIGN_BAR_FULL] = {"▓", "#"}, [SIGN_BAR_EMPTY] = {"░", "."},  [SIGN_BAR_HELD] = {"▒", "="},
    [SIGN_BLOCK] = {"█", "#"},    [SIGN_BLOCK_LEFT] = {"▕", "["}, [SIGN_BLOCK_RIGHT] = {"▏", "]"},
    [SIGN_PARALLEL] = {"∥", "="}, [SIGN_SINGLE] = {"·", "-"},     [SIGN_GAP] = {"┄", "~"},
    [SIGN_CURSOR] = {"▏", "|"},   [SIGN_POINTER] = {"▸", ">"},    [SIGN_PLAY] = {"▶", ">"},
    [SIGN_PAUSE] = {"‖", "="},    [SIGN_STEP] = {"●", "o"},       [SIGN_WRITE] = {"▲", "^"},
    [SIGN_ERROR] = {"✗", "x"},    [SIGN_HERE_LEFT] = {"┤", ">"},  [SIGN_HERE_RIGHT] = {"├", "<"},
    [SIGN_MORE] = {"…", "~"},     [SIGN_UP] = {"↑", "^"},         [SIGN_DOWN] = {"↓", "v"},
    [SIGN_MINUS] = {"−", "-"},    [SIGN_DOT] = {"·", "-"},        [SIGN_CORNER] = {"└", "`"},
    [SIGN_HALF] = {"▌", "|"},     [SIGN_LEFT] = {"←", "<"},       [SIGN_RIGHT] = {"→", ">"},
    [SIGN_DASH] = {"—", "-"},     [SIGN_DIVERGED] = {"≠", "!"},   [SIGN_OPEN] = {"▾", "v"},
};

struct rect rect_make(int row, int col, int rows, int cols)
{
    return (struct rect){row, col, rows > 0 ? rows : 0, cols > 0 ? cols : 0};
}

struct rect rect_inset(struct rect rect, int by)
{
    return rect_make(rect.row + by, rect.col + by, rect.rows - 2 * by, rect.cols - 2 * by);
}

void canvas_init(struct canvas *canvas)
{
    *canvas = (struct canvas){.cursor_row = -1, .cursor_col = -1};
}

void canvas_release(struct canvas *canvas)
{
    free(canvas->cells);
    canvas_init(canvas);
}

void canvas_resize(struct canvas *canvas, int rows, int cols)
{
    rows = rows > 0 ? rows : 0;
    cols = cols > 0 ? cols : 0;
    if (rows != canvas->rows || cols != canvas->cols) {
        canvas->cells = xreallocarray(canvas->cells, (size_t)rows * (size_t)cols + 1, sizeof(*canvas->cells));
        canvas->rows = rows;
        canvas->cols = cols;
    }
    canvas_clear(canvas);
}

static struct cell blank(enum look role)
{
    return (struct cell){.text = " ", .width = 1, .look = (uint16_t)role};
}

void canvas_clear(struct canvas *canvas)
{
    struct cell cell = blank(LOOK_TEXT);
    for (size_t i = 0; i < (size_t)canvas->rows * (size_t)canvas->cols; i++)
        canvas->cells[i] = cell;
    canvas->cursor_row = canvas->cursor_col = -1;
}

static struct cell *cell_at(const struct canvas *canvas, int row, int col)
{
    return &canvas->cells[(size_t)row * (size_t)canvas->cols + (size_t)col];
}

/* The part of a rectangle that is on the canvas. */
static struct rect clip(const struct canvas *canvas, struct rect rect)
{
    long top = rect.row > 0 ? rect.row : 0;
    long left = rect.col > 0 ? rect.col : 0;
    long bottom = (long)rect.row + rect.rows;
    long right = (long)rect.col + rect.cols;
    bottom = bottom < canvas->rows ? bottom : canvas->rows;
    right = right < canvas->cols ? right : canvas->cols;
    if (bottom <= top || right <= left)
        return (struct rect){0, 0, 0, 0};
    return (struct rect){(int)top, (int)left, (int)(bottom - top), (int)(right - left)};
}

/* Call before a cell is overwritten: the other half of a wide character becomes a blank. */
static void part(struct canvas *canvas, int row, int col)
{
    struct cell *cell = cell_at(canvas, row, col);
    struct cell *other = NULL;
    if (cell->width == 0 && col > 0)
        other = cell - 1;
    else if (cell->width == 2 && col + 1 < canvas->cols)
        other = cell + 1;
    if (other) {
        struct cell empty = blank((enum look)other->look);
        empty.marks = other->marks;
        *other = empty;
    }
}

static struct cell *put(struct canvas *canvas, int row, int col, enum look role, const char *bytes, size_t len,
                        int width)
{
    struct cell *cell = cell_at(canvas, row, col);
    part(canvas, row, col);
    *cell = (struct cell){.width = (uint8_t)width, .look = (uint16_t)role};
    memcpy(cell->text, bytes, len);
    if (width == 2) {
        part(canvas, row, col + 1);
        cell[1] = (struct cell){.look = (uint16_t)role};
    }
    return cell;
}

enum piece_kind {
    PIECE_CHAR, /* one character, 1 or 2 columns */
    PIECE_MARK, /* joins the previous character */
    PIECE_ROW,  /* ASCII characters, one column each: a spelled-out character, or the blanks of a tab */
};

struct canvas_piece {
    enum piece_kind kind;
    int width;
    size_t len;
    char bytes[16];
};

static const char *twin(const char *bytes, size_t len)
{
    for (size_t i = 0; i < SIGN_COUNT; i++)
        if (strlen(signs[i].utf8) == len && memcmp(signs[i].utf8, bytes, len) == 0)
            return signs[i].ascii;
    return NULL;
}

static void spell_row(struct canvas_piece *piece, size_t len)
{
    piece->kind = PIECE_ROW;
    piece->len = len;
    piece->width = (int)len;
}

/* What an ASCII canvas shows for a character: in Keyturn's own texts the ASCII form of its signs, else the character's
 * number. */
static void ascii_piece(struct canvas_piece *piece, uint32_t cp, bool own)
{
    const char *plain = own ? twin(piece->bytes, piece->len) : NULL;
    if (cp == UTF8_REPLACEMENT)
        plain = "?";
    if (plain) {
        piece->bytes[0] = plain[0];
        spell_row(piece, 1);
    } else {
        spell_row(piece, (size_t)snprintf(piece->bytes, sizeof(piece->bytes), "<U+%04X>", (unsigned)cp));
    }
}

/* Takes the next piece of text[0…len), which begins at column `column` of its text; returns the bytes used. `joins`: a
 * character precedes it. */
static size_t next_piece(struct canvas_piece *piece, const struct canvas *canvas, bool own, const char *text,
                         size_t len, int column, bool joins)
{
    size_t used;
    uint32_t cp = utf8_decode(text, len, &used);
    if (cp >= 0x20 && cp < 0x7F) {
        piece->kind = PIECE_CHAR;
        piece->bytes[0] = (char)cp;
        piece->len = 1;
        piece->width = 1;
        return used;
    }
    if (cp == '\t') {
        int width = TAB_COLUMNS - column % TAB_COLUMNS;
        memset(piece->bytes, ' ', (size_t)width);
        spell_row(piece, (size_t)width);
        return used;
    }
    size_t spelled = utf8_spell(cp, piece->bytes);
    if (spelled) {
        spell_row(piece, spelled);
        return used;
    }
    piece->kind = PIECE_CHAR;
    piece->len = utf8_encode(cp, piece->bytes);
    piece->width = utf8_width(cp);
    if (canvas->ascii)
        ascii_piece(piece, cp, own);
    else if (piece->width == 0 && joins)
        piece->kind = PIECE_MARK;
    else if (piece->width == 0) /* without a preceding character, the mark would join unrelated text */
        spell_row(piece, (size_t)snprintf(piece->bytes, sizeof(piece->bytes), "<U+%04X>", (unsigned)cp));
    return used;
}

static int measure(const struct canvas *canvas, bool own, const char *text, size_t len)
{
    int column = 0;
    struct canvas_piece piece;
    for (size_t at = 0; at < len && column < INT_MAX / 2;) {
        at += next_piece(&piece, canvas, own, text + at, len - at, column, at > 0);
        if (piece.kind != PIECE_MARK)
            column += piece.width;
    }
    return column;
}

int canvas_columns(const struct canvas *canvas, const char *text, size_t len)
{
    return measure(canvas, false, text, len);
}

int canvas_str_columns(const struct canvas *canvas, const char *text, size_t len)
{
    return measure(canvas, true, text, len);
}

static void join(struct cell *cell, const struct canvas_piece *piece)
{
    size_t have = strlen(cell->text);
    if (have + piece->len < sizeof(cell->text))
        memcpy(cell->text + have, piece->bytes, piece->len);
}

/* Paints a character at a column of the canvas, clipped to left and right. If it is cut, its visible part is blank. */
static struct cell *paint_char(struct canvas *canvas, int row, long col, long left, long right, enum look role,
                               const struct canvas_piece *piece)
{
    if (col >= left && col + piece->width <= right)
        return put(canvas, row, (int)col, role, piece->bytes, piece->len, piece->width);
    for (long at = col; at < col + piece->width; at++)
        if (at >= left && at < right)
            put(canvas, row, (int)at, role, " ", 1, 1);
    return NULL;
}

/* `whole` may be NULL; otherwise it is set to whether the text ended before the right edge. */
static int paint(struct canvas *canvas, struct rect in, int row, int col, enum look role, bool own, const char *text,
                 size_t len, bool *whole)
{
    struct rect area = clip(canvas, in);
    long line = (long)in.row + row;
    bool visible = row >= 0 && line >= area.row && line < (long)area.row + area.rows;
    long left = visible ? area.col : LONG_MAX;
    long right = visible ? (long)area.col + area.cols : LONG_MIN;
    long start = (long)in.col + col;
    long end = (long)in.col + in.cols; /* the end of the text, visible or not */
    int column = 0;
    struct cell *last = NULL;
    struct canvas_piece piece;
    size_t at = 0;
    while (at < len) {
        size_t used = next_piece(&piece, canvas, own, text + at, len - at, column, at > 0);
        if (piece.kind == PIECE_MARK) {
            if (last)
                join(last, &piece);
            at += used;
            continue;
        }
        if (start + column >= end)
            break;
        at += used;
        if (piece.kind == PIECE_CHAR) {
            last = paint_char(canvas, (int)line, start + column, left, right, role, &piece);
        } else {
            last = NULL;
            for (int i = 0; i < piece.width; i++)
                if (start + column + i >= left && start + column + i < right)
                    last = put(canvas, (int)line, (int)(start + column + i), role, &piece.bytes[i], 1, 1);
        }
        column += piece.width;
    }
    if (whole)
        *whole = at >= len && start + column <= end;
    if (start + column > end)
        column = (int)(end > start ? end - start : 0);
    return column;
}

int canvas_text(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len)
{
    return paint(canvas, in, row, col, role, false, text, len, NULL);
}

int canvas_cut(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len)
{
    bool whole;
    int columns = paint(canvas, in, row, col, role, false, text, len, &whole);
    if (!whole && in.cols > 0)
        canvas_put_sign(canvas, in, row, in.cols - 1, role, SIGN_MORE);
    return columns;
}

int canvas_str(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text)
{
    return paint(canvas, in, row, col, role, true, text, strlen(text), NULL);
}

int canvas_printf(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    return paint(canvas, in, row, col, role, true, text.buf, text.len, NULL);
}

int canvas_right(struct canvas *canvas, struct rect in, int row, int right, enum look role, const char *text)
{
    return canvas_str(canvas, in, row, in.cols - right - measure(canvas, true, text, strlen(text)), role, text);
}

void canvas_fill(struct canvas *canvas, struct rect rect, enum look role)
{
    struct rect area = clip(canvas, rect);
    for (int row = area.row; row < area.row + area.rows; row++)
        for (int col = area.col; col < area.col + area.cols; col++)
            put(canvas, row, col, role, " ", 1, 1);
}

void canvas_mark(struct canvas *canvas, struct rect rect, unsigned marks)
{
    struct rect area = clip(canvas, rect);
    for (int row = area.row; row < area.row + area.rows; row++)
        for (int col = area.col; col < area.col + area.cols; col++)
            cell_at(canvas, row, col)->marks |= (uint8_t)marks;
}

void canvas_tint(struct canvas *canvas, struct rect rect, enum look role)
{
    struct rect area = clip(canvas, rect);
    for (int row = area.row; row < area.row + area.rows; row++)
        for (int col = area.col; col < area.col + area.cols; col++)
            cell_at(canvas, row, col)->look = (uint16_t)role;
}

void canvas_color(struct canvas *canvas, struct rect rect, int fg, int bg)
{
    struct rect area = clip(canvas, rect);
    for (int row = area.row; row < area.row + area.rows; row++)
        for (int col = area.col; col < area.col + area.cols; col++)
            cell_at(canvas, row, col)->look = CELL_COLORS(fg, bg);
}

const char *canvas_sign(const struct canvas *canvas, enum sign sign)
{
    if ((unsigned)sign >= SIGN_COUNT)
        return "?";
    return canvas->ascii ? signs[sign].ascii : signs[sign].utf8;
}

int canvas_put_sign(struct canvas *canvas, struct rect in, int row, int col, enum look role, enum sign sign)
{
    return canvas_str(canvas, in, row, col, role, canvas_sign(canvas, sign));
}

/* Paints "─ 3 tools ──── 5 calls ─" on the upper edge. Without room for both, the note is left out. A title that is too
 * long is cut and marked. */
static void paint_edge_texts(struct canvas *canvas, struct rect rect, const char *title, const char *note, bool focused)
{
    struct rect edge = rect_make(rect.row, rect.col + 2, 1, rect.cols - 4);
    enum look line = focused ? LOOK_FRAME_FOCUS : LOOK_FRAME;
    int title_columns = title && *title ? measure(canvas, true, title, strlen(title)) + 2 : 0;
    int note_columns = note && *note ? measure(canvas, true, note, strlen(note)) + 2 : 0;
    if (title_columns && edge.cols > 2) {
        int room = edge.cols - 2 < title_columns - 2 ? edge.cols - 2 : title_columns - 2;
        struct rect place = rect_make(edge.row, edge.col + 1, 1, room);
        canvas_str(canvas, edge, 0, 0, line, focused ? "[" : " ");
        canvas_str(canvas, place, 0, 0, LOOK_FRAME_TITLE, title);
        if (room < title_columns - 2)
            canvas_put_sign(canvas, place, 0, room - 1, LOOK_FRAME_TITLE, SIGN_MORE);
        canvas_str(canvas, edge, 0, room + 1, line, focused ? "]" : " ");
        if (focused)
            canvas_mark(canvas, place, MARK_BOLD);
    }
    if (note_columns && title_columns + note_columns + 1 <= edge.cols) {
        canvas_right(canvas, edge, 0, 0, line, " ");
        canvas_right(canvas, edge, 0, 1, LOOK_DIM, note);
        canvas_right(canvas, edge, 0, note_columns - 1, line, " ");
    }
}

struct rect canvas_frame(struct canvas *canvas, struct rect rect, const char *title, const char *note, bool focused)
{
    if (rect.rows < 2 || rect.cols < 2)
        return rect_make(rect.row, rect.col, 0, 0);
    enum look role = focused ? LOOK_FRAME_FOCUS : LOOK_FRAME;
    int bottom = rect.rows - 1;
    int right = rect.cols - 1;
    for (int col = 1; col < right; col++) {
        canvas_put_sign(canvas, rect, 0, col, role, SIGN_H);
        canvas_put_sign(canvas, rect, bottom, col, role, SIGN_H);
    }
    for (int row = 1; row < bottom; row++) {
        canvas_put_sign(canvas, rect, row, 0, role, SIGN_V);
        canvas_put_sign(canvas, rect, row, right, role, SIGN_V);
    }
    canvas_put_sign(canvas, rect, 0, 0, role, SIGN_TL);
    canvas_put_sign(canvas, rect, 0, right, role, SIGN_TR);
    canvas_put_sign(canvas, rect, bottom, 0, role, SIGN_BL);
    canvas_put_sign(canvas, rect, bottom, right, role, SIGN_BR);
    paint_edge_texts(canvas, rect, title, note, focused);
    return rect_inset(rect, 1);
}

/* ---- gauges ---- */

enum look gauge_look(double share)
{
    if (share >= 1)
        return LOOK_GAUGE_FULL;
    return share >= GAUGE_NEAR ? LOOK_GAUGE_WARN : LOOK_GAUGE;
}

void gauge_paint(struct canvas *canvas, struct rect in, int row, int col, int width, double share, enum sign full)
{
    double part = share > 1 ? 1 : share > 0 ? share : 0;
    int filled = (int)(part * width + 0.5);
    if (part > 0 && filled == 0)
        filled = 1;
    if (part < 1 && filled == width)
        filled = width - 1;
    for (int i = 0; i < width; i++)
        canvas_put_sign(canvas, in, row, col + i, i < filled ? gauge_look(share) : LOOK_DIM,
                        i < filled ? full : SIGN_BAR_EMPTY);
}
