#pragma once
/* What the files of the write pane share: pane_write.c shows, pane_write_head.c says what stands around the diff,
 * pane_write_call.c has what is shown where there is none and what the tool said before, pane_write_answer.c answers.
 * Nobody else includes it. */

#include "diffview.h"
#include "pane.h"
#include "pretty.h"
#include "ui.h"

struct write_pane {
    struct pane pane;
    struct diffview diff;
    size_t piece;   /* the hunk under the cursor */
    int first;      /* row of the pane where the diff begins */
    int rows, cols; /* of the place that the diff had when it was last painted */

    /* What is loaded: a question that is open, or an ask of the session. */
    bool open; /* a question that can be answered */
    char *ask; /* its id */
    char *tool;
    char *no_undo; /* of a question that is asked again because of that: why it cannot be undone */
    char digest[HASH_SHA256_HEX];
    uint32_t pick; /* ask that is looked at while no question is open; SESSION_NONE: the newest */
    struct session_ask row;
    uint32_t ask_count; /* of the session, then */
    int64_t asked_t;
    struct strbuf story; /* what became of it, a line each */
    char *arguments;     /* of the call, when there is no diff to show; NULL: there is one */
    char *said;          /* what the tool said before it was asked about, then; NULL: nothing */
    struct pretty call;  /* the same, laid out */
    size_t seen;         /* rows of it that have been on the screen, from the first on */
    bool path_cut;       /* the header has no room for the whole path */
    bool unseen_told;    /* it was said that some have not: the next yes counts all the same */
    char *left_out;      /* what the tool said of what the diff leaves out; NULL: nothing */

    unsigned revision;  /* of the question that is loaded */
    bool edited;        /* the user's version is shown, not the proposal */
    size_t edited_file; /* that it was made of */
    char *reason_ask;   /* the question that a reason is typed for */
};

/* What the call said before it was asked about and, when there is no diff, its arguments; these laid out for this
 * width; rows of either. */
void write_pane_load_call(struct write_pane *write, const struct view *view, uint32_t ask);
void write_pane_lay_call(struct write_pane *write, const struct canvas *canvas, int width);
size_t write_pane_rows(const struct write_pane *write);
/* A frame shows the rows of the call that it is scrolled to. And the rows of it that no frame has shown. */
void write_pane_see_call(struct write_pane *write);
size_t write_pane_unseen(const struct write_pane *write);
/* Makes this row the first, or the last one that can be. */
void write_pane_scroll_to(struct write_pane *write, size_t top);
/* What stands above the diff; returns its rows. And the last line below it. */
int write_pane_paint_head(struct write_pane *write, const struct view *view, struct canvas *canvas, struct rect in);
void write_pane_paint_foot(const struct write_pane *write, struct canvas *canvas, struct rect line);
