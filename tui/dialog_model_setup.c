/* The dialog that says how to set up a model: the config file and the lines it needs. y makes the file where there is
 * none; either way it opens in the user's editor. d starts the demo, which needs no model. */

#include "base/mem.h"
#include "config_example.h"
#include "dialog.h"
#include "ui.h"
#include "wrapped.h"
#include <string.h>
#include <unistd.h>

#define WIDTH 84

struct model_setup {
    struct dialog dialog;
    char *config, *name;
    bool there; /* the file */
    struct wrapped text;
    int width; /* it was wrapped for */
};

static void model_release(struct dialog *dialog)
{
    struct model_setup *model = (struct model_setup *)dialog;
    free(model->config);
    free(model->name);
    wrapped_release(&model->text);
}

static void say(struct model_setup *model, enum look look, const char *text)
{
    wrapped_add(&model->text, look, "", text, strlen(text), model->width);
}

static void wrap(struct model_setup *model, int width)
{
    if (model->width == width)
        return;
    wrapped_reset(&model->text);
    model->width = width;
    CLEANUP(free) char *now = model->name ? xasprintf("The model is %s. ", model->name) : NULL;
    CLEANUP(free)
    char *head = xasprintf("%s%s:", now ? now : "No model is configured: the demo plays, nothing else runs. ",
                           model->there ? "The config file" : "The config file, which is not there yet");
    say(model, LOOK_TEXT, head);
    say(model, LOOK_STRONG, model->config);
    for (size_t i = 0; config_model_lines[i]; i++)
        say(model, LOOK_STRONG, config_model_lines[i]);
    say(model, LOOK_TEXT, config_key_note);
    say(model, LOOK_TEXT,
        model->there ? "e opens it in $VISUAL, $EDITOR or vi. d starts the demo, which needs no model."
                     : "y makes it, with these lines as comments, and opens it in $VISUAL, $EDITOR or vi. d starts the "
                       "demo, which needs no model.");
}

static struct rect model_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    struct model_setup *model = (struct model_setup *)dialog;
    (void)view;
    int width = WIDTH < cols - 4 ? WIDTH : cols - 4;
    wrap(model, width - 4 > 8 ? width - 4 : 8);
    return dialog_center(rows, cols, (int)model->text.count + 2, width);
}

static void model_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                        struct rect inside)
{
    struct model_setup *model = (struct model_setup *)dialog;
    (void)ui;
    (void)view;
    list_update(&dialog->list, model->text.count, inside.rows);
    for (int i = 0; i < inside.rows && dialog->list.top + (size_t)i < model->text.count; i++) {
        const struct wrapped_line *line = &model->text.lines[dialog->list.top + (size_t)i];
        canvas_text(canvas, inside, i, 1, (enum look)line->look, model->text.text.buf + line->at, line->len);
    }
}

static bool model_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                      enum action action)
{
    const struct model_setup *model = (struct model_setup *)dialog;
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    (void)view;
    if (dialog_pressed(key, model->there ? 'e' : 'y')) {
        ui_close_dialog(ui);
        if (host->set_up(host, &err))
            ui_say(ui, LOOK_ERROR, "%s", err.text);
        return true;
    }
    if (dialog_pressed(key, 'd')) {
        ui_close_dialog(ui);
        ui_open(ui, "demo");
        return true;
    }
    return list_action(&dialog->list, action, dialog->height);
}

static const struct dialog_ops model_ops = {.name = "model",
                                            .size = sizeof(struct model_setup),
                                            .release = model_release,
                                            .place = model_place,
                                            .paint = model_paint,
                                            .key = model_key};

struct dialog *dialog_model_setup_new(const char *config, const char *model)
{
    struct model_setup *made = (struct model_setup *)dialog_alloc(&model_ops);
    made->config = xstrdup(config);
    made->name = model ? xstrdup(model) : NULL;
    made->there = access(config, F_OK) == 0;
    wrapped_init(&made->text);
    made->dialog.footer =
        made->there ? "e edit the file   d demo   Esc close" : "y make the file and edit it   d demo   Esc close";
    return &made->dialog;
}
