#pragma once
/* A pane: a piece of the screen that shows one thing. It paints from the view and its own small state (cursor, scroll,
 * filter), moves its cursor, and says what is selected. It never changes the session: what it wants done is an intent,
 * handed to ui_submit. */

#include "canvas.h"
#include "keymap.h"
#include "list.h"
#include "sift.h"
#include "view.h"

struct ui;
struct pane;

/* What is selected, for the inspector, copying, breakpoints. */
struct selection {
    enum { SELECT_NOTHING, SELECT_EVENT, SELECT_CALL, SELECT_WAVE, SELECT_TEXT, SELECT_HUNK } kind;
    int64_t seq;   /* the event that holds it, 0 when none */
    uint32_t call; /* index into the session's calls, SESSION_NONE */
};

struct pane_ops {
    int number;       /* its key, 1…7 */
    const char *name; /* "conversation" */
    size_t size;      /* of its state; begins with struct pane */
    void (*init)(struct pane *pane);
    void (*release)(struct pane *pane); /* may be NULL */
    /* Text for the frame's right side ("62 · all"). */
    void (*note)(struct pane *pane, const struct view *view, struct strbuf *out);
    void (*paint)(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside, bool focused);
    /* Moves the cursor: up, down, left, right, a page, to an end. NULL: that of the list. */
    void (*move)(struct pane *pane, const struct view *view, enum action action);
    /* Shows or copies what is under the cursor in a way of its own; false: what is selected is shown or copied. May be
     * NULL. */
    bool (*inspect)(struct pane *pane, struct ui *ui, const struct view *view);
    bool (*copy)(struct pane *pane, struct ui *ui, const struct view *view);
    void (*unfold)(struct pane *pane, struct ui *ui, const struct view *view); /* NULL: nothing in it unfolds */
    struct selection (*selected)(struct pane *pane, const struct view *view);
    /* Its rows, for the filter and the search; NULL: it has none. `rows` comes with the view, the pane as its owner,
     * and the number of events as the state of what is not settled. */
    void (*rows)(struct pane *pane, const struct view *view, struct sift_rows *rows);
    bool texts; /* a filter of it is of texts only: there are no kinds and calls among its rows */
    /* The row under the cursor (SIZE_MAX: none), and the way to another one: to the first place of `text` in it, or to
     * the last. Both NULL: the list's. */
    size_t (*place)(struct pane *pane, const struct view *view);
    void (*go)(struct pane *pane, const struct view *view, size_t row, const char *text, bool back);
    /* Searching within a row, before other rows are looked at: true when the cursor went to the next place of the text.
     * May be NULL. */
    bool (*search)(struct pane *pane, const struct view *view, const char *text, bool back);
    void (*click)(struct pane *pane, const struct view *view, int row, int col); /* relative to the inside */
};

struct pane {
    const struct pane_ops *ops;
    struct list list;
    int height, width; /* of the inside when it was last painted */
    struct sift sift;  /* what is shown of its rows */
    char *search_text; /* shown as hits; NULL */
    char *filter_text; /* NULL: none */
};

/* In pane.c, the same for all of them. */
struct pane *pane_new(const struct pane_ops *ops);
void pane_free(struct pane *pane);
/* "" takes the filter away. False: the pane has no rows to be filtered. */
bool pane_filter(struct pane *pane, const struct view *view, const char *text);
/* The next place of `search_text`. SIFT_LATER: pane_work goes on with it. */
enum sift_found pane_search(struct pane *pane, const struct view *view, bool back);
void pane_search_stop(struct pane *pane);
/* Work that is too long for a frame (a filter, a search over a million events): does a bounded piece of it; true while
 * there is more. `lost`: a search ended and found nothing. */
bool pane_work(struct pane *pane, const struct view *view, bool *lost);
/* For painting: takes in what changed, keeps the cursor on its row, and gives the number of rows that are shown. */
size_t pane_update(struct pane *pane, const struct view *view, int height);
/* The row that stands at a place of the list. */
size_t pane_row(const struct pane *pane, size_t index);
/* The row under the list's cursor; SIZE_MAX when there is none. */
size_t pane_cursor_row(struct pane *pane, const struct view *view);
/* An action that moves the cursor, and a click, relative to the inside: both on the rows that there still are. */
void pane_move(struct pane *pane, const struct view *view, enum action action);
void pane_click(struct pane *pane, const struct view *view, int row, int col);
/* Moves the list; a search that is under way is given up, since it would move the cursor away again. */
bool pane_list_action(struct pane *pane, enum action action, int height);
/* What the frame says of rows, filter and search: "3 of 5 calls · failed". `many` NULL: numbers only. */
void pane_note(struct pane *pane, const struct view *view, struct strbuf *out, const char *one, const char *many);
/* Whether the frame has something to say of a filter or a search. */
bool pane_sifted(const struct pane *pane);
/* What to say where nothing is shown because nothing fits; false when that is not why. */
bool pane_paint_nothing(const struct pane *pane, struct canvas *canvas, struct rect in, const char *what);
/* The limit under the cursor of the budget pane and its name there; NULL, and `key` as it was: none. */
const char *pane_budget_selected(struct pane *pane, const struct view *view, int *key);

extern const struct pane_ops pane_conversation, pane_events, pane_tools, pane_waves, pane_budget, pane_write,
    pane_workspace;
