#pragma once
/* The terminal: the one file that knows ncurses. Canvas in, keys out. Whatever happens (exit, crash, kill, suspend) the
 * terminal is left as it was found. */

#include "canvas.h"
#include "keymap.h"
#include "theme.h"

struct term;

/* Takes the terminal over. fd 2 becomes a pipe whose lines go to `stray` while the screen is ours. */
struct term *term_start(struct err *err) CHECKED;
void term_stop(struct term *term); /* gives it back; safe twice */
int term_fd(const struct term *term);
void term_size(const struct term *term, int *rows, int *cols);
bool term_utf8(const struct term *term);
/* After SIGWINCH: takes the new size. */
void term_resized(struct term *term);
/* Its other side is gone: there will be no more keys. */
bool term_gone(const struct term *term);
/* One key, false when there is none at the moment. */
bool term_key(struct term *term, struct key *key);
/* Forgets what was typed and not read. */
void term_flush_input(struct term *term);
/* Shows the canvas: only what changed is sent, inside a synchronized update. */
void term_present(struct term *term, const struct canvas *canvas, const struct theme *theme);
void term_redraw(struct term *term);                             /* everything, the next time */
void term_copy(struct term *term, const char *text, size_t len); /* OSC 52 */
/* The pair for $EDITOR and Ctrl-Z: the terminal is the shell's in between. */
void term_leave(struct term *term);
void term_return(struct term *term);
/* Where what others wrote to fd 2 can be read, without waiting; it goes to the log. */
int term_stray_fd(const struct term *term);
