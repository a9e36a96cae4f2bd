/* Keys in, cells out.
 *
 * A key goes to the first of these that takes it: the topmost dialog, the input line, then the keymap in the contexts
 * that hold at this moment (a question, a recording, a live turn, everywhere). actions.def names the function that
 * carries the action out, and nothing stands between ui_key and that function.
 *
 * A question is answered only by keys that came after it was seen. ui_render notes which question the frame shows (none
 * when the write pane is not on it or a dialog lies above), ui_presented notes that this frame is on the screen, and
 * actions of IN_QUESTION are taken only when that is the question which is open now. For a moment
 * after it came (ui_grace) a frame shows it as new and not as waiting, and does not count: a hand that was typing
 * cannot have read it. */

#include "event/session.h"
#include "statusline.h"
#include "ui_inside.h"
#include <stdio.h>
#include <string.h>

#define WHEEL_LINES 3

static const struct pane_ops *const pane_table[PANE_COUNT + 1] = {
    NULL, &pane_conversation, &pane_events, &pane_tools, &pane_waves, &pane_budget, &pane_write, &pane_workspace,
};

/* The & refuses NULL: every action has a handler. */
static action_handler *const handlers[ACTION_COUNT] = {
#define ACTION(ID, name, contexts, keys, short_help, help, handler) [ACTION_##ID] = &handler,
#include "actions.def"
#undef ACTION
};

/* Life */

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
        ui->panes[i] = pane_new(pane_table[i]);
    if (theme_load(&ui->theme, theme, &err)) {
        ui_say(ui, LOOK_ERROR, "theme: %s", err.text);
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
    ui_unsay(ui);
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

void ui_say_revised(struct ui *ui)
{
    ui_say(ui, LOOK_WARN, "this is your version now: y writes it");
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
        ui_say(ui, LOOK_ERROR, "theme: %s", err.text);
        return;
    }
    ui->theme = theme;
    ui_say(ui, LOOK_TEXT, "theme %s", theme.name);
}

bool ui_work(struct ui *ui, const struct view *view)
{
    bool more = false;
    for (int i = 1; i <= PANE_COUNT; i++) {
        bool lost;
        more |= pane_work(ui->panes[i], view, &lost);
        if (lost)
            ui_say_lost(ui, ui->panes[i]);
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

/* A refused answer stays on the screen until a key: a warning would leave by itself, and the write would still wait. */
static enum look refusal_look(enum intent_type type)
{
    bool answer = type == INTENT_ANSWER || type == INTENT_REVISE || type == INTENT_ALLOW || type == INTENT_ATTEND;
    return answer ? LOOK_ERROR : LOOK_WARN;
}

bool ui_submit(struct ui *ui, const struct intent *intent)
{
    struct err err = ERR_INIT;
    struct engine *engine = ui->host->engine;
    int refused = engine ? engine_submit(engine, intent, &err) : ui->host->submit(ui->host, intent, &err);
    if (!refused)
        return true;
    ui_say(ui, refusal_look(intent->type), "%s", err.text);
    return false;
}

bool ui_replay(struct ui *ui, enum action action, const char *argument)
{
    struct err err = ERR_INIT;
    if (ui->host->replay(ui->host, action, argument, &err) == 0)
        return true;
    ui_say(ui, LOOK_WARN, "%s", err.text);
    return false;
}

void ui_open(struct ui *ui, const char *what)
{
    struct err err = ERR_INIT;
    if (ui->host->open(ui->host, what, &err))
        ui_say(ui, LOOK_ERROR, "%s", err.text);
}

/* Keys */

/* A key that means something, but not at this moment: silence would look like a key that is broken. */
static void say_not_now(struct ui *ui, const struct view *view, const struct key *key)
{
    static const struct {
        unsigned context;
        const char *why;
    } others[] = {
        {IN_STEP, "for a turn that runs"},
        {IN_REPLAY, "for recordings"},
        {IN_QUESTION, "for a write that waits"},
        {IN_PROGRAM, "for a program that is shown"},
    };
    enum action action = ACTION_NONE;
    size_t i = 0;
    for (; i < COUNT_OF(others) && action == ACTION_NONE; i++)
        action = keymap_find(ui->keymap, others[i].context, key);
    if (action == ACTION_NONE)
        return;
    const char *name = action_name(action), *why = others[i - 1].why;
    if (view->mode == VIEW_REPLAY)
        ui_say(ui, LOOK_TEXT, "%s is %s: %s goes on live from here.", name, why, keymap_key(ui->keymap, ACTION_FORK));
    else
        ui_say(ui, LOOK_TEXT, "%s is %s: not now.", name, why);
}

/* A question that was not on the screen when the key was pressed. */
static void say_unseen(struct ui *ui)
{
    if (strcmp(ui->framed, ui->question) != 0 || ui->layout.panes[6].rows > 0)
        ui_say(ui, LOOK_WARN, "The question has just come: that key was not taken. Read it, then press it again.");
    else
        ui_say(ui, LOOK_WARN, "The write that waits is not on the screen: %s shows it.",
               keymap_key(ui->keymap, ACTION_PANE_6));
}

/* Answers count only for a question that was seen; reading it is allowed while it is new. */
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

/* True when the dialog, or the fact that there is one, ended the key's way. */
static bool dialog_key(struct ui *ui, const struct view *view, const struct key *key)
{
    struct dialog *dialog = ui->dialog;
    /* A dialog is not the question or the recording below it: keys have their meaning of everywhere in it. */
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
        if (row >= 0 && col >= 0 && row < pane->height && col < pane->width)
            pane_click(pane, view, row, col);
    }
}

/* Pasted text is text: where nothing takes text, the paste is dropped whole, so that no character of it is a key. */
static bool swallowed(struct ui *ui, const struct view *view, const struct key *key)
{
    if (key->code == KEYSYM_PASTE_BEGIN) {
        bool taken = ui->dialog && dialog_press(ui->dialog, view, key, ACTION_NONE);
        if (!taken && ui->line == LINE_NONE) {
            ui->pasting = true;
            ui_say(ui, LOOK_WARN, "Nothing here takes text: the paste was dropped.");
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
    ui_unsay(ui);
    enum action action = keymap_find(ui->keymap, ui_contexts(ui, view), key);
    if (ui->layout.too_small) {
        if (action == ACTION_QUIT || action == ACTION_CANCEL || action == ACTION_SUSPEND)
            ui_act(ui, view, action);
    } else if (ui->dialog && !(ui->dialog->ops->through && ui->line != LINE_NONE) && dialog_key(ui, view, key)) {
        return;
    } else if (ui->line != LINE_NONE) {
        ui_line_key(ui, view, key);
    } else if (action == ACTION_NONE) {
        say_not_now(ui, view, key);
    } else if ((action_contexts(action) & IN_QUESTION) && !question_painted(ui, view, action)) {
        say_unseen(ui);
    } else {
        handlers[action](ui, view, action);
    }
}
