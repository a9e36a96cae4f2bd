#pragma once
/* The first line (what the session waits for) and the last line (what the keys do now). */

#include "keymap.h"
#include "screen/canvas.h"
#include "view.h"

/* What the user chose in the write pane, for the footer's words ("approve 1 of 2 hunks"). */
struct write_choice {
    size_t kept, hunks; /* 0 hunks: all or nothing */
    bool edited;
    bool call;     /* the question has no diff: it is about the call */
    size_t unseen; /* rows of the call that were not on the screen yet; approving shows them first */
    bool guarded;  /* Keyturn asks every time, so A cannot allow it */
    bool no_undo;  /* it was approved, but could not be undone, so it is asked again */
    bool fresh;    /* the question is new: no key answers it yet */
    bool hidden;   /* the question is not on the screen: no key answers it */
};

/* `fresh`: the question is new and accepts no key yet. */
void statusline_top(struct canvas *canvas, struct rect rect, const struct view *view, bool fresh);
/* The state that decides which keys the footer shows. */
struct statusline_keys {
    const struct keymap *keymap;
    unsigned contexts;
    const struct write_choice *choice; /* NULL: no write waits for approval */
    bool zoomed;                       /* one pane fills the screen */
    bool tree;                         /* the focused pane shows a tree */
    const char *words;                 /* keys of the focused dialog or input line; NULL: the panes have the focus */
};
void statusline_footer(struct canvas *canvas, struct rect rect, const struct view *view,
                       const struct statusline_keys *keys);
void statusline_timeline(struct canvas *canvas, struct rect rect, const struct view *view, const unsigned char *marks);
/* The number of columns of the timeline bar, and the seq for a click on a screen column. */
int statusline_timeline_columns(struct rect rect);
size_t statusline_timeline_seq(struct rect rect, int col, size_t count);

struct pane;
/* In panes/write.c: what the user chose for the open question; false if none is open. */
bool pane_write_choice(struct pane *pane, const struct view *view, struct write_choice *out);
