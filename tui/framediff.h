#pragma once
/* From one frame to the next, in bytes for a terminal. Pure: what the terminal has is handed in, what to send comes
 * out, and how the terminal wants to be spoken to is a struct of a few functions and texts. */

#include "base/strbuf.h"
#include "canvas.h"
#include "theme.h"

#define FRAME_RGB (1 << 24)

/* How the terminal is spoken to. A text that is NULL is something it cannot do. */
struct frame_caps {
    int colors; /* 0, 8, 16, 256, FRAME_RGB */
    bool utf8;
    bool last_scrolls; /* a character in the last cell scrolls the screen: that cell stays empty */
    bool sync;         /* synchronized updates (mode 2026) */
    const char *reset, *bold, *dim, *italic, *underline, *reverse, *clear, *hide_cursor, *show_cursor;
    void (*position)(struct strbuf *out, int row, int col);
    void (*color)(struct strbuf *out, int color, bool background); /* for 8, 16 and 256 */
};

/* What the terminal shows at the moment. */
struct frame {
    int rows, cols;
    struct cell *cells; /* NULL: unknown */
    struct theme theme;
    struct style pen;
    bool pen_known;
    int row, col; /* of the cursor; -1: unknown */
    bool cursor_shown;
};
void frame_init(struct frame *frame);
void frame_release(struct frame *frame);
/* Nothing is known any more: the next one is sent whole. */
void frame_forget(struct frame *frame);
/* Appends what makes the terminal of rows × cols show the canvas; nothing when it does already. */
void frame_diff(struct frame *frame, const struct frame_caps *caps, int rows, int cols, const struct canvas *canvas,
                const struct theme *theme, struct strbuf *out);
