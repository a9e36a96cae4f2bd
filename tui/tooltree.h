#pragma once
/* The calls of the tool trace and what is unfolded below them: how many lines each takes, where the cursor stands among
 * these, and which of them is the first in sight.
 *
 * The list counts calls, so that filter and search are of calls; within an unfolded one the cursor goes on line by
 * line. */

#include "pane.h"
#include "told.h"

struct tooltree {
    struct told_rows *open; /* the unfolded calls */
    size_t count, room;
    size_t top, skip; /* the first call in sight, and how many of its lines are above the edge */
    uint32_t call;    /* that the cursor is in */
    size_t inside;    /* 0: on the call itself; else the line below it, from 1 on */
    bool tail;        /* stay at the last line while it grows */
};

void tooltree_release(struct tooltree *tree);
/* Folds or unfolds the call under the cursor. False: it has told nothing. */
bool tooltree_toggle(struct tooltree *tree, const struct pane *pane, const struct view *view);
/* What is unfolded below a call, NULL when it is folded. Good until the next toggle. */
const struct told_rows *tooltree_rows(struct tooltree *tree, const struct view *view, uint32_t call);
/* Lines that a call takes, with its own. */
size_t tooltree_lines(struct tooltree *tree, const struct view *view, uint32_t call);
/* Whether a line says why it did not go well: not where an error is told above it. */
bool tooltree_has_reason(const struct session_call *call, const struct told_rows *rows);

/* Moves the first line as little as the cursor makes it, and leaves no room at the end unused. */
void tooltree_scroll(struct tooltree *tree, struct pane *pane, const struct view *view, int height);
/* True when the action moved something. */
bool tooltree_action(struct tooltree *tree, struct pane *pane, const struct view *view, enum action action, int height);
/* To what is shown in this line. */
void tooltree_click(struct tooltree *tree, struct pane *pane, const struct view *view, size_t line);
/* The told line under the cursor; NULL when it is on a call. */
const struct told_row *tooltree_selected(struct tooltree *tree, const struct pane *pane, const struct view *view);
