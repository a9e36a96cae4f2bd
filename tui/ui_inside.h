#pragma once
/* The ui's own state, for the files that make it up: ui.c (keys), ui_notice.c (what it does by itself), ui_act.c
 * (actions), ui_paint.c (frames), ui_notes.c (messages and hints), ui_lines.c (input lines), ui_steps.c (stepping,
 * breakpoints, gates), ui_copy.c (what a selection is as text). Nobody else includes this. */

#include "base/mem.h"
#include "dialog.h"
#include "input.h"
#include "layout.h"
#include "program.h"
#include "ui.h"

#define UI_ASK_MAX 40 /* of a question's name */

/* What is typed at the bottom of the screen. */
enum ui_line { LINE_NONE, LINE_SEARCH, LINE_FILTER, LINE_COMMAND, LINE_PROMPT, LINE_COUNT };

struct ui {
    struct ui_host *host;
    struct keymap *keymap;
    struct theme theme;
    struct pane *panes[PANE_COUNT + 1]; /* by number */
    struct layout layout;               /* of the newest frame, for the mouse */
    int rows, cols;
    int focus, focus_before; /* the latter: before a question took it, 0 when none did */
    bool zoom;
    bool workspace; /* the place that waves and workspace share is the latter's */

    struct dialog *dialog; /* the topmost */
    enum ui_line line;
    struct input lines[LINE_COUNT];
    struct strbuf offers;             /* of Tab in the command line, one beside the other */
    size_t offers_first, offers_next; /* the first that is shown, and the first that had no room (0: all had) */
    char *filter_before;              /* to go back to when the filter line is closed */
    char *searched;
    bool pasting; /* the rest of a paste for which there is no input line */

    char *message;
    enum look message_look;
    int64_t message_due_us; /* when it leaves, on the clock of ui_clock; 0: not known yet */
    char *hint;
    char *progress;
    size_t progress_done, progress_total;

    /* A question is known by its id and the version of the user's: one that is asked again is another one. Keys answer
     * `presented` only, which is what the newest frame on the screen really showed. */
    char question[UI_ASK_MAX], rendered[UI_ASK_MAX], presented[UI_ASK_MAX];
    char framed[UI_ASK_MAX]; /* the one that was open when the newest frame was painted, seen in it or not */
    /* A question that has just come is only read: `seen` is the newest one that a frame showed, since `seen_us`. Until
     * `grace_us` later it is fresh, and no frame counts as having shown it. */
    char seen[UI_ASK_MAX];
    int64_t now_us, seen_us, grace_us;
    int64_t compared_us; /* since when frames show that the user's version is being compared; 0: they do not */
    bool fresh;
    bool prompted;        /* the prompt line opened by itself, or will not: a turn was watched */
    bool noticed;         /* what there is was looked at once: only what comes after that is news */
    uint32_t undone, ops; /* writes that were undone, operations on the workspace */
    uint32_t gate_seq;    /* of the hold whose dialog was opened */

    struct program_kept program;

    char *run_to;     /* id of the call to run to; NULL: none */
    int run_to_break; /* the breakpoint made for it */
};

/* ui_notice.c: what changed since the last look; whatever the ui does by itself happens here. */
void ui_notice(struct ui *ui, const struct view *view);
/* "a3.0", "" without one. */
void ui_name_question(char out[UI_ASK_MAX], const struct view *view);
bool ui_waits_for_prompt(const struct view *view);

/* ui_act.c */
struct pane *ui_pane(const struct ui *ui); /* the focused one */
struct selection ui_selected(struct ui *ui, const struct view *view);

/* ui_notes.c */
void ui_unsay(struct ui *ui);
void ui_hint_paint(struct ui *ui, struct canvas *canvas);
/* The message, or how far the work is, in the rows above row `bottom`. */
void ui_message_paint(struct ui *ui, struct canvas *canvas, int bottom);
/* Any text in the rows above row `bottom`, over the whole width; returns how many. */
int ui_note_paint(struct canvas *canvas, int bottom, enum look look, const char *text);

/* ui_lines.c */
void ui_open_line(struct ui *ui, const struct view *view, enum ui_line line);
void ui_close_line(struct ui *ui, const struct view *view);
void ui_line_key(struct ui *ui, const struct view *view, const struct key *key);
void ui_line_paint(struct ui *ui, struct canvas *canvas, struct rect above, const struct view *view);
const char *ui_line_footer(const struct ui *ui);
/* What was searched for in the pane is not in it. */
void ui_say_lost(struct ui *ui, const struct pane *pane);

/* ui_steps.c, after a frame: goes on past holds that are not the call which is run to. */
void ui_step_follow(struct ui *ui, const struct view *view);

/* ui_copy.c: appends the selected thing as text; false when there is none. */
bool ui_selection_text(struct strbuf *out, const struct view *view, struct selection selection);
