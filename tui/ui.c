/* Keys in, cells out.
 *
 * A key goes down until somebody takes it: the topmost dialog, the input line, then the keymap in the contexts that
 * hold at this moment (a question, a recording, a live turn, everywhere), whose action goes to the ui itself or to a
 * pane.
 *
 * A question is answered only by keys that came after it was seen. ui_render notes which question the frame shows (none
 * when the write pane is not on it or a dialog lies above), ui_presented notes that this frame is on the screen, and
 * actions of IN_QUESTION are taken only when that is the question which is open now: same ask, same bytes. */

#include "journal/session.h"
#include "statusline.h"
#include "ui_inside.h"
#include <stdio.h>
#include <string.h>

#define WHEEL_LINES 3
#define NOTICE_BACK 64 /* events */

static const struct pane_ops *const pane_table[PANE_COUNT + 1] = {
    NULL, &pane_conversation, &pane_events, &pane_tools, &pane_waves, &pane_budget, &pane_write,
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
    while (ui->modal)
        ui_close_modal(ui);
    for (int i = 1; i <= PANE_COUNT; i++)
        pane_free(ui->panes[i]);
    for (int line = 0; line < LINE_COUNT; line++)
        input_release(&ui->lines[line]);
    strbuf_release(&ui->offers);
    free(ui->filter_before);
    free(ui->searched);
    ui_unsay(ui);
    free(ui->hint);
    free(ui->progress);
    free(ui->run_to);
    free(ui);
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

struct ui_host *ui_get_host(struct ui *ui)
{
    return ui->host;
}

struct keymap *ui_keymap(struct ui *ui)
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

void ui_open_modal(struct ui *ui, struct modal *take_modal)
{
    take_modal->below = ui->modal;
    ui->modal = take_modal;
}

void ui_close_modal(struct ui *ui)
{
    struct modal *modal = ui->modal;
    if (!modal)
        return;
    ui->modal = modal->below;
    if (modal->ops->release)
        modal->ops->release(modal);
    free(modal);
}

bool ui_submit(struct ui *ui, const struct intent *intent)
{
    struct err err = ERR_INIT;
    if (ui->host->submit(ui->host, intent, &err) == 0)
        return true;
    ui_say(ui, LOOK_WARN, "%s", err.text);
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

/* What holds at this moment */

unsigned ui_contexts(const struct ui *ui, const struct view *view)
{
    (void)ui;
    if (view->mode == VIEW_REPLAY)
        return IN_REPLAY | IN_ALL;
    return view->question ? IN_QUESTION | IN_STEP | IN_ALL : IN_STEP | IN_ALL;
}

bool ui_waits_for_prompt(const struct view *view)
{
    return view->mode == VIEW_LIVE && view->session->started_seq && !view->session->ended_seq &&
           !session_turn_running(view->session);
}

void ui_name_question(char out[UI_ASK_MAX], const struct view *view)
{
    const struct question *question = view->mode == VIEW_REPLAY ? NULL : view->question;
    out[0] = '\0';
    if (question)
        snprintf(out, UI_ASK_MAX, "%.64s %.80s", question->ask ? question->ask : "?",
                 question->digest ? question->digest : "");
}

bool ui_question_shown(const struct ui *ui, const struct view *view)
{
    char now[UI_ASK_MAX];
    ui_name_question(now, view);
    return now[0] && strcmp(now, ui->presented) == 0;
}

static void set_focus(struct ui *ui, int focus)
{
    ui->focus = focus;
}

static void notice_question(struct ui *ui, const struct view *view)
{
    char now[UI_ASK_MAX];
    ui_name_question(now, view);
    if (strcmp(now, ui->question) == 0)
        return;
    if (now[0]) {
        if (!ui->question[0])
            ui->focus_before = ui->focus;
        ui->zoom = ui->zoom && ui->focus == 6;
        set_focus(ui, 6);
    } else if (ui->focus_before) {
        if (ui->focus == 6)
            set_focus(ui, ui->focus_before);
        ui->focus_before = 0;
    }
    memcpy(ui->question, now, sizeof(now));
}

/* A gate says what is about to happen as soon as the turn stands there; a question says it by itself. */
static void notice_gate(struct ui *ui, const struct view *view)
{
    bool open = ui->modal && strcmp(ui->modal->ops->name, "gate") == 0;
    bool wanted = view->held && view->mode != VIEW_REPLAY && !view->question;
    if (open && !wanted)
        ui_close_modal(ui);
    if (wanted && view->session->held_seq != ui->gate_seq) {
        ui->gate_seq = view->session->held_seq;
        if (!ui->modal)
            ui_open_modal(ui, modal_gate_new());
    }
}

static void notice_prompt(struct ui *ui, const struct view *view)
{
    bool waits = ui_waits_for_prompt(view);
    if (waits && ui->prompted != view->session->turn_count + 1) {
        ui->prompted = view->session->turn_count + 1;
        if (ui->line == LINE_NONE && !ui->modal)
            ui_open_line(ui, view, LINE_PROMPT);
    }
}

/* The newest event of this type, looked for among the last ones. */
static bool newest_event(const struct view *view, enum event_type type, struct event *event, struct arena *arena)
{
    int64_t last = view->session->last_seq;
    for (int64_t seq = last; seq > 0 && last - seq < NOTICE_BACK; seq--)
        if (view_event(view, seq, event, arena) && event->type == type)
            return true;
    return false;
}

/* An undo is asked for by a key and carried out later: how it went is said when it is known. */
static void notice_undo(struct ui *ui, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t undone = session->counts[EVENT_WRITE_UNDONE], ops = session->counts[EVENT_WORKSPACE_OP];
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    if (view->mode == VIEW_REPLAY || (undone == ui->undone && ops == ui->ops))
        return;
    bool first = !ui->noticed;
    if (!first && undone != ui->undone)
        ui_say(ui, LOOK_GOOD, "Undone: the files are as they were before that write.");
    if (!first && ops != ui->ops && newest_event(view, EVENT_WORKSPACE_OP, &event, &arena) && event.workspace_op.op &&
        strcmp(event.workspace_op.op, "undo") == 0 && event.workspace_op.error)
        ui_say(ui, LOOK_ERROR, "nothing was undone: %s", event.workspace_op.error);
    ui->undone = undone;
    ui->ops = ops;
}

/* What changed since the last look: whatever the ui does by itself happens here. */
void ui_notice(struct ui *ui, const struct view *view)
{
    notice_question(ui, view);
    notice_gate(ui, view);
    notice_prompt(ui, view);
    notice_undo(ui, view);
    ui->noticed = true;
}

/* Keys */

struct pane *ui_pane(const struct ui *ui)
{
    return ui->panes[ui->focus];
}

struct selection ui_selected(struct ui *ui, const struct view *view)
{
    struct pane *pane = ui_pane(ui);
    struct selection none = {.kind = SELECT_NOTHING, .call = SESSION_NONE};
    return pane->ops->selected ? pane->ops->selected(pane, view) : none;
}

static void go_to_pane(struct ui *ui, int step)
{
    int focus = ui->focus;
    /* Panes that are not shown have their number; Tab goes round among those that are. */
    for (int i = 0; i < PANE_COUNT; i++) {
        focus = (focus - 1 + step + PANE_COUNT) % PANE_COUNT + 1;
        if (ui->zoom || ui->layout.panes[focus].rows > 0)
            break;
    }
    set_focus(ui, focus);
}

static void next_theme(struct ui *ui)
{
    char **names = theme_names();
    size_t count = 0, at = 0;
    while (names[count]) {
        if (strcmp(names[count], ui->theme.name) == 0)
            at = count + 1;
        count++;
    }
    if (count)
        ui_set_theme(ui, names[at % count]);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static void quit_now(struct ui *ui, void *data)
{
    (void)data;
    ui->host->quit(ui->host);
}

static void quit(struct ui *ui, const struct view *view)
{
    if (view->mode != VIEW_REPLAY && session_turn_running(view->session))
        ui_open_modal(ui, modal_confirm_new("A turn is running. Cancel it and quit?", quit_now, NULL));
    else
        ui->host->quit(ui->host);
}

static void cancel(struct ui *ui, const struct view *view)
{
    if (view->mode == VIEW_REPLAY || !session_turn_running(view->session))
        ui_say(ui, LOOK_TEXT, "Nothing runs that could be cancelled. %s quits.", keymap_key(ui->keymap, ACTION_QUIT));
    else if (ui_submit(ui, &(struct intent){.type = INTENT_CANCEL}))
        ui_say(ui, LOOK_TEXT, "The turn was cancelled.");
}

static void copy(struct ui *ui, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!ui_selection_text(&text, view, ui_selected(ui, view))) {
        ui_say(ui, LOOK_WARN, "Nothing is selected here that could be copied.");
        return;
    }
    ui->host->copy(ui->host, text.buf, text.len);
    ui_say(ui, LOOK_TEXT, "Copied %zu bytes to the clipboard.", text.len);
}

static void inspect(struct ui *ui, const struct view *view)
{
    struct pane *pane = ui_pane(ui);
    if (pane->ops->act && pane->ops->act(pane, ui, view, ACTION_INSPECT))
        return;
    struct selection selection = ui_selected(ui, view);
    if (selection.kind == SELECT_NOTHING)
        ui_say(ui, LOOK_TEXT, "Nothing is selected here. Move with the arrows, or go to another pane with Tab.");
    else
        ui_open_modal(ui, modal_inspect_new(view, selection));
}

static void close_something(struct ui *ui, const struct view *view)
{
    struct pane *pane = ui_pane(ui);
    if (ui->zoom) {
        ui->zoom = false;
    } else if (pane->search_text) {
        pane_search_stop(pane);
        free(pane->search_text);
        pane->search_text = NULL;
    } else if (pane->filter_text) {
        pane_filter(pane, view, "");
    }
}

static void act_in_pane(struct ui *ui, const struct view *view, enum action action)
{
    struct pane *pane = action_contexts(action) & IN_QUESTION ? ui->panes[6] : ui_pane(ui);
    if (pane->ops->act)
        pane->ops->act(pane, ui, view, action);
}

static void act(struct ui *ui, const struct view *view, enum action action)
{
    if (action_contexts(action) & IN_REPLAY) {
        ui_replay(ui, action, NULL);
        return;
    }
    if (ui_step_act(ui, view, action))
        return;
    switch (action) {
    case ACTION_PANE_NEXT:
        go_to_pane(ui, 1);
        break;
    case ACTION_PANE_PREVIOUS:
        go_to_pane(ui, -1);
        break;
    case ACTION_PANE_1:
    case ACTION_PANE_2:
    case ACTION_PANE_3:
    case ACTION_PANE_4:
    case ACTION_PANE_5:
    case ACTION_PANE_6:
        set_focus(ui, (int)action - ACTION_PANE_1 + 1);
        break;
    case ACTION_ZOOM:
        ui->zoom = !ui->zoom;
        break;
    case ACTION_SEARCH:
        ui_open_line(ui, view, LINE_SEARCH);
        break;
    case ACTION_FILTER:
        ui_open_line(ui, view, LINE_FILTER);
        break;
    case ACTION_COMMAND:
        ui_open_line(ui, view, LINE_COMMAND);
        break;
    case ACTION_PROMPT:
        ui_open_line(ui, view, LINE_PROMPT);
        break;
    case ACTION_SEARCH_NEXT:
        ui_search(ui, view, false);
        break;
    case ACTION_SEARCH_PREVIOUS:
        ui_search(ui, view, true);
        break;
    case ACTION_INSPECT:
        inspect(ui, view);
        break;
    case ACTION_COPY:
        copy(ui, view);
        break;
    case ACTION_UNFOLD:
        if (ui_pane(ui)->ops != &pane_tools)
            ui_say(ui, LOOK_TEXT, "What a call told is unfolded in the tools: %s goes there.",
                   keymap_key(ui->keymap, ACTION_PANE_3));
        else
            act_in_pane(ui, view, action);
        break;
    case ACTION_SANDBOX:
        ui_open_modal(ui, modal_sandbox_new());
        break;
    case ACTION_HELP:
        ui_open_modal(ui, modal_help_new(ui_contexts(ui, view)));
        break;
    case ACTION_THEME:
        next_theme(ui);
        break;
    case ACTION_SESSIONS:
        ui_open_modal(ui, modal_sessions_new());
        break;
    case ACTION_SUSPEND:
        ui->host->suspend(ui->host);
        break;
    case ACTION_REDRAW:
        ui->host->redraw(ui->host);
        break;
    case ACTION_CLOSE:
        close_something(ui, view);
        break;
    case ACTION_QUIT:
        quit(ui, view);
        break;
    case ACTION_CANCEL:
        cancel(ui, view);
        break;
    default:
        act_in_pane(ui, view, action);
        break;
    }
}

/* A key that means something, but not at this moment: silence would look like a key that is broken. */
static void say_not_now(struct ui *ui, const struct view *view, const struct key *key)
{
    static const struct {
        unsigned context;
        const char *why;
    } others[] = {
        {IN_STEP, "for a turn that runs"}, {IN_REPLAY, "for recordings"}, {IN_QUESTION, "for a write that waits"}};
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

static void ordinary_key(struct ui *ui, const struct view *view, const struct key *key)
{
    enum action action = keymap_find(ui->keymap, ui_contexts(ui, view), key);
    if (action == ACTION_NONE) {
        say_not_now(ui, view, key);
        return;
    }
    if ((action_contexts(action) & IN_QUESTION) && !ui_question_shown(ui, view)) {
        if (strcmp(ui->framed, ui->question) != 0 || ui->layout.panes[6].rows > 0)
            ui_say(ui, LOOK_WARN, "The question had just come up: that key was not taken. Look, then press it again.");
        else
            ui_say(ui, LOOK_WARN, "The write that waits is not on the screen: %s shows it.",
                   keymap_key(ui->keymap, ACTION_PANE_6));
        return;
    }
    act(ui, view, action);
}

/* True when the dialog, or the fact that there is one, ended the key's way. */
static bool modal_key(struct ui *ui, const struct view *view, const struct key *key)
{
    struct modal *modal = ui->modal;
    /* A dialog is not the question or the recording below it: keys have their meaning of everywhere in it. */
    enum action action = keymap_find(ui->keymap, IN_ALL, key);
    if (modal->ops->key(modal, ui, view, key, action))
        return true;
    switch (action) {
    case ACTION_CLOSE:
    case ACTION_QUIT:
        if (action == ACTION_QUIT && modal->ops->through)
            return false;
        ui_close_modal(ui);
        return true;
    case ACTION_CANCEL:
    case ACTION_THEME:
    case ACTION_SUSPEND:
    case ACTION_REDRAW:
        act(ui, view, action);
        return true;
    case ACTION_HELP:
        if (strcmp(modal->ops->name, "help") != 0)
            act(ui, view, action);
        return true;
    default:
        return !modal->ops->through;
    }
}

static void wheel(struct ui *ui, const struct view *view, struct pane *pane, enum action action)
{
    for (int i = 0; i < WHEEL_LINES; i++) {
        if (ui->modal)
            ui->modal->ops->key(ui->modal, ui, view, &(struct key){0}, action);
        else if (pane && pane->ops->act)
            pane->ops->act(pane, ui, view, action);
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
    } else if (key->button == 1 && !ui->modal && inside(ui->layout.timeline, key) && view->count) {
        char where[48];
        snprintf(where, sizeof(where), "goto %zu", statusline_timeline_seq(ui->layout.timeline, key->col, view->count));
        ui_replay(ui, ACTION_COMMAND, where);
    } else if (key->button == 1 && !ui->modal && pane) {
        struct rect rect = ui->layout.panes[under];
        set_focus(ui, under);
        int row = key->row - rect.row - 1, col = key->col - rect.col - 1;
        if (pane->ops->click && row >= 0 && col >= 0 && row < pane->height && col < pane->width)
            pane->ops->click(pane, view, row, col);
    }
}

/* Pasted text is text: where nothing takes text, the paste is dropped whole, so that no character of it is a key. */
static bool swallowed(struct ui *ui, const struct view *view, const struct key *key)
{
    if (key->code == KEYSYM_PASTE_BEGIN) {
        bool taken = ui->modal ? ui->modal->ops->key(ui->modal, ui, view, key, ACTION_NONE) : false;
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
    if (ui->layout.too_small) {
        enum action action = keymap_find(ui->keymap, ui_contexts(ui, view), key);
        if (action == ACTION_QUIT || action == ACTION_CANCEL || action == ACTION_SUSPEND)
            act(ui, view, action);
        return;
    }
    if (ui->modal && !(ui->modal->ops->through && ui->line != LINE_NONE) && modal_key(ui, view, key))
        return;
    if (ui->line != LINE_NONE)
        ui_line_key(ui, view, key);
    else
        ordinary_key(ui, view, key);
}
