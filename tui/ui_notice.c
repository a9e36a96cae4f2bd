/* What the ui does by itself when something has changed: a question takes the focus and gives it back, a gate opens its
 * dialog, a session without a turn opens the prompt line, an undo is told when it is known how it went. And what holds
 * at a moment: the contexts of the keymap, the question that is open. */

#include "event/session.h"
#include "statusline.h"
#include "ui_inside.h"
#include <stdio.h>
#include <string.h>

#define NOTICE_BACK 64 /* events */

/* What holds at this moment */

unsigned ui_contexts(const struct ui *ui, const struct view *view)
{
    (void)ui;
    if (view->mode == VIEW_REPLAY)
        return IN_REPLAY | IN_ALL;
    return view_question(view) ? IN_QUESTION | IN_STEP | IN_ALL : IN_STEP | IN_ALL;
}

bool ui_waits_for_prompt(const struct view *view)
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

/* A gate says what is about to happen as soon as the turn stands there; a question says it by itself. */
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

/* The prompt line opens by itself only where no turn was watched yet. Later somebody may be looking around when one
 * ends, and a key that was meant for a pane must not become text; the footer says how to go on. */
static void notice_prompt(struct ui *ui, const struct view *view)
{
    if (ui->prompted)
        return;
    ui->prompted = session_turn_running(view->session) || ui_waits_for_prompt(view);
    if (ui_waits_for_prompt(view) && ui->line == LINE_NONE && !ui->dialog)
        ui_open_line(ui, view, LINE_PROMPT);
}

/* The newest event of this type, looked for among the last ones. */
static const struct event *newest_event(const struct view *view, enum event_type type)
{
    int64_t last = view->session->last_seq;
    const struct event *event = NULL;
    for (int64_t seq = last; !event && seq > 0 && last - seq < NOTICE_BACK; seq--)
        event = view_event_of(view, seq, type);
    return event;
}

/* An undo is asked for by a key and carried out later: how it went is said when it is known. */
static void notice_undo(struct ui *ui, const struct view *view)
{
    const struct session *session = view->session;
    uint32_t undone = session->counts[EVENT_WRITE_UNDONE], ops = session->counts[EVENT_WORKSPACE_OP];
    if (view->mode == VIEW_REPLAY || (undone == ui->undone && ops == ui->ops))
        return;
    bool first = !ui->noticed;
    if (!first && undone != ui->undone)
        ui_say(ui, LOOK_GOOD, "Undone: the files are as they were before that write.");
    const struct event *event = !first && ops != ui->ops ? newest_event(view, EVENT_WORKSPACE_OP) : NULL;
    if (event && event->workspace_op.op && strcmp(event->workspace_op.op, "undo") == 0 && event->workspace_op.error)
        ui_say(ui, LOOK_ERROR, "nothing was undone: %s", event->workspace_op.error);
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
