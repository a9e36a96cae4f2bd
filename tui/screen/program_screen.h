#pragma once
/* The terminal of a program: its lines, or the whole screen of a full-screen program (vim, htop, less, top).
 *
 *     program_screen_resize(&screen, rows, cols);       the size of its terminal
 *     program_screen_print(&screen, bytes, len);        its output, in pieces of whole characters
 *     if (screen.full) program_screen_paint(…);         else paint screen.lines
 *
 * A program is full-screen while it uses the alternate screen, or from the first sequence on that lines cannot show.
 * Such a painted screen ends when the program has printed a screenful of lines without another one. libvterm keeps the
 * screen, and exists only for that time. Other output, and what scrolls off or remains of a painted screen, goes to
 * `lines`. Cells pass through the sanitizer of the canvas like all text. Queries of the program to its terminal are not
 * answered. */

#include "program_lines.h"

struct key;
struct program_vterm;

#define PROGRAM_SCREEN_ROWS_MAX 500
#define PROGRAM_SCREEN_COLS_MAX 1000

struct program_screen {
    struct program_lines lines;
    struct program_vterm *full; /* NULL: the program prints lines */
    bool painted;               /* the program was full-screen at some time */
    int rows, cols;
};

void program_screen_init(struct program_screen *screen); /* 24 rows of 80 columns, a terminal's initial size */
void program_screen_release(struct program_screen *screen);
void program_screen_reset(struct program_screen *screen); /* keeps the size */
/* Sizes are limited to the bounds. */
void program_screen_resize(struct program_screen *screen, int rows, int cols);
void program_screen_print(struct program_screen *screen, const char *bytes, size_t len);
/* The program has ended: what is on its screen becomes lines. */
void program_screen_end(struct program_screen *screen);
/* Paints the full screen from column `left` on, and sets the cursor if asked. Shows the cursor's row if not all fit. */
void program_screen_paint(const struct program_screen *screen, struct canvas *canvas, struct rect in, int left,
                          bool cursor);
/* The bytes that a terminal sends for a key, in the mode that the program chose; none for keys that terminals do not
 * send. Only while `full`. */
void program_screen_key(struct program_screen *screen, const struct key *key, struct strbuf *out);
/* The text of the full screen, one line per row. */
void program_screen_text(const struct program_screen *screen, struct strbuf *out);
/* Guesses the size of the terminal from the sequences and frames of recorded output. Never makes the size smaller. */
void program_screen_guess_size(const char *bytes, size_t len, int *rows, int *cols);
