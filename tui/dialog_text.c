/* A line, or several, that somebody asked for: a reason, a breakpoint, a prompt. */

#include "base/mem.h"
#include "dialog.h"
#include "flow.h"
#include "input.h"

#define WIDTH      76
#define LINES_MOST 10

struct text {
    struct dialog dialog;
    char *title, *label;
    struct input input;
    void (*done)(struct ui *ui, const char *text, void *data);
    void *data;
    int rows; /* the text would like, when last painted */
};

static void text_release(struct dialog *dialog)
{
    struct text *text = (struct text *)dialog;
    free(text->title);
    free(text->label);
    input_release(&text->input);
}

static struct rect text_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    const struct text *text = (struct text *)dialog;
    (void)view;
    int lines = text->rows < 1 ? 1 : text->rows > LINES_MOST ? LINES_MOST : text->rows;
    if (text->input.multiline && lines < 3)
        lines = 3;
    int width = WIDTH < cols - 4 ? WIDTH : cols - 4;
    return dialog_center(rows, cols, lines + dialog_rows(text->label, width - 4) + 2, WIDTH);
}

static void text_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                       struct rect inside)
{
    struct text *text = (struct text *)dialog;
    (void)ui;
    (void)view;
    int used = flow_paint(canvas, rect_make(inside.row, inside.col, inside.rows - 1, inside.cols - 1), 0, 1, LOOK_DIM,
                          text->label);
    struct rect line = rect_make(inside.row + used, inside.col + 1, inside.rows - used, inside.cols - 2);
    canvas_fill(canvas, line, LOOK_INPUT);
    text->rows = input_paint(&text->input, canvas, line, "");
}

static bool text_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                     enum action action)
{
    struct text *text = (struct text *)dialog;
    (void)view;
    switch (input_key(&text->input, key)) {
    case INPUT_CHANGED:
        return true;
    case INPUT_CLOSED:
        ui_close_dialog(ui);
        return true;
    case INPUT_DONE: {
        /* What is done with it may open another dialog, so this one goes first. */
        CLEANUP(free) char *typed = xstrdup(text->input.text.buf);
        void (*done)(struct ui *, const char *, void *) = text->done;
        void *data = text->data;
        ui_close_dialog(ui);
        done(ui, typed, data);
        return true;
    }
    case INPUT_IGNORED:
        break;
    }
    /* Characters are for the text, whatever they mean elsewhere. */
    return action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW;
}

static const char *text_title(struct dialog *dialog, const struct view *view)
{
    (void)view;
    return ((struct text *)dialog)->title;
}

static const char *text_footer(struct dialog *dialog, const struct view *view)
{
    (void)view;
    return ((struct text *)dialog)->input.multiline ? "Enter done   Alt-Enter new line   Esc close"
                                                    : "Enter done   Esc close";
}

static const struct dialog_ops text_ops = {.name = "text",
                                           .size = sizeof(struct text),
                                           .release = text_release,
                                           .place = text_place,
                                           .paint = text_paint,
                                           .key = text_key,
                                           .title = text_title,
                                           .footer = text_footer};

struct dialog *dialog_text_new(const char *title, const char *label, const char *initial, bool multiline,
                               void (*done)(struct ui *ui, const char *text, void *data), void *data)
{
    struct text *text = (struct text *)dialog_alloc(&text_ops);
    text->title = xstrdup(title);
    text->label = xstrdup(label);
    input_init(&text->input, multiline);
    input_set(&text->input, initial ? initial : "");
    text->done = done;
    text->data = data;
    return &text->dialog;
}
