#pragma once
/* What the two files of the write pane share: pane_write.c shows, pane_write_answer.c answers. Nobody else includes it. */

#include "diffview.h"
#include "pane.h"
#include "ui.h"

struct write_pane {
    struct pane pane;
    struct diffview diff;
    size_t piece;        /* the hunk under the cursor */
    int first;           /* row of the pane where the diff begins */

    /* What is loaded: a question that is open, or an ask of the session. */
    bool open;           /* a question that can be answered */
    bool painted;        /* what is loaded has been on the screen: only then it can be answered */
    char *ask;           /* its id */
    char *tool;
    char digest[HASH_SHA256_HEX];
    uint32_t pick;       /* ask that is looked at while no question is open; SESSION_NONE: the newest */
    struct session_ask row;
    uint32_t ask_count;  /* of the session, then */
    int64_t asked_t;
    struct strbuf story; /* what became of it, a line each */

    struct change_set *edited; /* the user's version; NULL: as proposed */
    struct diff **edited_diffs;
    char *reason_ask;    /* the ask that a reason is typed for */
};

/* What `y` would write: the proposal or the edited version with the kept pieces. NULL and err when it cannot be made. */
struct change_set *write_pane_chosen(const struct write_pane *write, const struct change_set *set, struct err *err) CHECKED;
void write_pane_forget_edit(struct write_pane *write);
/* True when the action was an answer. */
bool write_pane_answer(struct write_pane *write, struct ui *ui, const struct view *view, enum action action);
