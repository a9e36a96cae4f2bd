#pragma once
/* The dialog of programs, for the files that make it up: dialog_program.c (keys), dialog_program_paint.c (what is shown),
 * dialog_program_typing.c (what goes to the program). Nobody else includes this. */

#include "base/strbuf.h"
#include "dialog.h"
#include "program.h"

enum program_typing { TYPING_NOT, TYPING_SEARCH, TYPING_INPUT };

struct program_dialog {
    struct dialog dialog;
    uint32_t program;
    struct program_kept *kept; /* the line that is typed into it is there: it outlives the dialog */
    struct program_text text;
    enum program_typing typing;
    struct input search_line;
    char *search;
    size_t hit;      /* the line of the hit one is at */
    char *ending;    /* the program that the user is asked about */
    bool unsent;     /* something was typed that the program did not get */
    bool left;       /* it ended while the user typed, at … */
    int64_t left_us;
    char title[80];
    struct strbuf footer;
};

static inline struct program_dialog *program_of(struct dialog *dialog)
{
    return (struct program_dialog *)dialog;
}

/* True where there is nothing to show; else `program` is one that there is. */
bool program_dialog_empty(struct program_dialog *shown, const struct view *view);
const char *program_dialog_name(const struct program_dialog *shown, const struct view *view);

/* dialog_program_paint.c */
struct rect program_dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols);
void program_dialog_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                         struct rect inside);
const char *program_dialog_title(struct dialog *dialog, const struct view *view);
const char *program_dialog_footer(struct dialog *dialog, const struct view *view);

/* dialog_program_typing.c */
/* True, and says why, where it can be neither typed into nor ended; `typing`: or not be typed into at this moment. */
bool program_dialog_refuses(const struct program_dialog *shown, struct ui *ui, const struct view *view, bool typing);
/* A program that has ended takes no text any more: closes the line, and says so. True when it did. */
bool program_dialog_leave(struct program_dialog *shown, struct ui *ui, const struct view *view);
/* A hand that is still typing does not know yet that the line is gone: its letters are no keys, and true is returned. */
bool program_dialog_too_late(struct program_dialog *shown, struct ui *ui, const struct key *key);
/* Whether the line may be read: what was typed unseen is never shown afterwards. */
void program_dialog_mask(struct program_dialog *shown, const struct view *view);
void program_dialog_send_interrupt(struct program_dialog *shown, struct ui *ui, const struct view *view);
/* A key for the line that is open. */
void program_dialog_type(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key);
