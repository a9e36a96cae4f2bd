/* Handlers of the keys that work everywhere: panes, input lines, the selection, dialogs, theme, quitting. actions.def
 * names each handler. The handlers of a live turn are in step_actions.c. */

#include "base/json.h"
#include "event/session.h"
#include "panes/program.h"
#include "screen/text.h"
#include "ui_internal.h"
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

/* ---- panes ---- */

void ui_next_pane(struct ui *ui, const struct view *view, enum action action)
{
    int focus = ui->focus, step = action == ACTION_PANE_NEXT ? 1 : -1;
    (void)view;
    /* Number keys reach every pane, shown or not. Tab cycles through the shown panes. */
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

/* ---- the selection ---- */

static bool ui_selection_text(struct strbuf *out, const struct view *view, struct selection selection);

void ui_copy(struct ui *ui, const struct view *view, enum action action)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct pane *pane = ui_pane(ui);
    (void)action;
    if (pane->ops->copy && pane->ops->copy(pane, ui, view))
        return;
    if (!ui_selection_text(&text, view, ui_selected(ui, view))) {
        ui_message(ui, LOOK_WARN, "Nothing is selected to copy.");
        return;
    }
    ui->host->copy(ui->host, text.buf, text.len);
    ui_message(ui, LOOK_TEXT, "Copied %zu bytes to the clipboard.", text.len);
}

void ui_inspect(struct ui *ui, const struct view *view, enum action action)
{
    struct pane *pane = ui_pane(ui);
    (void)action;
    if (pane->ops->inspect && pane->ops->inspect(pane, ui, view))
        return;
    struct selection selection = ui_selected(ui, view);
    if (selection.kind == SELECT_NOTHING)
        ui_message(ui, LOOK_TEXT, "Nothing is selected. Arrows move, Tab goes to the next pane.");
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
        ui_message(ui, LOOK_TEXT, "To expand a call, press %s for the tools pane.",
                   keymap_key(ui->keymap, ACTION_PANE_3));
}

/* ---- dialogs ---- */

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
    ui_open_dialog(ui, dialog_sessions_new(NULL));
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

/* The program of the call that the gate holds, or else of the selected call. */
static uint32_t program_in_question(struct ui *ui, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t held = session_find_call(session, session_name(session, session->held_call));
    uint32_t program = program_of_call(view, held);
    return program != SESSION_NONE ? program : program_of_call(view, ui_selected(ui, view).call);
}

/* Reopens the program that the dialog showed last, unless the cursor or the gate has moved to another one. */
void ui_show_some_program(struct ui *ui, const struct view *view, enum action action)
{
    uint32_t asked = program_in_question(ui, view), last = ui->program.shown;
    bool again = asked == ui->program.asked && last < view->session->program_count &&
                 session_program_running(view->session, last);
    (void)action;
    ui->program.asked = asked;
    ui_show_program(ui, view, again ? last : asked);
}

/* ---- the keyturn program ---- */

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

/* Asks for confirmation if quitting would end something that runs. */
void ui_quit(struct ui *ui, const struct view *view, enum action action)
{
    bool live = view->mode != VIEW_REPLAY;
    int64_t running = live ? programs_running(view->session) : 0;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    (void)action;
    if (live && session_turn_running(view->session)) {
        strbuf_addstr(&question, "A turn is running. Cancel it and quit?");
    } else if (running) {
        text_plural(&question, running, "program of the agent is still running",
                    "programs of the agent are still running");
        strbuf_addf(&question, ". Kill %s and quit?", running == 1 ? "it" : "them");
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
        ui_message(ui, LOOK_TEXT, "No turn is running. %s quits.", keymap_key(ui->keymap, ACTION_QUIT));
    else if (ui_submit(ui, &(struct intent){.type = INTENT_CANCEL}))
        ui_message(ui, LOOK_TEXT, "The turn was canceled.");
}

void ui_control_replay(struct ui *ui, const struct view *view, enum action action)
{
    (void)view;
    ui_replay(ui, action, NULL);
}

/* ---- the selection as text ---- */

static void add_paragraph(struct strbuf *out, const char *text)
{
    if (text)
        strbuf_addstr(out, text);
}

static void add_event_text(struct strbuf *out, const struct view *view, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf thinking = STRBUF_INIT;
    const struct session_step *step;
    switch (event->type) {
    case EVENT_TURN_STARTED:
        add_paragraph(out, event->turn_started.prompt);
        break;
    case EVENT_EDITED:
        add_paragraph(out, json_str(view_json(view, event->edited.after), NULL));
        break;
    case EVENT_MODEL_REQUESTED: /* the row of an answer that did not arrive as a whole */
        step = view_step_requested(view, event->seq);
        if (step)
            view_interrupted_answer(view, step, out, &thinking);
        break;
    case EVENT_MODEL_RESPONDED:
        add_paragraph(out, event->model_responded.text);
        break;
    case EVENT_REFLECTION:
        add_paragraph(out, event->reflection.text);
        break;
    case EVENT_TURN_FINISHED:
        add_paragraph(out, event->turn_finished.text);
        break;
    case EVENT_TOOL_OUTPUT:
        add_paragraph(out, event->tool_output.text);
        break;
    default:
        break;
    }
}

static void add_arguments(struct strbuf *out, const struct event *event)
{
    if (event->type == EVENT_TOOL_FINISHED) { /* this call has one record: its outcome */
        struct event_layout layout = event_layout(event->type);
        for (size_t i = 0; i < layout.count && !out->len; i++)
            if (layout.fields[i].kind == EVENT_KIND_OREC)
                event_encode_field(out, &layout.fields[i], &event->tool_finished);
    } else if (event->type == EVENT_TOOL_STARTED) {
        add_paragraph(out, event->tool_started.arguments);
    }
}

/* Appends the selected thing as text; false if nothing is selected. */
static bool ui_selection_text(struct strbuf *out, const struct view *view, struct selection selection)
{
    int64_t seq = selection.seq;
    if (selection.kind == SELECT_NOTHING)
        return false;
    if (selection.kind == SELECT_CALL && selection.call < view->session->call_count) {
        const struct session_call *call = &view->session->calls[selection.call];
        seq = call->finished_seq ? call->finished_seq : call->started_seq ? call->started_seq : call->responded_seq;
    }
    const struct event *event = view_event(view, seq);
    if (!event)
        return false;
    if (selection.kind == SELECT_TEXT)
        add_event_text(out, view, event);
    else if (selection.kind == SELECT_CALL)
        add_arguments(out, event);
    if (!out->len && event->raw)
        strbuf_add(out, event->raw, event->raw_len);
    return out->len > 0;
}
