#pragma once
/* Dialogs over the panes, kept in a stack by the ui. The topmost dialog gets the keys, and Esc closes any dialog.
 *
 * There are two common forms. `struct dialog_list` has rows to choose from. `struct dialog_text` shows a text and may
 * ask for a key or an input. A dialog of either form is one constant, in lists.c or texts.c. The other dialogs are
 * documents or terminals and have their own `struct dialog_ops`. */

#include "base/strbuf.h"
#include "panes/filter.h"
#include "panes/pane.h"
#include "sandbox/pool.h"
#include "screen/input.h"

struct dialog;
struct mcp_status;
struct document;
struct program_kept;

struct dialog_ops {
    const char *name;                       /* "help" */
    const char *title;                      /* NULL: the name */
    const char *footer;                     /* text for the footer; NULL: "Esc close" */
    size_t size;                            /* size of its state, which begins with struct dialog */
    bool through;                           /* unused keys go to the panes below; otherwise they are dropped */
    void (*release)(struct dialog *dialog); /* may be NULL */
    /* The preferred place on a screen of this size. NULL: it covers everything but the footer. */
    struct rect (*place)(struct dialog *dialog, int rows, int cols);
    void (*paint)(struct dialog *dialog, struct canvas *canvas, struct rect inside);
    /* `action` is the keymap's action (ACTION_NONE for plain characters). Returns false if the dialog does not use the
     * key. The ui handles Esc. */
    bool (*key)(struct dialog *dialog, const struct key *key, enum action action);
    /* For texts that change with the content; NULL: the constants above. */
    const char *(*title_of)(struct dialog *dialog);
    const char *(*footer_of)(struct dialog *dialog);
};

struct dialog {
    const struct dialog_ops *ops;
    const char *name, *title, *footer; /* from `ops`; a dialog may replace them */
    struct ui *ui;                     /* set when the dialog is opened */
    const struct view *view;           /* of the current frame or key */
    struct dialog *below;
    struct list list;
    int height, width; /* of the inside when last painted; a list sets the rows that fit */
    /* For the two forms */
    int cols;  /* preferred width */
    void *own; /* state of the dialog, `size` bytes as its form says */
};

/* Rows to choose from. `/` or `f` opens a line above the rows, and only the matching rows stay. */
struct dialog_list {
    const char *name, *title;
    const char *footer, *empty_footer; /* with rows and without rows; empty_footer NULL: the same */
    const char *empty;                 /* shown if there are no rows; {break} is the key of that action */
    const char *(*empty_of)(const struct view *view); /* replaces `empty` if the text varies */
    enum look empty_look;                             /* 0: dim */
    const char *hint;                                 /* shown below the rows; NULL: none */
    const char *ask; /* label of a line that is always open, for a text that Enter passes to the form; NULL: `/` opens a
                        search */
    int cols;
    int rows;       /* height of the dialog; 0: as many rows as it needs */
    int rows_most;  /* most rows of the list in that case; 0: the default */
    int below;      /* rows for `paint_below` */
    bool says_more; /* mark the last row if more rows follow */
    size_t size;    /* size of `own` */
    void (*release)(void *own);
    /* Called before rows are painted or counted. A form without `words` must also apply the filter here. */
    void (*prepare)(struct dialog *dialog, const struct filter *typed, const struct canvas *canvas, int cols);
    size_t (*count)(const struct dialog *dialog);
    void (*words)(const struct dialog *dialog, size_t row, struct strbuf *out); /* the text that is searched */
    void (*paint)(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at);
    void (*paint_below)(const struct dialog *dialog, size_t row, struct canvas *canvas,
                        struct rect in); /* `row`: the selected one */
    /* `row` is the selected row, SIZE_MAX if there is none. Return false to let the key move the cursor. May be
     * NULL. */
    bool (*key)(struct dialog *dialog, size_t row, const struct key *key, enum action action);
};
struct dialog *dialog_list_new(const struct dialog_list *form);
const char *dialog_list_typed(const struct dialog *dialog); /* the text in the line above the rows */
extern const struct dialog_list dialog_breaks, dialog_permissions, dialog_models, dialog_divergences;
struct dialog *dialog_help_new(unsigned contexts); /* all keys, those of the active contexts first */
/* Recent sessions and fixtures; with `find`, only the sessions that it names ("": all). */
struct dialog *dialog_sessions_new(const char *find);

/* A text to read, to answer with a key, or with an input line below it. */
struct dialog_text {
    const char *name, *title, *footer;
    int cols;           /* 0: the default width */
    bool whole;         /* covers everything but the footer */
    enum action closes; /* the action that opened it, which also closes it */
    size_t size;        /* size of `own` */
    void (*release)(void *own);
    const char *label; /* the text */
    /* Alternatively paints the content and returns the rows it uses. A canvas without rows only asks for that
     * number. */
    int (*paint)(struct dialog *dialog, struct canvas *canvas, struct rect in);
    bool (*key)(struct dialog *dialog, const struct key *key, enum action action); /* NULL: keys scroll */
    bool multiline;
    /* Receives the typed text after the dialog was closed. NULL: the dialog has no input line. */
    void (*done)(struct ui *ui, const char *text, void *user);
};
struct dialog *dialog_text_new(const struct dialog_text *form, const char *initial, void *user);

/* Asks for y or n; Enter and Space never answer. */
struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *user), void *user);
/* A document to read, scroll and copy. The title is borrowed. */
struct dialog *dialog_document_new(const char *title, struct document *take_document);
struct dialog *dialog_model_setup_new(const char *config,
                                      const char *model); /* the config file and its lines for a model */
extern const struct dialog_text dialog_sandbox;           /* the sandboxes of scripts */

/* Shown while the session waits for its MCP servers: their states, and how to continue without the missing ones. It
 * covers the whole screen and shows what the caller keeps up to date. `wait` is borrowed while the dialog is open. */
struct servers_wait {
    const struct mcp_status *servers;
    size_t count;
    double waited_s, limit_s;
    const char *leave; /* label of leaving, "leave" */
    void (*go_on)(void *user);
    void *user;
};
struct dialog *dialog_servers_new(const struct servers_wait *wait);

/* The other dialogs, each in its own file. */
struct dialog *dialog_inspect_new(const struct view *view, struct selection selection); /* in full, in tabs */
struct dialog *dialog_gate_new(void); /* what the gate holds: messages, plan, arguments */
/* The output of a program; the user can type into it and kill it. SESSION_NONE: shows that there is no program. */
struct dialog *dialog_program_new(uint32_t program, struct program_kept *kept);

/* In ui.c */
void ui_open_dialog(struct ui *ui, struct dialog *take_dialog);
void ui_close_dialog(struct ui *ui);               /* the topmost */
struct dialog *ui_top_dialog(const struct ui *ui); /* NULL: no dialog is open */
struct ui_host *ui_get_host(struct ui *ui);
struct keymap *ui_keymap(const struct ui *ui);
void ui_set_theme(struct ui *ui, const char *name);
/* Filters the focused pane; false if it has no filter. */
bool ui_filter(struct ui *ui, const struct view *view, const char *text);
/* Shows a program; SESSION_NONE: the most relevant one. */
void ui_show_program(struct ui *ui, const struct view *view, uint32_t program);
int ui_columns(const struct ui *ui); /* width of the screen */
/* "The turn used its 60 s. + adds 60 s. Press s twice to end it.", for a turn that holds at a limit. */
void ui_limit_words(struct strbuf *out, const struct ui *ui, const struct view *view);
int ui_pane_row(const struct ui *ui, int number); /* first row of the pane in the newest frame; 0: not shown */
unsigned ui_contexts(const struct ui *ui, const struct view *view);
/* Handles step, continue and pause, by the keys of a live turn. False: another key. In step_actions.c */
bool ui_step_key(struct ui *ui, const struct view *view, const struct key *key);
/* The clock, and whether an event at that time is too new for the user to have seen it. In ui.c */
int64_t ui_now_us(const struct ui *ui);
bool ui_too_new(const struct ui *ui, int64_t since_us);

/* For the ui and for dialogs with their own ops, in dialog.c. */
struct dialog *dialog_alloc(const struct dialog_ops *ops);
struct rect dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols);
bool dialog_press(struct dialog *dialog, const struct view *view, const struct key *key, enum action action);
struct rect dialog_center(int rows, int cols, int want_rows,
                          int want_cols); /* leaves the first and the last line free */
/* True if the key is this one, without Ctrl and Alt. */
bool dialog_pressed(const struct key *key, uint32_t code);
/* Scrolls a text while the user types below it: PgUp, PgDn and the wheel. True if the key was one of these. */
bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action);

/* The sandbox of a live session as panes show it: the state of its boxes, and the text for it. */

#define SANDBOX_BOXES 16

struct sandbox_view {
    struct pool_status status;
    struct pool_box boxes[SANDBOX_BOXES];
    size_t count;
};

/* What limits programs. It is tested when the user opens the view, because the test may be slow. */
struct program_limits_view {
    const struct sandbox_engine *engine;
    const char *words; /* NULL: not tested yet */
};

void sandbox_view_fill(struct sandbox_view *sandbox, const struct pool *pool);
/* "bwrap, 4 layers, 1 warm, 1 busy"; if not wide, "bwrap 1 warm 1 busy". */
void sandbox_view_line(struct strbuf *out, const struct sandbox_view *sandbox, bool wide);
/* "programs none UNSAFE": the engine of programs, if scripts use another one. */
void sandbox_view_programs(struct strbuf *out, const char *engine, bool unsafe);
