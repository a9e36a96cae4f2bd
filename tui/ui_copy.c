/* A selection as the text somebody wants in the clipboard: what was said, what a call gave, else the line of the
 * journal. */

#include "ui_inside.h"
#include <string.h>

static void add(struct strbuf *out, const char *text)
{
    if (text)
        strbuf_addstr(out, text);
}

static void said(struct strbuf *out, const struct event *event)
{
    switch (event->type) {
    case EVENT_TURN_STARTED:
        add(out, event->turn_started.prompt);
        break;
    case EVENT_MODEL_RESPONDED:
        add(out, event->model_responded.text);
        break;
    case EVENT_REFLECTION:
        add(out, event->reflection.text);
        break;
    case EVENT_TURN_FINISHED:
        add(out, event->turn_finished.text);
        break;
    case EVENT_TOOL_OUTPUT:
        add(out, event->tool_output.text);
        break;
    default:
        break;
    }
}

static void given(struct strbuf *out, const struct event *event)
{
    if (event->type == EVENT_TOOL_FINISHED) { /* it has one record, which is the outcome */
        struct event_layout layout = event_layout(event->type);
        for (size_t i = 0; i < layout.count && !out->len; i++)
            if (layout.fields[i].kind == EVENT_KIND_OREC)
                event_encode_field(out, &layout.fields[i], &event->tool_finished);
    } else if (event->type == EVENT_TOOL_STARTED) {
        add(out, event->tool_started.arguments);
    }
}

bool ui_selection_text(struct strbuf *out, const struct view *view, struct selection selection)
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
        said(out, event);
    else if (selection.kind == SELECT_CALL)
        given(out, event);
    if (!out->len && event->raw)
        strbuf_add(out, event->raw, event->raw_len);
    return out->len > 0;
}
