/* A call in a list: its texts, its name in little room, and whether a filter shows it. */

#include "call_row.h"
#include "base/mem.h"
#include "event/words.h"
#include "hits.h"
#include "text.h"
#include <stdio.h>
#include <string.h>

#define LINE_MOST ((size_t)400) /* bytes of the newest line it told */
#define ROW_COST  2048          /* bytes that could be looked at while what a call told is read */

/* ---- texts ---- */

void call_row_arguments(struct strbuf *out, const struct session_call *call)
{
    text_breaks(out, call->args);
}

const char *call_row_effect(const struct view *view, const struct session_call *call)
{
    return words_call_effect(view_call_effect(view, call), session_name(view->session, call->tool));
}

bool call_row_went_wrong(const struct session_call *call)
{
    return call->state == CALL_FAILED || call->state == CALL_DENIED || call->state == CALL_TIMED_OUT ||
           call->program_end == CALL_END_STOPPED;
}

void call_row_reason(struct strbuf *out, const struct session_call *call)
{
    strbuf_addf(out, "%s%s", call->late ? "came back late, nothing of it was used; " : "", call->outcome);
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

bool call_row_newest(struct strbuf *out, struct told *told, const struct view *view, const struct session_call *call)
{
    bool failed = call->state == CALL_FAILED && call->outputs > 1;
    uint32_t seq = failed || call->told_seq > call->error_seq ? call->told_seq : call->error_seq;
    const struct event *event = view_event(view, seq);
    if (!event || !told_read(told, event, view_arena(view)))
        return false;
    if (told->kind != TOLD_PRINTED) {
        words_one_line(out, arena_memdup0(view_arena(view), told->text, told->len));
        return true;
    }
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    size_t len;
    const char *line = find_last(told->text, told->len, &len);
    if (told->piece) /* of a stream: as a terminal would show it */
        told_show(&line, &len, &shown);
    strbuf_add(out, line, len < LINE_MOST ? len : LINE_MOST);
    return true;
}

/* ---- looks and names ---- */

enum look call_row_look(const struct session_call *call)
{
    switch ((enum call_state)call->state) {
    case CALL_PLANNED:
        return LOOK_CALL_PLANNED;
    case CALL_RUNNING:
        return LOOK_CALL_RUNNING;
    case CALL_ASKING:
        return LOOK_CALL_ASKS;
    case CALL_DONE:
        return call->program_end ? LOOK_CALL_FAILED : LOOK_CALL_DONE;
    case CALL_DENIED:
        return LOOK_CALL_DENIED;
    case CALL_FAILED:
    case CALL_TIMED_OUT:
        return LOOK_CALL_FAILED;
    }
    return LOOK_TEXT;
}

/* What comes behind the name of the family: our own for programs, or a tool server. NULL: it has none. */
static const char *name_in_family(const char *name)
{
    static const char ours[] = "workspace_";
    const char *served = strstr(name, "__");
    if (strncmp(name, ours, strlen(ours)) == 0)
        return name + strlen(ours);
    return served && served[2] ? served + 2 : NULL;
}

int call_row_name_columns(const char *name, int most)
{
    const char *tail = name_in_family(name);
    int columns = (int)strnlen(name, (size_t)most + 1);
    if (tail && columns > most)
        columns = 1 + (int)strnlen(tail, (size_t)most);
    return columns < most ? columns : most;
}

void call_row_paint_name(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *name)
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
    const struct view *view;
    uint32_t call;
    size_t *bytes;
};

static bool has(const char *text, const char *needle)
{
    return hits_find(text, strlen(text), needle);
}

static bool term_fits(const struct filter_term *term, void *data)
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
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct told told;
    call_row_reason(&words, call);
    if (strcmp(id, term->text) == 0 || has(call_row_effect(fit->view, call), term->text) ||
        has(call->args, term->text) || has(words.buf, term->text))
        return true;
    *fit->bytes += ROW_COST;
    strbuf_reset(&words);
    return call_row_newest(&words, &told, fit->view, call) && has(words.buf, term->text);
}

bool call_row_fits(const struct view *view, uint32_t call, const struct filter *filter, size_t *bytes)
{
    struct fit fit = {view, call, bytes};
    *bytes += 64;
    return filter_fits(filter, term_fits, &fit);
}

uint32_t call_rows_settled(const struct session *session)
{
    uint32_t settled = session->call_count;
    while (settled && session->calls[settled - 1].step + 1 == session->step_count)
        settled--;
    return settled;
}
