/* The event stream: every line of the journal up to the present instant, one row each.
 *
 * A recording may have a million lines, so nothing here walks over them but the filter, and that does a bounded piece at a
 * time: a small one with every frame, larger ones from pane_ops.work. What is kept of the fitting rows is their number,
 * four bytes each. Lines are decoded when their row is shown; what they came to is remembered for as long as the line lies
 * where it lay, because a result of a megabyte should not be decoded thirty times a second. */

#include "base/mem.h"
#include "filter.h"
#include "hits.h"
#include "pane.h"
#include "text.h"
#include "ui.h"
#include <string.h>

#define FIRST_LINES 1000 /* looked at as soon as there is a filter: a short recording is done at once */
#define FRAME_LINES 128  /* while a frame is painted */
#define WORK_LINES  8192 /* between two frames */
#define WORK_BYTES  (2u << 20)
#define ROWS_KEPT   128
#define TYPE_COLS   17

struct event_row {
    const char *line; /* where it lay; NULL: nothing is kept here */
    size_t len, row;
    int64_t seq, t;
    enum look look;
    bool bad;         /* something went wrong */
    bool readable;
    char *type, *summary;
};

struct events_pane {
    struct pane pane;
    struct filter filter;
    struct matches matches;
    bool filtered, working;
    const struct journal_reader *lines; /* the matches are of these */
    struct event_row rows[ROWS_KEPT];
};

static struct events_pane *events_of(struct pane *pane)
{
    return (struct events_pane *)pane;
}

static void events_init(struct pane *pane)
{
    list_init(&pane->list, true);
    filter_init(&events_of(pane)->filter);
}

static void events_release(struct pane *pane)
{
    struct events_pane *events = events_of(pane);
    filter_release(&events->filter);
    matches_release(&events->matches);
    for (size_t i = 0; i < ROWS_KEPT; i++) {
        free(events->rows[i].type);
        free(events->rows[i].summary);
    }
}

/* ---- the rows there are ---- */

struct scan {
    struct events_pane *events;
    const struct view *view;
    size_t bytes;
};

static bool row_fits(size_t row, void *data)
{
    struct scan *scan = data;
    size_t len;
    const char *line = journal_line(scan->view->lines, row, &len);
    scan->bytes += len;
    return filter_line_fits(&scan->events->filter, scan->view, line, len);
}

/* Looks at more lines. Long lines count for what they are: pieces are bounded in bytes too. */
static void look_further(struct events_pane *events, const struct view *view, size_t lines)
{
    struct scan scan = {events, view, 0};
    size_t total = view_row_count(view);
    if (events->lines != view->lines)
        matches_reset(&events->matches);
    events->lines = view->lines;
    events->working = events->filtered && matches_work(&events->matches, total, 0, row_fits, &scan);
    for (; events->working && lines && scan.bytes < WORK_BYTES; lines -= lines < 64 ? lines : 64)
        events->working = matches_work(&events->matches, total, lines < 64 ? lines : 64, row_fits, &scan);
}

static size_t shown_count(const struct events_pane *events, const struct view *view)
{
    return events->filtered ? events->matches.count : view_row_count(view);
}

/* The journal's row that the list's row shows. */
static size_t journal_row(const struct events_pane *events, size_t row)
{
    return events->filtered ? events->matches.rows[row] : row;
}

static bool events_work(struct pane *pane, const struct view *view)
{
    struct events_pane *events = events_of(pane);
    if (events->filtered)
        look_further(events, view, WORK_LINES);
    return events->working;
}

/* ---- one row ---- */

static enum look kind_look(enum event_type type)
{
    switch (type) {
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_DELTA:
    case EVENT_MODEL_RESPONDED:
    case EVENT_MODEL_FAILED:
    case EVENT_REFLECTION:
        return LOOK_EVENT_MODEL;
    case EVENT_WAVES_PLANNED:
    case EVENT_TOOL_STARTED:
    case EVENT_TOOL_OUTPUT:
    case EVENT_SCRIPT_EVENT:
    case EVENT_TOOL_FINISHED:
    case EVENT_LATE_SUPPRESSED:
    case EVENT_WORKSPACE_OP:
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
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    CLEANUP(strbuf) struct strbuf summary = STRBUF_INIT;
    *kept = (struct event_row){.line = line, .len = len, .row = row, .seq = (int64_t)row + 1};
    kept->readable = view_row(view, row, &event, &arena);
    if (!kept->readable) {
        kept->type = xstrdup("?");
        kept->summary = xstrdup("this line cannot be read");
        kept->look = LOOK_ERROR;
        kept->bad = true;
        return kept;
    }
    event_summary(&summary, &event);
    kept->seq = event.seq;
    kept->t = event.t;
    kept->look = kind_look(event.type);
    kept->bad = went_wrong(&event);
    kept->type = xstrdup(event.type_name);
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

static void paint_row(struct events_pane *events, const struct view *view, struct canvas *canvas, struct rect at,
                      size_t row, bool selected, bool focused)
{
    const struct event_row *event = read_row(events, view, journal_row(events, row));
    int digits = digits_of(view_row_count(view));
    digits = digits < 3 ? 3 : digits;
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%*lld", digits, (long long)event->seq);
    int col = 1 + digits + 1;
    char time[32];
    snprintf(time, sizeof(time), "%8.3f", (double)event->t / 1e6);
    col += canvas_str(canvas, at, 0, col, LOOK_DIM, time) + 2;
    int type_cols = at.cols < 60 ? TYPE_COLS - 1 : TYPE_COLS;
    canvas_text(canvas, rect_make(at.row, at.col + col, 1, type_cols - 1), 0, 0, event->look, event->type,
                strlen(event->type));
    col += type_cols;
    if (event->bad)
        col += canvas_put_sign(canvas, at, 0, col, LOOK_ERROR, SIGN_ERROR) + 1;
    if (col < at.cols)
        canvas_text(canvas, rect_make(at.row, at.col + col, 1, at.cols - col), 0, -events->pane.list.left,
                    event->bad ? LOOK_ERROR : LOOK_EVENT, event->summary, strlen(event->summary));
    hits_show(canvas, at, events->pane.search_text);
    if (!selected)
        return;
    canvas_put_sign(canvas, at, 0, 0, LOOK_STRONG, SIGN_CURSOR);
    if (focused)
        canvas_tint(canvas, at, LOOK_SELECT);
}

static void paint_empty(const struct events_pane *events, const struct view *view, struct canvas *canvas, struct rect in)
{
    if (!view_row_count(view)) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "Nothing has happened yet.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM, "Every event of the turn appears here.");
    } else if (events->working) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "Looking for rows that fit …");
    } else {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "No event fits the filter.");
        canvas_str(canvas, in, 1, 1, LOOK_DIM, "f changes it; an empty one shows all.");
    }
}

static void events_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect in, bool focused)
{
    struct events_pane *events = events_of(pane);
    pane->height = in.rows;
    pane->width = in.cols;
    if (events->filtered)
        look_further(events, view, FRAME_LINES);
    size_t count = shown_count(events, view);
    list_update(&pane->list, count, in.rows);
    if (!count)
        paint_empty(events, view, canvas, in);
    for (int i = 0; i < in.rows && pane->list.top + (size_t)i < count; i++) {
        size_t row = pane->list.top + (size_t)i;
        paint_row(events, view, canvas, rect_make(in.row + i, in.col, 1, in.cols), row, row == pane->list.cursor, focused);
    }
}

static void events_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    struct events_pane *events = events_of(pane);
    size_t total = view_row_count(view);
    if (!events->filtered) {
        text_count(out, (int64_t)total);
        strbuf_addstr(out, " · all");
    } else if (events->working) {
        text_count(out, (int64_t)events->matches.count);
        strbuf_addf(out, " in %zu %% …", total ? events->matches.scanned * 100 / total : 100);
    } else {
        text_count(out, (int64_t)events->matches.count);
        strbuf_addstr(out, " of ");
        text_count(out, (int64_t)total);
    }
    if (!pane->list.follow && total)
        strbuf_addstr(out, " · scrolled");
    if (events->filtered)
        filter_note(out, pane->filter_text, pane->width);
}

/* ---- what can be done with it ---- */

static bool events_act(struct pane *pane, struct ui *ui, const struct view *view, enum action action)
{
    (void)ui, (void)view;
    return list_action(&pane->list, action, pane->height);
}

static struct selection events_selected(struct pane *pane, const struct view *view)
{
    struct events_pane *events = events_of(pane);
    struct selection selection = {SELECT_NOTHING, 0, SESSION_NONE};
    if (pane->list.cursor >= shown_count(events, view) || journal_row(events, pane->list.cursor) >= view_row_count(view))
        return selection;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    size_t row = journal_row(events, pane->list.cursor);
    selection.kind = SELECT_EVENT;
    selection.seq = (int64_t)row + 1;
    if (!view_row(view, row, &event, &arena))
        return selection;
    selection.seq = event.seq;
    selection.call = view_event_call(view, &event);
    return selection;
}

static bool row_has(struct events_pane *events, const struct view *view, size_t row, const struct filter *wanted)
{
    size_t len;
    const char *line = journal_line(view->lines, journal_row(events, row), &len);
    return filter_line_fits(wanted, view, line, len);
}

static bool events_search(struct pane *pane, const struct view *view, const char *text, bool back)
{
    struct events_pane *events = events_of(pane);
    look_further(events, view, 0);
    size_t count = shown_count(events, view), at = pane->list.cursor;
    struct filter_term term = {FILTER_TEXT, false, (char *)text};
    struct filter wanted = {&term, 1, 1};
    for (size_t looked = 1; looked <= count; looked++) {
        /* Round the end, as everywhere. */
        at = back ? (at ? at - 1 : count - 1) : (at + 1 < count ? at + 1 : 0);
        if (row_has(events, view, at, &wanted)) {
            list_select(&pane->list, at, pane->height);
            return true;
        }
    }
    return false;
}

static void events_filter(struct pane *pane, const struct view *view, const char *text)
{
    struct events_pane *events = events_of(pane);
    look_further(events, view, 0);
    size_t count = shown_count(events, view);
    size_t row = pane->list.cursor < count ? journal_row(events, pane->list.cursor) : SIZE_MAX;
    filter_parse(&events->filter, view, text ? text : "");
    events->filtered = events->filter.count > 0;
    matches_reset(&events->matches);
    look_further(events, view, FIRST_LINES);
    count = shown_count(events, view);
    list_update(&pane->list, count, pane->height);
    /* Stay near the row somebody looked at. */
    if (!pane->list.follow && row != SIZE_MAX && count)
        list_select(&pane->list, events->filtered ? matches_find(&events->matches, row) : row, pane->height);
}

static void events_click(struct pane *pane, const struct view *view, int row, int col)
{
    (void)col;
    if (row >= 0 && pane->list.top + (size_t)row < shown_count(events_of(pane), view))
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
    .act = events_act,
    .selected = events_selected,
    .search = events_search,
    .filter = events_filter,
    .click = events_click,
    .work = events_work,
};
