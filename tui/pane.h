#pragma once
/* A pane: a piece of the screen that shows one thing. It paints from the view and its own small state (cursor, scroll,
 * filter), handles the actions that concern it, and says what is selected. It never changes the session: what it wants
 * done is an intent, handed to `ui->submit`. */

#include "canvas.h"
#include "keymap.h"
#include "list.h"
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
    int number;         /* its key, 1…6 */
    const char *name;   /* "conversation" */
    size_t size;        /* of its state; begins with struct pane */
    void (*init)(struct pane *pane);
    void (*release)(struct pane *pane); /* may be NULL */
    /* Text for the frame's right side ("62 · all"). */
    void (*note)(struct pane *pane, const struct view *view, struct strbuf *out);
    void (*paint)(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside, bool focused);
    /* True when it did something with it. */
    bool (*act)(struct pane *pane, struct ui *ui, const struct view *view, enum action action);
    struct selection (*selected)(struct pane *pane, const struct view *view);
    /* Searching: the next row from the cursor that has the text; false when there is none. */
    bool (*search)(struct pane *pane, const struct view *view, const char *text, bool back);
    /* A filter text ("" takes it away); NULL when the pane has none. */
    void (*filter)(struct pane *pane, const struct view *view, const char *text);
    void (*click)(struct pane *pane, const struct view *view, int row, int col); /* relative to the inside */
    /* Work that is too long for a frame (a filter over a million events): does a bounded piece of it; true while there is
     * more. May be NULL. */
    bool (*work)(struct pane *pane, const struct view *view);
};

struct pane {
    const struct pane_ops *ops;
    struct list list;
    int height, width;   /* of the inside when it was last painted */
    /* Both are the ui's: it sets them before it calls `search` and `filter`, and frees them. */
    char *search_text;   /* shown as hits; NULL */
    char *filter_text;   /* NULL: none */
};

extern const struct pane_ops pane_conversation, pane_events, pane_tools, pane_waves, pane_budget, pane_write;
