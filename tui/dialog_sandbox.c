/* The sandbox that scripts run in: its boxes in a table, the layers that hold them, and what is wrong where none can be
 * started, or with one that could. */

#include "base/mem.h"
#include "dialog.h"
#include "flow.h"
#include "sandboxview.h"
#include <string.h>

#define WIDTH      84
#define LAYERS_COL 22 /* of the table */

static const char *nothing(const struct view *view)
{
    if (view->mode == VIEW_REPLAY)
        return "A recording runs nothing: what its scripts told is in it. A live turn has its sandbox here.";
    return "There is no sandbox: scripts are refused, everything else works. keyturn engines tries each kind and says "
           "what is missing; bubblewrap is the smallest.";
}

static void summary(struct strbuf *out, const struct sandbox_view *sandbox)
{
    const struct pool_status *status = &sandbox->status;
    strbuf_addf(out, "%s: %zu warm, %zu busy, %zu starting, %zu waiting", status->engine, status->idle, status->busy,
                status->starting, status->waiting);
}

static void history(struct strbuf *out, const struct sandbox_view *sandbox)
{
    const struct pool_status *status = &sandbox->status;
    strbuf_addf(out, "%llu served, %llu retired, %llu could not be started", (unsigned long long)status->served,
                (unsigned long long)status->retired, (unsigned long long)status->failed);
}

/* What is to be said below the table; NULL: nothing. */
static const char *remark(const struct sandbox_view *sandbox)
{
    return sandbox->status.trouble ? sandbox->status.trouble : sandbox->status.complaints;
}

/* A box has as many rows as the names of its layers need, so that none is cut. */
static int box_rows(const struct pool_box *box, int cols)
{
    CLEANUP(strbuf) struct strbuf layers = STRBUF_INIT;
    sandbox_view_layers(&layers, box->layers);
    return dialog_rows(layers.buf, cols + 1 - LAYERS_COL);
}

static int rows_of(const struct view *view, int cols)
{
    const struct sandbox_view *sandbox = view->sandbox;
    if (!sandbox)
        return dialog_rows(nothing(view), cols);
    int rows = view->limits ? 5 : 4;
    for (size_t i = 0; i < sandbox->count; i++)
        rows += box_rows(&sandbox->boxes[i], cols);
    return rows + (remark(sandbox) ? 1 + dialog_rows(remark(sandbox), cols) : 0);
}

static struct rect sandbox_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    int width = cols - 4 < WIDTH ? cols - 4 : WIDTH;
    (void)dialog;
    return dialog_center(rows, cols, rows_of(view, width - 4) + 2, width);
}

static int paint_boxes(struct canvas *canvas, struct rect in, int row, const struct sandbox_view *sandbox)
{
    CLEANUP(strbuf) struct strbuf layers = STRBUF_INIT;
    if (!sandbox->count) {
        canvas_str(canvas, in, row, 1, LOOK_DIM,
                   sandbox->status.trouble ? "No box could be started; it is tried again:"
                                           : "No box yet: the first script asks for one.");
        return row + 1;
    }
    canvas_str(canvas, in, row++, 1, LOOK_DIM, "box  state     uses  layers");
    for (size_t i = 0; i < sandbox->count; i++) {
        const struct pool_box *box = &sandbox->boxes[i];
        bool busy = strcmp(box->state, "busy") == 0, warm = strcmp(box->state, "warm") == 0;
        strbuf_reset(&layers);
        sandbox_view_layers(&layers, box->layers);
        canvas_printf(canvas, in, row, 1, LOOK_TEXT, "%3u", box->number);
        canvas_str(canvas, in, row, 6, busy ? LOOK_CALL_RUNNING : warm ? LOOK_GOOD : LOOK_DIM, box->state);
        canvas_printf(canvas, in, row, 16, LOOK_TEXT, "%4u", box->uses);
        row += flow_paint(canvas, rect_make(in.row, in.col + LAYERS_COL, in.rows, in.cols - 1 - LAYERS_COL), row, 0,
                          LOOK_TEXT, layers.buf);
    }
    return row;
}

static void sandbox_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    const struct sandbox_view *sandbox = view->sandbox;
    struct rect text = rect_make(inside.row, inside.col + 1, inside.rows, inside.cols - 2);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    (void)dialog, (void)ui;
    if (!sandbox) {
        flow_paint(canvas, text, 0, 0, LOOK_TEXT, nothing(view));
        return;
    }
    summary(&words, sandbox);
    canvas_str(canvas, inside, 0, 1, LOOK_STRONG, words.buf);
    strbuf_reset(&words);
    history(&words, sandbox);
    canvas_str(canvas, inside, 1, 1, LOOK_DIM, words.buf);
    if (view->limits)
        canvas_printf(canvas, inside, 2, 1, LOOK_DIM, "programs: %s", sandbox_view_limits(view->limits));
    int row = paint_boxes(canvas, inside, view->limits ? 4 : 3, sandbox);
    if (remark(sandbox))
        flow_paint(canvas, rect_make(text.row + row + 1, text.col, text.rows - row - 1, text.cols), 0, 0, LOOK_WARN,
                   remark(sandbox));
}

static bool sandbox_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    (void)dialog, (void)view, (void)key;
    if (action != ACTION_SANDBOX) /* the key that opened it closes it */
        return false;
    ui_close_dialog(ui);
    return true;
}

static const struct dialog_ops sandbox_ops = {.name = "sandbox",
                                              .size = sizeof(struct dialog),
                                              .place = sandbox_place,
                                              .paint = sandbox_paint,
                                              .key = sandbox_key};

struct dialog *dialog_sandbox_new(void)
{
    return dialog_alloc(&sandbox_ops);
}
