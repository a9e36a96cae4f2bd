/* The tools pane: one row per call. Below it is the call's newest output, or if expanded all of it, and the reason if
 * it failed.
 *
 * call_row.c paints the rows, call_output.c reads the texts below them. The list counts calls, so filter and search
 * work on calls. In an expanded call the cursor moves line by line. */

#include "app/ui.h"
#include "base/mem.h"
#include "call_row.h"
#include "dialogs/dialog.h"
#include "event/words.h"
#include "pane.h"
#include "program.h"
#include "screen/text.h"
#include <string.h>

#define LINE_COLS   100 /* columns from which the frame shows the whole state of the sandbox */
#define BOTH_COLS   58  /* columns for the engines of scripts and of programs … */
#define COUNTS_COLS 72  /* … and for the counts of the first */
#define UNSAFE_COLS 7   /* columns of the mark UNSAFE */
#define LABEL_COLS  14  /* columns of the label of an output */

struct tools_pane {
    struct pane pane;
    bool heads;                    /* the first line has column headings */
    struct call_output_rows *open; /* expanded calls, by call */
    size_t open_count, open_room;
    size_t top, skip; /* the first visible call, and how many of its lines are above the top */
    uint32_t call;    /* the call that the cursor is in */
    size_t inside;    /* 0: on the call itself; else the line below it, from 1 */
    bool tail;        /* stay at the last line while the output grows */
};

/* State while a frame is painted. */
struct tools_sheet {
    struct tools_pane *tools;
    const struct view *view;
    struct canvas *canvas;
    struct call_columns columns;
    uint32_t seq; /* the event whose text was read last: most visible lines share one */
    bool read;
    struct call_output told;
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
    struct tools_pane *tools = tools_of(pane);
    for (size_t i = 0; i < tools->open_count; i++)
        call_output_rows_release(&tools->open[i]);
    free(tools->open);
}

/* ---- shown calls ---- */

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    return call_row_fits(rows->view, (uint32_t)row, filter, bytes);
}

static void tools_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    rows->total = view->session->call_count;
    rows->settled = pane->rows_filter.filtered ? call_rows_settled(view->session) : 0;
    rows->fits = row_fits;
}

static uint32_t call_at(const struct tools_pane *tools, size_t index)
{
    return (uint32_t)pane_row(&tools->pane, index);
}

/* ---- expanded calls ---- */

static struct call_output_rows *find_unfolded(struct tools_pane *tools, uint32_t call)
{
    for (size_t i = 0; i < tools->open_count; i++)
        if (tools->open[i].call == call)
            return &tools->open[i];
    return NULL;
}

static const struct call_output_rows *unfolded_rows(struct tools_pane *tools, const struct view *view, uint32_t call)
{
    struct call_output_rows *rows = find_unfolded(tools, call);
    if (rows)
        call_output_rows_update(rows, view);
    return rows;
}

static bool has_reason(const struct session_call *call, const struct call_output_rows *rows)
{
    return call_row_went_wrong(call) && !(rows && rows->failed && call->state == CALL_FAILED);
}

static size_t lines_of(struct tools_pane *tools, const struct view *view, uint32_t call)
{
    const struct session_call *row = &view->session->calls[call];
    const struct call_output_rows *rows = unfolded_rows(tools, view, call);
    size_t told = rows ? rows->count : row->output_seq ? 1 : 0;
    return 1 + told + (has_reason(row, rows) ? 1 : 0);
}

/* ---- the cursor ---- */

static size_t report_count(struct tools_pane *tools, const struct view *view, size_t index)
{
    const struct call_output_rows *rows =
        index < tools->pane.list.count ? unfolded_rows(tools, view, call_at(tools, index)) : NULL;
    return rows ? rows->count : 0;
}

/* A cursor that moved to another call is on the call itself, and a cursor at the end stays at the end. */
static void settle_cursor(struct tools_pane *tools, const struct view *view)
{
    size_t told = report_count(tools, view, tools->pane.list.cursor);
    uint32_t call = tools->pane.list.count ? call_at(tools, tools->pane.list.cursor) : 0;
    if (call != tools->call) {
        tools->inside = 0;
        tools->tail = false;
    }
    tools->call = call;
    if (tools->tail || tools->inside > told)
        tools->inside = told;
}

static bool toggle(struct tools_pane *tools, const struct view *view)
{
    if (!tools->pane.list.count)
        return false;
    uint32_t call = call_at(tools, tools->pane.list.cursor);
    struct call_output_rows *rows = find_unfolded(tools, call);
    if (!rows && !view->session->calls[call].output_seq)
        return false;
    tools->call = call;
    tools->inside = 0;
    tools->tail = !rows && view->session->calls[call].state == CALL_RUNNING;
    if (rows) {
        call_output_rows_release(rows);
        *rows = tools->open[--tools->open_count];
    } else {
        GROW(tools->open, tools->open_count, tools->open_room);
        tools->open[tools->open_count++] = (struct call_output_rows){.call = call};
    }
    settle_cursor(tools, view);
    return true;
}

/* Moves one line up or down, from call to call. */
static void step(struct tools_pane *tools, const struct view *view, bool down, int height)
{
    struct list *list = &tools->pane.list;
    size_t told = report_count(tools, view, list->cursor), before = list->cursor;
    if (down ? tools->inside < told : tools->inside > 0) {
        tools->inside = down ? tools->inside + 1 : tools->inside - 1;
        tools->tail = tools->inside == told;
        list->follow = list->follow && tools->tail;
        return;
    }
    pane_list_action(&tools->pane, down ? ACTION_DOWN : ACTION_UP, height);
    settle_cursor(tools, view);
    if (!down && list->cursor != before)
        tools->inside = report_count(tools, view, list->cursor);
}

static void tools_move(struct pane *pane, const struct view *view, enum action action)
{
    struct tools_pane *tools = tools_of(pane);
    int height = pane->height - tools->heads;
    settle_cursor(tools, view);
    switch (action) {
    case ACTION_UP:
    case ACTION_DOWN:
        step(tools, view, action == ACTION_DOWN, height);
        return;
    case ACTION_PAGE_UP:
    case ACTION_PAGE_DOWN:
        for (int line = 1; tools->open_count && (line < height || line == 1); line++)
            step(tools, view, action == ACTION_PAGE_DOWN, height);
        if (!tools->open_count)
            pane_list_action(pane, action, height);
        return;
    case ACTION_HOME:
    case ACTION_END:
        pane_list_action(pane, action, height);
        tools->tail = false;
        settle_cursor(tools, view);
        tools->inside = action == ACTION_END ? report_count(tools, view, pane->list.cursor) : 0;
        tools->tail = tools->inside > 0;
        return;
    default:
        pane_list_action(pane, action, height);
    }
}

static const struct call_output_row *selected_line(struct tools_pane *tools, const struct view *view)
{
    if (!tools->pane.list.count)
        return NULL;
    settle_cursor(tools, view);
    const struct call_output_rows *rows = unfolded_rows(tools, view, tools->call);
    return rows && tools->inside && tools->inside <= rows->count ? &rows->rows[tools->inside - 1] : NULL;
}

static void tools_click(struct pane *pane, const struct view *view, int row, int col)
{
    struct tools_pane *tools = tools_of(pane);
    size_t want = (row > tools->heads ? (size_t)(row - tools->heads) : 0) + tools->skip;
    (void)col;
    for (size_t at = tools->top; at < pane->list.count; at++) {
        size_t lines = lines_of(tools, view, call_at(tools, at));
        if (want < lines) {
            list_select(&pane->list, at, pane->height);
            settle_cursor(tools, view);
            tools->inside = want <= report_count(tools, view, at) ? want : 0;
            tools->tail = false;
            return;
        }
        want -= lines;
    }
}

/* ---- scrolling ---- */

/* Scrolls one line down, or one call if it is folded. Returns the number of lines that left the screen. */
static size_t continue_row(struct tools_pane *tools, const struct view *view)
{
    size_t lines = lines_of(tools, view, call_at(tools, tools->top));
    if (find_unfolded(tools, call_at(tools, tools->top)) && tools->skip + 1 < lines) {
        tools->skip++;
        return 1;
    }
    lines -= tools->skip;
    tools->skip = 0;
    tools->top++;
    return lines;
}

/* Scrolls one line back, or one call. Returns 0 if that needs more than `room` lines, or at the start. */
static size_t go_back(struct tools_pane *tools, const struct view *view, size_t room)
{
    if (tools->skip && room) {
        tools->skip--;
        return 1;
    }
    if (!tools->top || !room)
        return 0;
    size_t lines = lines_of(tools, view, call_at(tools, tools->top - 1));
    if (find_unfolded(tools, call_at(tools, tools->top - 1))) {
        tools->top--;
        tools->skip = lines - 1;
        return 1;
    }
    if (lines > room)
        return 0;
    tools->top--;
    return lines;
}

static void scroll(struct tools_pane *tools, const struct view *view, int height)
{
    struct list *list = &tools->pane.list;
    size_t room = height > 0 ? (size_t)height : 1, used = 0;
    if (!list->count) {
        tools->top = tools->skip = 0;
        return;
    }
    settle_cursor(tools, view);
    if (list->cursor < tools->top || (list->cursor == tools->top && tools->inside < tools->skip)) {
        tools->top = list->cursor;
        tools->skip = tools->inside;
    } else if (list->cursor - tools->top >= room) {
        tools->top = list->cursor - (room - 1);
        tools->skip = 0;
    }
    size_t own = lines_of(tools, view, call_at(tools, list->cursor));
    size_t need = find_unfolded(tools, tools->call) ? tools->inside + 1 : own;
    for (size_t row = tools->top; row < list->cursor; row++)
        used += lines_of(tools, view, call_at(tools, row));
    used += need - tools->skip;
    while (used > room && (tools->top < list->cursor || tools->skip < tools->inside))
        used -= continue_row(tools, view);
    used += own - need;
    for (size_t row = list->cursor + 1; row < list->count && used <= room; row++)
        used += lines_of(tools, view, call_at(tools, row));
    for (size_t back; used < room && (back = go_back(tools, view, room - used)); used += back)
        continue;
    list->top = tools->top;
}

/* ---- painting ---- */

static struct call_columns measure(const struct tools_pane *tools, const struct view *view, struct rect in)
{
    int most = in.cols / 4 < 10 ? 10 : in.cols / 4 < 40 ? in.cols / 4 : 40, name = 4, word = 7;
    size_t end = tools->top + (size_t)(in.rows > 0 ? in.rows : 0);
    for (size_t row = tools->top; row < end && row < tools->pane.list.count; row++) {
        const struct session_call *call = &view->session->calls[call_at(tools, row)];
        int tool = call_row_name_columns(session_name(view->session, call->tool), most);
        int effect = (int)strnlen(words_effect(session_name(view->session, call->effect)), 11) + 1;
        name = tool > name ? tool : name;
        word = effect > word ? effect : word;
    }
    return call_columns(view, in.cols, name, word);
}

/* Paints a line below a call. `more`: the number of lines that it replaces. */
static void paint_child(const struct tools_sheet *sheet, struct rect at, enum sign sign, enum look look,
                        const char *label, const char *text, size_t len, uint32_t more)
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

/* Paints line `number` of an expanded call. */
static void paint_output(struct tools_sheet *sheet, struct rect at, const struct call_output_rows *rows, size_t number)
{
    const struct call_output_row *row = &rows->rows[number];
    const struct call_output *told = &sheet->told;
    if (sheet->seq != row->seq) {
        const struct event *event = view_event(sheet->view, row->seq);
        sheet->seq = row->seq;
        sheet->read = event && call_output_read(&sheet->told, event, view_arena(sheet->view));
    }
    if (!sheet->read)
        return;
    struct call_output_lines lines = call_output_lines(told);
    lines.next = row->at;
    if (!call_output_lines_next(&lines))
        return;
    enum sign sign = number == 0 && rows->earlier ? SIGN_MORE : row->at ? SIGN_V : call_output_sign(told->kind);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    if (told->piece)
        call_output_show(&lines.line, &lines.len, &shown);
    paint_child(sheet, at, sign, call_output_look(told->kind), told->label, lines.line, lines.len, 0);
}

/* Paints line `number` of a call: the call itself, a line of output, or the reason why it failed. */
static void paint_line(struct tools_sheet *sheet, struct rect at, uint32_t index, size_t number)
{
    const struct session_call *call = &sheet->view->session->calls[index];
    const struct call_output_rows *rows = unfolded_rows(sheet->tools, sheet->view, index);
    size_t told = rows ? rows->count : call->output_seq ? 1 : 0;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (number == 0) {
        call_row_paint(sheet->view, sheet->canvas, at, &sheet->columns, index, sheet->tools->pane.list.left);
    } else if (number <= told && rows) {
        paint_output(sheet, at, rows, number - 1);
    } else if (number <= told) {
        struct call_output newest = {.label = ""};
        call_row_newest(&words, &newest, sheet->view, call);
        paint_child(sheet, at, call_output_sign(newest.kind), call_output_look(newest.kind), newest.label, words.buf,
                    words.len, call->outputs - 1);
    } else {
        call_row_reason(&words, call);
        paint_child(sheet, at, SIGN_CORNER, call_row_look(call), NULL, words.buf, words.len, 0);
    }
    text_match_show(sheet->canvas, at, sheet->tools->pane.search_text);
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
    scroll(tools, view, body.rows);
    if (!count && pane_paint_nothing(pane, canvas, in, "call"))
        return;
    if (!count) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "No calls yet.");
        canvas_printf(canvas, in, 1, 1, LOOK_DIM, "Each call gets a row; %s shows it in full.",
                      keymap_key(pane->keymap, ACTION_INSPECT));
        return;
    }
    struct tools_sheet sheet = {.tools = tools, .view = view, .canvas = canvas, .columns = measure(tools, view, body)};
    if (heads)
        call_row_paint_heads(canvas, rect_make(in.row, in.col, 1, in.cols), &sheet.columns);
    size_t number = tools->skip, index = tools->top;
    for (int line = 0; line < body.rows && index < count; line++) {
        struct rect at = rect_make(body.row + line, body.col, 1, body.cols);
        paint_line(&sheet, at, call_at(tools, index), number);
        if (index == pane->list.cursor && number == tools->inside) {
            canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
            if (focused)
                canvas_tint(canvas, at, LOOK_SELECT);
        }
        if (++number == lines_of(tools, view, call_at(tools, index))) {
            number = 0;
            index++;
        }
    }
}

/* Adds the engines of scripts and of programs; on a narrow pane only that of the programs. */
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
    if (view->sandbox && !pane_is_filtered(pane) && !programs) {
        sandbox_view_line(out, view->sandbox, pane->width >= LINE_COLS);
        strbuf_addstr(out, " · ");
    } else if (programs && !pane_is_filtered(pane)) {
        add_engines(out, view, pane->width);
        strbuf_addstr(out, " · ");
    }
    pane_note(pane, view, out, "call", "calls");
}

/* ---- actions ---- */

/* Inspecting a call that started a program opens the program. */
static bool tools_inspect(struct pane *pane, struct ui *ui, const struct view *view)
{
    size_t row = pane_cursor_row(pane, view);
    uint32_t program =
        row == SIZE_MAX || selected_line(tools_of(pane), view) ? SESSION_NONE : program_of_call(view, (uint32_t)row);
    if (program != SESSION_NONE)
        ui_show_program(ui, view, program);
    return program != SESSION_NONE;
}

static void tools_unfold(struct pane *pane, struct ui *ui, const struct view *view)
{
    struct tools_pane *tools = tools_of(pane);
    pane_update(pane, view, pane->height - tools->heads);
    if (!toggle(tools, view))
        ui_message(ui, LOOK_TEXT, pane->list.count ? "This call has no output." : "No calls yet.");
}

static struct selection tools_selected(struct pane *pane, const struct view *view)
{
    size_t row = pane_cursor_row(pane, view);
    if (row == SIZE_MAX)
        return (struct selection){SELECT_NOTHING, 0, SESSION_NONE};
    uint32_t index = (uint32_t)row;
    const struct call_output_row *told = selected_line(tools_of(pane), view);
    if (told)
        return (struct selection){SELECT_EVENT, told->seq, index};
    const struct session_call *call = &view->session->calls[index];
    uint32_t seq = call->finished_seq   ? call->finished_seq
                   : call->proposed_seq ? call->proposed_seq
                   : call->started_seq  ? call->started_seq
                                        : call->responded_seq;
    return (struct selection){SELECT_CALL, seq, index};
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
