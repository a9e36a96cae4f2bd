/* The event stream: every line of the journal up to the present instant, one row each.
 *
 * A recording may have a million lines, so nothing here walks over them but the filter and the search, a bounded piece
 * at a time (sift.h). What is kept of the fitting rows is their number, four bytes each. Lines are decoded when their
 * row is shown; what they came to is remembered for as long as the line lies where it lay, because a result of a
 * megabyte should not be decoded thirty times a second. */

#include "base/mem.h"
#include "event/words.h"
#include "hits.h"
#include "pane.h"
#include "text.h"
#include "turn/departure.h"
#include "ui.h"
#include <string.h>

#define ROWS_KEPT 128
#define NARROW    60 /* columns below which every blank counts */
#define TYPE_COLS 17

struct event_row {
    const char *line; /* where it lay; NULL: nothing is kept here */
    size_t len, row;
    int64_t seq, t;
    enum look look;
    bool bad; /* something went wrong */
    bool readable;
    char *type, *summary;
};

struct events_pane {
    struct pane pane;
    struct event_row rows[ROWS_KEPT];
};

static struct events_pane *events_of(struct pane *pane)
{
    return (struct events_pane *)pane;
}

static void events_init(struct pane *pane)
{
    list_init(&pane->list, true);
}

static void events_release(struct pane *pane)
{
    struct events_pane *events = events_of(pane);
    for (size_t i = 0; i < ROWS_KEPT; i++) {
        free(events->rows[i].type);
        free(events->rows[i].summary);
    }
}

/* ---- the rows there are ---- */

static bool row_fits(const struct sift_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    size_t len;
    const char *line = journal_line(rows->view->lines, row, &len);
    *bytes += len;
    return filter_line_fits(filter, rows->view, line, len);
}

static void events_rows(struct pane *pane, const struct view *view, struct sift_rows *rows)
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

static const struct event_row *read_row(struct events_pane *events, const struct view *view, size_t row)
{
    struct event_row *kept = &events->rows[row % ROWS_KEPT];
    size_t len;
    const char *line = journal_line(view->lines, row, &len);
    if (kept->line == line && kept->len == len && kept->row == row)
        return kept;
    free(kept->type);
    free(kept->summary);
    const struct event *event = view_row(view, row);
    CLEANUP(strbuf) struct strbuf summary = STRBUF_INIT;
    *kept = (struct event_row){.line = line, .len = len, .row = row, .seq = (int64_t)row + 1};
    kept->readable = event;
    if (!kept->readable) {
        kept->type = xstrdup("?");
        kept->summary = xstrdup("this line cannot be read");
        kept->look = LOOK_ERROR;
        kept->bad = true;
        return kept;
    }
    event_words(&summary, WORDS_ROW, event);
    kept->seq = event->seq;
    kept->t = event->t;
    kept->look = kind_look(event->type);
    kept->bad = went_wrong(event);
    kept->type = xstrdup(event->type_name);
    kept->summary = strbuf_detach(&summary, NULL);
    return kept;
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

static void paint_row(struct events_pane *events, const struct view *view, struct canvas *canvas, struct rect at,
                      size_t row, bool selected, bool focused)
{
    const struct event_row *event = read_row(events, view, pane_row(&events->pane, row));
    int digits = digits_of(view_row_count(view));
    digits = digits < 3 ? 3 : digits;
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*lld", digits, (long long)event->seq);
    int col = 1 + digits + 1;
    char time[32];
    snprintf(time, sizeof(time), "%*.3f", time_cols(view, at.cols), (double)event->t / 1e6);
    col += canvas_str(canvas, at, 0, col, LOOK_DIM, time) + 2;
    int type_cols = at.cols < NARROW ? TYPE_COLS - 1 : TYPE_COLS;
    canvas_cut(canvas, rect_make(at.row, at.col + col, 1, type_cols - 1), 0, 0, event->look, event->type,
               strlen(event->type));
    col += type_cols;
    size_t first = 0;
    if (view->departures && departures_of_event(view->departures, event->seq, &first))
        col += canvas_put_sign(canvas, at, 0, col, LOOK_WARN, SIGN_DEPARTED) + 1;
    if (event->bad)
        col += canvas_put_sign(canvas, at, 0, col, LOOK_ERROR, SIGN_ERROR) + 1;
    if (col < at.cols)
        canvas_cut(canvas, rect_make(at.row, at.col + col, 1, at.cols - col), 0, -events->pane.list.left,
                   event->bad ? LOOK_ERROR : LOOK_EVENT, event->summary, strlen(event->summary));
    hits_show(canvas, at, events->pane.search_text);
    if (!selected)
        return;
    canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
    if (focused)
        canvas_tint(canvas, at, LOOK_SELECT);
}

static void events_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in,
                         bool focused)
{
    struct events_pane *events = events_of(pane);
    pane->height = in.rows;
    pane->width = in.cols;
    size_t count = pane_update(pane, view, in.rows);
    if (!count && !pane_paint_nothing(pane, canvas, in, "event")) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "Nothing has happened yet.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM, "Every event of the turn appears here.");
    }
    for (int i = 0; i < in.rows && pane->list.top + (size_t)i < count; i++) {
        size_t row = pane->list.top + (size_t)i;
        paint_row(events, view, canvas, rect_make(in.row + i, in.col, 1, in.cols), row, row == pane->list.cursor,
                  focused);
    }
}

static void events_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    pane_note(pane, view, out, NULL, NULL);
    if (!pane_sifted(pane))
        strbuf_addstr(out, " · all");
    if (!pane->list.follow && view_row_count(view))
        strbuf_addstr(out, " · scrolled");
}

/* ---- what can be done with it ---- */

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
    .size = sizeof(struct events_pane),
    .init = events_init,
    .release = events_release,
    .note = events_note,
    .paint = events_paint,
    .selected = events_selected,
    .rows = events_rows,
    .click = events_click,
};
