/* Reads the output of a call while it runs: its lines, and an index of them for a list. */

#include "call_output.h"
#include "base/json.h"
#include "base/mem.h"
#include "screen/program_lines.h"
#include <string.h>

#define EVENTS_MAX 2000 /* journal lines that are searched, because other calls write output too */
#define ROWS_MAX   4000 /* lines that are kept; beyond that the older half is dropped */

static bool read_script_event(struct call_output *told, const char *text, struct arena *arena)
{
    const struct json *sent = event_leaf(arena, text);
    const char *type = json_str(json_get(sent, "type"), "");
    const struct json *message = json_get(sent, "message");
    told->data = json_get(sent, "data");
    if (strcmp(type, "log") == 0) {
        told->kind = CALL_OUTPUT_PRINTED;
        told->label = json_str(json_get(sent, "level"), "log");
    } else if (strcmp(type, "intermediate") == 0) {
        told->kind = CALL_OUTPUT_INTERMEDIATE;
        told->label = json_str(json_get(sent, "label"), "value");
    } else if (strcmp(type, "final_result") == 0) {
        told->kind = CALL_OUTPUT_RESULT;
        told->label = "result";
    } else if (strcmp(type, "error") == 0) {
        told->kind = CALL_OUTPUT_ERROR;
        told->label = "error";
        told->traceback = json_str(json_get(sent, "traceback"), "");
    } else {
        return false; /* script_done, and events that a newer harness may send */
    }
    const struct json *said =
        told->kind == CALL_OUTPUT_PRINTED || told->kind == CALL_OUTPUT_ERROR ? message : told->data;
    if (said) {
        told->text = said->type == JSON_STRING ? said->text : said->src;
        told->len = said->type == JSON_STRING ? said->len : said->src_len;
    }
    return true;
}

bool call_output_is_stream(const char *name)
{
    return name && (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0);
}

bool call_output_read(struct call_output *told, const struct event *event, struct arena *arena)
{
    *told = (struct call_output){.label = "", .text = "", .traceback = ""};
    if (event->type == EVENT_SCRIPT_EVENT)
        return read_script_event(told, event->script_event.event, arena);
    if (event->type != EVENT_TOOL_OUTPUT)
        return false;
    told->piece = call_output_is_stream(event->tool_output.stream);
    told->label = event->tool_output.stream ? event->tool_output.stream : "";
    told->text = event->tool_output.text ? event->tool_output.text : "";
    told->len = strlen(told->text);
    return true;
}

struct call_output_lines call_output_lines(const struct call_output *told)
{
    struct call_output_lines lines = {.text = told->text, .end = told->len};
    while (lines.end && (lines.text[lines.end - 1] == '\n' || lines.text[lines.end - 1] == '\r'))
        lines.end--;
    return lines;
}

bool call_output_lines_next(struct call_output_lines *lines)
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

void call_output_show(const char **line, size_t *len, struct strbuf *out)
{
    struct program_lines text;
    if (!memchr(*line, '\r', *len) && !memchr(*line, '\b', *len) && !memchr(*line, '\033', *len))
        return;
    program_lines_init(&text);
    program_lines_print(&text, *line, *len);
    const struct program_line *shown = program_lines_line(&text, 0);
    strbuf_reset(out);
    strbuf_add(out, shown ? shown->text : "", shown ? shown->len : 0);
    *line = out->buf;
    *len = out->len;
    program_lines_release(&text);
}

enum look call_output_look(enum call_output_kind kind)
{
    static const enum look looks[] = {
        [CALL_OUTPUT_PRINTED] = LOOK_SCRIPT_LOG,
        [CALL_OUTPUT_INTERMEDIATE] = LOOK_SCRIPT_INTERMEDIATE,
        [CALL_OUTPUT_RESULT] = LOOK_SCRIPT_RESULT,
        [CALL_OUTPUT_ERROR] = LOOK_SCRIPT_ERROR,
    };
    return looks[kind];
}

enum sign call_output_sign(enum call_output_kind kind)
{
    static const enum sign signs[] = {
        [CALL_OUTPUT_PRINTED] = SIGN_V,
        [CALL_OUTPUT_INTERMEDIATE] = SIGN_STEP,
        [CALL_OUTPUT_RESULT] = SIGN_RIGHT,
        [CALL_OUTPUT_ERROR] = SIGN_ERROR,
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

/* Visits the output after the event `after`, within the last EVENTS_MAX lines. */
static bool each_after(const struct view *view, uint32_t index, uint32_t after,
                       void (*each)(const struct call_output *told, int64_t seq, void *data), void *data)
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
        struct call_output told;
        if (event && event->seq > after && is_of(view, call, event) && call_output_read(&told, event, view_arena(view)))
            each(&told, event->seq, data);
    }
    return earlier;
}

bool call_output_each(const struct view *view, uint32_t call,
                      void (*each)(const struct call_output *told, int64_t seq, void *data), void *data)
{
    return each_after(view, call, 0, each, data);
}

/* ---- rows ---- */

void call_output_rows_release(struct call_output_rows *rows)
{
    free(rows->rows);
    *rows = (struct call_output_rows){.call = rows->call};
}

static void add_rows(const struct call_output *told, int64_t seq, void *data)
{
    struct call_output_rows *rows = data;
    rows->failed |= told->kind == CALL_OUTPUT_ERROR;
    for (struct call_output_lines lines = call_output_lines(told); call_output_lines_next(&lines);) {
        if (rows->count == ROWS_MAX) {
            rows->count = ROWS_MAX / 2;
            memmove(rows->rows, rows->rows + (ROWS_MAX - rows->count), rows->count * sizeof(*rows->rows));
            rows->earlier = true;
        }
        GROW(rows->rows, rows->count, rows->room);
        rows->rows[rows->count++] = (struct call_output_row){(uint32_t)seq, (uint32_t)lines.at};
    }
}

void call_output_rows_update(struct call_output_rows *rows, const struct view *view)
{
    if (rows->call >= view->session->call_count) {
        call_output_rows_release(rows);
        return;
    }
    const struct session_call *call = &view->session->calls[rows->call];
    if (rows->lines != view->lines || call->output_seq < rows->looked) /* the recording went back */
        call_output_rows_release(rows);
    rows->lines = view->lines;
    if (call->output_seq == rows->looked)
        return;
    rows->earlier |= each_after(view, rows->call, rows->looked, add_rows, rows);
    rows->looked = call->output_seq;
}
