#pragma once
/* The terminal: the only file that uses ncurses. It shows canvases and returns keys. However the program ends or stops
 * (exit, crash, kill, suspend), the terminal is restored.
 *
 * term_start, then term_present and term_key in turn, then term_stop. All on the loop thread. */

#include "canvas.h"
#include "keys.h"
#include "theme.h"

struct term;

/* Takes over the terminal. fd 2 becomes a pipe until term_stop, so that no library writes over the screen. */
struct term *term_start(struct err *err) CHECKED;
void term_stop(struct term *term); /* restores the terminal; NULL is fine */
int term_fd(const struct term *term);
void term_size(const struct term *term, int *rows, int *cols);
bool term_utf8(const struct term *term);
/* Call after SIGWINCH: reads the new size. */
void term_resized(struct term *term);
/* True when the terminal was closed: no more keys will come. */
bool term_gone(const struct term *term);
/* Reads one key; false when none is waiting. */
bool term_key(struct term *term, struct key *key);
/* Shows the canvas: sends only the cells that changed, inside a synchronized update. */
void term_present(struct term *term, const struct canvas *canvas, const struct theme *theme);
void term_redraw(struct term *term);                             /* the next term_present sends everything */
void term_copy(struct term *term, const char *text, size_t len); /* OSC 52 */
/* For $EDITOR and Ctrl-Z: between the two calls the terminal belongs to another program. */
void term_leave(struct term *term);
void term_return(struct term *term);
/* Non-blocking read end of the pipe behind fd 2; the caller writes what it reads to the log. */
int term_stray_fd(const struct term *term);
/* Another name to try for a terminal that this machine has no description of; NULL: none. `tried` counts from 0. */
const char *termname_alike(const char *name, unsigned tried);
