/* The waves pane: which calls ran when, in parallel or one after the other.
 *
 * Each step has its own zero, the moment the model answered. All visible rows share one scale, which the first row
 * shows. The model's own time is a text and not a bar, because its length would make all other bars invisible. Time at
 * a question is hatched, shown as text, and cut out of the axis. Idle time at a gate is cut out too. */

#include "base/mem.h"
#include "call_row.h"
#include "event/words.h"
#include "pane.h"
#include "screen/text.h"
#include "wave_rows.h"
#include <string.h>

#define LABEL_ROOM    11 /* columns after the axis for texts */
#define HELD_OPEN     8  /* columns of an open question */
#define HELD_PAST     2
#define HELD_LEAST_US 50000 /* a shorter wait is not shown once it is over */

struct waves_pane {
    struct pane pane;
    struct wave_rows rows;
    uint32_t slowest_turn, slowest; /* the slowest call of this turn, as of … */
    uint32_t slowest_finished;
    int ruler;     /* rows above the first, when last painted */
    int64_t scale; /* microseconds across the axis, when last painted */
};

/* State while rows are painted. */
struct waves_sheet {
    const struct view *view;
    struct canvas *canvas;
    struct rect in;
    int sign, number, name, bars; /* first columns of the parts */
    int digits;                   /* of the largest call number */
    int axis;                     /* columns of the time axis */
    int64_t scale;
    struct wave_axis now; /* of the step being painted */
    bool has_axis;
    uint32_t slowest;
};

static void waves_init(struct pane *pane)
{
    struct waves_pane *waves = (struct waves_pane *)pane;
    list_init(&pane->list, true);
    waves->slowest = SESSION_NONE;
    waves->slowest_turn = SESSION_NONE;
}

static void waves_release(struct pane *pane)
{
    wave_rows_release(&((struct waves_pane *)pane)->rows);
}

/* The smallest 1, 2 or 5 times a power of ten that is at least `span`. */
static int64_t round_up(int64_t span)
{
    int64_t power = 1;
    while (power <= span / 10)
        power *= 10;
    int64_t steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (steps[i] * power >= span)
            return steps[i] * power;
    return 10 * power;
}

static void add_time(struct strbuf *out, int64_t us)
{
    if (us < 1000)
        strbuf_addf(out, "%.2f ms", (double)us / 1000);
    else if (us < 10000)
        strbuf_addf(out, "%.1f ms", (double)us / 1000);
    else
        text_ms(out, us / 1000);
}

static void add_clock(struct strbuf *out, int64_t us)
{
    int64_t seconds = us / 1000000;
    strbuf_addf(out, "%02lld:%02lld", (long long)(seconds / 60), (long long)(seconds % 60));
}

static void use_axis(struct waves_sheet *sheet, uint32_t wave)
{
    const struct session *session = sheet->view->session;
    if (!sheet->has_axis || sheet->now.step != session->waves[wave].step)
        wave_axis_make(&sheet->now, session, wave, sheet->view->now_t);
    sheet->has_axis = true;
}

static int column_of(const struct waves_sheet *sheet, int64_t at)
{
    int64_t column = sheet->scale > 0 ? at * sheet->axis / sheet->scale : 0;
    return (int)(column < sheet->axis ? column : sheet->axis);
}

/* ---- a row of text ---- */

static void add_model(struct strbuf *out, const struct view *view, const struct session_step *step)
{
    int64_t end = step->responded_seq ? step->responded_t : view->now_t;
    bool left = !step->responded_seq && view->session->turns[step->turn].finished_seq;
    strbuf_addstr(out, "┄ model ");
    if (left)
        strbuf_addstr(out, step->first_delta_seq ? "interrupted" : "no answer");
    else
        add_time(out, end > step->requested_t ? end - step->requested_t : 0);
    strbuf_addf(out, "%s ┄", step->responded_seq || left ? "" : ", waiting");
}

static void paint_model(struct waves_sheet *sheet, int row, uint32_t index)
{
    const struct session_step *step = &sheet->view->session->steps[index];
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    add_model(&text, sheet->view, step);
    int col = 3 + canvas_str(sheet->canvas, sheet->in, row, 3, LOOK_WAVE_GAP, text.buf);
    canvas_printf(sheet->canvas, sheet->in, row, col + 1, LOOK_DIM, "step %u", step->number);
}

static void paint_turn(struct waves_sheet *sheet, int row, uint32_t index)
{
    canvas_printf(sheet->canvas, sheet->in, row, 1, LOOK_STRONG, "turn %u", sheet->view->session->turns[index].number);
}

static void paint_why(struct waves_sheet *sheet, int row, uint32_t index)
{
    const struct session *session = sheet->view->session;
    CLEANUP(strbuf) struct strbuf why = STRBUF_INIT;
    words_wave_end(&why, session, session->waves[index].why, session->turns[session->waves[index].turn].number);
    int col = 3 + canvas_put_sign(sheet->canvas, sheet->in, row, 3, LOOK_DIM, SIGN_CORNER);
    col += canvas_str(sheet->canvas, sheet->in, row, col, LOOK_DIM, " ends: ");
    canvas_cut(sheet->canvas, sheet->in, row, col, LOOK_DIM, why.buf, why.len);
}

/* ---- a call ---- */

/* A call that is done has no look of its own, so the look of its bar marks the slowest one. */
static enum look look_of(const struct session_call *call, bool slowest)
{
    enum look look = call_row_look(call);
    return look != LOOK_CALL_DONE ? look : slowest ? LOOK_WAVE_SLOWEST : LOOK_WAVE_BAR;
}

/* Paints the bar between two times of the axis; returns the column after it. */
static int paint_bar(struct waves_sheet *sheet, int row, int64_t from, int64_t to, enum look look)
{
    int first = column_of(sheet, from), last = column_of(sheet, to);
    if (first >= sheet->axis)
        first = sheet->axis - 1;
    if (last <= first) {
        canvas_put_sign(sheet->canvas, sheet->in, row, sheet->bars + first, look, SIGN_HALF);
        return first + 1;
    }
    for (int col = first; col < last; col++)
        canvas_put_sign(sheet->canvas, sheet->in, row, sheet->bars + col, look, SIGN_BLOCK);
    int64_t half = sheet->axis > 0 ? sheet->scale / sheet->axis / 2 : 0;
    if (last < sheet->axis && column_of(sheet, to + half) > last)
        canvas_put_sign(sheet->canvas, sheet->in, row, sheet->bars + last++, look, SIGN_HALF);
    return last;
}

static void add_word(struct strbuf *out, const char *word)
{
    if (out->len)
        strbuf_addch(out, ' ');
    strbuf_addstr(out, word);
}

/* The idle time that was cut out right before the call began. */
static int64_t idle_before(const struct waves_sheet *sheet, const struct session_call *call)
{
    for (size_t i = 0; i < sheet->now.cut_count; i++)
        if (sheet->now.cuts[i].idle && sheet->now.cuts[i].to == call->started_t)
            return sheet->now.cuts[i].to - sheet->now.cuts[i].from;
    return 0;
}

/* Adds what the bar cannot show. */
static void add_words(struct strbuf *out, const struct waves_sheet *sheet, const struct session_call *call,
                      int64_t held)
{
    const struct session *session = sheet->view->session;
    bool asks = call->state == CALL_WAITING && !call->finished_seq;
    if (asks || held >= HELD_LEAST_US) {
        add_word(out, asks ? "waiting " : "waited ");
        if (asks)
            add_clock(out, held);
        else
            add_time(out, held);
    }
    int64_t idle = idle_before(sheet, call);
    if (idle > 0) {
        add_word(out, "after ");
        add_time(out, idle);
    }
    if (call->state == CALL_RUNNING) {
        int64_t ran = wave_call_ran(session, call, sheet->view->now_t);
        add_word(out, "running");
        if (ran >= 1000) {
            strbuf_addch(out, ' ');
            add_time(out, ran);
        }
    }
    char state[WORDS_STATE_MAX];
    if (call->state == CALL_FAILED || call->state == CALL_DENIED || call->state == CALL_SKIPPED ||
        call->state == CALL_TIMED_OUT || call->program_end)
        add_word(out, words_call_state(call, state));
    if (call->late)
        add_word(out, "late");
    if (call == &session->calls[sheet->slowest < session->call_count ? sheet->slowest : 0] &&
        sheet->slowest != SESSION_NONE)
        add_word(out, "slowest");
}

static void paint_not_started(struct waves_sheet *sheet, int row, const struct session_call *call)
{
    const struct session *session = sheet->view->session;
    bool here = session->held_gate && session->held_call && session->held_call == call->id;
    char state[WORDS_STATE_MAX];
    const char *word = here ? "paused here" : words_call_state(call, state);
    canvas_str(sheet->canvas, sheet->in, row, sheet->bars, here ? LOOK_WAVE_HELD : look_of(call, false), word);
}

static void paint_call(struct waves_sheet *sheet, int row, uint32_t index, uint32_t wave_index, bool first_shown)
{
    const struct session *session = sheet->view->session;
    if (index >= session->call_count)
        return;
    const struct session_call *call = &session->calls[index];
    const struct session_wave *wave = &session->waves[wave_index];
    const char *tool = session_name(session, call->tool);
    if (first_shown) {
        uint32_t first = session->turns[wave->turn].first_wave;
        canvas_printf(sheet->canvas, sheet->in, row, 1, LOOK_DIM, "%u", wave_index - first + 1);
        canvas_put_sign(sheet->canvas, sheet->in, row, sheet->sign, LOOK_WAVE_BAR,
                        wave->parallel ? SIGN_PARALLEL : SIGN_SINGLE);
    }
    canvas_printf(sheet->canvas, sheet->in, row, sheet->number, LOOK_DIM, "%*u", sheet->digits, index + 1);
    struct rect names = rect_make(sheet->in.row, sheet->in.col, sheet->in.rows, sheet->bars - 1);
    call_row_paint_name(sheet->canvas, names, row, sheet->name, look_of(call, false), tool);
    if (!call->started_seq) {
        paint_not_started(sheet, row, call);
        return;
    }
    use_axis(sheet, wave_index);
    int64_t end = wave_call_end(session, call, sheet->view->now_t);
    int64_t held = wave_call_held(session, call, sheet->view->now_t);
    bool asks = call->state == CALL_WAITING && !call->finished_seq;
    enum look look = look_of(call, index == sheet->slowest);
    int behind =
        paint_bar(sheet, row, wave_axis_at(&sheet->now, call->started_t), wave_axis_at(&sheet->now, end), look);
    const struct session_question *ask = asks || held >= HELD_LEAST_US ? wave_last_question(session, call) : NULL;
    for (; ask; ask = wave_ask_before(session, ask)) {
        int col = column_of(sheet, wave_axis_at(&sheet->now, ask->proposed_t));
        for (int i = 0; i < (ask->decided_seq || !asks ? HELD_PAST : HELD_OPEN); i++, col++)
            canvas_put_sign(sheet->canvas, sheet->in, row, sheet->bars + col, LOOK_WAVE_HELD, SIGN_BAR_HELD);
        behind = behind > col ? behind : col;
    }
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    add_words(&words, sheet, call, held);
    /* The text may cover the end of a bar. */
    int col = sheet->bars + behind + 1, last = sheet->in.cols - canvas_columns(sheet->canvas, words.buf, words.len) - 1;
    if (col >= last && last >= sheet->bars + 1) {
        col = last;
        canvas_str(sheet->canvas, sheet->in, row, col - 1, LOOK_TEXT, " ");
    }
    canvas_str(sheet->canvas, sheet->in, row, col, index == sheet->slowest ? LOOK_WAVE_SLOWEST : LOOK_DIM, words.buf);
}

/* ---- the rows ---- */

static bool row_fits(const struct row_filter_rows *rows, const struct filter *filter, size_t row, size_t *bytes)
{
    struct waves_pane *waves = rows->owner;
    const struct session *session = rows->view->session;
    struct waverow what = wave_rows_at(&waves->rows, session, row);
    if (what.kind == WAVEROW_CALL)
        return what.index < session->call_count && call_row_fits(rows->view, what.index, filter, bytes);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (what.kind == WAVEROW_TURN)
        strbuf_addf(&words, "turn %u", session->turns[what.index].number);
    else if (what.kind == WAVEROW_MODEL)
        add_model(&words, rows->view, &session->steps[what.index]);
    else
        words_wave_end(&words, session, session->waves[what.index].why,
                       session->turns[session->waves[what.index].turn].number);
    *bytes += 1024;
    return filter_text_fits(filter, words.buf, words.len);
}

static void waves_rows(struct pane *pane, const struct view *view, struct row_filter_rows *rows)
{
    struct waves_pane *waves = (struct waves_pane *)pane;
    wave_rows_update(&waves->rows, view->session);
    rows->total = wave_rows_count(&waves->rows);
    rows->settled = pane->rows_filter.filtered ? wave_rows_settled(&waves->rows, view->session) : 0;
    rows->fits = row_fits;
}

static struct waverow waverow_at(const struct waves_pane *waves, const struct session *session, size_t index)
{
    return wave_rows_at(&waves->rows, session, pane_row(&waves->pane, index));
}

/* ---- the pane ---- */

static void paint_ruler(struct waves_sheet *sheet, struct rect in)
{
    CLEANUP(strbuf) struct strbuf half = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf full = STRBUF_INIT;
    canvas_str(sheet->canvas, in, 0, 1, LOOK_DIM, "wave");
    canvas_str(sheet->canvas, in, 0, sheet->bars, LOOK_DIM, "0");
    add_time(&half, sheet->scale / 2);
    add_time(&full, sheet->scale);
    if (sheet->axis >= 16)
        canvas_str(sheet->canvas, in, 0, sheet->bars + sheet->axis / 2, LOOK_DIM, half.buf);
    canvas_str(sheet->canvas, in, 0, sheet->bars + sheet->axis, LOOK_DIM, full.buf);
}

/* One scale for all visible rows. */
static int64_t scale_of(struct waves_pane *waves, const struct view *view, int height)
{
    const struct session *session = view->session;
    struct wave_axis axis = {.step = SESSION_NONE};
    int64_t span = 1000;
    for (size_t row = waves->pane.list.top; row < waves->pane.list.top + (size_t)height && row < waves->pane.list.count;
         row++) {
        struct waverow what = waverow_at(waves, session, row);
        if (what.kind != WAVEROW_CALL || session->waves[what.wave].step == axis.step)
            continue;
        wave_axis_make(&axis, session, what.wave, view->now_t);
        span = axis.span > span ? axis.span : span;
    }
    return round_up(span);
}

static uint32_t find_slowest(struct waves_pane *waves, const struct view *view)
{
    const struct session *session = view->session;
    struct waverow what = waverow_at(waves, session, waves->pane.list.cursor);
    uint32_t turn = what.kind == WAVEROW_TURN    ? what.index
                    : what.kind == WAVEROW_MODEL ? session->steps[what.index].turn
                                                 : session->waves[what.wave].turn;
    uint32_t finished = session->counts[EVENT_TOOL_FINISHED];
    if (turn != waves->slowest_turn || finished != waves->slowest_finished)
        waves->slowest = wave_slowest(session, turn);
    waves->slowest_turn = turn;
    waves->slowest_finished = finished;
    return waves->slowest;
}

static int digits_of(uint32_t number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* Sets the columns: wave, sign, call, name, bar. Names get a quarter of the width. */
static void arrange(struct waves_sheet *sheet)
{
    const struct session *session = sheet->view->session;
    int name = sheet->in.cols / 4;
    name = name < 8 ? 8 : name > 14 ? 14 : name;
    sheet->digits = digits_of(session->call_count);
    sheet->sign = 2 + digits_of(session->wave_count);
    sheet->number = sheet->sign + 2;
    sheet->name = sheet->number + sheet->digits + 1;
    sheet->bars = sheet->name + name + 1;
    sheet->axis = sheet->in.cols - sheet->bars - LABEL_ROOM;
    sheet->axis = sheet->axis < 8 ? 8 : sheet->axis;
}

static void waves_paint(struct pane *pane, const struct view *view, struct canvas *canvas, struct rect inside,
                        bool focused)
{
    struct waves_pane *waves = (struct waves_pane *)pane;
    bool ruler = inside.rows >= 4;
    struct rect in = rect_make(inside.row + ruler, inside.col, inside.rows - ruler, inside.cols);
    waves->ruler = ruler;
    pane->height = in.rows;
    pane->width = in.cols;
    pane_update(pane, view, in.rows);
    if (!pane->list.count) {
        if (!pane_paint_nothing(pane, canvas, inside, "wave")) {
            canvas_str(canvas, inside, 0, 1, LOOK_DIM, "No calls yet.");
            canvas_str(canvas, inside, 1, 1, LOOK_DIM, "Each wave of tool calls gets its bars here.");
        }
        return;
    }
    struct waves_sheet sheet = {.view = view, .canvas = canvas, .in = in};
    arrange(&sheet);
    sheet.scale = waves->scale = scale_of(waves, view, in.rows);
    sheet.slowest = find_slowest(waves, view);
    if (ruler)
        paint_ruler(&sheet, inside);
    uint32_t wave = SESSION_NONE; /* wave of the row above; the first visible row shows its wave */
    for (int row = 0; row < in.rows && pane->list.top + (size_t)row < pane->list.count; row++) {
        size_t at = pane->list.top + (size_t)row;
        struct waverow what = waverow_at(waves, view->session, at);
        if (what.kind == WAVEROW_TURN)
            paint_turn(&sheet, row, what.index);
        else if (what.kind == WAVEROW_MODEL)
            paint_model(&sheet, row, what.index);
        else if (what.kind == WAVEROW_WHY)
            paint_why(&sheet, row, what.index);
        else
            paint_call(&sheet, row, what.index, what.wave, what.wave != wave);
        wave = what.wave;
        if (focused && at == pane->list.cursor) {
            canvas_tint(canvas, rect_make(in.row + row, in.col, 1, in.cols), LOOK_SELECT);
            canvas_put_sign(canvas, in, row, 0, LOOK_SELECT, SIGN_POINTER);
        }
    }
    text_match_show(canvas, in, pane->search_text);
}

static void waves_note(struct pane *pane, const struct view *view, struct strbuf *out)
{
    const struct session_turn *turn = session_turn(view->session);
    if (pane_is_filtered(pane)) {
        pane_note(pane, view, out, "row", "rows");
        return;
    }
    if (!turn || !turn->wave_count)
        return;
    if (view->session->turn_count > 1)
        strbuf_addf(out, "turn %u · ", turn->number);
    text_plural(out, turn->wave_count, "wave", "waves");
}

static struct selection waves_selected(struct pane *pane, const struct view *view)
{
    struct waves_pane *waves = (struct waves_pane *)pane;
    const struct session *session = view->session;
    struct selection selection = {.kind = SELECT_NOTHING, .call = SESSION_NONE};
    size_t row = pane_cursor_row(pane, view);
    if (row == SIZE_MAX)
        return selection;
    struct waverow what = wave_rows_at(&waves->rows, session, row);
    if (what.kind == WAVEROW_CALL && what.index < session->call_count) {
        const struct session_call *call = &session->calls[what.index];
        selection = (struct selection){.kind = SELECT_CALL,
                                       .seq = call->finished_seq  ? call->finished_seq
                                              : call->started_seq ? call->started_seq
                                                                  : call->responded_seq,
                                       .call = what.index};
    } else if (what.kind == WAVEROW_WHY) {
        selection = (struct selection){
            .kind = SELECT_WAVE, .seq = session->waves[what.index].planned_seq, .call = SESSION_NONE};
    } else if (what.kind == WAVEROW_MODEL) {
        const struct session_step *step = &session->steps[what.index];
        selection = (struct selection){.kind = SELECT_EVENT,
                                       .seq = step->responded_seq ? step->responded_seq : step->requested_seq,
                                       .call = SESSION_NONE};
    } else {
        selection = (struct selection){
            .kind = SELECT_EVENT, .seq = session->turns[what.index].started_seq, .call = SESSION_NONE};
    }
    return selection;
}

static void waves_click(struct pane *pane, const struct view *view, int row, int col)
{
    (void)view, (void)col;
    row -= ((struct waves_pane *)pane)->ruler;
    if (row >= 0)
        list_select(&pane->list, pane->list.top + (size_t)row, pane->height);
}

const struct pane_ops pane_waves = {
    .number = 4,
    .name = "waves",
    .size = sizeof(struct waves_pane),
    .init = waves_init,
    .release = waves_release,
    .note = waves_note,
    .paint = waves_paint,
    .selected = waves_selected,
    .rows = waves_rows,
    .click = waves_click,
};
