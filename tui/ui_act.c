/* What actions do that are the ui's own; stepping has its own file, and what is left goes to a pane. */

#include "journal/session.h"
#include "program.h"
#include "text.h"
#include "ui_inside.h"
#include <stdlib.h>
#include <string.h>

struct pane *ui_pane(const struct ui *ui)
{
    return ui->panes[ui->focus];
}

int ui_pane_row(const struct ui *ui, int number)
{
    struct rect rect = ui->layout.panes[number];
    return rect.rows > 0 ? rect.row : 0;
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
    ui->focus = focus;
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

static int64_t programs_running(const struct session *session)
{
    int64_t count = 0;
    for (uint32_t row = 0; row < session->program_count; row++)
        count += session_program_running(session, row);
    return count;
}

/* What would end with us is asked about. */
static void quit(struct ui *ui, const struct view *view)
{
    bool live = view->mode != VIEW_REPLAY;
    int64_t running = live ? programs_running(view->session) : 0;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    if (live && session_turn_running(view->session)) {
        strbuf_addstr(&question, "A turn is running. Cancel it and quit?");
    } else if (running) {
        text_plural(&question, running, "program of the agent still runs", "programs of the agent still run");
        strbuf_addf(&question, ". End %s and quit?", running == 1 ? "it" : "them");
    }
    if (question.len)
        ui_open_modal(ui, modal_confirm_new(question.buf, quit_now, NULL));
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
    struct pane *pane = ui_pane(ui);
    if (pane->ops->act && pane->ops->act(pane, ui, view, ACTION_COPY))
        return;
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

void ui_show_program(struct ui *ui, const struct view *view, uint32_t program)
{
    program = program != SESSION_NONE ? program : program_wanted(view, ui->program.shown);
    ui_open_modal(ui, modal_program_new(program, ui->keymap, &ui->program));
}

/* The program of the call that is held, or of the selected one. */
static uint32_t program_in_question(struct ui *ui, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t held = session_find_call(session, session_name(session, session->held_call));
    uint32_t program = program_of_call(view, held);
    return program != SESSION_NONE ? program : program_of_call(view, ui_selected(ui, view).call);
}

/* Whoever closed the view and opens it again wants what was there, unless another program is in question since. */
static void show_some_program(struct ui *ui, const struct view *view)
{
    uint32_t asked = program_in_question(ui, view), last = ui->program.shown;
    bool again = asked == ui->program.asked && last < view->session->program_count &&
                 session_program_running(view->session, last);
    ui->program.asked = asked;
    ui_show_program(ui, view, again ? last : asked);
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

void ui_act(struct ui *ui, const struct view *view, enum action action)
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
    case ACTION_PANE_7:
        ui->focus = (int)action - ACTION_PANE_1 + 1;
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
        if (ui_pane(ui)->ops != &pane_tools && ui_pane(ui)->ops != &pane_workspace)
            ui_say(ui, LOOK_TEXT, "What a call told is unfolded in the tools: %s goes there.",
                   keymap_key(ui->keymap, ACTION_PANE_3));
        else
            act_in_pane(ui, view, action);
        break;
    case ACTION_PROGRAM:
        show_some_program(ui, view);
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
