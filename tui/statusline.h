#pragma once
/* The first line and the last: who waits for whom, and what the keys do now. */

#include "canvas.h"
#include "keymap.h"
#include "view.h"

/* What the write pane has chosen, for the footer's words ("approve 1 of 2 hunks"). */
struct write_choice {
    size_t kept, hunks; /* no hunks: all or nothing */
    bool edited;
    bool call;     /* there is no diff: it is about the call */
    size_t unseen; /* rows of the call that were not on the screen yet: a yes shows them first */
    bool guarded;  /* Keyturn asks every time: A cannot allow it */
    bool no_undo;  /* it was said yes to, but could not be undone */
    bool fresh;    /* it has just come: no key answers it yet */
    bool hidden;   /* it is not on the screen: no key answers it at all */
};

/* `fresh`: the question has just come and does not wait for a key yet. */
void statusline_top(struct canvas *canvas, struct rect rect, const struct view *view, bool fresh);
/* What decides which keys the footer names. */
struct statusline_keys {
    const struct keymap *keymap;
    unsigned contexts;
    const struct write_choice *choice; /* NULL: no write waits */
    bool zoomed;                       /* one pane has the whole screen */
    bool tree;                         /* the pane that has the keys shows a tree */
    const char *words;                 /* of the dialog or the line that gets the keys; NULL: the panes get them */
};
void statusline_footer(struct canvas *canvas, struct rect rect, const struct view *view,
                       const struct statusline_keys *keys);
void statusline_timeline(struct canvas *canvas, struct rect rect, const struct view *view, const unsigned char *marks);
/* Columns of its bar, and the seq that a click on a column of the screen means. */
int statusline_timeline_columns(struct rect rect);
size_t statusline_timeline_seq(struct rect rect, int col, size_t count);

struct pane;
/* In pane_write.c: what is chosen for the open question; false when there is none. */
bool pane_write_choice(struct pane *pane, const struct view *view, struct write_choice *out);
