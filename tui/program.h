#pragma once
/* A program as it is shown: what it printed, read from the journal a piece at a time, and what there is to say of it.
 * Live and recorded alike: all of it comes from the view. */

#include "termtext.h"
#include "view.h"

struct program_text {
    struct termtext text;
    const struct journal_reader *lines; /* NULL: nothing was read */
    uint32_t program, newest;           /* the program, and the newest of its pieces that is in `text` */
    bool earlier;                       /* there was more before */
};

void program_text_init(struct program_text *text);
void program_text_release(struct program_text *text);
/* Takes in what is new of a program; begins anew for another one, and when a recording went back. */
void program_text_update(struct program_text *text, const struct view *view, uint32_t program);

/* The program that a call started, or that its arguments name; SESSION_NONE. */
uint32_t program_of_call(const struct view *view, uint32_t call);
/* The one somebody would want to see first: the newest that runs, else the newest; SESSION_NONE. */
uint32_t program_newest(const struct view *view);
/* Its command; "" when that cannot be read. Good as long as the arena. */
const char *program_command(const struct view *view, uint32_t program, struct arena *arena);
/* "running 12.4 s", "waits for input 12.4 s", "exit 0 after 3.2 s", "killed by key after 1.0 s". */
void program_state(struct strbuf *out, const struct view *view, uint32_t program);
enum look program_look(const struct view *view, uint32_t program);
