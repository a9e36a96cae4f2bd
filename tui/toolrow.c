#include "toolrow.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include "hits.h"
#include "script.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

#define LOG_MAX   400         /* bytes of the last line it printed */
#define TOLD_MAX  (64u << 10) /* bytes of a text that are looked through for it */
#define LOOK_BACK 64          /* lines of the journal that are looked at for the newest thing it told */
#define ROW_COST  2048        /* bytes that could be looked at while a row is read */

static void row_release(struct toolrow *row)
{
    free(row->arguments);
    free(row->effect);
    free(row->note);
    free(row->reason);
    free(row->log);
    free(row->stream);
    *row = (struct toolrow){0};
}

void toolrows_release(struct toolrows *rows)
{
    for (size_t i = 0; i < TOOLROWS_KEPT; i++)
        row_release(&rows->kept[i]);
}

/* The last line that is not empty. */
static const char *find_last(const char *text, size_t end, size_t *len)
{
    while (end && strchr(" \t\r\n", text[end - 1]))
        end--;
    size_t start = end;
    while (start && text[start - 1] != '\n')
        start--;
    *len = end - start;
    return text + start;
}

static char *last_line(const char *text)
{
    size_t len;
    const char *line = find_last(text, strlen(text), &len);
    return xmemdup0(line, len < LOG_MAX ? len : LOG_MAX);
}

/* The same of a stream, as a terminal would show it. */
static char *last_shown(const struct told *told)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    size_t len;
    const char *line = find_last(told->text, told->len, &len);
    told_show(&line, &len, &shown);
    return xmemdup0(line, len < LOG_MAX ? len : LOG_MAX);
}

/* A text on one line. Of a traceback that is what was raised. */
static char *one_line(const char *text)
{
    if (strncmp(text, "Traceback", 9) == 0)
        return last_line(text);
    struct strbuf out = STRBUF_INIT;
    for (; *text && out.len < LOG_MAX; text++) {
        bool blank = strchr(" \t\r\n", *text);
        if (!blank)
            strbuf_addch(&out, *text);
        else if (out.len && out.buf[out.len - 1] != ' ')
            strbuf_addch(&out, ' ');
    }
    while (out.len && out.buf[out.len - 1] == ' ')
        strbuf_set_len(&out, out.len - 1);
    return strbuf_detach(&out, NULL);
}

static void read_arguments(struct toolrow *row, const struct view *view, const struct session_call *call)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct strbuf text = STRBUF_INIT;
    words_arguments(&words, view_call_arguments(view, call));
    text_breaks(&text, words.buf);
    row->arguments = strbuf_detach(&text, NULL);
    row->effect =
        xstrdup(words_call_effect(view_call_effect(view, call), session_name(view->session, call->tool)));
}

/* What a person said when they said no; false when it was somebody else, or something else was in the way. */
static bool add_answer(struct strbuf *reason, const struct view *view, const struct session_call *call)
{
    uint32_t seq = call->ask >= view->session->ask_count ? 0 : view->session->asks[call->ask].decided_seq;
    const struct event *event = view_event_of(view, seq, EVENT_WRITE_DECIDED);
    if (!event)
        return false;
    const struct event_write_decided *decided = &event->write_decided;
    if (!decided->by || strcmp(decided->by, "key") != 0 || !decided->decision ||
        strcmp(decided->decision, "denied") != 0)
        return false;
    if (decided->reason && *decided->reason)
        strbuf_addf(reason, "you: %s", decided->reason);
    else
        strbuf_addstr(reason, "you gave no reason");
    return true;
}

/* Of a message with a traceback below it: the message, and the line of the script. */
static void add_failure(struct strbuf *reason, const char *error)
{
    const char *traceback = strstr(error, "\nTraceback (most recent call last)");
    size_t line = traceback ? words_script_line(traceback) : 0;
    strbuf_add(reason, error, traceback ? (size_t)(traceback - error) : strlen(error));
    if (line)
        strbuf_addf(reason, " (line %zu)", line);
}

static void read_outcome(struct toolrow *row, const struct view *view, const struct session_call *call,
                         struct strbuf *note, struct strbuf *reason)
{
    const struct event *event = view_event_of(view, call->finished_seq, EVENT_TOOL_FINISHED);
    if (!event)
        return;
    const struct event_tool_finished *finished = &event->tool_finished;
    row->elapsed_ms = finished->elapsed_ms;
    if (finished->result) {
        const struct json *output = view_json(view, finished->result->output);
        row->bytes = output ? output->src_len : 0;
        words_output(note, output);
        if (call->program_end == CALL_END_STOPPED)
            words_program_error(reason, output);
    }
    if (finished->artifact) {
        const struct event_artifact_info *artifact = finished->artifact;
        row->bytes = artifact->size > 0 ? (uint64_t)artifact->size : 0;
        strbuf_addf(note, "kept as %s", artifact->id ? artifact->id : "?");
    }
    if (call->late)
        strbuf_addstr(reason, "came back late, nothing of it was used; ");
    if (finished->failure)
        add_failure(reason, finished->failure->error ? finished->failure->error : "no reason given");
    else if (finished->denied && !add_answer(reason, view, call))
        words_denial(reason, finished->denied);
    else if (finished->timeout)
        words_timeout(reason, finished->timeout);
}

/* The newest thing it told. The last event of a script says only that it is over, so what stands before it counts. */
static void read_log(struct toolrow *row, const struct view *view, const struct session_call *call)
{
    const char *id = session_name(view->session, call->id);
    size_t at = call->output_seq ? view_find_row(view, call->output_seq) : SIZE_MAX;
    for (size_t looked = 0; at != SIZE_MAX && looked < LOOK_BACK && !row->log; looked++, at--) {
        const struct event *event = view_row(view, at);
        struct told told;
        if (!event || event->seq < call->started_seq)
            break;
        const char *of = event->type == EVENT_SCRIPT_EVENT  ? event->script_event.call
                         : event->type == EVENT_TOOL_OUTPUT ? event->tool_output.call
                                                            : NULL;
        if (!of || strcmp(of, id) != 0 || !told_read(&told, event, view_arena(view)))
            continue;
        /* How it failed has a line of its own. */
        if (told.kind == TOLD_ERROR && call->state == CALL_FAILED && call->outputs > 1)
            continue;
        CLEANUP(free) char *text = xmemdup0(told.text, told.len < TOLD_MAX ? told.len : TOLD_MAX);
        row->log = told.piece ? last_shown(&told) : told.kind == TOLD_PRINTED ? last_line(text) : one_line(text);
        row->stream = xstrdup(told.label);
        row->kind = told.kind;
    }
    if (call->output_seq && !row->log) {
        row->log = xstrdup("");
        row->stream = xstrdup("");
    }
}

const struct toolrow *toolrows_read(struct toolrows *rows, const struct view *view, uint32_t index)
{
    const struct session_call *call = &view->session->calls[index];
    struct toolrow *row = &rows->kept[index % TOOLROWS_KEPT];
    if (row->lines == view->lines && row->call == index && row->started_seq == call->started_seq &&
        row->finished_seq == call->finished_seq && row->output_seq == call->output_seq && row->late == call->late &&
        row->edits == view->session->counts[EVENT_EDITED] && row->arguments)
        return row;
    row_release(row);
    *row = (struct toolrow){.lines = view->lines,
                            .call = index,
                            .started_seq = call->started_seq,
                            .finished_seq = call->finished_seq,
                            .output_seq = call->output_seq,
                            .edits = view->session->counts[EVENT_EDITED],
                            .late = call->late,
                            .bytes = UINT64_MAX};
    struct strbuf note = STRBUF_INIT, reason = STRBUF_INIT;
    read_arguments(row, view, call);
    read_outcome(row, view, call, &note, &reason);
    read_log(row, view, call);
    row->note = one_line(note.buf);
    row->reason = one_line(reason.buf);
    strbuf_release(&note);
    strbuf_release(&reason);
    return row;
}

/* ---- names ---- */

/* What comes behind the name of the family: our own for programs, or a tool server. NULL: it has none. */
static const char *name_in_family(const char *name)
{
    static const char ours[] = "workspace_";
    const char *served = strstr(name, "__");
    if (strncmp(name, ours, strlen(ours)) == 0)
        return name + strlen(ours);
    return served && served[2] ? served + 2 : NULL;
}

int toolrow_name_columns(const char *name, int most)
{
    const char *tail = name_in_family(name);
    int columns = (int)strnlen(name, (size_t)most + 1);
    if (tail && columns > most)
        columns = 1 + (int)strnlen(tail, (size_t)most);
    return columns < most ? columns : most;
}

void toolrow_paint_name(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *name)
{
    const char *tail = name_in_family(name);
    if (tail && canvas_columns(canvas, name, strlen(name)) > in.cols - col) {
        col += canvas_put_sign(canvas, in, row, col, look, SIGN_MORE);
        name = tail;
    }
    canvas_cut(canvas, in, row, col, look, name, strlen(name));
}

/* ---- filters ---- */

struct fit {
    struct toolrows *rows;
    const struct view *view;
    uint32_t call;
    size_t *bytes;
};

static bool has(const char *text, const char *needle)
{
    return text && hits_find(text, strlen(text), needle);
}

static bool call_fits(const struct filter_term *term, void *data)
{
    const struct fit *fit = data;
    const struct session *session = fit->view->session;
    const struct session_call *call = &session->calls[fit->call];
    const char *id = session_name(session, call->id);
    char number[16], state[WORDS_STATE_MAX];
    snprintf(number, sizeof(number), "%u", fit->call + 1);
    if (term->kind == FILTER_CALL)
        return strcmp(id, term->text) == 0 || strcmp(number, term->text) == 0;
    if (has(session_name(session, call->tool), term->text) || has(words_call_state(call, state), term->text) ||
        has(words_effect(session_name(session, call->effect)), term->text))
        return true;
    if (term->kind == FILTER_KIND)
        return false;
    *fit->bytes += ROW_COST;
    const struct toolrow *row = toolrows_read(fit->rows, fit->view, fit->call);
    return strcmp(id, term->text) == 0 || has(row->effect, term->text) || has(row->arguments, term->text) ||
           has(row->note, term->text) || has(row->reason, term->text) || has(row->log, term->text);
}

bool toolrows_fit(struct toolrows *rows, const struct view *view, uint32_t call, const struct filter *filter,
                  size_t *bytes)
{
    struct fit fit = {rows, view, call, bytes};
    *bytes += 64;
    return filter_fits(filter, call_fits, &fit);
}

uint32_t toolrows_settled(const struct session *session)
{
    uint32_t settled = session->call_count;
    while (settled && session->calls[settled - 1].step + 1 == session->step_count)
        settled--;
    return settled;
}
