#pragma once
/* A program on the screen: its output, read from the journal a piece at a time, and its state in words. All data comes
 * from the view, so live and recorded programs work the same. */

#include "app/view.h"
#include "screen/input.h"
#include "screen/program_screen.h"

struct program_text {
    struct program_screen screen;
    const struct journal_reader *lines; /* NULL: nothing was read yet */
    uint32_t program, newest;           /* newest: its newest piece that is in `screen` */
    bool earlier;                       /* there was earlier output */
    bool ended;                         /* the program had ended: nothing is full-screen */
};

void program_text_init(struct program_text *text);
void program_text_release(struct program_text *text);
/* Adds new output of a program. Starts over for another program, and when a recording went back. Returns how many old
 * lines were dropped at the front; SIZE_MAX: all of them. A running full-screen program gets a terminal of this size.
 * For a program that has ended, the size is guessed. */
size_t program_text_update(struct program_text *text, const struct view *view, uint32_t program, int rows, int cols);

/* State of the program dialog that is kept while it is closed. */
struct program_kept {
    uint32_t shown;    /* the program shown last, or SESSION_NONE */
    uint32_t asked;    /* the relevant program when the dialog was opened, or SESSION_NONE */
    struct input line; /* the input line and its history */
};
void program_kept_init(struct program_kept *kept);
void program_kept_release(struct program_kept *kept);

/* The program that a call started, or that its arguments name; SESSION_NONE if there is none. */
uint32_t program_of_call(const struct view *view, uint32_t call);
/* The most relevant program: `last`, which was shown last, while it runs; else the newest that waits for input, the
 * newest that runs, the newest of all. SESSION_NONE if there is none. */
uint32_t program_wanted(const struct view *view, uint32_t last);
/* True if typed input is refused now, by the rule of core/turn/undo.c: the turn is running. */
bool program_agent_works(const struct view *view);
/* True if it waits for input that its terminal does not echo, for example a password: do not show it here either. */
bool program_hides(const struct view *view, uint32_t program);
/* A running call whose command ends with the call, so it is not a program here. Its index, or SESSION_NONE. */
uint32_t program_call_only(const struct view *view);
/* "running 12.4 s", "waits for input 12.4 s", "exit 0 after 3.2 s", "killed by key after 1.0 s". */
void program_state(struct strbuf *out, const struct view *view, uint32_t program);
/* The reason why it ended, if it is too long for program_state; else NULL. */
const char *program_long_why(const struct view *view, uint32_t program);
enum look program_look(const struct view *view, uint32_t program);
