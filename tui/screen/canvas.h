#pragma once
/* The canvas: a grid of cells in memory between painting and the terminal. Panes paint roles and text here. frame.c
 * turns the cells into bytes for a terminal. Painting never leaves its rectangle,
 * and all text passes through utf8_sanitize. */

#include "base/strbuf.h"
#include "theme.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell {
    char text[14]; /* one character with its combining marks, UTF-8, terminated; "" is the right half of a wide one */
    uint8_t width; /* 1 or 2; 0 for the right half */
    uint8_t marks; /* enum mark: on top of the role */
    uint16_t look; /* enum look, or CELL_COLORS */
};

/* A program's own colors as a look: fg and bg as for canvas_color. */
#define CELL_COLORS(fg, bg)   ((uint16_t)(0x8000 | (fg) << 5 | (bg)))
#define CELL_HAS_COLORS(look) (((look)&0x8000) != 0)
#define CELL_FG(look)         ((look) >> 5 & 31)
#define CELL_BG(look)         ((look)&31)

enum mark { MARK_REVERSE = 1, MARK_UNDERLINE = 2, MARK_BOLD = 4, MARK_DIM = 8 };

struct rect {
    int row, col, rows, cols;
};

struct canvas {
    int rows, cols;
    struct cell *cells;
    bool ascii;                 /* lines and signs in ASCII, for a C locale */
    int cursor_row, cursor_col; /* -1: hidden */
};

void canvas_init(struct canvas *canvas);
void canvas_release(struct canvas *canvas);
void canvas_resize(struct canvas *canvas, int rows, int cols); /* also clears */
void canvas_clear(struct canvas *canvas);

/* Paints text at (row, col) of `in`, clipped to it, in `role`. Returns the columns it used, never beyond the right edge
 * of `in`. Text is sanitized: a newline shows as ^J, a tab goes to the next eighth column of the text. col may be
 * negative or beyond the edge: only the part inside is painted (scrolling sideways). In an ASCII canvas other
 * characters are spelled out (<U+00E9>). */
int canvas_text(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len);
/* The same for a small place: text that is cut ends with a mark. */
int canvas_cut(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len);
/* For Keyturn's own texts: in an ASCII canvas the signs (·, −, …, →) have ASCII forms. */
int canvas_str(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text);
int canvas_printf(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* The same, ending at the right edge of `in` (or `right` columns before it). */
int canvas_right(struct canvas *canvas, struct rect in, int row, int right, enum look role, const char *text);
/* The columns that canvas_text would use for the whole text. */
int canvas_columns(const struct canvas *canvas, const char *text, size_t len);
int canvas_str_columns(const struct canvas *canvas, const char *text, size_t len); /* the same for canvas_str */
void canvas_fill(struct canvas *canvas, struct rect rect, enum look role);         /* with blanks */
void canvas_mark(struct canvas *canvas, struct rect rect, unsigned marks);
/* Replaces the role of painted cells by a program's own colors: 1 to 16 for the 16 colors of a terminal, 0 for that of
 * LOOK_PROGRAM. */
void canvas_color(struct canvas *canvas, struct rect rect, int fg, int bg);
/* Changes the role of painted cells, for example for a selected row. */
void canvas_tint(struct canvas *canvas, struct rect rect, enum look role);

/* A sign by its name, so that it also has an ASCII form. */
enum sign {
    SIGN_H,
    SIGN_V,
    SIGN_TL,
    SIGN_TR,
    SIGN_BL,
    SIGN_BR,
    SIGN_BAR_FULL,
    SIGN_BAR_EMPTY,
    SIGN_BAR_HELD,
    SIGN_BLOCK,
    SIGN_BLOCK_LEFT,
    SIGN_BLOCK_RIGHT,
    SIGN_PARALLEL,
    SIGN_SINGLE,
    SIGN_GAP,
    SIGN_CURSOR,
    SIGN_POINTER,
    SIGN_PLAY,
    SIGN_PAUSE,
    SIGN_STEP,
    SIGN_WRITE,
    SIGN_ERROR,
    SIGN_HERE_LEFT,
    SIGN_HERE_RIGHT,
    SIGN_MORE,
    SIGN_UP,
    SIGN_DOWN,
    SIGN_MINUS,
    SIGN_DOT,
    SIGN_CORNER,
    SIGN_HALF,
    SIGN_LEFT,
    SIGN_RIGHT,
    SIGN_DASH,
    SIGN_DIVERGED,
    SIGN_OPEN,
    SIGN_COUNT
};
const char *canvas_sign(const struct canvas *canvas, enum sign sign);
int canvas_put_sign(struct canvas *canvas, struct rect in, int row, int col, enum look role, enum sign sign);

/* Paints a frame around `rect` with a title on the left and a note on the right; returns the inside. A focused frame
 * has a bold title in brackets, so that focus does not depend on color. */
struct rect canvas_frame(struct canvas *canvas, struct rect rect, const char *title, const char *note, bool focused);

/* A bar that shows how much of a limit is used. From GAUGE_NEAR on its look changes. The caller must add a word,
 * because no meaning may depend on color alone. */
#define GAUGE_NEAR 0.8 /* share of the limit */
enum look gauge_look(double share);
/* Paints `width` columns: at least one is filled if share > 0, and at least one is empty if share < 1. */
void gauge_paint(struct canvas *canvas, struct rect in, int row, int col, int width, double share, enum sign full);

struct rect rect_make(int row, int col, int rows, int cols);
struct rect rect_inset(struct rect rect, int by);
