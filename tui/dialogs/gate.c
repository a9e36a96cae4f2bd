/* The gate dialog: shows what the gate holds (messages about to be sent, the plan of the waves, a call with its
 * arguments). It covers only a part of the screen and passes on every key it does not use, so the user can step while
 * it is open. */

#include "base/json.h"
#include "base/mem.h"
#include "dialog.h"
#include "event/words.h"
#include "inspect_docs.h"
#include "screen/text.h"
#include <stdio.h>
#include <string.h>

struct gate_dialog {
    struct dialog dialog;
    struct wrapped lines;
    uint32_t held_seq; /* the hold that `lines` belong to */
    uint32_t events;   /* number of events then: an edit changes the content */
    int width;
    char title[180];
};

static void gate_release(struct dialog *dialog)
{
    wrapped_release(&((struct gate_dialog *)dialog)->lines);
}

static void add(struct gate_dialog *gate, enum look look, const char *text)
{
    wrapped_add(&gate->lines, look, "", text, strlen(text), gate->width - 2);
}

static void add_json(struct gate_dialog *gate, const char *text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf pretty = STRBUF_INIT;
    const struct json *value = event_leaf(&arena, text);
    if (value)
        json_write(&pretty, value, JSON_PRETTY);
    else
        strbuf_addstr(&pretty, text ? text : "(nothing)");
    add(gate, LOOK_TEXT, pretty.buf);
}

static void add_messages(struct gate_dialog *gate, const struct message_list *messages)
{
    add(gate, LOOK_STRONG, "Next: ask the model. It will read:");
    for (size_t i = 0; messages && i < messages->count; i++) {
        const struct message *message = &messages->items[i];
        CLEANUP(strbuf) struct strbuf head = STRBUF_INIT;
        strbuf_addf(&head, "%s%s%s", role_name(message->role), message->meaning ? ": " : "",
                    message->meaning ? message->meaning : "");
        wrapped_add_blank(&gate->lines);
        add(gate, LOOK_MODAL_TITLE, head.buf);
        if (message->text && *message->text)
            add(gate, message->role == ROLE_USER ? LOOK_USER : LOOK_TEXT, message->text);
        for (size_t k = 0; k < message->call_count; k++) {
            CLEANUP(free)
            char *call = xasprintf("calls %s %s", message->calls[k].name ? message->calls[k].name : "",
                                   message->calls[k].arguments ? message->calls[k].arguments : "");
            add(gate, LOOK_DIM, call);
        }
    }
}

static void add_answer(struct gate_dialog *gate, const struct view *view)
{
    const struct session_turn *turn = session_turn(view->session);
    const struct session_step *step =
        turn && turn->step_count ? &view->session->steps[turn->first_step + turn->step_count - 1] : NULL;
    const struct event *event = view_event_of(view, step ? step->responded_seq : 0, EVENT_MODEL_RESPONDED);
    add(gate, LOOK_STRONG, "The model answered. No call has run yet:");
    if (!event)
        return;
    if (event->model_responded.text && *event->model_responded.text)
        add(gate, LOOK_AGENT, event->model_responded.text);
    for (size_t i = 0; i < event->model_responded.tool_calls.count; i++) {
        const struct event_tool_request *call = &event->model_responded.tool_calls.items[i];
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, words = STRBUF_INIT;
        words_call_number(&line, view->session, call->id, turn ? turn->number : 0);
        strbuf_addf(&line, " %s ", call->name ? call->name : "");
        words_arguments(&words, view_json(view, call->arguments));
        text_breaks(&line, words.buf);
        add(gate, LOOK_TEXT, line.buf);
    }
}

static void add_plan(struct gate_dialog *gate, const struct view *view)
{
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    bool next = true;
    add(gate, LOOK_STRONG, "The plan of this step:");
    for (uint32_t i = 0; turn && i < turn->wave_count; i++) {
        const struct session_wave *wave = &session->waves[turn->first_wave + i];
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        if (wave->step + 1 != turn->first_step + turn->step_count)
            continue;
        bool done = wave->call_count && session->calls[wave->first_call].started_seq;
        strbuf_addf(&line, "%s wave %u, %s: ",
                    done   ? "done"
                    : next ? "next"
                           : "then",
                    wave->number, wave->parallel ? "in parallel" : "alone");
        for (uint32_t k = 0; k < wave->call_count; k++) {
            const struct session_call *call = &session->calls[wave->first_call + k];
            strbuf_addf(&line, "%s#%u %s", k ? ", " : "", wave->first_call + k + 1, session_name(session, call->tool));
        }
        add(gate, done ? LOOK_DIM : next ? LOOK_STRONG : LOOK_TEXT, line.buf);
        next = next && done;
    }
}

/* Adds a script line by line instead of as one long string. */
static void add_script(struct gate_dialog *gate, const struct json *arguments)
{
    const struct json *script = script_of(arguments);
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    json_each (field, arguments)
        if (field != script) {
            strbuf_reset(&line);
            strbuf_addf(&line, "%s: %.*s", field->key, (int)field->src_len, field->src);
            add(gate, LOOK_DIM, line.buf);
        }
    wrapped_add_blank(&gate->lines);
    size_t number = 0;
    for (size_t at = 0; at < script->len;) {
        size_t len = strcspn(script->text + at, "\n");
        strbuf_reset(&line);
        strbuf_addf(&line, "%3zu  ", ++number);
        strbuf_add(&line, script->text + at, len);
        add(gate, LOOK_SCRIPT, line.buf);
        at += len + 1;
    }
}

static void add_call(struct gate_dialog *gate, const struct view *view)
{
    const struct held_view *held = &view->gate;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *arguments = event_leaf(&arena, held->arguments);
    const struct session_turn *turn = session_turn(view->session);
    strbuf_addstr(&line, "Next: run ");
    words_call_number(&line, view->session, held->call, turn ? turn->number : 0);
    if (held->tool)
        strbuf_addf(&line, " %s (%s)", held->tool->spec.name,
                    words_call_effect(effect_name(held->effect), held->tool->spec.name));
    add(gate, LOOK_STRONG, line.buf);
    if (script_of(arguments))
        add_script(gate, arguments);
    else
        add_json(gate, held->arguments);
}

static void add_result(struct gate_dialog *gate, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    const struct session_turn *turn = session_turn(view->session);
    words_call_number(&line, view->session, view->gate.call, turn ? turn->number : 0);
    strbuf_addf(&line, "%s%s finished. The model will read:", view->gate.tool ? " " : "",
                view->gate.tool ? view->gate.tool->spec.name : "");
    add(gate, LOOK_STRONG, line.buf);
    add_json(gate, view->gate.result);
}

static void add_limit(struct gate_dialog *gate, const struct view *view)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    ui_limit_words(&text, gate->dialog.ui, view);
    add(gate, LOOK_WARN, text.buf);
}

static void fill(struct gate_dialog *gate, const struct view *view)
{
    wrapped_reset(&gate->lines);
    switch (view->gate.gate) {
    case GATE_MODEL:
        add_messages(gate, view->gate.messages);
        break;
    case GATE_ANSWER:
        add_answer(gate, view);
        break;
    case GATE_WAVE:
        add_plan(gate, view);
        break;
    case GATE_TOOL:
        add_call(gate, view);
        break;
    case GATE_WRITE:
        add(gate, LOOK_STRONG, "Next: the write. The write pane shows its diff.");
        break;
    case GATE_RESULT:
        add_result(gate, view);
        break;
    case GATE_REFLECT:
        add(gate, LOOK_STRONG, "Next: the model reviews this step.");
        break;
    case GATE_FINALIZE:
        if (view->gate.limit >= 0)
            add_limit(gate, view);
        add(gate, LOOK_STRONG, "Next: finalize the turn. No writes after this; then citations and memory.");
        break;
    case GATE_BUDGET:
        if (view->gate.limit >= 0)
            add_limit(gate, view);
        else
            add(gate, LOOK_WARN, "The budget breakpoint was reached.");
        if (view->gate.call)
            add_call(gate, view);
        break;
    case GATE_COUNT:
        break;
    }
}

/* Rebuilds the lines if their content has changed. */
static void prepare(struct gate_dialog *gate, const struct view *view, int width)
{
    const struct session *session = view->session;
    if (!view->held ||
        (gate->held_seq == session->held_seq && gate->events == session->event_count && gate->width == width))
        return;
    if (gate->held_seq != session->held_seq)
        gate->dialog.list.top = 0;
    gate->held_seq = session->held_seq;
    gate->events = session->event_count;
    gate->width = width;
    fill(gate, view);
}

/* As high as its text, up to half of the screen. On a small screen it covers the conversation, so that the user can
 * select calls right below it; otherwise it is in the lower left corner. */
static struct rect gate_place(struct dialog *dialog, int rows, int cols)
{
    struct gate_dialog *gate = (struct gate_dialog *)dialog;
    int width = cols >= 160 ? cols / 2 : cols >= 100 ? cols * 11 / 20 : cols;
    int most = cols >= 100 ? rows / 2 : rows * 13 / 24;
    prepare(gate, dialog->view, width - 2);
    int height = gate->lines.count + 2 < (size_t)most ? (int)gate->lines.count + 2 : most;
    int below = ui_pane_row(dialog->ui, pane_tools.number);
    below = below > height ? below : 1 + most;
    return rect_make((cols >= 100 ? rows - 1 : below) - height, 0, height, width);
}

static void gate_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct gate_dialog *gate = (struct gate_dialog *)dialog;
    if (!dialog->view->held)
        return;
    list_set_lines(&dialog->list, gate->lines.count, inside.rows);
    wrapped_paint(&gate->lines, canvas, inside, dialog->list.top);
    if (dialog->list.top + (size_t)inside.rows < gate->lines.count)
        canvas_put_sign(canvas, inside, inside.rows - 1, inside.cols - 1, LOOK_DIM, SIGN_DOWN);
}

/* Lines are wrapped to the width, so there is no sideways scrolling. */
static bool gate_key(struct dialog *dialog, const struct key *key, enum action action)
{
    (void)key;
    return action != ACTION_LEFT && action != ACTION_RIGHT &&
           list_scroll(&dialog->list, action_list_step(action), dialog->height);
}

static const char *gate_title(struct dialog *dialog)
{
    struct gate_dialog *gate = (struct gate_dialog *)dialog;
    const struct view *view = dialog->view;
    const struct session_turn *turn = session_turn(view->session);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    bool why = view->held && view->gate.why && view->gate.limit < 0;
    if (view->held)
        words_gate(&words, view->session, gate_name(view->gate.gate), view->gate.call, turn ? turn->number : 0);
    snprintf(gate->title, sizeof(gate->title), "paused %.90s%s%.60s", words.buf, why ? ", " : "",
             why ? view->gate.why : "");
    return gate->title;
}

static const struct dialog_ops gate_ops = {.name = "gate",
                                           .size = sizeof(struct gate_dialog),
                                           .release = gate_release,
                                           .place = gate_place,
                                           .paint = gate_paint,
                                           .key = gate_key,
                                           .title_of = gate_title,
                                           .through = true};

struct dialog *dialog_gate_new(void)
{
    struct gate_dialog *gate = (struct gate_dialog *)dialog_alloc(&gate_ops);
    wrapped_init(&gate->lines);
    return &gate->dialog;
}
