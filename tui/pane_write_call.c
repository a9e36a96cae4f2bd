/* The write pane without a diff: a tool of somebody else's wants to do something whose outcome nobody can compute. Then
 * what is decided about is the call itself: its arguments are shown in full, and what the tool said before, like how a
 * file is. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "pane_write.h"
#include <string.h>

void write_pane_load_call(struct write_pane *write, const struct view *view, uint32_t ask)
{
    const struct session *session = view->session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    uint32_t call = ask != SESSION_NONE ? session->asks[ask].call : SESSION_NONE;
    if (write->diff.file_count || call == SESSION_NONE)
        return;
    if (view_event(view, session->calls[call].started_seq, &event, &arena) && event.type == EVENT_TOOL_STARTED &&
        event.tool_started.arguments)
        write->arguments = xstrdup(event.tool_started.arguments);
    uint32_t said = session->calls[call].output_seq;
    if (said && said < session->asks[ask].proposed_seq && view_event(view, said, &event, &arena) &&
        event.type == EVENT_TOOL_OUTPUT && event.tool_output.text)
        write->said = xstrdup(event.tool_output.text);
}

static void add_lines(struct pretty *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        pretty_raw(out, text, len);
        text += len + (text[len] == '\n');
    }
}

/* Readable first, then cut into rows: nothing of it may be out of sight to the right. */
static void add_arguments(struct pretty *out, const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(pretty) struct pretty readable;
    const struct json *value = json_parse(&arena, arguments, strlen(arguments), NULL);
    pretty_init(&readable, 0);
    if (value)
        pretty_json(&readable, value, 0);
    else
        pretty_raw(&readable, arguments, strlen(arguments));
    pretty_write(&readable, &text);
    add_lines(out, text.buf);
}

static void add_sentence(struct pretty *out, const char *text)
{
    pretty_text(out, LOOK_DIM, text, strlen(text), 0, true);
}

void write_pane_lay_call(struct write_pane *write, int width)
{
    if (!write->arguments || (write->call.width == width && write->call.count))
        return;
    pretty_reset(&write->call, width);
    if (write->open) {
        add_sentence(&write->call, "There is no diff: y lets the tool run with these arguments.");
        add_sentence(&write->call, "A lets it, and every later call of it that has no diff.");
    } else {
        add_sentence(&write->call, "There is no diff: it was asked about the call and its arguments.");
    }
    if (write->said) {
        pretty_begin(&write->call, 0);
        add_lines(&write->call, write->said);
    }
    pretty_begin(&write->call, 0);
    add_arguments(&write->call, write->arguments);
}

size_t write_pane_rows(const struct write_pane *write)
{
    return write->arguments ? write->call.count : diffview_rows(&write->diff);
}
