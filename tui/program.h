#pragma once
/* A program as it is shown: what it printed, read from the journal a piece at a time, and what there is to say of it.
 * Live and recorded alike: all of it comes from the view. */

#include "input.h"
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
/* Takes in what is new of a program; begins anew for another one, and when a recording went back. Returns how many of
 * the lines that were there left at the front; SIZE_MAX: all of them. */
size_t program_text_update(struct program_text *text, const struct view *view, uint32_t program);

/* What is kept of the dialog with programs while it is closed. */
struct program_kept {
    uint32_t shown;    /* the program that was shown last, SESSION_NONE */
    uint32_t asked;    /* the one in question when it was opened, SESSION_NONE */
    struct input line; /* what somebody was typing into it, and typed before */
};
void program_kept_init(struct program_kept *kept);
void program_kept_release(struct program_kept *kept);

/* The program that a call started, or that its arguments name; SESSION_NONE. */
uint32_t program_of_call(const struct view *view, uint32_t call);
/* The one somebody would want to see: `last`, which was shown last, while it runs; else the newest of those that wait
 * for input, of those that run, of all; SESSION_NONE. */
uint32_t program_wanted(const struct view *view, uint32_t last);
/* What is typed is refused at this moment, as core/turn/typing.c has it: the turn goes on by itself. */
bool program_agent_works(const struct view *view);
/* It waits for a line that its terminal does not say back: nobody shall read it here either. */
bool program_hides(const struct view *view, uint32_t program);
/* A call whose command ends with it: it runs, and is no program here. Its index, SESSION_NONE. */
uint32_t program_call_only(const struct view *view);
/* "running 12.4 s", "waits for input 12.4 s", "exit 0 after 3.2 s", "killed by key after 1.0 s". */
void program_state(struct strbuf *out, const struct view *view, uint32_t program);
/* Why it ended, where that is too long to be told in full there; else NULL. */
const char *program_long_why(const struct view *view, uint32_t program);
enum look program_look(const struct view *view, uint32_t program);
