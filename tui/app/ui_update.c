/* Updates the ui after the session changed. A question takes the focus and returns it, a gate opens its dialog, a
 * session without a turn opens the prompt line, and a finished undo shows its result. Also answers which keymap
 * contexts are active and which question is open. */

#include "event/session.h"
#include "status.h"
#include "ui_internal.h"
#include <stdio.h>
#include <string.h>

#define NOTICE_BACK 64 /* events that newest_event searches */

/* ---- the current state ---- */

unsigned ui_contexts(const struct ui *ui, const struct view *view)
{
    (void)ui;
    if (view->mode == VIEW_REPLAY)
        return IN_REPLAY | IN_ALL;
    return view_question(view) ? IN_QUESTION | IN_STEP | IN_ALL : IN_STEP | IN_ALL;
}

static bool ui_waits_for_prompt(const struct view *view)
{
    return view->mode == VIEW_LIVE && view->session->started_seq && !view->session->ended_seq &&
           !session_turn_running(view->session);
}

size_t ui_hunks_kept(struct ui *ui, const struct view *view)
{
    struct write_choice choice = {0};
    bool chosen = view_question(view) && pane_write_choice(ui->panes[6], view, &choice);
    return chosen && choice.hunks && !choice.edited ? choice.kept : SIZE_MAX;
}

void ui_name_question(char out[UI_ASK_MAX], const struct view *view)
{
    const struct question *question = view_question(view);
    out[0] = '\0';
    if (question)
        snprintf(out, UI_ASK_MAX, "%s.%u", question->id, question->revision);
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
        ui->focus = 6;
    } else if (ui->focus_before) {
        if (ui->focus == 6)
            ui->focus = ui->focus_before;
        ui->focus_before = 0;
    }
    memcpy(ui->question, now, sizeof(now));
}

/* Opens the gate dialog as soon as the turn is held. A question needs no dialog, because its pane explains it. */
static void notice_gate(struct ui *ui, const struct view *view)
{
    bool open = ui->dialog && strcmp(ui->dialog->name, "gate") == 0;
    bool wanted = view->held && view->mode != VIEW_REPLAY && !view_question(view);
    if (open && !wanted)
        ui_close_dialog(ui);
    if (wanted && view->session->held_seq != ui->gate_seq) {
        ui->gate_seq = view->session->held_seq;
        if (!ui->dialog)
            ui_open_dialog(ui, dialog_gate_new());
    }
}

/* The prompt line opens automatically only before the first turn. After a turn the user may be reading, and a key meant
 * for a pane must not become text. The footer shows how to continue. */
static void notice_prompt(struct ui *ui, const struct view *view)
{
    if (ui->prompted || session_turn_left(view->session)) /* the user may want to continue the turn instead */
        return;
    ui->prompted = session_turn_running(view->session) || ui_waits_for_prompt(view);
    if (ui_waits_for_prompt(view) && ui->line == LINE_NONE && !ui->dialog)
        ui_open_line(ui, view, LINE_PROMPT);
}

/* The newest event of this type among the last NOTICE_BACK events. */
static const struct event *newest_event(const struct view *view, enum event_type type)
{
    int64_t last = view->session->last_seq;
    const struct event *event = NULL;
    for (int64_t seq = last; !event && seq > 0 && last - seq < NOTICE_BACK; seq--)
        event = view_event_of(view, seq, type);
    return event;
}

static void show_restored(struct ui *ui, const char *did, const char *next, const struct event_strs *paths)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < paths->count; i++)
        strbuf_addf(&text, "%s%s", i ? ", " : "", paths->items[i] ? paths->items[i] : "?");
    ui_message(ui, LOOK_GOOD, "%s: %.200s. Press %s to %s.", did, text.buf, keymap_key(ui->keymap, ACTION_UNDO), next);
}

/* The user requests an undo or a redo, and the engine carries it out later. Show the result when it is known. */
static void notice_undo(struct ui *ui, const struct view *view)
{
    const uint32_t *counts = view->session->counts;
    uint32_t undone = counts[EVENT_WRITE_UNDONE], redone = counts[EVENT_WRITE_REDONE], ops = counts[EVENT_WORKSPACE_OP];
    if (view->mode == VIEW_REPLAY || (undone == ui->undone && redone == ui->redone && ops == ui->ops))
        return;
    const struct event *event = NULL;
    if (ui->noticed && undone != ui->undone && (event = newest_event(view, EVENT_WRITE_UNDONE)))
        show_restored(ui, "Undone", "redo", &event->write_undone.paths);
    if (ui->noticed && redone != ui->redone && (event = newest_event(view, EVENT_WRITE_REDONE)))
        show_restored(ui, "Redone", "undo", &event->write_redone.paths);
    event = ui->noticed && ops != ui->ops ? newest_event(view, EVENT_WORKSPACE_OP) : NULL;
    const char *op = event && event->workspace_op.op && event->workspace_op.error ? event->workspace_op.op : "";
    if (strcmp(op, "undo") == 0 || strcmp(op, "redo") == 0)
        ui_message(ui, LOOK_ERROR, "cannot %s: %s", op, event->workspace_op.error);
    ui->undone = undone;
    ui->redone = redone;
    ui->ops = ops;
}

/* Compares the session with the last call. All automatic changes of the ui happen here. */
void ui_notice(struct ui *ui, const struct view *view)
{
    notice_question(ui, view);
    notice_gate(ui, view);
    notice_prompt(ui, view);
    notice_undo(ui, view);
    ui->noticed = true;
}
