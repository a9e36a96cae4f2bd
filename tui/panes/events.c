/* The events pane: every line of the journal up to the present instant, one row each.
 *
 * A recording may have a million lines. Only the filter and the search visit all of them, a bounded piece at a time
 * (filter.h), and they read the lines without decoding them. Of the matching rows only the number is kept, four bytes
 * each. A line is decoded when its row is shown. */

#include "app/ui.h"
#include "base/strbuf.h"
#include "pane.h"
#include "screen/text.h"
#include "turn/divergence.h"
#include <string.h>

#define NARROW    60 /* columns below which extra blanks are left out */
#define TYPE_COLS 17

static void events_init(struct pane *pane)
{
    list_init(&pane->list, true);
}

/* ---- rows ---- */

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    size_t len;
    const char *line = journal_line(rows->view->lines, row, &len);
    *bytes += len;
    return filter_line_fits(filter, rows->view, line, len);
}

static void events_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    (void)pane;
    rows->total = rows->settled = view_row_count(view);
    rows->fits = row_fits;
}

/* ---- one row ---- */

static enum look kind_look(enum event_type type)
{
    switch (type) {
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_DELTA:
    case EVENT_MODEL_RESPONDED:
    case EVENT_MODEL_FAILED:
    case EVENT_MODEL_CHANGED:
    case EVENT_CONTEXT_COMPACTED:
    case EVENT_REFLECTION:
        return LOOK_EVENT_MODEL;
    case EVENT_TOOLS_CHANGED:
    case EVENT_WAVES_PLANNED:
    case EVENT_TOOL_STARTED:
    case EVENT_TOOL_OUTPUT:
    case EVENT_SCRIPT_EVENT:
    case EVENT_TOOL_FINISHED:
    case EVENT_LATE_SUPPRESSED:
    case EVENT_WORKSPACE_OP:
    case EVENT_WORKSPACE_STATE:
    case EVENT_PROGRAM_STARTED:
    case EVENT_PROGRAM_OUTPUT:
    case EVENT_PROGRAM_INPUT:
    case EVENT_PROGRAM_ENDED:
    case EVENT_NETWORK_CONNECTED:
        return LOOK_EVENT_TOOL;
    case EVENT_WRITE_PROPOSED:
    case EVENT_WRITE_DECIDED:
    case EVENT_CHECKPOINT_SAVED:
    case EVENT_WRITE_APPLIED:
    case EVENT_WRITE_UNDONE:
    case EVENT_WRITE_REDONE:
    case EVENT_WRITES_CLOSED:
        return LOOK_EVENT_WRITE;
    case EVENT_BUDGET_OPENED:
    case EVENT_BUDGET_CHARGED:
    case EVENT_BUDGET_WARNED:
        return LOOK_EVENT_BUDGET;
    case EVENT_HELD:
    case EVENT_RELEASED:
    case EVENT_EDITED:
        return LOOK_EVENT_GATE;
    case EVENT_OTHER:
    case EVENT_TYPE_COUNT:
        return LOOK_EVENT_OTHER;
    default:
        return LOOK_EVENT_TURN;
    }
}

static bool went_wrong(const struct event *event)
{
    const char *word = NULL;
    switch (event->type) {
    case EVENT_MODEL_FAILED:
        return true;
    case EVENT_TOOL_FINISHED:
        word = event->tool_finished.outcome;
        return word && (strcmp(word, "failure") == 0 || strcmp(word, "timeout") == 0);
    case EVENT_TURN_FINISHED:
        word = event->turn_finished.status;
        return word && strcmp(word, "failed") == 0;
    case EVENT_WORKSPACE_OP:
        return event->workspace_op.error && *event->workspace_op.error;
    default:
        return false;
    }
}

static int digits_of(size_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static int time_cols(const struct view *view, int cols)
{
    int64_t seconds = view->session->last_t / 1000000;
    int wanted = digits_of(seconds > 0 ? (size_t)seconds : 0) + 4;
    int least = cols < NARROW ? 6 : 8;
    return wanted > least ? wanted : least;
}

static void paint_row(const struct pane *pane, const struct view *view, struct canvas *canvas, struct rect at,
                      size_t index, bool focused)
{
    size_t row = pane_row(pane, index);
    const struct event *event = view_row(view, row);
    const char *type = event ? event->type_name : "?";
    const char *words = event ? view_row_words(view, row) : "cannot read this line";
    int64_t seq = event ? event->seq : (int64_t)row + 1;
    bool bad = !event || went_wrong(event);
    int digits = digits_of(view_row_count(view));
    digits = digits < 3 ? 3 : digits;
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*lld", digits, (long long)seq);
    int col = 1 + digits + 1;
    char time[32];
    snprintf(time, sizeof(time), "%*.3f", time_cols(view, at.cols), event ? (double)event->t / 1e6 : 0);
    col += canvas_str(canvas, at, 0, col, LOOK_DIM, time) + 2;
    int type_cols = at.cols < NARROW ? TYPE_COLS - 1 : TYPE_COLS;
    canvas_cut(canvas, rect_make(at.row, at.col + col, 1, type_cols - 1), 0, 0,
               event ? kind_look(event->type) : LOOK_ERROR, type, strlen(type));
    col += type_cols;
    size_t first = 0;
    if (view->divergences && divergences_of_event(view->divergences, seq, &first))
        col += canvas_put_sign(canvas, at, 0, col, LOOK_WARN, SIGN_DIVERGED) + 1;
    if (bad)
        col += canvas_put_sign(canvas, at, 0, col, LOOK_ERROR, SIGN_ERROR) + 1;
    if (col < at.cols)
        canvas_cut(canvas, rect_make(at.row, at.col + col, 1, at.cols - col), 0, -pane->list.left,
                   bad ? LOOK_ERROR : LOOK_EVENT, words, strlen(words));
    text_match_show(canvas, at, pane->search_text);
    if (index != pane->list.cursor)
        return;
    canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
    if (focused)
        canvas_tint(canvas, at, LOOK_SELECT);
}

static void events_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in,
                         bool focused)
{
    pane->height = in.rows;
    pane->width = in.cols;
    size_t count = pane_update(pane, view, in.rows);
    if (!count && !pane_paint_nothing(pane, canvas, in, "event")) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "No events yet.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM, "Every event of the turn appears here.");
    }
    for (int i = 0; i < in.rows && pane->list.top + (size_t)i < count; i++) {
        paint_row(pane, view, canvas, rect_make(in.row + i, in.col, 1, in.cols), pane->list.top + (size_t)i, focused);
    }
}

static void events_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    pane_note(pane, view, out, NULL, NULL);
    if (!pane_is_filtered(pane))
        strbuf_addstr(out, " · all");
    if (!pane->list.follow && view_row_count(view))
        strbuf_addstr(out, " · scrolled");
}

/* ---- actions ---- */

static struct selection events_selected(struct pane *pane, const struct view *view)
{
    struct selection selection = {SELECT_NOTHING, 0, SESSION_NONE};
    size_t row = pane_cursor_row(pane, view);
    if (row == SIZE_MAX)
        return selection;
    const struct event *event = view_row(view, row);
    selection.kind = SELECT_EVENT;
    selection.seq = event ? event->seq : (int64_t)row + 1;
    selection.call = event ? view_event_call(view, event) : SESSION_NONE;
    return selection;
}

static void events_click(struct pane *pane, const struct view *view, int row, int col)
{
    (void)col, (void)view;
    if (row >= 0 && pane->list.top + (size_t)row < pane->list.count)
        list_select(&pane->list, pane->list.top + (size_t)row, pane->height);
}

const struct pane_ops pane_events = {
    .number = 2,
    .name = "events",
    .size = sizeof(struct pane),
    .init = events_init,
    .note = events_note,
    .paint = events_paint,
    .selected = events_selected,
    .rows = events_rows,
    .click = events_click,
};
