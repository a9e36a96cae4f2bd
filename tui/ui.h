#pragma once
/* The state of what is shown that is not the session's: focus, zoom, dialogs, input lines, theme. ui_key turns a key
 * into an action and carries it out; ui_render paints everything. Both know no terminal. What the user wants done goes
 * through `struct ui_host`, which the program (or a test) provides. */

#include "canvas.h"
#include "keymap.h"
#include "pane.h"
#include "theme.h"
#include "view.h"

struct ui;

/* What the user wants done. Each returns 0, or -1 with a sentence that is shown. All pointers are borrowed. */
struct ui_host {
    struct engine *engine; /* takes the intents of a live session; NULL: `submit` does */
    int (*submit)(struct ui_host *host, const struct intent *intent, struct err *err);
    /* Play, seek, speed, fork: the actions of IN_REPLAY. With ACTION_COMMAND the argument says what: "goto 58" (a seq),
     * "goto 12.4s" (a time), "speed 4", "save FILE" (this one live too: the journal so far). NULL else. */
    int (*replay)(struct ui_host *host, enum action action, const char *argument, struct err *err);
    int (*edit_text)(struct ui_host *host, const char *name, const char *text, size_t len, struct strbuf *out,
                     struct err *err);
    int (*open)(struct ui_host *host, const char *what, struct err *err); /* a session, a recording, a fixture */
    int (*set_up)(struct ui_host *host,
                  struct err *err); /* the config file: made if there is none, edited, read anew */
    void (*copy)(struct ui_host *host, const char *text, size_t len);
    void (*suspend)(struct ui_host *host);
    void (*redraw)(struct ui_host *host);
    void (*quit)(struct ui_host *host);
    /* The marks of the timeline as player_marks gives them; may be NULL. */
    void (*marks)(struct ui_host *host, size_t columns, unsigned char *out);
};

/* What an action does. actions.def names the handler of each action; a row without one does not compile. */
typedef void action_handler(struct ui *ui, const struct view *view, enum action action);
#define ACTION(ID, name, contexts, keys, short_help, help, handler) action_handler handler;
#include "actions.def"
#undef ACTION
/* Carries out an action; what is none does nothing. Whether it may be carried out is decided by ui_key. */
void ui_act(struct ui *ui, const struct view *view, enum action action);

struct ui *ui_new(struct ui_host *host, struct keymap *keymap, const char *theme);
void ui_free(struct ui *ui);
void ui_resize(struct ui *ui, int rows, int cols);
/* Keys read before the frame that shows a question as waiting was presented never answer it. */
void ui_key(struct ui *ui, const struct view *view, const struct key *key);
void ui_render(struct ui *ui, const struct view *view, struct canvas *canvas);
/* A bounded piece of what panes have left to do (filters that fill in); true while there is more: then another frame is
 * due. */
bool ui_work(struct ui *ui, const struct view *view);
/* To be called when a frame is on the screen. */
void ui_presented(struct ui *ui, const struct view *view);
const struct theme *ui_theme(const struct ui *ui);
/* A message above the footer, in as many rows as it needs; gone with the next key, or by itself unless it is an error.
 */
void ui_say(struct ui *ui, enum look role, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* For so long after the first frame that shows it a question takes no answer: whoever was typing did not mean it. 0, as
 * it is at first: not at all. */
void ui_grace(struct ui *ui, int64_t us);
/* The open question shows another part of itself: like one that has just come, it is only read for a moment. */
void ui_question_moved(struct ui *ui);
/* The question shows the user's own version from the next frame on. */
void ui_say_revised(struct ui *ui);
#define UI_GRACE_US 300000 /* what suits people */
/* What time it is, before a frame: takes away a message that was there long enough. */
void ui_clock(struct ui *ui, int64_t now_us);
/* After a frame: when another one is due though nothing happens, because a message has to go or a question begins to
 * wait; 0: never. */
int64_t ui_due(const struct ui *ui);
/* Long work: shown while `total` > `done`. */
void ui_progress(struct ui *ui, const char *what, size_t done, size_t total);
/* Hands an intent to the host, or an action of a recording. False: it was refused, and the message says why. */
bool ui_submit(struct ui *ui, const struct intent *intent);
bool ui_replay(struct ui *ui, enum action action, const char *argument);
/* Opens a session, a recording or a fixture in place of this one; a failure is a message. */
void ui_open(struct ui *ui, const char *what);
struct pane *ui_get_pane(const struct ui *ui, int number);
/* How many hunks of the open question would be written by a yes; SIZE_MAX where there is none, or nothing to choose. */
size_t ui_hunks_kept(struct ui *ui, const struct view *view);
/* The line that says what to try; NULL takes it away. */
void ui_hint(struct ui *ui, const char *text);
