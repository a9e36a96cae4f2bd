#pragma once
/* Dialogs over the panes: one struct of functions each, kept in a stack by the ui. The topmost gets the keys. None hides
 * more than it must, and Esc closes every one of them. */

#include "pane.h"

struct dialog;
struct pretty;
struct program_kept;

struct dialog_ops {
    const char *name;    /* "help" */
    size_t size;         /* of its state; begins with struct dialog */
    void (*release)(struct dialog *dialog); /* may be NULL */
    /* How large it would like to be on a screen of this size. */
    struct rect (*place)(struct dialog *dialog, const struct view *view, int rows, int cols);
    void (*paint)(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas, struct rect inside);
    /* `action` is what the keymap says (ACTION_NONE for plain characters). False: not for it; Esc is handled by the ui. */
    bool (*key)(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key, enum action action);
    const char *(*title)(struct dialog *dialog, const struct view *view);
    const char *(*footer)(struct dialog *dialog, const struct view *view); /* what the keys do here */
    bool through; /* keys it does not take go on to the panes below; else they end here */
};

struct dialog {
    const struct dialog_ops *ops;
    struct dialog *below;
    struct list list;
    int height, width; /* of the inside when last painted */
};

/* In ui.c */
void ui_open_dialog(struct ui *ui, struct dialog *take_dialog);
void ui_close_dialog(struct ui *ui); /* the topmost */
struct ui_host *ui_get_host(struct ui *ui);
struct keymap *ui_keymap(struct ui *ui);
void ui_set_theme(struct ui *ui, const char *name);
/* Filters the focused pane; false when it has no filter. */
bool ui_filter(struct ui *ui, const struct view *view, const char *text);
/* Shows a program; SESSION_NONE: the one somebody would want to see first. */
void ui_show_program(struct ui *ui, const struct view *view, uint32_t program);
struct dialog *ui_top_dialog(const struct ui *ui); /* NULL: none is open */
int ui_columns(const struct ui *ui); /* of the screen */
int ui_pane_row(const struct ui *ui, int number); /* where it begins in the newest frame; 0: it is not shown */
unsigned ui_contexts(const struct ui *ui, const struct view *view);
/* Step, go on or hold, by the keys of a live turn; false: it was none of them. In ui_steps.c */
bool ui_step_key(struct ui *ui, const struct view *view, const struct key *key);
/* The clock, and whether something that happened then is too new for a hand to know of it. In ui_notes.c */
int64_t ui_now_us(const struct ui *ui);
bool ui_too_new(const struct ui *ui, int64_t since_us);

/* In dialog.c, for all of them. */
struct dialog *dialog_alloc(const struct dialog_ops *ops);
struct rect dialog_center(int rows, int cols, int want_rows, int want_cols); /* leaves the first and the last line free */
/* Paints the selection of list row `row` over what is painted there. */
void dialog_select_row(struct canvas *canvas, struct rect inside, const struct dialog *dialog, size_t row);

/* Of a dialog with a text, while somebody types below it: what is no text (PgUp, PgDn, a wheel) scrolls all the same. */
bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action);

/* Rows of a sentence in a dialog of so many columns; flow_paint paints them. */
int dialog_rows(const char *text, int cols);

/* The dialogs, each in its dialog_NAME.c. */
struct dialog *dialog_help_new(unsigned contexts);                  /* every key, those of the context first; searchable */
struct dialog *dialog_inspect_new(const struct view *view, struct selection selection); /* anything in full: pretty JSON,
                                                                     text, diff, traceback, raw line; Tab switches; pages artifacts */
struct dialog *dialog_breaks_new(void);                             /* breakpoints: list, toggle, delete, add */
struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *data), void *data); /* y or n; never Enter, never Space */
struct dialog *dialog_text_new(const char *title, const char *label, const char *initial, bool multiline,
                             void (*done)(struct ui *ui, const char *text, void *data), void *data); /* an input line */
struct dialog *dialog_sessions_new(void);                           /* recent sessions and fixtures, with a filter */
struct dialog *dialog_model_setup_new(const char *config, const char *model); /* how a model is set up: the file and the lines */
struct dialog *dialog_models_new(void);                             /* those of the config file, to choose another from */
struct dialog *dialog_gate_new(const struct ui *ui);                    /* what stands at the gate: messages, plan, arguments */
struct dialog *dialog_departures_new(void);                         /* recorded against got */
struct dialog *dialog_sandbox_new(void);                           /* the boxes that scripts run in */
struct dialog *dialog_document_new(const char *title, struct pretty *take_document); /* a text to read */
/* What a program prints; typing into it, ending it. SESSION_NONE: that there is none. */
struct dialog *dialog_program_new(uint32_t program, const struct keymap *keymap, struct program_kept *kept);
struct dialog *dialog_permissions_new(void);                        /* what was allowed with A; revocable */
