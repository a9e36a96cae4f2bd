#pragma once
/* The state of the ui, shared by the files that make it up: ui.c (keys, messages), ui_update.c (reacts to events),
 * actions.c (panes, dialogs, copying), step_actions.c (stepping, breakpoints, gates), input_lines.c, ui_paint.c. Other
 * files use ui.h. */

#include "base/mem.h"
#include "dialogs/dialog.h"
#include "panes/program.h"
#include "screen/input.h"
#include "screen/layout.h"
#include "ui.h"

#define UI_ASK_MAX 40 /* length of a question's name */

/* The input lines at the bottom of the screen. */
enum ui_line { LINE_NONE, LINE_SEARCH, LINE_FILTER, LINE_COMMAND, LINE_PROMPT, LINE_COUNT };

struct ui {
    struct ui_host *host;
    struct keymap *keymap;
    struct theme theme;
    struct pane *panes[PANE_COUNT + 1]; /* by number */
    struct layout layout;               /* of the newest frame, for mouse clicks */
    int rows, cols;
    int focus, focus_before; /* focus_before: the pane before a question took the focus; 0: none did */
    bool zoom;
    bool workspace; /* the area shared by waves and workspace shows the workspace */

    struct dialog *dialog; /* the topmost */
    enum ui_line line;
    struct input lines[LINE_COUNT];
    struct strbuf offers;             /* completions of the command line, side by side */
    size_t offers_first, offers_next; /* the first one shown, and the first one without room (0: all fit) */
    char *filter_before;              /* restored when the user cancels the filter line */
    char *searched;
    bool pasting; /* dropping the rest of a paste, because no input line is open */

    char *message;
    enum look message_look;
    int64_t message_due_us; /* when it expires, on the clock of ui_clock; 0: not known yet */
    char *hint;
    char *progress;
    size_t progress_done, progress_total;

    /* A question is identified by its id and the version of the user's edit, so a question that is asked again is a new
     * one. Keys answer only `presented`: the question that the newest frame on the screen showed. */
    char question[UI_ASK_MAX], rendered[UI_ASK_MAX], presented[UI_ASK_MAX];
    char framed[UI_ASK_MAX]; /* the question that was open when the newest frame was painted, visible or not */
    /* A new question can only be read. `seen` is the newest question that a frame showed, since `seen_us`. It stays new
     * for `grace_us`, and no frame counts as having shown it until then. */
    char seen[UI_ASK_MAX];
    int64_t now_us, seen_us, grace_us;
    int64_t compared_us; /* since when frames show that the user's version is being compared; 0: they do not */
    bool fresh;
    bool prompted;        /* the prompt line was opened automatically, or a turn was watched and it will not be */
    bool noticed;         /* the initial state was processed: only later changes are reported */
    uint32_t end_asked;   /* the previous key wanted to end the turn at this hold; 0: it did not */
    uint32_t end_pressed; /* the same, for the current key to set */
    uint32_t undone, redone, ops; /* counts of undone and redone writes, and of workspace operations */
    struct intent restore;        /* the undo or redo that a dialog asks about, … */
    char restore_what[64];        /* … and its checkpoint */
    uint32_t gate_seq;            /* of the hold whose dialog was opened */

    struct program_kept program;

    char *run_to;     /* id of the call to run to; NULL: none */
    int run_to_break; /* the temporary breakpoint for it */
};

/* ui_update.c: reacts to what changed since the last call (opens the gate dialog or the prompt, reports an undo). */
void ui_notice(struct ui *ui, const struct view *view);
/* "a3.0"; "" if no question is open. */
void ui_name_question(char out[UI_ASK_MAX], const struct view *view);

/* actions.c */
struct pane *ui_pane(const struct ui *ui); /* the focused one */
struct selection ui_selected(struct ui *ui, const struct view *view);

/* ui.c */
void ui_message_clear(struct ui *ui);
void ui_hint_paint(struct ui *ui, struct canvas *canvas);
/* Paints the message or the progress in the rows above row `bottom`. */
void ui_message_paint(struct ui *ui, struct canvas *canvas, int bottom);
/* Paints any text in the rows above row `bottom`, over the full width. Returns the number of rows. */
int ui_note_paint(struct canvas *canvas, int bottom, enum look look, const char *text);

/* input_lines.c */
void ui_open_line(struct ui *ui, const struct view *view, enum ui_line line);
void ui_line_key(struct ui *ui, const struct view *view, const struct key *key);
void ui_line_paint(struct ui *ui, struct canvas *canvas, struct rect above, const struct view *view);
const char *ui_line_footer(const struct ui *ui);
/* Shows that the pane does not contain the search text. */
void ui_message_lost(struct ui *ui, const struct pane *pane);

/* step_actions.c, after a frame: continues past gates before the call that the user runs to. */
void ui_step_follow(struct ui *ui, const struct view *view);
