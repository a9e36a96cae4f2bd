/* Handlers of the keys of a live turn: step, continue, pause, run to a call, breakpoints, editing at a gate, more
 * budget, undo and redo.
 *
 * Running to a call sets a temporary breakpoint on its tool. It is removed when the call is reached or the turn has
 * ended. Earlier calls of the same tool hold there too: ui_step_follow continues past them, after the frame that showed
 * the hold. */

#include "base/json.h"
#include "dialogs/inspect_docs.h"
#include "event/words.h"
#include "ui_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXTEND_SHARE 1 /* the same again */

/* The selected call, from the pane or from the event under the cursor; SESSION_NONE if there is none. */
static uint32_t selected_call(const struct view *view, struct selection selection)
{
    if (selection.call != SESSION_NONE && selection.call < view->session->call_count &&
        selection.kind != SELECT_NOTHING)
        return selection.call;
    const struct event *event = view_event(view, selection.seq);
    const char *id = event ? view_event_text(event, "call") : NULL;
    return id ? session_find_call(view->session, id) : SESSION_NONE;
}

static const char *gate_of_event(enum event_type type)
{
    switch (type) {
    case EVENT_TURN_PREPARED:
    case EVENT_MODEL_REQUESTED:
        return "model";
    case EVENT_MODEL_DELTA:
    case EVENT_MODEL_RESPONDED:
        return "answer";
    case EVENT_WAVES_PLANNED:
        return "wave";
    case EVENT_WRITE_PROPOSED:
    case EVENT_WRITE_DECIDED:
    case EVENT_CHECKPOINT_SAVED:
    case EVENT_WRITE_APPLIED:
        return "write";
    case EVENT_REFLECTION:
        return "reflect";
    case EVENT_BUDGET_OPENED:
    case EVENT_BUDGET_CHARGED:
    case EVENT_BUDGET_WARNED:
        return "budget";
    case EVENT_WRITES_CLOSED:
    case EVENT_TURN_FINALIZED:
    case EVENT_TURN_FINISHED:
        return "finalize";
    default:
        return NULL;
    }
}

/* "tool=edit_file" for a row about a call, "gate=model" for one about the model. The caller frees it. NULL: no
 * breakpoint fits. */
static char *break_spec(const struct view *view, struct selection selection)
{
    uint32_t call = selected_call(view, selection);
    if (call != SESSION_NONE)
        return xasprintf("tool=%s", session_name(view->session, view->session->calls[call].tool));
    const struct event *event = view_event(view, selection.seq);
    const char *gate = event ? gate_of_event(event->type) : NULL;
    return gate ? xasprintf("gate=%s", gate) : NULL;
}

static const struct breakpoint *find_break(const struct view *view, const char *spec)
{
    for (size_t i = 0; view->gates && i < view->gates->count; i++)
        if (strcmp(view->gates->breaks[i].text, spec) == 0)
            return &view->gates->breaks[i];
    return NULL;
}

/* The same, among enabled breakpoints only. */
static const struct breakpoint *find_armed(const struct view *view, const char *spec)
{
    for (size_t i = 0; view->gates && i < view->gates->count; i++)
        if (view->gates->breaks[i].enabled && strcmp(view->gates->breaks[i].text, spec) == 0)
            return &view->gates->breaks[i];
    return NULL;
}

void ui_toggle_break(struct ui *ui, const struct view *view, enum action action)
{
    (void)action;
    CLEANUP(free) char *spec = break_spec(view, ui_selected(ui, view));
    if (!spec) {
        ui_message(ui, LOOK_TEXT, "Select a call or an event to break on, or type :break tool=NAME.");
        return;
    }
    const struct breakpoint *there = find_break(view, spec);
    struct intent intent = {.type = INTENT_BREAK, .breakpoint = {spec}};
    if (there)
        intent = (struct intent){.type = INTENT_UNBREAK, .unbreak = {there->id}};
    if (ui_submit(ui, &intent))
        ui_message(ui, LOOK_TEXT, there ? "Breakpoint removed: %s" : "Breakpoint: %s", spec);
}

static void run_to_ended(struct ui *ui, const struct view *view)
{
    bool there = false;
    for (size_t i = 0; view->gates && i < view->gates->count; i++)
        there |= view->gates->breaks[i].id == ui->run_to_break;
    if (there && ui->run_to_break > 0)
        ui_submit(ui, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {ui->run_to_break}});
    free(ui->run_to);
    ui->run_to = NULL;
    ui->run_to_break = 0;
}

void ui_limit_words(struct strbuf *out, const struct ui *ui, const struct view *view)
{
    const struct held_view *held = &view->gate;
    const char *key = budget_key_name((enum budget_key)held->limit);
    strbuf_addstr(out, "The turn used its ");
    words_limit(out, key, view->session->budget.limit[held->limit]);
    strbuf_addf(out, ". %s adds ", keymap_key(ui->keymap, ACTION_EXTEND));
    words_limit(out, key, held->adds);
    strbuf_addf(out, held->gate == GATE_BUDGET ? ". Press %s twice to end it." : ". %s ends the turn.",
                keymap_key(ui->keymap, ACTION_STEP));
}

/* True while the turn holds at a limit. There the keys that continue elsewhere would end the turn, so they only say how
 * to continue. */
static bool limit_holds(struct ui *ui, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!view->held || view->gate.gate != GATE_BUDGET || view->gate.limit < 0)
        return false;
    ui_limit_words(&text, ui, view);
    ui_message(ui, LOOK_WARN, "%s", text.buf);
    return true;
}

void ui_run_to(struct ui *ui, const struct view *view, enum action action)
{
    uint32_t index = selected_call(view, ui_selected(ui, view));
    (void)action;
    if (index == SESSION_NONE) {
        ui_message(ui, LOOK_TEXT, "Select the call to run to.");
        return;
    }
    const struct session_call *call = &view->session->calls[index];
    if (call->started_seq || call->finished_seq) {
        ui_message(ui, LOOK_TEXT, "That call has already started. Select a queued call.");
        return;
    }
    if (limit_holds(ui, view))
        return;
    if (ui->run_to)
        run_to_ended(ui, view);
    CLEANUP(free) char *spec = xasprintf("tool=%s", session_name(view->session, call->tool));
    /* A breakpoint of the user already holds there, and it stays. */
    if (!find_armed(view, spec)) {
        if (!ui_submit(ui, &(struct intent){.type = INTENT_BREAK, .breakpoint = {spec}}))
            return;
        const struct breakpoint *made = find_armed(view, spec);
        ui->run_to_break = made ? made->id : 0;
    }
    ui->run_to = xstrdup(session_name(view->session, call->id));
    if (ui_submit(ui, &(struct intent){.type = INTENT_CONTINUE}))
        ui_message(ui, LOOK_TEXT, "Running to %s.", ui->run_to);
    else
        run_to_ended(ui, view);
}

void ui_step_follow(struct ui *ui, const struct view *view)
{
    if (!ui->run_to || view->mode == VIEW_REPLAY)
        return;
    if (!session_turn_running(view->session)) {
        run_to_ended(ui, view);
    } else if (view->held && view->gate.call && view->gate.gate == GATE_TOOL) {
        if (strcmp(view->gate.call, ui->run_to) == 0)
            run_to_ended(ui, view);
        else if (ui->run_to_break && view->gate.breakpoint == ui->run_to_break)
            ui_submit(ui, &(struct intent){.type = INTENT_CONTINUE});
    }
}

/* ---- editing at a gate ---- */

static const char *newest_prompt(const struct message_list *messages)
{
    const char *text = NULL;
    for (size_t i = 0; messages && i < messages->count; i++)
        if (messages->items[i].role == ROLE_USER)
            text = messages->items[i].text;
    return text;
}

/* The script of the call at the gate, as text; NULL if it has none. Allocated in the arena. */
static const char *gate_script(const struct view *view, struct arena *arena)
{
    const char *arguments = view->held && view->gate.gate == GATE_TOOL ? view->gate.arguments : NULL;
    const struct json *script = script_of(event_leaf(arena, arguments));
    return script && strlen(script->text) == script->len ? script->text : NULL;
}

/* A text for the editor, and how to use the edited text. */
struct editing {
    enum edit_what what;
    const char *name; /* name of the file that the editor opens */
    const char *text; /* NULL: this gate has no text to edit */
    const char *said;
    bool script; /* only the script among the arguments */
};

/* The arguments in readable form, one per line. `pretty` must be empty; it holds the text. */
static const char *gate_arguments(const struct view *view, struct strbuf *pretty)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *arguments = view->gate.arguments;
    const struct json *value = event_leaf(&arena, arguments);
    if (!value)
        return arguments;
    json_write(pretty, value, JSON_PRETTY);
    return pretty->buf;
}

static struct editing edit_what_stands(const struct view *view, bool whole, struct arena *arena, struct strbuf *pretty)
{
    const char *script = whole ? NULL : gate_script(view, arena);
    if (view->held && view->gate.gate == GATE_TOOL && script)
        return (struct editing){EDIT_ARGUMENTS, "script.py", script, "script", true};
    if (view->held && view->gate.gate == GATE_TOOL)
        return (struct editing){EDIT_ARGUMENTS, "arguments.json", gate_arguments(view, pretty), "arguments", false};
    if (view->held && view->gate.gate == GATE_RESULT && !whole)
        return (struct editing){EDIT_RESULT, "result.json", view->gate.result, "result", false};
    if (view->held && view->gate.gate == GATE_MODEL && !whole)
        return (struct editing){EDIT_PROMPT, "prompt.md", newest_prompt(view->gate.messages), "prompt", false};
    return (struct editing){0};
}

/* ACTION_EDIT_ARGUMENTS edits all arguments. ACTION_EDIT_GATE edits only the script if there is one. */
void ui_edit_gate(struct ui *ui, const struct view *view, enum action action)
{
    bool whole = action == ACTION_EDIT_ARGUMENTS;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf pretty = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf arguments = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf edited = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct editing it = edit_what_stands(view, whole, &arena, &pretty);
    if (!it.text) {
        ui_message(ui, LOOK_TEXT,
                   !view->held ? "The turn is not paused. %s pauses at the next stop."
                   : whole     ? "Arguments can only be edited before a call runs."
                               : "Nothing to edit here. You can edit arguments before a call, results after it, "
                                 "and the prompt before a model request.",
                   keymap_key(ui->keymap, ACTION_PAUSE));
        return;
    }
    if (ui->host->edit_text(ui->host, it.name, it.text, strlen(it.text), &edited, &err)) {
        ui_message(ui, LOOK_WARN, "%s", err.text);
        return;
    }
    /* Editors end a file with a newline. Remove it if the original text had none. */
    while (edited.len && edited.buf[edited.len - 1] == '\n' && (!*it.text || it.text[strlen(it.text) - 1] != '\n'))
        strbuf_set_len(&edited, edited.len - 1);
    if (strcmp(edited.buf, it.text) == 0) {
        ui_message(ui, LOOK_TEXT, "Unchanged.");
        return;
    }
    struct intent intent = {.type = INTENT_EDIT, .edit = {.what = it.what, .text = edited.buf}};
    if (it.script && script_replace(&arguments, view->gate.arguments, edited.buf))
        intent.edit.text = arguments.buf;
    if (ui_submit(ui, &intent))
        ui_message(ui, LOOK_TEXT, "Edited the %s. %s continues with it.", it.said, keymap_key(ui->keymap, ACTION_STEP));
}

/* ---- budget ---- */

static enum budget_key fullest(const struct session_budget *budget)
{
    enum budget_key best = BUDGET_STEPS;
    double most = -1;
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        double share = budget->limit[key] > 0 ? budget->used[key] / budget->limit[key] : 0;
        if (!isnan(budget->limit[key]) && share > most) {
            most = share;
            best = (enum budget_key)key;
        }
    }
    return best;
}

void ui_extend_budget(struct ui *ui, const struct view *view, enum action action)
{
    int key = view->held ? view->gate.limit : -1;
    (void)action;
    /* In the budget pane, the key raises the limit under the cursor. */
    if (key < 0 && ui_pane(ui)->ops == &pane_budget)
        pane_budget_selected(ui_pane(ui), view, &key);
    if (key < 0)
        key = (int)fullest(&view->session->budget);
    struct intent intent = {.type = INTENT_EXTEND, .extend = {.key = (enum budget_key)key, .share = EXTEND_SHARE}};
    bool ended = !session_turn_running(view->session);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    words_limit(&text, budget_key_name((enum budget_key)key), view->session->budget.limit[key]);
    if (!ui_submit(ui, &intent))
        return;
    if (ended) {
        ui_message(ui, LOOK_TEXT, "Continuing in a new turn.");
        return;
    }
    strbuf_addstr(&text, " to ");
    words_limit(&text, budget_key_name((enum budget_key)key), view->session->budget.limit[key]);
    ui_message(ui, LOOK_TEXT, "Raised the limit from %s.", text.buf);
}

/* ---- undo ---- */

/* The question names the write, so the answer must reach that one, whatever happens meanwhile. */
static void restore_now(struct ui *ui, void *data)
{
    (void)data;
    ui_submit(ui, &ui->restore); /* ui_update.c shows the result when it is known */
}

void ui_ask_restore(struct ui *ui, const struct view *view, uint32_t row, bool redo)
{
    const struct session *session = view->session;
    const struct session_question *ask = &session->asks[row];
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    strbuf_addf(&question, redo ? "Redo " : "Undo ");
    if (ask->call != SESSION_NONE)
        strbuf_addf(&question, "#%u %s ", ask->call + 1, session_name(session, session->calls[ask->call].tool));
    strbuf_addstr(&question, ask->paths);
    words_counts(&question, ask->added, ask->removed);
    strbuf_addch(&question, '?');
    snprintf(ui->restore_what, sizeof(ui->restore_what), "%s", session_name(session, ask->checkpoint));
    ui->restore = (struct intent){.type = redo ? INTENT_REDO : INTENT_UNDO, .undo = {ui->restore_what}};
    ui_open_dialog(ui, dialog_confirm_new(question.buf, restore_now, NULL));
}

void ui_undo_write(struct ui *ui, const struct view *view, enum action action)
{
    uint32_t row = session_last_write(view->session);
    (void)action;
    if (row == SESSION_NONE)
        ui_message(ui, LOOK_TEXT, "No write to undo.");
    else
        ui_ask_restore(ui, view, row, view->session->asks[row].undone_seq != 0);
}

void ui_toggle_serial(struct ui *ui, const struct view *view, enum action action)
{
    (void)action;
    bool on = !(view->gates && view->gates->serial);
    if (ui_submit(ui, &(struct intent){.type = INTENT_SERIAL, .serial = {on}}))
        ui_message(ui, LOOK_TEXT,
                   on ? "Parallel calls off, from the next step." : "Parallel calls on, from the next step.");
}

void ui_step(struct ui *ui, const struct view *view, enum action action)
{
    enum intent_type type = action == ACTION_STEP        ? INTENT_STEP
                            : action == ACTION_STEP_WAVE ? INTENT_STEP_WAVE
                            : action == ACTION_CONTINUE  ? INTENT_CONTINUE
                                                         : INTENT_PAUSE;
    if (type != INTENT_PAUSE && limit_holds(ui, view)) {
        bool again = ui->end_asked == view->session->held_seq;
        if (type != INTENT_STEP)
            return;
        ui->end_pressed = view->session->held_seq;
        if (!again) {
            ui_message(ui, LOOK_WARN, "Press %s again to end the turn.", keymap_key(ui->keymap, ACTION_STEP));
            return;
        }
        ui_message_clear(ui);
    }
    if (ui->run_to)
        run_to_ended(ui, view);
    if (action == ACTION_CONTINUE && ui->host->engine && engine_turn_left(ui->host->engine)) {
        ui_submit(ui, &(struct intent){.type = INTENT_RESUME_TURN});
        return;
    }
    if (ui_submit(ui, &(struct intent){.type = type}) && !session_turn_running(view->session) &&
        type != INTENT_CONTINUE)
        ui_message(ui, LOOK_TEXT, "The next turn will pause at its first stop.");
    else if (type == INTENT_PAUSE && !ui->message)
        ui_message(ui, LOOK_TEXT, "The turn will pause at its next stop.");
}

bool ui_step_key(struct ui *ui, const struct view *view, const struct key *key)
{
    enum action action = view->mode == VIEW_REPLAY ? ACTION_NONE : keymap_find(ui->keymap, IN_STEP, key);
    if (action != ACTION_STEP && action != ACTION_STEP_WAVE && action != ACTION_CONTINUE && action != ACTION_PAUSE)
        return false;
    ui_step(ui, view, action);
    return true;
}
