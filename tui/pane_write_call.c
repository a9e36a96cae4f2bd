/* The call that a write is of.
 *
 * Without a diff, a tool of somebody else's or a program without walls wants to do something whose outcome nobody can
 * compute. Then what is decided about is the call itself: its arguments are shown in full, and what the tool said
 * before, like how a file is. What of it was never on the screen is known, and is not approved by the first key.
 *
 * With a diff, what the tool said before is what it left out of it. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "pane_write.h"
#include "text.h"
#include <string.h>

#define SAID_BACK 256 /* events before a question among which what was said is looked for */

static bool is_of(const struct view *view, const struct session_call *call, const struct event *event)
{
    return event->type == EVENT_TOOL_OUTPUT && event->tool_output.call && event->tool_output.text &&
           event->turn == view->session->turns[call->turn].number &&
           strcmp(event->tool_output.call, session_name(view->session, call->id)) == 0;
}

static void gather_between(struct strbuf *out, const struct view *view, const struct session_ask *ask, uint32_t after)
{
    const struct session_call *call = &view->session->calls[ask->call];
    int64_t end = ask->proposed_seq, first = end - SAID_BACK > after ? end - SAID_BACK : (int64_t)after + 1;
    for (int64_t seq = first; seq < end; seq++) {
        const struct event *event = view_event(view, seq);
        if (event && is_of(view, call, event))
            strbuf_addstr(out, event->tool_output.text);
    }
}

/* What the call said before the question. One that is asked again may have had it said before it was asked first. */
static void gather_said(struct strbuf *out, const struct view *view, const struct session_ask *ask)
{
    const struct session *session = view->session;
    for (uint32_t before = ask->before;; ask = &session->asks[before], before = ask->before) {
        bool first = before == SESSION_NONE;
        gather_between(out, view, ask,
                       first ? session->calls[ask->call].started_seq : session->asks[before].proposed_seq);
        if (out->len || first)
            return;
    }
}

void write_pane_load_call(struct write_pane *write, const struct view *view, uint32_t ask)
{
    const struct session *session = view->session;
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    uint32_t call = ask != SESSION_NONE ? session->asks[ask].call : SESSION_NONE;
    if (call == SESSION_NONE)
        return;
    gather_said(&said, view, &session->asks[ask]);
    if (write->diff.file_count) {
        CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
        while (said.len && said.buf[said.len - 1] == '\n')
            strbuf_set_len(&said, said.len - 1);
        text_name(&line, said.buf); /* on one line: a name with a line break must not end it */
        write->left_out = line.len ? strbuf_detach(&line, NULL) : NULL;
        return;
    }
    const struct event *event = view_event_of(view, session->calls[call].started_seq, EVENT_TOOL_STARTED);
    if (event && event->tool_started.arguments)
        write->arguments = xstrdup(event->tool_started.arguments);
    if (said.len)
        write->said = strbuf_detach(&said, NULL);
}

static void add_sentence(struct pretty *out, const char *text)
{
    pretty_text(out, LOOK_DIM, text, strlen(text), 0, true);
}

static void add_sentences(struct pretty *out, bool open)
{
    if (open) {
        add_sentence(out, "There is no diff: y lets the tool run with these arguments.");
        add_sentence(out, "A lets it, and every later call of it that has no diff.");
    } else {
        add_sentence(out, "There is no diff: it was asked about the call and its arguments.");
    }
}

/* Readable first, then cut into rows: nothing of it may be out of sight to the right. */
static void add_call(struct pretty *out, const struct write_pane *write, const struct canvas *canvas)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(pretty) struct pretty readable;
    const struct json *value = event_leaf(&arena, write->arguments);
    pretty_init(&readable, 0);
    if (write->said) {
        pretty_quote(&readable, LOOK_TEXT, write->said, strlen(write->said));
        pretty_begin(&readable, 0);
    }
    if (value)
        pretty_json(&readable, value, 0);
    else
        pretty_quote(&readable, LOOK_TEXT, write->arguments, strlen(write->arguments));
    pretty_fold(out, &readable, canvas);
}

/* In rows of another width: the same lines have been seen, and the same one is the first. */
void write_pane_lay_call(struct write_pane *write, const struct canvas *canvas, int width)
{
    struct pretty *call = &write->call;
    if (!write->arguments || (call->width == width && call->count))
        return;
    size_t top = write->pane.list.top, seen = write->seen;
    uint32_t first = top < call->count ? call->lines[top].from : 0;
    uint32_t unseen = seen < call->count ? call->lines[seen].from : call->count ? UINT32_MAX : 0;
    pretty_reset(call, width);
    add_sentences(call, write->open);
    pretty_begin(call, 0);
    add_call(call, write, canvas);
    write->pane.list.top = pretty_row_from(call, first);
    write->seen = pretty_row_from(call, unseen);
}

void write_pane_see_call(struct write_pane *write)
{
    size_t top = write->pane.list.top, end = top + (size_t)(write->pane.height > 0 ? write->pane.height : 0);
    end = end < write->call.count ? end : write->call.count;
    /* From the top on without a gap: what was jumped over was not seen. */
    if (top <= write->seen && end > write->seen)
        write->seen = end;
}

size_t write_pane_unseen(const struct write_pane *write)
{
    return write->arguments && write->call.count > write->seen ? write->call.count - write->seen : 0;
}

size_t write_pane_rows(const struct write_pane *write)
{
    return write->arguments ? write->call.count : diffview_rows(&write->diff);
}
