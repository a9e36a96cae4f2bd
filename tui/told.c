/* What a call told while it ran: its lines, and an index of them for a list. */

#include "told.h"
#include "base/json.h"
#include "base/mem.h"
#include "termtext.h"
#include <string.h>

#define EVENTS_MAX 2000 /* lines of the journal that are looked through: other calls tell too */
#define ROWS_MAX   4000 /* lines that are kept; then the older half goes */

static bool read_script_event(struct told *told, const char *text, struct arena *arena)
{
    const struct json *sent = event_leaf(arena, text);
    const char *type = json_str(json_get(sent, "type"), "");
    const struct json *message = json_get(sent, "message");
    told->data = json_get(sent, "data");
    if (strcmp(type, "log") == 0) {
        told->kind = TOLD_PRINTED;
        told->label = json_str(json_get(sent, "level"), "log");
    } else if (strcmp(type, "intermediate") == 0) {
        told->kind = TOLD_INTERMEDIATE;
        told->label = json_str(json_get(sent, "label"), "value");
    } else if (strcmp(type, "final_result") == 0) {
        told->kind = TOLD_RESULT;
        told->label = "result";
    } else if (strcmp(type, "error") == 0) {
        told->kind = TOLD_ERROR;
        told->label = "error";
        told->traceback = json_str(json_get(sent, "traceback"), "");
    } else {
        return false; /* script_done, and what a newer harness may say */
    }
    const struct json *said = told->kind == TOLD_PRINTED || told->kind == TOLD_ERROR ? message : told->data;
    if (said) {
        told->text = said->type == JSON_STRING ? said->text : said->src;
        told->len = said->type == JSON_STRING ? said->len : said->src_len;
    }
    return true;
}

bool told_is_stream(const char *name)
{
    return name && (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0);
}

bool told_read(struct told *told, const struct event *event, struct arena *arena)
{
    *told = (struct told){.label = "", .text = "", .traceback = ""};
    if (event->type == EVENT_SCRIPT_EVENT)
        return read_script_event(told, event->script_event.event, arena);
    if (event->type != EVENT_TOOL_OUTPUT)
        return false;
    told->piece = told_is_stream(event->tool_output.stream);
    told->label = event->tool_output.stream ? event->tool_output.stream : "";
    told->text = event->tool_output.text ? event->tool_output.text : "";
    told->len = strlen(told->text);
    return true;
}

struct told_lines told_lines(const struct told *told)
{
    struct told_lines lines = {.text = told->text, .end = told->len};
    while (lines.end && (lines.text[lines.end - 1] == '\n' || lines.text[lines.end - 1] == '\r'))
        lines.end--;
    return lines;
}

bool told_lines_next(struct told_lines *lines)
{
    if (lines->next > lines->end)
        return false;
    lines->at = lines->next;
    lines->line = lines->text + lines->at;
    const char *newline = memchr(lines->line, '\n', lines->end - lines->at);
    lines->len = newline ? (size_t)(newline - lines->line) : lines->end - lines->at;
    lines->next = lines->at + lines->len + 1;
    if (lines->len && lines->line[lines->len - 1] == '\r')
        lines->len--;
    return true;
}

void told_show(const char **line, size_t *len, struct strbuf *out)
{
    struct termtext text;
    if (!memchr(*line, '\r', *len) && !memchr(*line, '\b', *len) && !memchr(*line, '\033', *len))
        return;
    termtext_init(&text);
    termtext_print(&text, *line, *len);
    const struct termtext_line *shown = termtext_line(&text, 0);
    strbuf_reset(out);
    strbuf_add(out, shown ? shown->text : "", shown ? shown->len : 0);
    *line = out->buf;
    *len = out->len;
    termtext_release(&text);
}

enum look told_look(enum told_kind kind)
{
    static const enum look looks[] = {
        [TOLD_PRINTED] = LOOK_SCRIPT_LOG,
        [TOLD_INTERMEDIATE] = LOOK_SCRIPT_INTERMEDIATE,
        [TOLD_RESULT] = LOOK_SCRIPT_RESULT,
        [TOLD_ERROR] = LOOK_SCRIPT_ERROR,
    };
    return looks[kind];
}

enum sign told_sign(enum told_kind kind)
{
    static const enum sign signs[] = {
        [TOLD_PRINTED] = SIGN_V,
        [TOLD_INTERMEDIATE] = SIGN_STEP,
        [TOLD_RESULT] = SIGN_RIGHT,
        [TOLD_ERROR] = SIGN_ERROR,
    };
    return signs[kind];
}

/* ---- of a call ---- */

static bool is_of(const struct view *view, const struct session_call *call, const struct event *event)
{
    const char *id = event->type == EVENT_SCRIPT_EVENT  ? event->script_event.call
                     : event->type == EVENT_TOOL_OUTPUT ? event->tool_output.call
                                                        : NULL;
    return id && event->turn == view->session->turns[call->turn].number &&
           strcmp(id, session_name(view->session, call->id)) == 0;
}

/* What was told after the event `after`, in the last EVENTS_MAX lines. */
static bool each_after(const struct view *view, uint32_t index, uint32_t after,
                       void (*each)(const struct told *told, int64_t seq, void *data), void *data)
{
    const struct session_call *call = &view->session->calls[index];
    size_t last = view_find_row(view, call->output_seq), first = view_find_row(view, after ? after : call->started_seq);
    if (!call->output_seq || last == SIZE_MAX)
        return false;
    first = first == SIZE_MAX || first > last ? 0 : first;
    bool earlier = last - first > EVENTS_MAX;
    first = earlier ? last - EVENTS_MAX : first;
    for (size_t row = first; row <= last; row++) {
        const struct event *event = view_row(view, row);
        struct told told;
        if (event && event->seq > after && is_of(view, call, event) && told_read(&told, event, view_arena(view)))
            each(&told, event->seq, data);
    }
    return earlier;
}

bool told_each(const struct view *view, uint32_t call, void (*each)(const struct told *told, int64_t seq, void *data),
               void *data)
{
    return each_after(view, call, 0, each, data);
}

/* ---- rows ---- */

void told_rows_release(struct told_rows *rows)
{
    free(rows->rows);
    *rows = (struct told_rows){.call = rows->call};
}

static void add_rows(const struct told *told, int64_t seq, void *data)
{
    struct told_rows *rows = data;
    rows->failed |= told->kind == TOLD_ERROR;
    for (struct told_lines lines = told_lines(told); told_lines_next(&lines);) {
        if (rows->count == ROWS_MAX) {
            rows->count = ROWS_MAX / 2;
            memmove(rows->rows, rows->rows + (ROWS_MAX - rows->count), rows->count * sizeof(*rows->rows));
            rows->earlier = true;
        }
        GROW(rows->rows, rows->count, rows->room);
        rows->rows[rows->count++] = (struct told_row){(uint32_t)seq, (uint32_t)lines.at};
    }
}

void told_rows_update(struct told_rows *rows, const struct view *view)
{
    if (rows->call >= view->session->call_count) {
        told_rows_release(rows);
        return;
    }
    const struct session_call *call = &view->session->calls[rows->call];
    if (rows->lines != view->lines || call->output_seq < rows->looked) /* a recording that went back */
        told_rows_release(rows);
    rows->lines = view->lines;
    if (call->output_seq == rows->looked)
        return;
    rows->earlier |= each_after(view, rows->call, rows->looked, add_rows, rows);
    rows->looked = call->output_seq;
}
