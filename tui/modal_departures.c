/* Where a run departs from its recording: the list above, the chosen one below, recorded against got. */

#include "base/mem.h"
#include "modal.h"
#include "text.h"
#include "turn/departure.h"
#include <string.h>

#define DETAIL_ROWS 7

static size_t count_of(const struct view *view)
{
    return view->departures ? departures_count(view->departures) : 0;
}

static struct rect departures_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    (void)modal;
    size_t count = count_of(view);
    return modal_center(rows, cols, (int)(count < 24 ? count : 24) + DETAIL_ROWS + 3, 110);
}

static int paint_side(struct canvas *canvas, struct rect in, int row, enum look look, const char *label,
                      const char *text)
{
    CLEANUP(strbuf) struct strbuf wrapped = STRBUF_INIT;
    const char *shown = text ? text : "(nothing)";
    int rows = 0;
    canvas_str(canvas, in, row, 1, LOOK_DIM, label);
    text_wrap(&wrapped, shown, strlen(shown), 0, (size_t)(in.cols > 24 ? in.cols - 14 : 10));
    for (const char *line = wrapped.buf; *line && rows < 3; rows++) {
        size_t len = strcspn(line, "\n");
        canvas_text(canvas, in, row + rows, 12, look, line, len);
        line += len + (line[len] == '\n');
    }
    return rows;
}

static void departures_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                             struct rect inside)
{
    size_t count = count_of(view);
    int rows = inside.rows - DETAIL_ROWS;
    (void)ui;
    struct rect body = rect_make(inside.row, inside.col, rows > 1 ? rows : 1, inside.cols);
    list_update(&modal->list, count, body.rows);
    if (!count) {
        canvas_str(canvas, inside, 0, 1, LOOK_GOOD, "So far everything happened as it was recorded.");
        return;
    }
    for (int i = 0; i < body.rows && modal->list.top + (size_t)i < count; i++) {
        const struct departure *departure = departures_at(view->departures, modal->list.top + (size_t)i);
        if (departure->seq)
            canvas_printf(canvas, body, i, 1, LOOK_DIM, "%6lld", (long long)departure->seq);
        else
            canvas_str(canvas, body, i, 1, LOOK_WARN, "   new");
        int at = 9 + canvas_str(canvas, body, i, 9, LOOK_TEXT, departure->type ? departure->type : "");
        canvas_str(canvas, body, i, at + 2, LOOK_STRONG, departure->field ? departure->field : "");
        modal_select_row(canvas, body, modal, modal->list.top + (size_t)i);
    }
    struct rect detail = rect_make(inside.row + body.rows, inside.col, inside.rows - body.rows, inside.cols);
    const struct departure *chosen = departures_at(view->departures, modal->list.cursor);
    if (chosen && detail.rows > 1) {
        int at = 1 + paint_side(canvas, detail, 1, LOOK_DIFF_REMOVE, "- recorded", chosen->recorded);
        paint_side(canvas, detail, at, LOOK_DIFF_ADD, "+ got", chosen->got);
    }
}

static bool departures_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                           enum action action)
{
    (void)view;
    (void)key;
    (void)ui;
    return list_action(&modal->list, action, modal->height - DETAIL_ROWS);
}

static const char *departures_title(struct modal *modal, const struct view *view)
{
    (void)modal;
    (void)view;
    return "departures from the recording";
}

static const char *departures_footer(struct modal *modal, const struct view *view)
{
    (void)modal;
    (void)view;
    return "Up/Down choose   Esc close";
}

static const struct modal_ops departures_ops = {.name = "departures",
                                                .size = sizeof(struct modal),
                                                .place = departures_place,
                                                .paint = departures_paint,
                                                .key = departures_key,
                                                .title = departures_title,
                                                .footer = departures_footer};

struct modal *modal_departures_new(void)
{
    return modal_alloc(&departures_ops);
}
