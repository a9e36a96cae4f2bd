/* The budget pane: a gauge for every limit of a turn. A limit that is almost used up gets a mark and a number. A value
 * without a limit is only a number. The wall clock runs on between recorded charges, and stops while the session waits
 * for the user, as the turn's own clock does. */

#include "app/ui.h"
#include "base/mem.h"
#include "dialogs/dialog.h"
#include "pane.h"
#include "screen/canvas.h"
#include "screen/text.h"
#include <math.h>
#include <string.h>

#define WIDE 46 /* columns from which numbers, bars and rates fit */

enum unit { UNIT_TIME, UNIT_COUNT, UNIT_TOKENS, UNIT_MONEY };

static const struct gauge {
    enum budget_key key;
    const char *name, *brief;
    enum unit unit;
} gauges[] = {
    {BUDGET_WALL_MS, "wall", "wall", UNIT_TIME},
    {BUDGET_STEPS, "steps", "steps", UNIT_COUNT},
    {BUDGET_TOOL_CALLS, "tool calls", "calls", UNIT_COUNT},
    {BUDGET_INPUT_TOKENS, "tokens in", "in", UNIT_TOKENS},
    {BUDGET_OUTPUT_TOKENS, "tokens out", "out", UNIT_TOKENS},
    {BUDGET_COST_USD, "cost", "cost", UNIT_MONEY},
    {BUDGET_REFLECTIONS, "reflections", "refl", UNIT_COUNT},
    {BUDGET_CONTEXT_TOKENS, "context", "ctx", UNIT_TOKENS},
};

static void budget_init(struct pane *pane)
{
    list_init(&pane->list, false);
}

static bool is_held(const struct view *view)
{
    return view_asks(view) || view->held || view->session->held_gate;
}

/* Charges arrive with events. Between them the clock runs on, less the time held since; during a hold it stops when the
 * hold began. In doubles, because the times of a recording may have any value. */
static double wall_ms(const struct view *view)
{
    const struct session *session = view->session;
    const struct session_budget *budget = &session->budget;
    const struct session_turn *turn = session_turn(session);
    double charged = budget->used[BUDGET_WALL_MS];
    if (!turn || !session_turn_running(session))
        return charged;
    double now = (double)(session->held_seq ? session->held_t : is_held(view) ? session->last_t : view->now_t);
    double since = now - (double)budget->charged_t - ((double)turn->held_us - (double)budget->charged_held_us);
    double all = now - (double)turn->started_t;
    double ms = charged + (since > 0 ? since / 1000 : 0);
    ms = all > 0 && ms > all / 1000 ? all / 1000 : ms;
    return ms > charged ? ms : charged;
}

static void add_amount(struct strbuf *out, enum unit unit, double amount)
{
    switch (unit) {
    case UNIT_TIME:
        strbuf_addf(out, amount >= 100000 ? "%.0f" : "%.1f", amount / 1000);
        return;
    case UNIT_MONEY:
        strbuf_addf(out, "%.*f", fabs(amount * 100 - round(amount * 100)) > 1e-6 && amount < 1 ? 3 : 2, amount);
        return;
    default:
        if (amount < 1000)
            strbuf_addf(out, "%.0f", amount);
        else if (amount < 1e6)
            strbuf_addf(out, amount < 1e5 && fmod(amount, 1000) >= 50 ? "%.1fk" : "%.0fk", amount / 1000);
        else
            strbuf_addf(out, "%.1fM", amount / 1e6);
    }
}

struct budget_reading {
    const struct gauge *gauge;
    double used, limit, share; /* share NaN: no limit */
    bool unknown;              /* cost: the prices are not known */
};

static struct budget_reading read_gauge(const struct view *view, size_t index)
{
    const struct gauge *gauge = &gauges[index];
    struct budget_reading reading = {.gauge = gauge,
                                     .used = view->session->budget.used[gauge->key],
                                     .limit = view->session->budget.limit[gauge->key]};
    if (gauge->key == BUDGET_WALL_MS)
        reading.used = wall_ms(view);
    reading.unknown = gauge->unit == UNIT_MONEY && isnan(reading.used);
    if (!(reading.used >= 0))
        reading.used = 0;
    reading.share = isnan(reading.limit) ? NAN : reading.limit > 0 ? reading.used / reading.limit : 1;
    return reading;
}

static enum look look_of(const struct budget_reading *reading)
{
    return gauge_look(reading->share);
}

static void paint_bar(struct canvas *canvas, struct rect in, int row, int col, int width,
                      const struct budget_reading *reading, bool held)
{
    gauge_paint(canvas, in, row, col, width, reading->share,
                held && reading->gauge->key == BUDGET_WALL_MS ? SIGN_BAR_HELD : SIGN_BAR_FULL);
}

/* "12.4 / 60 s", "$0.016 / 0.10", "2"; without room, "12.4/60 s" */
static void add_numbers(struct strbuf *out, const struct budget_reading *reading, bool brief)
{
    enum unit unit = reading->gauge->unit;
    if (reading->unknown) {
        strbuf_addstr(out, "unknown");
        return;
    }
    if (unit == UNIT_MONEY)
        strbuf_addch(out, '$');
    add_amount(out, unit, reading->used);
    if (!isnan(reading->limit)) {
        strbuf_addstr(out, brief ? "/" : " / ");
        if (unit == UNIT_TIME)
            strbuf_addf(out, "%g", reading->limit / 1000);
        else
            add_amount(out, unit, reading->limit);
    }
    if (unit == UNIT_TIME)
        strbuf_addstr(out, " s");
}

/* Adds the rate, or how long the rest lasts. A more important remark replaces it. */
static void add_remark(struct strbuf *out, const struct budget_reading *reading, double wall, bool held, bool running)
{
    enum budget_key key = reading->gauge->key;
    if (reading->share >= GAUGE_NEAR)
        strbuf_addf(out, "! %.0f %%", floor(reading->share * 100));
    if (key == BUDGET_WALL_MS && held) {
        strbuf_addstr(out, out->len ? " paused" : "paused");
        return;
    }
    if (out->len)
        return;
    if (key == BUDGET_WALL_MS && running && !isnan(reading->limit)) {
        strbuf_addf(out, "%.0f s left", ceil((reading->limit - reading->used) / 1000));
    } else if ((key == BUDGET_INPUT_TOKENS || key == BUDGET_OUTPUT_TOKENS) && reading->used > 0 && wall >= 1000) {
        strbuf_addf(out, "%.0f/s", reading->used * 1000 / wall);
    } else if (key == BUDGET_COST_USD && reading->used > 0 && wall >= 1000) {
        strbuf_addf(out, "$%.2f/min", reading->used * 60000 / wall);
    } else if (key == BUDGET_CONTEXT_TOKENS && reading->share > 0) {
        strbuf_addf(out, "%.0f %%", reading->share * 100);
    }
}

static void paint_gauge(const struct view *view, struct canvas *canvas, struct rect in, int row, size_t index)
{
    struct budget_reading reading = read_gauge(view, index);
    CLEANUP(strbuf) struct strbuf numbers = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf remark = STRBUF_INIT;
    bool wide = in.cols >= WIDE, held = is_held(view), running = session_turn_running(view->session);
    int label = wide ? 13 : 7, remark_room = wide ? 11 : 2, number_room = wide ? 15 : 13;
    int bar = in.cols - label - number_room - remark_room - 1;
    enum look look = look_of(&reading);
    canvas_str(canvas, in, row, 1, LOOK_TEXT, wide ? reading.gauge->name : reading.gauge->brief);
    add_numbers(&numbers, &reading, !wide);
    if (wide)
        add_remark(&remark, &reading, wall_ms(view), held, running);
    else if (reading.share >= GAUGE_NEAR)
        strbuf_addch(&remark, '!');
    bar = bar > 24 ? 24 : bar;
    if (bar >= 4 && !isnan(reading.share) && !reading.unknown)
        paint_bar(canvas, in, row, label, bar, &reading, held);
    int behind = label + (bar >= 4 ? bar : 0) + number_room;
    int columns = canvas_columns(canvas, numbers.buf, numbers.len);
    canvas_str(canvas, in, row, behind - columns > label ? behind - columns : label, LOOK_TEXT, numbers.buf);
    if (wide)
        canvas_right(canvas, in, row, 1, look == LOOK_GAUGE ? LOOK_DIM : look, remark.buf);
    else
        canvas_str(canvas, in, row, behind + 1, look, remark.buf);
}

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    (void)rows;
    strbuf_addf(&words, "%s %s", gauges[row].name, gauges[row].brief);
    *bytes += words.len;
    return filter_text_fits(filter, words.buf, words.len);
}

static void budget_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    (void)pane;
    rows->total = rows->settled = session_turn(view->session) ? COUNT_OF(gauges) : 0;
    rows->fits = row_fits;
}

static void budget_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside,
                         bool focused)
{
    pane->height = inside.rows;
    pane->width = inside.cols;
    pane_update(pane, view, inside.rows);
    if (!pane->list.count) {
        if (!pane_paint_nothing(pane, canvas, inside, "limit")) {
            canvas_str(canvas, inside, 0, 1, LOOK_DIM, "No turn yet.");
            canvas_str(canvas, inside, 1, 1, LOOK_DIM, "Its limits appear here.");
        }
        return;
    }
    for (int row = 0; row < inside.rows && pane->list.top + (size_t)row < pane->list.count; row++) {
        size_t at = pane->list.top + (size_t)row;
        paint_gauge(view, canvas, inside, row, pane_row(pane, at));
        text_match_show(canvas, rect_make(inside.row + row, inside.col, 1, inside.cols), pane->search_text);
        if (focused && at == pane->list.cursor) {
            canvas_tint(canvas, rect_make(inside.row + row, inside.col, 1, inside.cols), LOOK_SELECT);
            canvas_put_sign(canvas, inside, row, 0, LOOK_SELECT, SIGN_POINTER);
        }
    }
}

/* Adds the fullest gauge, if it is high enough to mention. */
static void budget_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    struct budget_reading most = {.share = GAUGE_NEAR};
    if (!session_turn(view->session))
        return;
    if (pane_is_filtered(pane)) {
        pane_note(pane, view, out, NULL, NULL);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(gauges); i++) {
        struct budget_reading reading = read_gauge(view, i);
        if (reading.share >= most.share)
            most = reading;
    }
    if (most.gauge)
        strbuf_addf(out, "! %s %.0f %%", most.gauge->name, floor(most.share * 100));
}

const char *pane_budget_selected(struct pane *pane, const struct view *view, int *key)
{
    size_t row = pane_cursor_row(pane, view);
    if (row == SIZE_MAX)
        return NULL;
    *key = (int)gauges[row].key;
    return gauges[row].name;
}

/* Selects the newest event with usage, so that the inspector shows the exact numbers. */
static struct selection budget_selected(struct pane *pane, const struct view *view)
{
    uint32_t seq = view->session->budget.charged_seq;
    (void)pane;
    return (struct selection){seq ? SELECT_EVENT : SELECT_NOTHING, seq, SESSION_NONE};
}

static void budget_click(struct pane *pane, const struct view *view, int row, int col)
{
    (void)view;
    (void)col;
    list_select(&pane->list, pane->list.top + (size_t)(row > 0 ? row : 0), pane->height);
}

const struct pane_ops pane_budget = {
    .number = 5,
    .name = "budget",
    .size = sizeof(struct pane),
    .init = budget_init,
    .note = budget_note,
    .paint = budget_paint,
    .selected = budget_selected,
    .rows = budget_rows,
    .texts = true,
    .click = budget_click,
};
