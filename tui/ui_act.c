/* What the keys of everywhere do: panes, the input lines, what is selected, dialogs, theme, quitting. actions.def names
 * each function; those of a live turn are in ui_steps.c. */

#include "event/session.h"
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

/* Panes */

void ui_next_pane(struct ui *ui, const struct view *view, enum action action)
{
    int focus = ui->focus, step = action == ACTION_PANE_NEXT ? 1 : -1;
    (void)view;
    /* Panes that are not shown have their number; Tab goes round among those that are. */
    for (int i = 0; i < PANE_COUNT; i++) {
        focus = (focus - 1 + step + PANE_COUNT) % PANE_COUNT + 1;
        if (ui->zoom || ui->layout.panes[focus].rows > 0)
            break;
    }
    ui->focus = focus;
}

void ui_go_to_pane(struct ui *ui, const struct view *view, enum action action)
{
    (void)view;
    ui->focus = (int)action - ACTION_PANE_1 + 1;
}

void ui_toggle_zoom(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui->zoom = !ui->zoom;
}

void ui_move_in_pane(struct ui *ui, const struct view *view, enum action action)
{
    pane_move(ui_pane(ui), view, action);
}

void ui_close_something(struct ui *ui, const struct view *view, enum action action)
{
    struct pane *pane = ui_pane(ui);
    (void)action;
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

/* The selected thing */

void ui_copy(struct ui *ui, const struct view *view, enum action action)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct pane *pane = ui_pane(ui);
    (void)action;
    if (pane->ops->copy && pane->ops->copy(pane, ui, view))
        return;
    if (!ui_selection_text(&text, view, ui_selected(ui, view))) {
        ui_say(ui, LOOK_WARN, "Nothing is selected here that could be copied.");
        return;
    }
    ui->host->copy(ui->host, text.buf, text.len);
    ui_say(ui, LOOK_TEXT, "Copied %zu bytes to the clipboard.", text.len);
}

void ui_inspect(struct ui *ui, const struct view *view, enum action action)
{
    struct pane *pane = ui_pane(ui);
    (void)action;
    if (pane->ops->inspect && pane->ops->inspect(pane, ui, view))
        return;
    struct selection selection = ui_selected(ui, view);
    if (selection.kind == SELECT_NOTHING)
        ui_say(ui, LOOK_TEXT, "Nothing is selected here. Move with the arrows, or go to another pane with Tab.");
    else
        ui_open_dialog(ui, dialog_inspect_new(view, selection));
}

void ui_unfold(struct ui *ui, const struct view *view, enum action action)
{
    struct pane *pane = ui_pane(ui);
    (void)action;
    if (pane->ops->unfold)
        pane->ops->unfold(pane, ui, view);
    else
        ui_say(ui, LOOK_TEXT, "What a call told is unfolded in the tools: %s goes there.",
               keymap_key(ui->keymap, ACTION_PANE_3));
}

/* Dialogs */

void ui_show_sandbox(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui_open_dialog(ui, dialog_text_new(&dialog_sandbox, "", NULL));
}

void ui_show_help(struct ui *ui, const struct view *view, enum action action)
{
    (void)action;
    ui_open_dialog(ui, dialog_help_new(ui_contexts(ui, view)));
}

void ui_show_sessions(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui_open_dialog(ui, dialog_sessions_new());
}

void ui_show_breaks(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui_open_dialog(ui, dialog_list_new(&dialog_breaks));
}

void ui_show_program(struct ui *ui, const struct view *view, uint32_t program)
{
    program = program != SESSION_NONE ? program : program_wanted(view, ui->program.shown);
    ui_open_dialog(ui, dialog_program_new(program, &ui->program));
}

/* The program of the call that is held, or of the selected one. */
static uint32_t program_in_question(struct ui *ui, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t held = session_find_call(session, session_name(session, session->held_call));
    uint32_t program = program_of_call(view, held);
    return program != SESSION_NONE ? program : program_of_call(view, ui_selected(ui, view).call);
}

/* Opened again, it shows the program that it showed last, unless the cursor or the gate is at another one since. */
void ui_show_some_program(struct ui *ui, const struct view *view, enum action action)
{
    uint32_t asked = program_in_question(ui, view), last = ui->program.shown;
    bool again = asked == ui->program.asked && last < view->session->program_count &&
                 session_program_running(view->session, last);
    (void)action;
    ui->program.asked = asked;
    ui_show_program(ui, view, again ? last : asked);
}

/* The program itself */

void ui_next_theme(struct ui *ui, const struct view *view, enum action action)
{
    char **names = theme_names();
    size_t count = 0, at = 0;
    (void)view, (void)action;
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

void ui_suspend(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui->host->suspend(ui->host);
}

void ui_redraw(struct ui *ui, const struct view *view, enum action action)
{
    (void)view, (void)action;
    ui->host->redraw(ui->host);
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
void ui_quit(struct ui *ui, const struct view *view, enum action action)
{
    bool live = view->mode != VIEW_REPLAY;
    int64_t running = live ? programs_running(view->session) : 0;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    (void)action;
    if (live && session_turn_running(view->session)) {
        strbuf_addstr(&question, "A turn is running. Cancel it and quit?");
    } else if (running) {
        text_plural(&question, running, "program of the agent still runs", "programs of the agent still run");
        strbuf_addf(&question, ". End %s and quit?", running == 1 ? "it" : "them");
    }
    if (question.len)
        ui_open_dialog(ui, dialog_confirm_new(question.buf, quit_now, NULL));
    else
        ui->host->quit(ui->host);
}

void ui_cancel_turn(struct ui *ui, const struct view *view, enum action action)
{
    (void)action;
    if (view->mode == VIEW_REPLAY || !session_turn_running(view->session))
        ui_say(ui, LOOK_TEXT, "Nothing runs that could be cancelled. %s quits.", keymap_key(ui->keymap, ACTION_QUIT));
    else if (ui_submit(ui, &(struct intent){.type = INTENT_CANCEL}))
        ui_say(ui, LOOK_TEXT, "The turn was cancelled.");
}

void ui_control_replay(struct ui *ui, const struct view *view, enum action action)
{
    (void)view;
    ui_replay(ui, action, NULL);
}
