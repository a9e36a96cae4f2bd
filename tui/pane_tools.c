/* The tool trace: one row per call, below it what it told last or, unfolded, all of it, and why it did not go well.
 *
 * call_row.c has the texts of the rows, told.c those below them, tooltree.c what is in sight. */

#include "base/mem.h"
#include "call_row.h"
#include "dialog.h"
#include "event/words.h"
#include "hits.h"
#include "pane.h"
#include "program.h"
#include "sandboxview.h"
#include "text.h"
#include "tooltree.h"
#include "turn/departure.h"
#include "ui.h"
#include "waverows.h"
#include <string.h>

#define WIDE_COLS   64 /* every column has room */
#define BYTES_COLS  58
#define WORD_COLS   50 /* the effect in a word */
#define TIME_COLS   40
#define LINE_COLS   100 /* the frame has room for all that is to say of the sandbox */
#define BOTH_COLS   58  /* for the engine of scripts and that of programs … */
#define COUNTS_COLS 72  /* … and for what there is of the first */
#define UNSAFE_COLS 7   /* of both, where an engine is said to be that */
#define REST_COLS   12  /* of what a call is about */
#define LABEL_COLS  14  /* of what a call told */

struct tools_pane {
    struct pane pane;
    bool heads; /* the first line says what the columns are */
    struct tooltree tree;
};

struct columns {
    int number, tool, rest, effect, state, time, bytes; /* widths; 0: not shown */
    int at_tool, at_rest, at_effect, at_state, at_time, at_bytes;
};

/* What a frame is painted with. */
struct sheet {
    struct tools_pane *tools;
    const struct view *view;
    struct canvas *canvas;
    struct columns columns;
    uint32_t seq; /* of the event whose text was read last: most lines in sight are of one */
    bool read;
    struct told told;
};

static struct tools_pane *tools_of(struct pane *pane)
{
    return (struct tools_pane *)pane;
}

static void tools_init(struct pane *pane)
{
    list_init(&pane->list, true);
}

static void tools_release(struct pane *pane)
{
    tooltree_release(&tools_of(pane)->tree);
}

/* ---- which calls are shown ---- */

static bool row_fits(const struct sift_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    return call_row_fits(rows->view, (uint32_t)row, filter, bytes);
}

static void tools_rows(struct pane *pane, const struct view *view, struct sift_rows *rows)
{
    rows->total = view->session->call_count;
    rows->settled = pane->sift.filtered ? call_rows_settled(view->session) : 0;
    rows->fits = row_fits;
}

static uint32_t call_at(const struct tools_pane *tools, size_t index)
{
    return (uint32_t)pane_row(&tools->pane, index);
}

/* ---- painting ---- */

/* Widths follow from the pane's and from names, not from states: columns must not move while a turn goes on. */
static struct columns measure(const struct tools_pane *tools, const struct view *view, struct rect in)
{
    bool wide = in.cols >= WIDE_COLS;
    int most = in.cols / 4 < 10 ? 10 : in.cols / 4 < 40 ? in.cols / 4 : 40;
    struct columns c = {.number = 2, .tool = 4, .effect = 7, .state = wide ? 10 : 8, .time = wide ? 9 : 7};
    for (uint32_t calls = view->session->call_count; calls >= 100; calls /= 10)
        c.number++;
    size_t end = tools->tree.top + (size_t)(in.rows > 0 ? in.rows : 0);
    for (size_t row = tools->tree.top; row < end && row < tools->pane.list.count; row++) {
        const struct session_call *call = &view->session->calls[call_at(tools, row)];
        int tool = call_row_name_columns(session_name(view->session, call->tool), most);
        int effect = (int)strnlen(words_effect(session_name(view->session, call->effect)), 11) + 1;
        c.tool = tool > c.tool ? tool : c.tool;
        c.effect = effect > c.effect ? effect : c.effect;
    }
    if (in.cols < TIME_COLS)
        c.time = 0; /* what a call is about comes before how long it took */
    /* Where there is no room for the word, its first letter tells a read from a write. */
    c.effect = wide ? c.effect + 1 : in.cols >= WORD_COLS ? c.effect : in.cols >= TIME_COLS ? 2 : 0;
    c.bytes = wide ? 9 : in.cols >= BYTES_COLS ? 7 : 0;
    c.at_tool = 1 + c.number + 2 + (view->departures ? 1 : 0);
    c.at_rest = c.at_tool + c.tool + 1 + wide;
    /* What a call is about comes before how much it gave, too. */
    if (in.cols - c.at_rest - 1 - c.effect - c.state - c.time - c.bytes < REST_COLS)
        c.bytes = 0;
    c.at_bytes = in.cols - c.bytes;
    c.at_time = c.at_bytes - c.time;
    c.at_state = c.at_time - c.state;
    c.at_effect = c.at_state - c.effect;
    c.rest = c.at_effect - c.at_rest - 1;
    return c;
}

static void paint_heads(struct canvas *canvas, struct rect at, const struct columns *c)
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

/* Beside the number, so that where it stands can be seen without reading. */
static void paint_state_sign(struct canvas *canvas, struct rect at, int col, const struct session_call *call)
{
    enum look look = call_row_look(call);
    switch ((enum call_state)call->state) {
    case CALL_ASKING:
    case CALL_RUNNING:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_POINTER);
        break;
    case CALL_FAILED:
    case CALL_TIMED_OUT:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_ERROR);
        break;
    case CALL_DENIED:
        canvas_put_sign(canvas, at, 0, col, look, SIGN_MINUS);
        break;
    case CALL_DONE: /* the tool did what it should; what it ran did not */
        if (call->program_end)
            canvas_str(canvas, at, 0, col, look, "!");
        break;
    case CALL_PLANNED:
        break;
    }
}

static void add_time(struct strbuf *out, const struct view *view, const struct session_call *call)
{
    if (call->state == CALL_ASKING) {
        strbuf_addstr(out, "held");
        return;
    }
    if (call->state != CALL_RUNNING && !(call->finished_seq && call->started_seq))
        return;
    int64_t ms =
        call->state == CALL_RUNNING ? wave_call_ran(view->session, call, view->now_t) / 1000 : call->elapsed_ms;
    text_ms(out, ms);
    if (out->len > 7) { /* "2 min 03 s" does not fit where "184 ms" does */
        strbuf_reset(out);
        strbuf_addf(out, "%lld:%02lld", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
    }
}

static bool departs(const struct view *view, const struct session_call *call)
{
    size_t first = 0;
    return view->departures && departures_of_call(view->departures, view->session->turns[call->turn].number,
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

/* Whole words where the first of them fits: a path that is there in full says more than the beginning of what follows.
 */
static int paint_arguments(struct canvas *canvas, struct rect rest, int left, enum look look, const char *text)
{
    size_t first = strcspn(text, " ");
    if (left || !text[first] || canvas_columns(canvas, text, first) + 1 < rest.cols ||
        canvas_columns(canvas, text, first) > rest.cols)
        return canvas_cut(canvas, rest, 0, -left, look, text, strlen(text));
    int col = canvas_text(canvas, rest, 0, 0, look, text, first);
    return col < rest.cols ? col + canvas_put_sign(canvas, rest, 0, col, LOOK_DIM, SIGN_MORE) : col;
}

/* Where there is less room, the long ones in short. */
static void paint_state(struct canvas *canvas, struct rect at, const struct columns *c, const struct session_call *call)
{
    char buf[WORDS_STATE_MAX];
    const char *state = words_call_state(call, buf), *number = state + strcspn(state, " ");
    bool narrow = c->state < 10;
    if (narrow && strcmp(state, "timed out") == 0)
        canvas_str(canvas, at, 0, c->at_state, call_row_look(call), "timeout");
    else if (narrow && strncmp(state, "signal", 6) == 0)
        canvas_printf(canvas, at, 0, c->at_state, call_row_look(call), "sig%s", number);
    else
        canvas_str(canvas, at, 0, c->at_state, call_row_look(call), state);
}

static void paint_call(const struct sheet *sheet, struct rect at, uint32_t index)
{
    const struct view *view = sheet->view;
    const struct session *session = view->session;
    const struct session_call *call = &session->calls[index];
    struct canvas *canvas = sheet->canvas;
    const struct columns *c = &sheet->columns;
    int left = sheet->tools->pane.list.left;
    enum look text = call->state == CALL_PLANNED ? LOOK_CALL_PLANNED : LOOK_TEXT;
    const char *note = call_row_went_wrong(call) ? "" : call->outcome, *effect = call_row_effect(view, call);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*u", c->number, index + 1);
    paint_state_sign(canvas, at, 1 + c->number, call);
    if (departs(view, call))
        canvas_put_sign(canvas, at, 0, 2 + c->number, LOOK_WARN, SIGN_DEPARTED);
    call_row_paint_name(canvas, rect_make(at.row, at.col + c->at_tool, 1, c->tool), 0, 0, text,
                        session_name(session, call->tool));
    struct rect rest = rect_make(at.row, at.col + c->at_rest, 1, c->rest > 0 ? c->rest : 0);
    call_row_arguments(&words, call);
    int col = paint_arguments(canvas, rest, left, text, words.buf);
    /* A note is there in full or not at all: half of "52 lines" is another number. */
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

/* A line below a call. `more`: how many it stands for besides itself. */
static void paint_child(const struct sheet *sheet, struct rect at, enum sign sign, enum look look, const char *label,
                        const char *text, size_t len, uint32_t more)
{
    struct canvas *canvas = sheet->canvas;
    int col = sheet->columns.at_tool, end = at.cols, left = sheet->tools->pane.list.left;
    if (more) {
        CLEANUP(free) char *count = xasprintf("+%u", more);
        end -= canvas_right(canvas, at, 0, 0, LOOK_DIM, count) + 1;
    }
    col += canvas_put_sign(canvas, at, 0, col, sign == SIGN_V || sign == SIGN_CORNER ? LOOK_DIM : look, sign) + 1;
    if (label && *label)
        col +=
            canvas_cut(canvas, rect_make(at.row, at.col + col, 1, LABEL_COLS), 0, 0, LOOK_DIM, label, strlen(label)) +
            2;
    if (col < end)
        canvas_cut(canvas, rect_make(at.row, at.col + col, 1, end - col), 0, -left, look, text, len);
}

/* Line `number` of what is unfolded below a call. */
static void paint_told(struct sheet *sheet, struct rect at, const struct told_rows *rows, size_t number)
{
    const struct told_row *row = &rows->rows[number];
    const struct told *told = &sheet->told;
    if (sheet->seq != row->seq) {
        const struct event *event = view_event(sheet->view, row->seq);
        sheet->seq = row->seq;
        sheet->read = event && told_read(&sheet->told, event, view_arena(sheet->view));
    }
    if (!sheet->read)
        return;
    struct told_lines lines = told_lines(told);
    lines.next = row->at;
    if (!told_lines_next(&lines))
        return;
    enum sign sign = number == 0 && rows->earlier ? SIGN_MORE : row->at ? SIGN_V : told_sign(told->kind);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    if (told->piece)
        told_show(&lines.line, &lines.len, &shown);
    paint_child(sheet, at, sign, told_look(told->kind), told->label, lines.line, lines.len, 0);
}

/* Line `number` of a call: its own, one it told, why it did not go well. */
static void paint_line(struct sheet *sheet, struct rect at, uint32_t index, size_t number)
{
    const struct session_call *call = &sheet->view->session->calls[index];
    const struct told_rows *rows = tooltree_rows(&sheet->tools->tree, sheet->view, index);
    size_t told = rows ? rows->count : call->output_seq ? 1 : 0;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (number == 0) {
        paint_call(sheet, at, index);
    } else if (number <= told && rows) {
        paint_told(sheet, at, rows, number - 1);
    } else if (number <= told) {
        struct told newest = {.label = ""};
        call_row_newest(&words, &newest, sheet->view, call);
        paint_child(sheet, at, told_sign(newest.kind), told_look(newest.kind), newest.label, words.buf, words.len,
                    call->outputs - 1);
    } else {
        call_row_reason(&words, call);
        paint_child(sheet, at, SIGN_CORNER, call_row_look(call), NULL, words.buf, words.len, 0);
    }
    hits_show(sheet->canvas, at, sheet->tools->pane.search_text);
}

static void tools_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in, bool focused)
{
    struct tools_pane *tools = tools_of(pane);
    bool heads = in.rows >= 5;
    struct rect body = rect_make(in.row + heads, in.col, in.rows - heads, in.cols);
    pane->height = in.rows;
    pane->width = in.cols;
    tools->heads = heads;
    size_t count = pane_update(pane, view, body.rows);
    tooltree_scroll(&tools->tree, pane, view, body.rows);
    if (!count && pane_paint_nothing(pane, canvas, in, "call"))
        return;
    if (!count) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "No tool was called yet.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM, "Each call gets a row; Enter shows it in full.");
        return;
    }
    struct sheet sheet = {.tools = tools, .view = view, .canvas = canvas, .columns = measure(tools, view, body)};
    if (heads)
        paint_heads(canvas, rect_make(in.row, in.col, 1, in.cols), &sheet.columns);
    size_t number = tools->tree.skip, index = tools->tree.top;
    for (int line = 0; line < body.rows && index < count; line++) {
        struct rect at = rect_make(body.row + line, body.col, 1, body.cols);
        paint_line(&sheet, at, call_at(tools, index), number);
        if (index == pane->list.cursor && number == tools->tree.inside) {
            canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
            if (focused)
                canvas_tint(canvas, at, LOOK_SELECT);
        }
        if (++number == tooltree_lines(&tools->tree, view, call_at(tools, index))) {
            number = 0;
            index++;
        }
    }
}

/* Which of two is which; where there is less room, of the one that scripts do not have. */
static void add_engines(struct strbuf *out, const struct view *view, int width)
{
    width -= view->program_unsafe ? UNSAFE_COLS : 0;
    if (view->sandbox && width >= BOTH_COLS) {
        strbuf_addstr(out, "scripts ");
        if (width >= COUNTS_COLS)
            sandbox_view_line(out, view->sandbox, width >= LINE_COLS);
        else
            strbuf_addstr(out, view->sandbox->status.engine);
        strbuf_addstr(out, " · ");
    }
    sandbox_view_programs(out, view->program_engine, view->program_unsafe);
}

static void tools_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    const char *programs = view->program_engine;
    if (view->sandbox && !pane_sifted(pane) && !programs) {
        sandbox_view_line(out, view->sandbox, pane->width >= LINE_COLS);
        strbuf_addstr(out, " · ");
    } else if (programs && !pane_sifted(pane)) {
        add_engines(out, view, pane->width);
        strbuf_addstr(out, " · ");
    }
    pane_note(pane, view, out, "call", "calls");
}

/* ---- what can be done with it ---- */

static void tools_move(struct pane *pane, const struct view *view, enum action action)
{
    struct tools_pane *tools = tools_of(pane);
    tooltree_action(&tools->tree, pane, view, action, pane->height - tools->heads);
}

/* A call that started a program is shown by its program. */
static bool tools_inspect(struct pane *pane, struct ui *ui, const struct view *view)
{
    size_t row = pane_cursor_row(pane, view);
    uint32_t program = row == SIZE_MAX || tooltree_selected(&tools_of(pane)->tree, pane, view)
                           ? SESSION_NONE
                           : program_of_call(view, (uint32_t)row);
    if (program != SESSION_NONE)
        ui_show_program(ui, view, program);
    return program != SESSION_NONE;
}

static void tools_unfold(struct pane *pane, struct ui *ui, const struct view *view)
{
    struct tools_pane *tools = tools_of(pane);
    pane_update(pane, view, pane->height - tools->heads);
    if (!tooltree_toggle(&tools->tree, pane, view))
        ui_say(ui, LOOK_TEXT, pane->list.count ? "This call told nothing while it ran." : "No tool was called yet.");
}

static struct selection tools_selected(struct pane *pane, const struct view *view)
{
    size_t row = pane_cursor_row(pane, view);
    if (row == SIZE_MAX)
        return (struct selection){SELECT_NOTHING, 0, SESSION_NONE};
    uint32_t index = (uint32_t)row;
    const struct told_row *told = tooltree_selected(&tools_of(pane)->tree, pane, view);
    if (told)
        return (struct selection){SELECT_EVENT, told->seq, index};
    const struct session_call *call = &view->session->calls[index];
    uint32_t seq = call->finished_seq   ? call->finished_seq
                   : call->proposed_seq ? call->proposed_seq
                   : call->started_seq  ? call->started_seq
                                        : call->responded_seq;
    return (struct selection){SELECT_CALL, seq, index};
}

static void tools_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct tools_pane *tools = tools_of(pane);
    (void)col;
    tooltree_click(&tools->tree, pane, view, row > tools->heads ? (size_t)(row - tools->heads) : 0);
}

const struct pane_ops pane_tools = {
    .number = 3,
    .name = "tools",
    .size = sizeof(struct tools_pane),
    .init = tools_init,
    .release = tools_release,
    .note = tools_note,
    .paint = tools_paint,
    .move = tools_move,
    .inspect = tools_inspect,
    .unfold = tools_unfold,
    .selected = tools_selected,
    .rows = tools_rows,
    .click = tools_click,
};
