#pragma once
/* Dialogs over the panes, kept in a stack by the ui. The topmost gets the keys, and Esc closes every one of them.
 *
 * There are two forms: `struct dialog_list` has rows to choose from, `struct dialog_text` says something and may ask
 * for a key or a text. A dialog of either form is one constant, in dialog_lists.c and dialog_texts.c. The others, which
 * are documents or terminals, are a `struct dialog_ops` of their own. */

#include "filter.h"
#include "input.h"
#include "pane.h"

struct dialog;
struct mcp_status;
struct pretty;
struct program_kept;

struct dialog_ops {
    const char *name;                       /* "help" */
    const char *title;                      /* NULL: the name */
    const char *footer;                     /* what the keys do; NULL: "Esc close" */
    size_t size;                            /* of its state; begins with struct dialog */
    bool through;                           /* keys it does not take go on to the panes below; else they end here */
    void (*release)(struct dialog *dialog); /* may be NULL */
    /* How large it would like to be on a screen of this size. NULL: it covers everything but the footer. */
    struct rect (*place)(struct dialog *dialog, int rows, int cols);
    void (*paint)(struct dialog *dialog, struct canvas *canvas, struct rect inside);
    /* `action` is what the keymap says (ACTION_NONE for plain characters). False: not for it; Esc is handled by the ui.
     */
    bool (*key)(struct dialog *dialog, const struct key *key, enum action action);
    /* For words that change with what is shown; NULL: the constants above. */
    const char *(*title_of)(struct dialog *dialog);
    const char *(*footer_of)(struct dialog *dialog);
};

struct dialog {
    const struct dialog_ops *ops;
    const char *name, *title, *footer; /* those of `ops`; a dialog may put its own in their place */
    struct ui *ui;                     /* since it was opened */
    const struct view *view;           /* of this frame or this key */
    struct dialog *below;
    struct list list;
    int height, width; /* of the inside when last painted; a list sets the rows it had room for */
    /* Of the two forms */
    int cols;  /* it would like */
    void *own; /* what the dialog keeps, `size` of its form */
};

/* Rows to choose from. `/` or `f` opens a line above them and leaves out those that do not fit what is typed. */
struct dialog_list {
    const char *name, *title;
    const char *footer, *empty_footer; /* with rows and without; the latter NULL: the same */
    const char *empty;                 /* said where there are no rows; {break} is the key of that action */
    const char *(*empty_of)(const struct view *view); /* instead, where it depends */
    enum look empty_look;                             /* 0: dim */
    const char *hint;                                 /* below the rows; NULL: none */
    const char *ask; /* the label of a line that is always open: what is typed is one text, with Enter
                      * the form's; NULL: a search opens one */
    int cols;
    int rows;       /* of the dialog; 0: as many as it needs */
    int rows_most;  /* of the list in it then; 0: as is usual */
    int below;      /* rows for `paint_below` */
    bool says_more; /* a sign in the last row where more follow */
    size_t size;    /* of `own` */
    void (*release)(void *own);
    /* Before rows are painted, or counted; for a form without `words` it also leaves out what does not fit. */
    void (*prepare)(struct dialog *dialog, const struct filter *typed, const struct canvas *canvas, int cols);
    size_t (*count)(const struct dialog *dialog);
    void (*words)(const struct dialog *dialog, size_t row, struct strbuf *out); /* what is searched */
    void (*paint)(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at);
    void (*paint_below)(const struct dialog *dialog, size_t row, struct canvas *canvas,
                        struct rect in); /* the chosen */
    /* `row` is the chosen one, SIZE_MAX where there is none. False: the key moves the cursor. May be NULL. */
    bool (*key)(struct dialog *dialog, size_t row, const struct key *key, enum action action);
};
struct dialog *dialog_list_new(const struct dialog_list *form);
const char *dialog_list_typed(const struct dialog *dialog); /* into the line above the rows */
extern const struct dialog_list dialog_breaks, dialog_permissions, dialog_models, dialog_departures;
struct dialog *dialog_help_new(unsigned contexts); /* every key, those of the contexts first */
struct dialog *dialog_sessions_new(void);          /* recent sessions and fixtures */

/* A text: to read, to answer with a key, or with a line below it that the user types. */
struct dialog_text {
    const char *name, *title, *footer;
    int cols;           /* 0: as is usual */
    bool whole;         /* covers everything but the footer */
    enum action closes; /* the key that opened it */
    size_t size;        /* of `own` */
    void (*release)(void *own);
    const char *label; /* what it says */
    /* Or paints that, and gives the rows it takes. A canvas without rows is for asking how many. */
    int (*paint)(struct dialog *dialog, struct canvas *canvas, struct rect in);
    bool (*key)(struct dialog *dialog, const struct key *key, enum action action); /* may be NULL: then it scrolls */
    bool multiline;
    /* Gets what was typed when the dialog is closed already. NULL: nothing is typed. */
    void (*done)(struct ui *ui, const char *text, void *user);
};
struct dialog *dialog_text_new(const struct dialog_text *form, const char *initial, void *user);

/* y or n; never Enter, never Space. */
struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *user), void *user);
/* A text to read. It scrolls, and can be copied. The title is borrowed. */
struct dialog *dialog_document_new(const char *title, struct pretty *take_document);
struct dialog *dialog_model_setup_new(const char *config,
                                      const char *model); /* the config file and its lines for a model */
extern const struct dialog_text dialog_sandbox;           /* the boxes that scripts run in */

/* The session waits for its tool servers: their states, and how to go on without the missing ones. It covers everything
 * and shows what the caller keeps up to date; `wait` is borrowed as long as the dialog is open. */
struct servers_wait {
    const struct mcp_status *servers;
    size_t count;
    double waited_s, limit_s;
    const char *leave; /* what leaving does, "leave" */
    void (*go_on)(void *user);
    void *user;
};
struct dialog *dialog_servers_new(const struct servers_wait *wait);

/* The others, each in its dialog_NAME.c. */
struct dialog *dialog_inspect_new(const struct view *view, struct selection selection); /* anything in full, in tabs */
struct dialog *dialog_gate_new(void); /* what stands at the gate: messages, plan, arguments */
/* What a program prints; typing into it, ending it. SESSION_NONE: that there is none. */
struct dialog *dialog_program_new(uint32_t program, struct program_kept *kept);

/* In ui.c */
void ui_open_dialog(struct ui *ui, struct dialog *take_dialog);
void ui_close_dialog(struct ui *ui);               /* the topmost */
struct dialog *ui_top_dialog(const struct ui *ui); /* NULL: none is open */
struct ui_host *ui_get_host(struct ui *ui);
struct keymap *ui_keymap(const struct ui *ui);
void ui_set_theme(struct ui *ui, const char *name);
/* Filters the focused pane; false when it has no filter. */
bool ui_filter(struct ui *ui, const struct view *view, const char *text);
/* Shows a program; SESSION_NONE: the one that matters most. */
void ui_show_program(struct ui *ui, const struct view *view, uint32_t program);
int ui_columns(const struct ui *ui);              /* of the screen */
int ui_pane_row(const struct ui *ui, int number); /* where it begins in the newest frame; 0: it is not shown */
unsigned ui_contexts(const struct ui *ui, const struct view *view);
/* Step, go on or hold, by the keys of a live turn; false: it was none of them. In ui_steps.c */
bool ui_step_key(struct ui *ui, const struct view *view, const struct key *key);
/* The clock, and whether something that happened then is too new for a hand to know of it. In ui_notes.c */
int64_t ui_now_us(const struct ui *ui);
bool ui_too_new(const struct ui *ui, int64_t since_us);

/* For the ui and for dialogs that paint themselves, in dialog.c. */
struct dialog *dialog_alloc(const struct dialog_ops *ops);
struct rect dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols);
bool dialog_press(struct dialog *dialog, const struct view *view, const struct key *key, enum action action);
struct rect dialog_center(int rows, int cols, int want_rows,
                          int want_cols); /* leaves the first and the last line free */
/* Whether the key is this one, without Ctrl and Alt. */
bool dialog_pressed(const struct key *key, uint32_t code);
/* Scrolls a text while the user types below it: PgUp, PgDn and the wheel are no text. True when it was one of them. */
bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action);
