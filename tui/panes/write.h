#pragma once
/* The write pane, shared by its files only: write.c shows the diff, write_head.c paints the head, the last line and
 * calls without a diff, write_answer.c submits the decision. */

#include "app/ui.h"
#include "diff_rows.h"
#include "pane.h"
#include "screen/document.h"

struct write_pane {
    struct pane pane;
    struct diffview diff;
    size_t piece;   /* the hunk under the cursor */
    int first;      /* row of the pane where the diff begins */
    int rows, cols; /* size of the diff's area when last painted */

    /* What is loaded: an open question, or an earlier question of the session. */
    bool open; /* a question that can be answered */
    char *ask; /* its id */
    char *tool;
    char *no_undo; /* the question is asked again because it cannot be undone: the reason */
    char digest[HASH_SHA256_HEX];
    uint32_t pick; /* the question shown while none is open; SESSION_NONE: the newest */
    struct session_question row;
    uint32_t ask_count; /* number of questions in the session then */
    int64_t asked_t;
    struct strbuf story;  /* its outcome, one line per event */
    char *arguments;      /* of the call, if there is no diff; NULL: there is a diff */
    char *said;           /* output of the tool before the question, if there is no diff; NULL: none */
    struct document call; /* arguments and output as rows */
    size_t seen;          /* its rows that were on the screen, counted from the first */
    bool path_cut;        /* the header cannot show the whole path */
    bool unseen_warned;   /* the user was told about unseen rows: the next approval counts */
    char *left_out;       /* the tool's output about what the diff leaves out; NULL: none */

    unsigned revision;  /* of the loaded question */
    bool edited;        /* the user's version is shown, not the proposal */
    size_t edited_file; /* the file that the user edited */
    char *reason_ask;   /* the question that the user types a reason for */
};

/* Loads the output of the call before the question and, if there is no diff, its arguments; lays these out for a width;
 * counts the rows. */
void write_pane_load_call(struct write_pane *write, const struct view *view, uint32_t ask);
void write_pane_lay_call(struct write_pane *write, const struct canvas *canvas, int width);
size_t write_pane_rows(const struct write_pane *write);
/* Notes that a frame shows the visible rows of the call. And the number of rows that no frame has shown. */
void write_pane_see_call(struct write_pane *write);
size_t write_pane_unseen(const struct write_pane *write);
/* Scrolls so that this row is the first, as far as possible. */
void write_pane_scroll_to(struct write_pane *write, size_t top);
/* Paints what is above the diff; returns its rows. And the last line below it. */
int write_pane_paint_head(struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in);
void write_pane_paint_foot(const struct write_pane *write, struct canvas *canvas, struct rect line);
