/* Paints a frame, back to front: panes, dialogs, the input line or the message, and last the footer, which shows the
 * keys of the part that has the focus. */

#include "status.h"
#include "ui_internal.h"
#include <stdio.h>
#include <string.h>

#define SLOW_US 100000 /* a shorter comparison is not shown */

static bool hides_question(const struct ui *ui, const struct view *view)
{
    return view_question(view) && ui->zoom && ui->focus != pane_write.number;
}

/* While a question is open, the hint is about that question. If the question is not visible, the hint is left out,
 * because it would name keys that are refused. */
static struct layout make_layout(const struct ui *ui, const struct view *view, int rows, int cols)
{
    struct layout_input input = {.rows = rows,
                                 .cols = cols,
                                 .focus = ui->focus,
                                 .zoom = ui->zoom,
                                 .workspace = ui->workspace,
                                 .write = view_asks(view) || ui->focus == 6,
                                 .timeline = view->mode == VIEW_REPLAY,
                                 .hint = ui->hint && !hides_question(ui, view)};
    return layout_make(&input);
}

/* Two panes share an area, so the title of one also names the other. The workspace is named only when it has content,
 * the waves always, because they were there first. */
static void add_neighbor(char *title, size_t room, const struct view *view, int number)
{
    const struct pane_ops *other = number == pane_waves.number       ? &pane_workspace
                                   : number == pane_workspace.number ? &pane_waves
                                                                     : NULL;
    size_t len = strlen(title);
    if (other && (other == &pane_waves || view->session->workspace_count) && len < room)
        snprintf(title + len, room - len, " (%d %s)", other->number, other->name);
}

static void paint_pane(struct ui *ui, const struct view *view, struct canvas *canvas, int number)
{
    struct pane *pane = ui->panes[number];
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    char title[64];
    bool focused = ui->focus == number;
    struct rect rect = ui->layout.panes[number];
    struct rect inside = rect_inset(rect, 1);
    pane->height = inside.rows > 0 ? inside.rows : 0;
    pane->width = inside.cols > 0 ? inside.cols : 0;
    /* Paint the pane before its frame, because the frame's note may show which part is visible. */
    pane->ops->paint(pane, view, canvas, rect_make(inside.row, inside.col, pane->height, pane->width), focused);
    if (pane->ops->note)
        pane->ops->note(pane, view, &note);
    snprintf(title, sizeof(title), "%d %s", number, pane->ops->name);
    if (ui->layout.shared)
        add_neighbor(title, sizeof(title), view, number);
    canvas_frame(canvas, rect, title, note.buf, focused && !(ui->dialog && !ui->dialog->ops->through));
}

static void paint_dialog(struct ui *ui, const struct view *view, struct canvas *canvas, struct dialog *dialog)
{
    if (!dialog)
        return;
    paint_dialog(ui, view, canvas, dialog->below);
    struct rect rect = dialog_place(dialog, view, canvas->rows, canvas->cols);
    canvas_fill(canvas, rect, LOOK_MODAL);
    const char *title = dialog->ops->title_of ? dialog->ops->title_of(dialog) : dialog->title;
    struct rect inside = canvas_frame(canvas, rect, title, NULL, dialog == ui->dialog);
    dialog->height = inside.rows;
    dialog->width = inside.cols;
    dialog->ops->paint(dialog, canvas, inside);
}

static void paint_timeline(struct ui *ui, const struct view *view, struct canvas *canvas)
{
    struct rect rect = ui->layout.timeline;
    size_t columns = rect.rows > 0 ? (size_t)statusline_timeline_columns(rect) : 0;
    unsigned char *marks = xcalloc(columns + 1, 1);
    if (rect.rows > 0) {
        if (ui->host->marks)
            ui->host->marks(ui->host, columns, marks);
        statusline_timeline(canvas, rect, view, marks);
    }
    free(marks);
}

static void paint_footer(struct ui *ui, const struct view *view, struct canvas *canvas)
{
    struct write_choice choice = {0};
    struct statusline_keys keys = {.keymap = ui->keymap, .contexts = ui_contexts(ui, view), .zoomed = ui->zoom};
    keys.tree = ui_pane(ui)->ops == &pane_workspace;
    if (view_question(view) && pane_write_choice(ui->panes[6], view, &choice))
        keys.choice = &choice;
    choice.fresh = ui->fresh;
    choice.hidden = ui->layout.panes[6].rows <= 0;
    if (ui->dialog && !(ui->dialog->ops->through && ui->line != LINE_NONE))
        keys.words = ui->dialog->ops->footer_of ? ui->dialog->ops->footer_of(ui->dialog) : ui->dialog->footer;
    else if (ui->line != LINE_NONE)
        keys.words = ui_line_footer(ui);
    else if (view_question(view) && view_question(view)->revising)
        keys.words = "Comparing your version.   n deny";
    statusline_footer(canvas, ui->layout.footer, view, &keys);
}

static bool covers_all(const struct ui *ui, const struct view *view, const struct canvas *canvas)
{
    for (struct dialog *dialog = ui->dialog; dialog; dialog = dialog->below) {
        struct rect rect = dialog_place(dialog, view, canvas->rows, canvas->cols);
        if (rect.row <= 0 && rect.col <= 0 && rect.rows >= canvas->rows - 1 && rect.cols >= canvas->cols)
            return true;
    }
    return false;
}

/* Notes which question this frame shows, and whether it was visible long enough to be answered. */
static void see_question(struct ui *ui, const struct view *view)
{
    ui->rendered[0] = '\0';
    ui->fresh = false;
    ui_name_question(ui->framed, view);
    if (!ui->framed[0] || ui->layout.too_small || ui->dialog || ui->layout.panes[6].rows <= 0)
        return;
    /* A new version of the user's edit does not restart the delay, unless the comparison was so slow that the user may
     * be typing something else. */
    const struct question *question = view_question(view);
    bool slow = !question->revising && ui->compared_us && ui->now_us - ui->compared_us > SLOW_US;
    if (slow || strncmp(ui->framed, ui->seen, strcspn(ui->framed, ".") + 1) != 0)
        ui->seen_us = ui->now_us;
    ui->compared_us = !question->revising ? 0 : ui->compared_us ? ui->compared_us : ui->now_us;
    memcpy(ui->seen, ui->framed, sizeof(ui->seen));
    ui->fresh = ui->now_us - ui->seen_us < ui->grace_us;
    if (!ui->fresh)
        memcpy(ui->rendered, ui->framed, sizeof(ui->rendered));
}

void ui_render(struct ui *ui, const struct view *view, struct canvas *canvas)
{
    struct rect all = rect_make(0, 0, canvas->rows, canvas->cols);
    ui->rows = canvas->rows;
    ui->cols = canvas->cols;
    ui_notice(ui, view);
    canvas_clear(canvas);
    canvas->cursor_row = canvas->cursor_col = -1;
    ui->workspace = ui->focus == pane_workspace.number || (ui->workspace && ui->focus != pane_waves.number);
    ui->layout = make_layout(ui, view, canvas->rows, canvas->cols);
    see_question(ui, view);
    if (ui->layout.too_small) {
        canvas_printf(canvas, all, 0, 0, LOOK_WARN, "keyturn needs %dx%d; this is %dx%d", LAYOUT_COLS_MIN,
                      LAYOUT_ROWS_MIN, canvas->cols, canvas->rows);
        view_frame_end(view);
        return;
    }
    if (!covers_all(ui, view, canvas)) {
        statusline_top(canvas, ui->layout.status, view, ui->fresh);
        paint_timeline(ui, view, canvas);
        ui_hint_paint(ui, canvas);
        for (int i = 1; i <= PANE_COUNT; i++)
            if (ui->layout.panes[i].rows > 0)
                paint_pane(ui, view, canvas, i);
    }
    paint_dialog(ui, view, canvas, ui->dialog);
    if (ui->line != LINE_NONE)
        ui_line_paint(ui, canvas, ui->layout.footer, view);
    else
        ui_message_paint(ui, canvas, ui->layout.footer.row);
    paint_footer(ui, view, canvas);
    view_frame_end(view);
}

void ui_presented(struct ui *ui, const struct view *view)
{
    memcpy(ui->presented, ui->rendered, sizeof(ui->presented));
    ui_step_follow(ui, view);
}
