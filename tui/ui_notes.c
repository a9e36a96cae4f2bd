/* What is said beside the panes: a message over the line above the footer, how long work goes on, the hint under the
 * first line.
 *
 * A message has as many rows as its words need. It leaves with the next key, or by itself once there was time to read
 * it: ui_due says when, so the program has a timer while there is something to leave and none otherwise. What went
 * wrong stays until a key: whoever looked away must still find it. */

#include "base/redact.h"
#include "flow.h"
#include "ui_inside.h"
#include <string.h>

#define LOOK_AT_US 4000000 /* to notice it */
#define READ_US    60000   /* a character */
#define ROWS_LEAST 2

void ui_say(struct ui *ui, enum look role, const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    free(ui->message);
    ui->message = redact_copy(text.buf);
    strbuf_release(&text);
    ui->message_look = role;
    ui->message_due_us = 0;
}

void ui_unsay(struct ui *ui)
{
    free(ui->message);
    ui->message = NULL;
    ui->message_due_us = 0;
}

void ui_clock(struct ui *ui, int64_t now_us)
{
    ui->now_us = now_us;
    if (!ui->message || ui->message_look == LOOK_ERROR)
        return;
    if (!ui->message_due_us)
        ui->message_due_us = now_us + LOOK_AT_US + (int64_t)strlen(ui->message) * READ_US;
    if (now_us >= ui->message_due_us)
        ui_unsay(ui);
}

int64_t ui_now_us(const struct ui *ui)
{
    return ui->now_us;
}

bool ui_too_new(const struct ui *ui, int64_t since_us)
{
    return ui->now_us - since_us < ui->grace_us;
}

int64_t ui_due(const struct ui *ui)
{
    int64_t message = ui->message ? ui->message_due_us : 0, question = ui->fresh ? ui->seen_us + ui->grace_us : 0;
    return message && question ? (message < question ? message : question) : message + question;
}

void ui_hint(struct ui *ui, const char *text)
{
    char *copy = text ? xstrdup(text) : NULL;
    free(ui->hint);
    ui->hint = copy;
}

void ui_progress(struct ui *ui, const char *what, size_t done, size_t total)
{
    char *copy = what ? xstrdup(what) : NULL;
    free(ui->progress);
    ui->progress = copy;
    ui->progress_done = done;
    ui->progress_total = total;
}

void ui_hint_paint(struct ui *ui, struct canvas *canvas)
{
    struct rect rect = ui->layout.hint;
    if (rect.rows < 1 || !ui->hint)
        return;
    canvas_fill(canvas, rect, LOOK_HINT);
    flow_paint(canvas, rect_make(rect.row, rect.col, rect.rows, rect.cols - 1), 0, 1, LOOK_HINT, ui->hint);
}

int ui_note_paint(struct canvas *canvas, int bottom, enum look look, const char *text)
{
    int most = canvas->rows / 4 > ROWS_LEAST ? canvas->rows / 4 : ROWS_LEAST;
    int rows = flow_rows(canvas, text, canvas->cols - 2);
    rows = rows < most ? rows : most;
    struct rect rect = rect_make(bottom - rows, 0, rows, canvas->cols);
    canvas_fill(canvas, rect, look);
    return flow_paint(canvas, rect_make(rect.row, 0, rows, canvas->cols - 1), 0, 1, look, text);
}

void ui_message_paint(struct ui *ui, struct canvas *canvas, int bottom)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    enum look role = ui->message_look;
    if (ui->message) {
        /* The role alone would be colour alone. */
        strbuf_addf(&text, "%s%s", role == LOOK_ERROR ? "error: " : role == LOOK_WARN ? "! " : "", ui->message);
    } else if (ui->progress && ui->progress_total > ui->progress_done) {
        strbuf_addf(&text, "%s  %zu %%  ", ui->progress, ui->progress_done * 100 / ui->progress_total);
        role = LOOK_HINT;
    } else {
        return;
    }
    ui_note_paint(canvas, bottom, role, text.buf);
}
