#pragma once
/* The difference between two frames, as bytes for a terminal. Pure functions: the caller passes the terminal's current
 * content and gets the bytes to send. A struct of a few functions and texts describes the terminal. */

#include "base/strbuf.h"
#include "canvas.h"
#include "theme.h"

#define FRAME_RGB (1 << 24)

/* What the terminal supports. A text that is NULL is not supported. */
struct frame_caps {
    int colors; /* 0, 8, 16, 256, FRAME_RGB */
    bool utf8;
    bool last_scrolls; /* a character in the last cell scrolls the screen, so that cell stays empty */
    bool sync;         /* synchronized updates (mode 2026) */
    const char *reset, *bold, *dim, *italic, *underline, *reverse, *clear, *hide_cursor, *show_cursor;
    void (*position)(struct strbuf *out, int row, int col);
    void (*color)(struct strbuf *out, int color, bool background); /* for 8, 16 and 256 */
};

/* What the terminal currently shows. */
struct frame {
    int rows, cols;
    struct cell *cells; /* NULL: unknown */
    struct theme theme;
    struct style pen;
    bool pen_known;
    int row, col; /* cursor position; -1: unknown */
    bool cursor_shown;
};
void frame_init(struct frame *frame);
void frame_release(struct frame *frame);
/* Forgets the terminal's content: the next frame is sent completely. */
void frame_forget(struct frame *frame);
/* Appends the bytes that make a terminal of rows × cols show the canvas; nothing if it already does. */
void frame_diff(struct frame *frame, const struct frame_caps *caps, int rows, int cols, const struct canvas *canvas,
                const struct theme *theme, struct strbuf *out);
