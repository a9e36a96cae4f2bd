/* A question about something that cannot be taken back lightly. y does it, n does not; Enter and Space never do. */

#include "base/mem.h"
#include "dialog.h"
#include "text.h"
#include <string.h>

#define WIDTH 64

struct confirm {
    struct dialog dialog;
    char *question;
    void (*yes)(struct ui *ui, void *data);
    void *data;
};

static void confirm_release(struct dialog *dialog)
{
    free(((struct confirm *)dialog)->question);
}

static int wrapped(const char *question, int width, struct strbuf *out)
{
    int rows = 0;
    text_wrap(out, question, strlen(question), 0, (size_t)(width > 8 ? width : 8));
    for (size_t i = 0; i < out->len; i++)
        rows += out->buf[i] == '\n';
    return rows;
}

static struct rect confirm_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)view;
    int width = WIDTH < cols - 4 ? WIDTH : cols - 4;
    int lines = wrapped(((struct confirm *)dialog)->question, width - 4, &text);
    return dialog_center(rows, cols, lines + 5, width);
}

static void confirm_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    (void)ui;
    (void)view;
    wrapped(((struct confirm *)dialog)->question, inside.cols - 2, &text);
    int row = 0;
    for (const char *line = text.buf; *line; row++) {
        size_t len = strcspn(line, "\n");
        canvas_text(canvas, inside, row, 1, LOOK_STRONG, line, len);
        line += len + (line[len] == '\n');
    }
    int at = 1 + canvas_str(canvas, inside, row + 1, 1, LOOK_FOOTER_KEY, "y");
    at += canvas_str(canvas, inside, row + 1, at, LOOK_TEXT, " yes    ");
    at += canvas_str(canvas, inside, row + 1, at, LOOK_FOOTER_KEY, "n");
    canvas_str(canvas, inside, row + 1, at, LOOK_TEXT, " no");
}

static bool confirm_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    struct confirm *confirm = (struct confirm *)dialog;
    (void)view;
    (void)action;
    if (key->ctrl || key->alt)
        return false;
    if (key->code == 'y') {
        void (*yes)(struct ui *, void *) = confirm->yes;
        void *data = confirm->data;
        ui_close_dialog(ui);
        yes(ui, data);
        return true;
    }
    if (key->code == 'n') {
        ui_close_dialog(ui);
        return true;
    }
    return false;
}

static const char *confirm_title(struct dialog *dialog, const struct view *view)
{
    (void)dialog;
    (void)view;
    return "sure?";
}

static const char *confirm_footer(struct dialog *dialog, const struct view *view)
{
    (void)dialog;
    (void)view;
    return "y yes   n no   Esc no";
}

static const struct dialog_ops confirm_ops = {.name = "confirm",
                                              .size = sizeof(struct confirm),
                                              .release = confirm_release,
                                              .place = confirm_place,
                                              .paint = confirm_paint,
                                              .key = confirm_key,
                                              .title = confirm_title,
                                              .footer = confirm_footer};

struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *data), void *data)
{
    struct confirm *confirm = (struct confirm *)dialog_alloc(&confirm_ops);
    confirm->question = xstrdup(question);
    confirm->yes = yes;
    confirm->data = data;
    return &confirm->dialog;
}
