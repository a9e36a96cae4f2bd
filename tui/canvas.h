#pragma once
/* The canvas: a grid of cells in memory between what is drawn and the terminal. Panes paint roles and text here; one
 * file turns it into bytes for a terminal, another into text for a golden. Nothing that is painted can leave its
 * rectangle, and no text reaches a cell but through utf8_sanitize. */

#include "base/strbuf.h"
#include "roles.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell {
    char text[14]; /* one character with its combining marks, UTF-8, terminated; "" is the right half of a wide one */
    uint8_t width; /* 1 or 2; 0 for the right half */
    uint8_t marks; /* enum mark: on top of the role */
    uint16_t look;
};

enum mark { MARK_REVERSE = 1, MARK_UNDERLINE = 2, MARK_BOLD = 4, MARK_DIM = 8 };

struct rect {
    int row, col, rows, cols;
};

struct canvas {
    int rows, cols;
    struct cell *cells;
    bool ascii;                 /* lines and signs in ASCII: a C locale */
    int cursor_row, cursor_col; /* -1: hidden */
};

void canvas_init(struct canvas *canvas);
void canvas_release(struct canvas *canvas);
void canvas_resize(struct canvas *canvas, int rows, int cols); /* and clears */
void canvas_clear(struct canvas *canvas);

/* Paints text at (row, col) of `in`, clipped to it, in `role`; returns the columns it took, never beyond the right edge
 * of `in`. Text is sanitised; a newline shows as ^J, a tab goes to the next eighth column of the text. col may be
 * negative or beyond: only what falls inside is painted (scrolling sideways). In an ASCII canvas foreign characters are
 * spelled out
 * (<U+00E9>). */
int canvas_text(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len);
/* The same for a place that may be too small: what was cut ends with a sign that says so. */
int canvas_cut(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text, size_t len);
/* For texts of our own: in an ASCII canvas our signs (·, −, …, →) have their ASCII twins. */
int canvas_str(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *text);
int canvas_printf(struct canvas *canvas, struct rect in, int row, int col, enum look role, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* The same, ending at the right edge of `in` (or `right` columns before it). */
int canvas_right(struct canvas *canvas, struct rect in, int row, int right, enum look role, const char *text);
/* Columns the whole text would take with canvas_text. */
int canvas_columns(const struct canvas *canvas, const char *text, size_t len);
int canvas_str_columns(const struct canvas *canvas, const char *text, size_t len); /* and with canvas_str */
void canvas_fill(struct canvas *canvas, struct rect rect, enum look role);         /* with blanks */
void canvas_mark(struct canvas *canvas, struct rect rect, unsigned marks);
/* Changes the role of what is painted already, e.g. for a selected row. */
void canvas_tint(struct canvas *canvas, struct rect rect, enum look role);

/* A sign by its name, so that the C locale has one too. */
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
    SIGN_DEPARTED,
    SIGN_OPEN,
    SIGN_COUNT
};
const char *canvas_sign(const struct canvas *canvas, enum sign sign);
int canvas_put_sign(struct canvas *canvas, struct rect in, int row, int col, enum look role, enum sign sign);

/* A frame around `rect` with a title on the left and a note on the right; returns the inside. The focused one has its
 * title in brackets and bold, so that focus is no matter of colour. */
struct rect canvas_frame(struct canvas *canvas, struct rect rect, const char *title, const char *note, bool focused);

/* For goldens: the text, one line per row without trailing blanks; then, if asked, runs of roles per row
 * ("3: 0-14 status.mode, 15-60 text+bold") without blanks of ordinary text, and the cursor. */
void canvas_dump(struct strbuf *out, const struct canvas *canvas, bool roles);

struct rect rect_make(int row, int col, int rows, int cols);
struct rect rect_inset(struct rect rect, int by);
