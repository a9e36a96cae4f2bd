/* Paints a call in a list: its texts, its row, its shortened name. Also decides whether a filter shows it. */

#include "call_row.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/words.h"
#include "screen/text.h"
#include "turn/divergence.h"
#include "wave_rows.h"
#include <stdio.h>
#include <string.h>

#define WIDE_COLS  64 /* columns from which all parts fit */
#define BYTES_COLS 58
#define WORD_COLS  50 /* columns from which the effect is a word */
#define TIME_COLS  40
#define REST_COLS  12   /* least columns for the arguments */
#define ROW_COST   2048 /* reading a call's output counts as this many bytes of filter work */

/* ---- texts ---- */

static const char *effect_of(const struct view *view, const struct session_call *call)
{
    return words_call_effect(view_call_effect(view, call), session_name(view->session, call->tool));
}

bool call_row_went_wrong(const struct session_call *call)
{
    return call->state == CALL_FAILED || call->state == CALL_DENIED || call->state == CALL_SKIPPED ||
           call->state == CALL_TIMED_OUT || call->program_end == CALL_END_STOPPED;
}

void call_row_reason(struct strbuf *out, const struct session_call *call)
{
    strbuf_addf(out, "%s%s", call->late ? "returned late, result discarded; " : "", call->outcome);
}

bool call_row_newest(struct strbuf *out, struct call_output *told, const struct view *view,
                     const struct session_call *call)
{
    bool failed = call->state == CALL_FAILED && call->outputs > 1;
    uint32_t seq = failed || call->printed_seq > call->error_seq ? call->printed_seq : call->error_seq;
    const struct event *event = view_event(view, seq);
    if (!event || !call_output_read(told, event, view_arena(view)))
        return false;
    if (told->kind != CALL_OUTPUT_PRINTED) {
        words_one_line(out, arena_memdup0(view_arena(view), told->text, told->len));
        return true;
    }
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    size_t len = told->len;
    const char *line = words_last_line(told->text, &len);
    if (told->piece) /* part of a stream: as a terminal would show it */
        call_output_show(&line, &len, &shown);
    strbuf_add(out, line, utf8_prefix(line, len, WORDS_LINE_CHARS));
    return true;
}

/* ---- looks and names ---- */

enum look call_row_look(const struct session_call *call)
{
    switch ((enum call_state)call->state) {
    case CALL_QUEUED:
        return LOOK_CALL_QUEUED;
    case CALL_RUNNING:
        return LOOK_CALL_RUNNING;
    case CALL_WAITING:
        return LOOK_CALL_WAITING;
    case CALL_DONE:
        if (call->undone)
            return LOOK_CALL_SKIPPED;
        return call->program_end ? LOOK_CALL_FAILED : LOOK_CALL_DONE;
    case CALL_DENIED:
        return LOOK_CALL_DENIED;
    case CALL_SKIPPED:
        return LOOK_CALL_SKIPPED;
    case CALL_FAILED:
    case CALL_TIMED_OUT:
        return LOOK_CALL_FAILED;
    }
    return LOOK_TEXT;
}

/* The name without its family prefix: that of Keyturn's program tools, or of an MCP server. NULL: no prefix. */
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

/* ---- the row ---- */

/* Widths depend on the pane and on names, not on states, so that columns do not move during a turn. */
struct call_columns call_columns(const struct view *view, int cols, int tool, int effect)
{
    bool wide = cols >= WIDE_COLS;
    struct call_columns c = {.number = 2, .tool = tool, .state = wide ? 10 : 8, .time = wide ? 9 : 7};
    for (uint32_t calls = view->session->call_count; calls >= 100; calls /= 10)
        c.number++;
    if (cols < TIME_COLS)
        c.time = 0; /* the arguments have priority over the time */
    /* Without room for the word, its first letter distinguishes a read from a write. */
    c.effect = wide ? effect + 1 : cols >= WORD_COLS ? effect : cols >= TIME_COLS ? 2 : 0;
    c.bytes = wide ? 9 : cols >= BYTES_COLS ? 7 : 0;
    c.at_tool = 1 + c.number + 2 + (view->divergences ? 1 : 0);
    c.at_rest = c.at_tool + c.tool + 1 + wide;
    /* The arguments also have priority over the size. */
    if (cols - c.at_rest - 1 - c.effect - c.state - c.time - c.bytes < REST_COLS)
        c.bytes = 0;
    c.at_bytes = cols - c.bytes;
    c.at_time = c.at_bytes - c.time;
    c.at_state = c.at_time - c.state;
    c.at_effect = c.at_state - c.effect;
    c.rest = c.at_effect - c.at_rest - 1;
    return c;
}

void call_row_paint_heads(struct canvas *canvas, struct rect at, const struct call_columns *c)
{
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*s", c->number, "#");
    canvas_str(canvas, at, 0, c->at_tool, LOOK_DIM, "tool");
    if (c->rest >= 9)
        canvas_str(canvas, at, 0, c->at_rest, LOOK_DIM, "arguments");
    if (c->effect)
        canvas_str(canvas, at, 0, c->at_effect, LOOK_DIM, c->effect > 2 ? "effect" : "e");
    canvas_str(canvas, at, 0, c->at_state, LOOK_DIM, "state");
    if (c->time)
        canvas_right(canvas, at, 0, c->bytes, LOOK_DIM, "time");
    if (c->bytes)
        canvas_right(canvas, at, 0, 0, LOOK_DIM, "bytes");
}

/* Paints the state's sign beside the number, so that the user sees the state without reading. */
static void paint_state_sign(struct canvas *canvas, struct rect at, int col, const struct session_call *call)
{
    enum look look = call_row_look(call);
    switch ((enum call_state)call->state) {
    case CALL_WAITING:
    case CALL_RUNNING:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_POINTER);
        break;
    case CALL_FAILED:
    case CALL_TIMED_OUT:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_ERROR);
        break;
    case CALL_DENIED:
    case CALL_SKIPPED:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_MINUS);
        break;
    case CALL_DONE: /* the tool succeeded; the program that it ran failed */
        if (call->program_end)
            canvas_str(canvas, at, 0, col, look, "!");
        else if (call->undone)
            canvas_put_sign(canvas, at, 0, col, look, SIGN_MINUS);
        break;
    case CALL_QUEUED:
        break;
    }
}

static void add_time(struct strbuf *out, const struct view *view, const struct session_call *call)
{
    /* No time while the call waits for approval, because its clock is stopped. */
    if (call->state != CALL_RUNNING && !(call->finished_seq && call->started_seq))
        return;
    int64_t ms =
        call->state == CALL_RUNNING ? wave_call_ran(view->session, call, view->now_t) / 1000 : call->elapsed_ms;
    text_ms(out, ms);
    if (out->len > 7) { /* "2 min 03 s" is wider than the column for "184 ms" */
        strbuf_reset(out);
        strbuf_addf(out, "%lld:%02lld", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
    }
}

static bool diverged(const struct view *view, const struct session_call *call)
{
    size_t first = 0;
    return view->divergences && divergences_of_call(view->divergences, view->session->turns[call->turn].number,
                                                    session_name(view->session, call->id), &first);
}

/* "812 B", "52 KB": never wider than its column. */
static void add_bytes(struct strbuf *out, uint64_t bytes)
{
    if (bytes < 1000)
        strbuf_addf(out, "%u B", (unsigned)bytes);
    else
        text_bytes(out, bytes);
}

/* Cuts at a word boundary if the first word fits: a complete path is more useful than the start of the next word. */
static int paint_arguments(struct canvas *canvas, struct rect rest, int left, enum look look, const char *text)
{
    size_t first = strcspn(text, " ");
    if (left || !text[first] || canvas_columns(canvas, text, first) + 1 < rest.cols ||
        canvas_columns(canvas, text, first) > rest.cols)
        return canvas_cut(canvas, rest, 0, -left, look, text, strlen(text));
    int col = canvas_text(canvas, rest, 0, 0, look, text, first);
    return col < rest.cols ? col + canvas_put_sign(canvas, rest, 0, col, LOOK_DIM, SIGN_MORE) : col;
}

/* Paints the state; long words are shortened on a narrow pane. */
static void paint_state(struct canvas *canvas, struct rect at, const struct call_columns *c,
                        const struct session_call *call)
{
    char buf[WORDS_STATE_MAX];
    int end = call->program_end;
    bool narrow = c->state < 10;
    if (narrow && (end == CALL_END_TIMED_OUT || (!end && call->state == CALL_TIMED_OUT)))
        canvas_str(canvas, at, 0, c->at_state, call_row_look(call), "timeout");
    else if (narrow && end < 0 && end > CALL_END_STOPPED)
        canvas_printf(canvas, at, 0, c->at_state, call_row_look(call), "sig %d", -end);
    else
        canvas_str(canvas, at, 0, c->at_state, call_row_look(call), words_call_state(call, buf));
}

void call_row_paint(const struct view *view, struct canvas *canvas, struct rect at, const struct call_columns *c,
                    uint32_t index, int left)
{
    const struct session *session = view->session;
    const struct session_call *call = &session->calls[index];
    enum look text = call->state == CALL_QUEUED ? LOOK_CALL_QUEUED : LOOK_TEXT;
    const char *note = call_row_went_wrong(call) ? "" : call->outcome, *effect = effect_of(view, call);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*u", c->number, index + 1);
    paint_state_sign(canvas, at, 1 + c->number, call);
    if (diverged(view, call))
        canvas_put_sign(canvas, at, 0, 2 + c->number, LOOK_WARN, SIGN_DIVERGED);
    call_row_paint_name(canvas, rect_make(at.row, at.col + c->at_tool, 1, c->tool), 0, 0, text,
                        session_name(session, call->tool));
    struct rect rest = rect_make(at.row, at.col + c->at_rest, 1, c->rest > 0 ? c->rest : 0);
    text_breaks(&words, call->args);
    int col = paint_arguments(canvas, rest, left, text, words.buf);
    /* A note is painted in full or not at all: half of "52 lines" is another number. */
    if (*note && !left && col + 3 + canvas_columns(canvas, note, strlen(note)) <= c->rest) {
        canvas_str(canvas, rest, 0, col, LOOK_DIM, " · ");
        canvas_text(canvas, rest, 0, col + 3, LOOK_DIM, note, strlen(note));
    }
    if (c->effect)
        canvas_text(canvas, rect_make(at.row, at.col + c->at_effect, 1, c->effect), 0, 0, LOOK_DIM, effect,
                    strnlen(effect, c->effect > 2 ? SIZE_MAX : 1));
    paint_state(canvas, at, c, call);
    strbuf_reset(&words);
    add_time(&words, view, call);
    if (c->time)
        canvas_right(canvas, at, 0, c->bytes, text, words.buf);
    if (c->bytes && call->bytes >= 0) {
        strbuf_reset(&words);
        add_bytes(&words, (uint64_t)call->bytes);
        canvas_right(canvas, at, 0, 0, LOOK_DIM, words.buf);
    }
}

/* ---- filters ---- */

struct fit {
    const struct view *view;
    uint32_t call;
    size_t *bytes;
};

static bool has(const char *text, const char *needle)
{
    return text_match_find(text, strlen(text), needle);
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
    struct call_output told;
    call_row_reason(&words, call);
    if (strcmp(id, term->text) == 0 || has(effect_of(fit->view, call), term->text) || has(call->args, term->text) ||
        has(words.buf, term->text))
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
