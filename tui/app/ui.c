/* The ui: turns keys into actions, and shows messages.
 *
 * A key goes to the first of these that accepts it: the topmost dialog, the input line, then the keymap in the active
 * contexts (a question, a recording, a live turn, everywhere). actions.def names the handler of each action, and ui_key
 * calls it directly.
 *
 * Only keys pressed after the user saw a question can answer it. ui_render notes which question the frame shows: none
 * if the write pane is not visible or a dialog covers it. ui_presented notes that this frame is on the screen. Actions
 * of IN_QUESTION are accepted only if that question is the open one. For a moment after a question appears (ui_grace),
 * frames show it as new and do not count, because a user who was typing cannot have read it. */

#include "base/redact.h"
#include "event/session.h"
#include "screen/text.h"
#include "status.h"
#include "ui_internal.h"
#include <stdio.h>
#include <string.h>

#define WHEEL_LINES 3

static const struct pane_ops *const pane_table[PANE_COUNT + 1] = {
    NULL, &pane_conversation, &pane_events, &pane_tools, &pane_waves, &pane_budget, &pane_write, &pane_workspace,
};

/* The & rejects NULL at compile time: every action has a handler. */
static action_handler *const handlers[ACTION_COUNT] = {
#define ACTION(ID, name, contexts, keys, short_help, help, handler) [ACTION_##ID] = &handler,
#include "actions.def"
#undef ACTION
};

/* ---- life ---- */

struct ui *ui_new(struct ui_host *host, struct keymap *keymap, const char *theme)
{
    struct ui *ui = xcalloc(1, sizeof(*ui));
    struct err err = ERR_INIT;
    ui->host = host;
    ui->keymap = keymap;
    ui->focus = 1;
    strbuf_init(&ui->offers);
    program_kept_init(&ui->program);
    for (int line = 0; line < LINE_COUNT; line++)
        input_init(&ui->lines[line], line == LINE_PROMPT);
    for (int i = 1; i <= PANE_COUNT; i++)
        ui->panes[i] = pane_new(pane_table[i], keymap);
    if (theme_load(&ui->theme, theme, &err)) {
        ui_message(ui, LOOK_ERROR, "theme: %s", err.text);
        if (theme_load(&ui->theme, "default", &err))
            BUG("the built-in theme: %s", err.text);
    }
    return ui;
}

void ui_free(struct ui *ui)
{
    if (!ui)
        return;
    while (ui->dialog)
        ui_close_dialog(ui);
    for (int i = 1; i <= PANE_COUNT; i++)
        pane_free(ui->panes[i]);
    for (int line = 0; line < LINE_COUNT; line++)
        input_release(&ui->lines[line]);
    strbuf_release(&ui->offers);
    program_kept_release(&ui->program);
    free(ui->filter_before);
    free(ui->searched);
    ui_message_clear(ui);
    free(ui->hint);
    free(ui->progress);
    free(ui->run_to);
    free(ui);
}

void ui_grace(struct ui *ui, int64_t us)
{
    ui->grace_us = us;
}

void ui_question_moved(struct ui *ui)
{
    ui->seen[0] = ui->presented[0] = '\0';
}

void ui_message_revised(struct ui *ui)
{
    ui_message(ui, LOOK_WARN, "Edited. %s writes your version.", keymap_key(ui->keymap, ACTION_APPROVE));
}

void ui_resize(struct ui *ui, int rows, int cols)
{
    ui->rows = rows;
    ui->cols = cols;
}

const struct theme *ui_theme(const struct ui *ui)
{
    return &ui->theme;
}

int ui_columns(const struct ui *ui)
{
    return ui->cols;
}

struct pane *ui_get_pane(const struct ui *ui, int number)
{
    return ui->panes[number];
}

struct dialog *ui_top_dialog(const struct ui *ui)
{
    return ui->dialog;
}

struct ui_host *ui_get_host(struct ui *ui)
{
    return ui->host;
}

struct keymap *ui_keymap(const struct ui *ui)
{
    return ui->keymap;
}

void ui_set_theme(struct ui *ui, const char *name)
{
    struct theme theme;
    struct err err = ERR_INIT;
    if (theme_load(&theme, name, &err)) {
        ui_message(ui, LOOK_ERROR, "theme: %s", err.text);
        return;
    }
    ui->theme = theme;
    ui_message(ui, LOOK_TEXT, "theme %s", theme.name);
}

bool ui_work(struct ui *ui, const struct view *view)
{
    bool more = false;
    for (int i = 1; i <= PANE_COUNT; i++) {
        bool lost;
        more |= pane_work(ui->panes[i], view, &lost);
        if (lost)
            ui_message_lost(ui, ui->panes[i]);
    }
    return more;
}

void ui_open_dialog(struct ui *ui, struct dialog *take_dialog)
{
    take_dialog->ui = ui;
    take_dialog->below = ui->dialog;
    ui->dialog = take_dialog;
}

void ui_close_dialog(struct ui *ui)
{
    struct dialog *dialog = ui->dialog;
    if (!dialog)
        return;
    ui->dialog = dialog->below;
    if (dialog->ops->release)
        dialog->ops->release(dialog);
    free(dialog);
}

/* A refused answer stays on the screen until the next key. A warning would expire while the write still waits. */
static enum look refusal_look(enum intent_type type)
{
    bool answer = type == INTENT_ANSWER || type == INTENT_REVISE || type == INTENT_ALLOW || type == INTENT_TOUCH;
    return answer ? LOOK_ERROR : LOOK_WARN;
}

bool ui_submit(struct ui *ui, const struct intent *intent)
{
    struct err err = ERR_INIT;
    struct engine *engine = ui->host->engine;
    int refused = engine ? engine_submit(engine, intent, &err) : ui->host->submit(ui->host, intent, &err);
    if (!refused)
        return true;
    ui_message(ui, refusal_look(intent->type), "%s", err.text);
    return false;
}

bool ui_replay(struct ui *ui, enum action action, const char *argument)
{
    struct err err = ERR_INIT;
    if (ui->host->replay(ui->host, action, argument, &err) == 0)
        return true;
    ui_message(ui, LOOK_WARN, "%s", err.text);
    return false;
}

void ui_open(struct ui *ui, const char *what)
{
    struct err err = ERR_INIT;
    if (ui->host->open(ui->host, what, &err))
        ui_message(ui, LOOK_ERROR, "%s", err.text);
}

/* ---- keys ---- */

/* The key has a meaning in another state. Say so, because silence would look like a broken key. */
static void explain_inactive_key(struct ui *ui, const struct view *view, const struct key *key)
{
    static const struct {
        unsigned context;
        const char *why;
    } others[] = {
        {IN_STEP, "a key of running turns"},
        {IN_REPLAY, "a key of recordings"},
        {IN_QUESTION, "a key of write questions"},
        {IN_PROGRAM, "a key of programs"},
    };
    enum action action = ACTION_NONE;
    size_t i = 0;
    for (; i < COUNT_OF(others) && action == ACTION_NONE; i++)
        action = keymap_find(ui->keymap, others[i].context, key);
    if (action == ACTION_NONE)
        return;
    const char *name = action_name(action), *why = others[i - 1].why;
    if (view->mode == VIEW_REPLAY)
        ui_message(ui, LOOK_TEXT, "%s is %s. %s forks a live session from here.", name, why,
                   keymap_key(ui->keymap, ACTION_FORK));
    else
        ui_message(ui, LOOK_TEXT, "%s is %s.", name, why);
}

/* Explains that the question was not on the screen when the key was pressed. */
static void warn_unseen(struct ui *ui)
{
    if (strcmp(ui->framed, ui->question) != 0 || ui->layout.panes[6].rows > 0)
        ui_message(ui, LOOK_WARN, "Key ignored: this question is new. Read it, then press the key again.");
    else
        ui_message(ui, LOOK_WARN, "The waiting write is not on screen. %s shows it.",
                   keymap_key(ui->keymap, ACTION_PANE_6));
}

/* Answers count only for a question that the user saw. Keys that only read it work while it is new. */
static bool question_painted(const struct ui *ui, const struct view *view, enum action action)
{
    bool reads = action == ACTION_HUNK_NEXT || action == ACTION_HUNK_PREVIOUS;
    char now[UI_ASK_MAX];
    ui_name_question(now, view);
    return (now[0] && strcmp(now, ui->presented) == 0) || (reads && ui->fresh);
}

void ui_act(struct ui *ui, const struct view *view, enum action action)
{
    if (action > ACTION_NONE && action < ACTION_COUNT)
        handlers[action](ui, view, action);
}

/* True if the dialog handled or dropped the key. False: the panes below get it. */
static bool dialog_key(struct ui *ui, const struct view *view, const struct key *key)
{
    struct dialog *dialog = ui->dialog;
    /* In a dialog, keys have their IN_ALL meaning, not that of the question or the recording below. */
    enum action action = keymap_find(ui->keymap, IN_ALL, key);
    if (dialog_press(dialog, view, key, action))
        return true;
    switch (action) {
    case ACTION_CLOSE:
    case ACTION_QUIT:
        if (action == ACTION_QUIT && dialog->ops->through)
            return false;
        ui_close_dialog(ui);
        return true;
    case ACTION_CANCEL:
    case ACTION_THEME:
    case ACTION_SUSPEND:
    case ACTION_REDRAW:
        ui_act(ui, view, action);
        return true;
    case ACTION_HELP:
        if (strcmp(dialog->name, "help") != 0)
            ui_act(ui, view, action);
        return true;
    default:
        return !dialog->ops->through;
    }
}

static void wheel(struct ui *ui, const struct view *view, struct pane *pane, enum action action)
{
    for (int i = 0; i < WHEEL_LINES; i++) {
        if (ui->dialog)
            dialog_press(ui->dialog, view, &(struct key){0}, action);
        else if (pane)
            pane_move(pane, view, action);
    }
}

static bool inside(struct rect rect, const struct key *key)
{
    return key->row >= rect.row && key->row < rect.row + rect.rows && key->col >= rect.col &&
           key->col < rect.col + rect.cols;
}

static void mouse(struct ui *ui, const struct view *view, const struct key *key)
{
    int under = 0;
    for (int i = 1; i <= PANE_COUNT; i++)
        if (inside(ui->layout.panes[i], key))
            under = i;
    struct pane *pane = under ? ui->panes[under] : NULL;
    if (key->button == 4 || key->button == 5) {
        wheel(ui, view, pane, key->button == 4 ? ACTION_UP : ACTION_DOWN);
    } else if (key->button == 1 && !ui->dialog && inside(ui->layout.timeline, key) && view->count) {
        char where[48];
        snprintf(where, sizeof(where), "goto %zu", statusline_timeline_seq(ui->layout.timeline, key->col, view->count));
        ui_replay(ui, ACTION_COMMAND, where);
    } else if (key->button == 1 && !ui->dialog && pane) {
        struct rect rect = ui->layout.panes[under];
        ui->focus = under;
        int row = key->row - rect.row - 1, col = key->col - rect.col - 1;
        if (row >= 0 && col >= 0 && row < rect.rows - 2 && col < rect.cols - 2)
            pane_click(pane, view, row, col);
    }
}

/* Pasted text is text. If no line accepts text, the whole paste is dropped, so that no character of it acts as a
 * key. */
static bool swallowed(struct ui *ui, const struct view *view, const struct key *key)
{
    if (key->code == KEYSYM_PASTE_BEGIN) {
        bool taken = ui->dialog && dialog_press(ui->dialog, view, key, ACTION_NONE);
        if (!taken && ui->line == LINE_NONE) {
            ui->pasting = true;
            ui_message(ui, LOOK_WARN, "Paste ignored: no text field is open.");
        } else if (!taken) {
            ui_line_key(ui, view, key);
        }
        return true;
    }
    if (!ui->pasting)
        return false;
    if (key->code == KEYSYM_PASTE_END)
        ui->pasting = false;
    return true;
}

void ui_key(struct ui *ui, const struct view *view, const struct key *key)
{
    ui_notice(ui, view);
    if (key->code == KEYSYM_RESIZE || swallowed(ui, view, key))
        return;
    if (key->code == KEYSYM_MOUSE) {
        mouse(ui, view, key);
        return;
    }
    ui_message_clear(ui);
    ui->end_asked = ui->end_pressed;
    ui->end_pressed = 0;
    enum action action = keymap_find(ui->keymap, ui_contexts(ui, view), key);
    if (ui->layout.too_small) {
        if (action == ACTION_QUIT || action == ACTION_CANCEL || action == ACTION_SUSPEND)
            ui_act(ui, view, action);
    } else if (ui->dialog && !(ui->dialog->ops->through && ui->line != LINE_NONE) && dialog_key(ui, view, key)) {
        return;
    } else if (ui->line != LINE_NONE) {
        ui_line_key(ui, view, key);
    } else if (action == ACTION_NONE) {
        explain_inactive_key(ui, view, key);
    } else if ((action_contexts(action) & IN_QUESTION) && !question_painted(ui, view, action)) {
        warn_unseen(ui);
    } else {
        handlers[action](ui, view, action);
    }
}

/* ---- messages ---- */

#define LOOK_AT_US 4000000 /* time to notice a message */
#define READ_US    60000   /* time to read one character */
#define ROWS_LEAST 2

void ui_message(struct ui *ui, enum look role, const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    free(ui->message);
    ui->message = redact_copy(text.buf);
    strbuf_release(&text);
    ui->message_look = role;
    ui->message_due_us = 0;
}

void ui_message_clear(struct ui *ui)
{
    free(ui->message);
    ui->message = NULL;
    ui->message_due_us = 0;
}

void ui_clock(struct ui *ui, int64_t now_us)
{
    ui->now_us = now_us;
    if (!ui->message || ui->message_look == LOOK_ERROR)
        return;
    if (!ui->message_due_us)
        ui->message_due_us = now_us + LOOK_AT_US + (int64_t)strlen(ui->message) * READ_US;
    if (now_us >= ui->message_due_us)
        ui_message_clear(ui);
}

int64_t ui_now_us(const struct ui *ui)
{
    return ui->now_us;
}

bool ui_too_new(const struct ui *ui, int64_t since_us)
{
    return ui->now_us - since_us < ui->grace_us;
}

int64_t ui_due(const struct ui *ui)
{
    int64_t message = ui->message ? ui->message_due_us : 0, question = ui->fresh ? ui->seen_us + ui->grace_us : 0;
    return message && question ? (message < question ? message : question) : message + question;
}

void ui_hint(struct ui *ui, const char *text)
{
    char *copy = text ? xstrdup(text) : NULL;
    free(ui->hint);
    ui->hint = copy;
}

void ui_progress(struct ui *ui, const char *what, size_t done, size_t total)
{
    char *copy = what ? xstrdup(what) : NULL;
    free(ui->progress);
    ui->progress = copy;
    ui->progress_done = done;
    ui->progress_total = total;
}

void ui_hint_paint(struct ui *ui, struct canvas *canvas)
{
    struct rect rect = ui->layout.hint;
    if (rect.rows < 1 || !ui->hint)
        return;
    canvas_fill(canvas, rect, LOOK_HINT);
    paragraph_paint(canvas, rect_make(rect.row, rect.col, rect.rows, rect.cols - 1), 0, 1, LOOK_HINT, ui->hint);
}

int ui_note_paint(struct canvas *canvas, int bottom, enum look look, const char *text)
{
    int most = canvas->rows / 4 > ROWS_LEAST ? canvas->rows / 4 : ROWS_LEAST;
    int rows = paragraph_rows(canvas, text, canvas->cols - 2);
    rows = rows < most ? rows : most;
    struct rect rect = rect_make(bottom - rows, 0, rows, canvas->cols);
    canvas_fill(canvas, rect, look);
    return paragraph_paint(canvas, rect_make(rect.row, 0, rows, canvas->cols - 1), 0, 1, look, text);
}

void ui_message_paint(struct ui *ui, struct canvas *canvas, int bottom)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    enum look role = ui->message_look;
    if (ui->message) {
        /* Mark the role with text, because color alone is not enough. */
        strbuf_addf(&text, "%s%s", role == LOOK_ERROR ? "error: " : role == LOOK_WARN ? "! " : "", ui->message);
    } else if (ui->progress && ui->progress_total > ui->progress_done) {
        strbuf_addf(&text, "%s  %zu %%  ", ui->progress, ui->progress_done * 100 / ui->progress_total);
        role = LOOK_HINT;
    } else {
        return;
    }
    ui_note_paint(canvas, bottom, role, text.buf);
}
