/* Where a run departs from its recording: the list above, the chosen one below, recorded against got. */

#include "base/mem.h"
#include "dialog.h"
#include "text.h"
#include "turn/departure.h"
#include "ui.h"
#include <string.h>

#define DETAIL_ROWS 7
#define SEQ_COLS    14
#define TYPE_COLS   17

struct departures_dialog {
    struct dialog dialog;
    struct list_filter filter;
};

static struct list_filter *filter_of(struct dialog *dialog)
{
    return &((struct departures_dialog *)dialog)->filter;
}

static void departures_release(struct dialog *dialog)
{
    list_filter_release(filter_of(dialog));
}

static size_t count_of(const struct view *view)
{
    return view->departures ? departures_count(view->departures) : 0;
}

static const struct departure *chosen_of(struct dialog *dialog, const struct view *view)
{
    size_t row = list_filter_row(filter_of(dialog), dialog->list.cursor);
    return view->departures && row != SIZE_MAX ? departures_at(view->departures, row) : NULL;
}

/* What of the event departs; all of it when the run had one that the recording has not, or the other way round. */
static const char *what_departs(const struct departure *departure)
{
    return departure->unrecorded ? "was not recorded" : departure->got_seq ? departure->field : "did not happen";
}

static void departure_words(const struct view *view, size_t row, struct strbuf *out)
{
    const struct departure *departure = departures_at(view->departures, row);
    strbuf_addf(out, "%s %s %s %s %s", departure->type, what_departs(departure), departure->call ? departure->call : "",
                departure->recorded, departure->got);
}

static struct rect departures_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    (void)dialog;
    size_t count = count_of(view);
    return dialog_center(rows, cols, (int)(count < 24 ? count : 24) + DETAIL_ROWS + 3, 110);
}

static int paint_side(struct canvas *canvas, struct rect in, int row, enum look look, const char *label,
                      const char *text)
{
    CLEANUP(strbuf) struct strbuf wrapped = STRBUF_INIT;
    int rows = 0;
    canvas_str(canvas, in, row, 1, LOOK_DIM, label);
    text_wrap(&wrapped, text, strlen(text), 0, (size_t)(in.cols > 24 ? in.cols - 14 : 10));
    for (const char *line = wrapped.buf; *line && rows < 3; rows++) {
        size_t len = strcspn(line, "\n");
        canvas_text(canvas, in, row + rows, 12, look, line, len);
        line += len + (line[len] == '\n');
    }
    return rows;
}

static void paint_row(struct canvas *canvas, struct rect at, const struct departure *departure)
{
    /* What was not recorded has no number there: it came after the one that is named. */
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%5s %6lld", departure->unrecorded ? "after" : "",
                  (long long)departure->seq);
    canvas_cut(canvas, rect_make(at.row, at.col + SEQ_COLS, 1, TYPE_COLS - 1), 0, 0, LOOK_TEXT, departure->type,
               strlen(departure->type));
    int col = SEQ_COLS + TYPE_COLS;
    if (departure->call)
        col += canvas_text(canvas, at, 0, col, LOOK_DIM, departure->call, strlen(departure->call)) + 1;
    const char *what = what_departs(departure);
    canvas_cut(canvas, at, 0, col, departure->unrecorded || !departure->got_seq ? LOOK_WARN : LOOK_STRONG, what,
               strlen(what));
}

static void departures_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                             struct rect inside)
{
    struct list_filter *filter = filter_of(dialog);
    int rows = inside.rows - DETAIL_ROWS;
    (void)ui;
    struct rect body =
        list_filter_paint(filter, canvas, rect_make(inside.row, inside.col, rows > 2 ? rows : 2, inside.cols));
    size_t count = list_filter_rows(filter, view, count_of(view), departure_words);
    list_update(&dialog->list, count, body.rows);
    if (!count && !list_filter_paint_nothing(filter, canvas, body))
        canvas_str(canvas, body, 0, 1, LOOK_GOOD, "So far everything happened as it was recorded.");
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < count; i++) {
        size_t row = dialog->list.top + (size_t)i;
        paint_row(canvas, rect_make(body.row + i, body.col, 1, body.cols),
                  departures_at(view->departures, list_filter_row(filter, row)));
        dialog_select_row(canvas, body, dialog, row);
    }
    int above = body.row + body.rows - inside.row;
    struct rect detail = rect_make(inside.row + above, inside.col, inside.rows - above, inside.cols);
    const struct departure *chosen = chosen_of(dialog, view);
    if (chosen && detail.rows > 1) {
        int at = 1 + paint_side(canvas, detail, 1, LOOK_DIFF_REMOVE, "- recorded", chosen->recorded);
        paint_side(canvas, detail, at, LOOK_DIFF_ADD, "+ got", chosen->got);
    }
}

static bool departures_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                           enum action action)
{
    if (list_filter_key(filter_of(dialog), dialog, key, action))
        return true;
    const struct departure *chosen = chosen_of(dialog, view);
    if (action == ACTION_INSPECT && chosen && chosen->got_seq) {
        struct selection what = {SELECT_EVENT, chosen->got_seq, SESSION_NONE};
        ui_open_dialog(ui, dialog_inspect_new(view, what));
        return true;
    }
    if (action == ACTION_INSPECT && chosen) {
        ui_say(ui, LOOK_TEXT, "It did not happen in this run: there is no event to show.");
        return true;
    }
    return list_action(&dialog->list, action, dialog->height - DETAIL_ROWS);
}

static const char *departures_footer(struct dialog *dialog, const struct view *view)
{
    return list_filter_footer(filter_of(dialog), count_of(view)
                                                     ? "Up/Down choose   Enter show the event   / search   Esc close"
                                                     : "Esc close");
}

static const struct dialog_ops departures_ops = {.name = "departures",
                                                 .title = "departures from the recording",
                                                 .size = sizeof(struct departures_dialog),
                                                 .release = departures_release,
                                                 .place = departures_place,
                                                 .paint = departures_paint,
                                                 .key = departures_key,
                                                 .footer_of = departures_footer};

struct dialog *dialog_departures_new(void)
{
    struct dialog *dialog = dialog_alloc(&departures_ops);
    list_filter_init(filter_of(dialog));
    return dialog;
}
