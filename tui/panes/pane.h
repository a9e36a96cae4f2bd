#pragma once
/* A pane: a part of the screen that shows one subject. It paints from the view and its own small state (cursor,
 * scroll, filter), moves its cursor, and reports the selection. It never changes the session: it passes intents to
 * ui_submit. */

#include "app/keymap.h"
#include "app/view.h"
#include "filter.h"
#include "screen/canvas.h"
#include "screen/list.h"

struct ui;
struct pane;

/* The selected item, for the inspector, copying and breakpoints. */
struct selection {
    enum { SELECT_NOTHING, SELECT_EVENT, SELECT_CALL, SELECT_WAVE, SELECT_TEXT, SELECT_HUNK } kind;
    int64_t seq;   /* its event; 0 if there is none */
    uint32_t call; /* index into the session's calls, or SESSION_NONE */
};

struct pane_ops {
    int number;       /* its key, 1…7 */
    const char *name; /* "conversation" */
    size_t size;      /* size of its state, which begins with struct pane */
    void (*init)(struct pane *pane);
    void (*release)(struct pane *pane); /* may be NULL */
    /* Text for the frame's right side ("62 · all"). */
    void (*note)(struct pane *pane, const struct view *view, struct strbuf *out);
    void (*paint)(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside, bool focused);
    /* Moves the cursor: up, down, left, right, a page, to an end. NULL: moves the list. */
    void (*move)(struct pane *pane, const struct view *view, enum action action);
    /* Inspects or copies the item under the cursor in a special way. False: the selection is inspected or copied as
     * usual. May be NULL. */
    bool (*inspect)(struct pane *pane, struct ui *ui, const struct view *view);
    bool (*copy)(struct pane *pane, struct ui *ui, const struct view *view);
    void (*unfold)(struct pane *pane, struct ui *ui, const struct view *view); /* NULL: nothing can be expanded */
    struct selection (*selected)(struct pane *pane, const struct view *view);
    /* Its rows, for the filter and the search; NULL: it has none. The caller presets `rows`: the view, the pane as
     * owner, and the number of events as the state of unsettled rows. */
    void (*rows)(struct pane *pane, const struct view *view, struct row_filter_rows *rows);
    bool texts; /* its filter has only texts, because its rows have no kinds and calls */
    /* The row under the cursor (SIZE_MAX: none), and moving to another row: to the first match of `text` in it, or to
     * the last. Both NULL: use the list. */
    size_t (*place)(struct pane *pane, const struct view *view);
    void (*go)(struct pane *pane, const struct view *view, size_t row, const char *text, bool back);
    /* Searches within the current row before other rows: true if the cursor moved to the next match. May be NULL. */
    bool (*search)(struct pane *pane, const struct view *view, const char *text, bool back);
    void (*click)(struct pane *pane, const struct view *view, int row, int col); /* relative to the inside */
};

struct pane {
    const struct pane_ops *ops;
    const struct keymap *keymap;
    struct list list;
    int height, width;             /* of the inside when last painted */
    struct row_filter rows_filter; /* filter and search state of its rows */
    char *search_text;             /* its matches are marked; NULL: none */
    char *filter_text;             /* NULL: none */
};

/* In pane.c, the same for all panes. */
/* `keymap` names keys in texts; the pane does not own it. */
struct pane *pane_new(const struct pane_ops *ops, const struct keymap *keymap);
void pane_free(struct pane *pane);
/* "" removes the filter. False: the pane has no rows to filter. */
bool pane_filter(struct pane *pane, const struct view *view, const char *text);
/* Goes to the next match of `search_text`. ROW_FILTER_LATER: pane_work continues the search. */
enum row_filter_found pane_search(struct pane *pane, const struct view *view, bool back);
void pane_search_stop(struct pane *pane);
/* Does a bounded piece of work that is too long for a frame (a filter, a search over a million events). True while
 * there is more. `lost`: a search ended without a match. */
bool pane_work(struct pane *pane, const struct view *view, bool *lost);
/* Call it before painting: applies changes, keeps the cursor on its row, and returns the number of shown rows. */
size_t pane_update(struct pane *pane, const struct view *view, int height);
/* The row at an index of the list. */
size_t pane_row(const struct pane *pane, size_t index);
/* The row under the list's cursor; SIZE_MAX if there is none. */
size_t pane_cursor_row(struct pane *pane, const struct view *view);
/* Handles an action that moves the cursor, or a click relative to the inside. Both ignore rows that no longer exist. */
void pane_move(struct pane *pane, const struct view *view, enum action action);
void pane_click(struct pane *pane, const struct view *view, int row, int col);
/* Moves the list. A running search is stopped, because it would move the cursor away again. */
bool pane_list_action(struct pane *pane, enum action action, int height);
/* Adds the frame's note on rows, filter and search: "3 of 5 calls · failed". `many` NULL: numbers only. */
void pane_note(struct pane *pane, const struct view *view, struct strbuf *out, const char *one, const char *many);
/* True if the frame has a note on a filter or a search. */
bool pane_is_filtered(const struct pane *pane);
/* Paints a text if no row matches the filter; false if the list is empty for another reason. */
bool pane_paint_nothing(const struct pane *pane, struct canvas *canvas, struct rect in, const char *what);
/* The limit under the cursor of the budget pane, and its name there. NULL, with `key` unchanged: none. */
const char *pane_budget_selected(struct pane *pane, const struct view *view, int *key);

extern const struct pane_ops pane_conversation, pane_events, pane_tools, pane_waves, pane_budget, pane_write,
    pane_workspace;
