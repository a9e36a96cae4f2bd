#pragma once
/* The state of the user interface apart from the session: focus, zoom, dialogs, input lines, theme. ui_key turns a key
 * into an action and runs it; ui_render paints everything. Neither uses a terminal. Requests of the user go through
 * `struct ui_host`, which the program (or a test) provides. */

#include "keymap.h"
#include "panes/pane.h"
#include "screen/canvas.h"
#include "screen/theme.h"
#include "view.h"

struct ui;

/* Requests of the user. Each returns 0, or -1 with an error that the ui shows. All pointers are borrowed. */
struct ui_host {
    struct engine *engine; /* receives the intents of a live session; NULL: `submit` does */
    int (*submit)(struct ui_host *host, const struct intent *intent, struct err *err);
    /* Play, seek, speed, fork: the actions of IN_REPLAY. With ACTION_COMMAND the argument is a command: "goto 58" (a
     * seq), "goto 12.4s" (a time), "speed 4", "save FILE" (in a live session too: the journal so far). Otherwise the
     * argument is NULL. */
    int (*replay)(struct ui_host *host, enum action action, const char *argument, struct err *err);
    int (*edit_text)(struct ui_host *host, const char *name, const char *text, size_t len, struct strbuf *out,
                     struct err *err);
    int (*open)(struct ui_host *host, const char *what, struct err *err); /* a session, a recording, a fixture */
    int (*set_up)(struct ui_host *host, struct err *err); /* creates the config file if missing, edits it, reloads it */
    void (*copy)(struct ui_host *host, const char *text, size_t len);
    void (*suspend)(struct ui_host *host);
    void (*redraw)(struct ui_host *host);
    void (*quit)(struct ui_host *host);
    /* The marks of the timeline, as from player_marks; may be NULL. */
    void (*marks)(struct ui_host *host, size_t columns, unsigned char *out);
};

/* A handler of an action. actions.def names the handler of each action; a row without one does not compile. */
typedef void action_handler(struct ui *ui, const struct view *view, enum action action);
#define ACTION(ID, name, contexts, keys, short_help, help, handler) action_handler handler;
#include "actions.def"
#undef ACTION
/* Runs an action; ACTION_NONE does nothing. ui_key decides whether the action is allowed; this function does not. */
void ui_act(struct ui *ui, const struct view *view, enum action action);
/* Asks whether to undo or redo the write of this row, and does it after a yes. */
void ui_ask_restore(struct ui *ui, const struct view *view, uint32_t row, bool redo);

struct ui *ui_new(struct ui_host *host, struct keymap *keymap, const char *theme);
void ui_free(struct ui *ui);
void ui_resize(struct ui *ui, int rows, int cols);
/* A key read before the frame that shows a question as waiting was presented never answers that question. */
void ui_key(struct ui *ui, const struct view *view, const struct key *key);
void ui_render(struct ui *ui, const struct view *view, struct canvas *canvas);
/* Does a bounded piece of pending work of the panes (filters that fill in). True while there is more: the caller then
 * draws another frame. */
bool ui_work(struct ui *ui, const struct view *view);
/* Call it when a frame is on the screen. */
void ui_presented(struct ui *ui, const struct view *view);
const struct theme *ui_theme(const struct ui *ui);
/* Shows a message above the footer, in as many rows as it needs. The next key removes it. It also expires, unless it is
 * an error. */
void ui_message(struct ui *ui, enum look role, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* For `us` after the first frame that shows it, a question accepts no answer, because the user may still be typing
 * something else. The initial value 0 turns this off. */
void ui_grace(struct ui *ui, int64_t us);
/* The open question now shows another part. Like a new question, it accepts no answer for a moment. */
void ui_question_moved(struct ui *ui);
/* From the next frame on, the question shows the user's own version. */
void ui_message_revised(struct ui *ui);
#define UI_GRACE_US 300000 /* the value for interactive use */
/* Sets the current time before a frame, and removes an expired message. */
void ui_clock(struct ui *ui, int64_t now_us);
/* After a frame: when the next one is due even without an event, because a message expires or a question starts to
 * wait; 0: never. */
int64_t ui_due(const struct ui *ui);
/* Progress of long work: shown while `total` > `done`. */
void ui_progress(struct ui *ui, const char *what, size_t done, size_t total);
/* Passes an intent, or an action of a recording, to the host. False: it was refused, and a message says why. */
bool ui_submit(struct ui *ui, const struct intent *intent);
bool ui_replay(struct ui *ui, enum action action, const char *argument);
/* Opens a session, a recording or a fixture in place of this one. An error is shown as a message. */
void ui_open(struct ui *ui, const char *what);
struct pane *ui_get_pane(const struct ui *ui, int number);
/* How many hunks of the open question an approval would write; SIZE_MAX if no question is open or it has no hunks. */
size_t ui_hunks_kept(struct ui *ui, const struct view *view);
/* Sets the hint line; NULL removes it. */
void ui_hint(struct ui *ui, const char *text);
