/* The picker: recent sessions and fixtures. What is typed narrows the list down, so there is nothing to open first. */

#include "base/mem.h"
#include "dialog.h"
#include "input.h"
#include "start_row.h"
#include "ui.h"
#include <string.h>

struct sessions {
    struct dialog dialog;
    struct start_list list;
    size_t *shown; /* indexes of the items that have what was typed */
    size_t shown_count;
    struct input filter;
};

static void narrow(struct sessions *sessions)
{
    sessions->shown_count = 0;
    for (size_t i = 0; i < sessions->list.count; i++)
        if (start_item_has(&sessions->list.items[i], sessions->filter.text.buf))
            sessions->shown[sessions->shown_count++] = i;
    sessions->dialog.list.cursor = sessions->dialog.list.top = 0;
}

static void sessions_free(struct dialog *dialog)
{
    struct sessions *sessions = (struct sessions *)dialog;
    start_list_release(&sessions->list);
    free(sessions->shown);
    input_release(&sessions->filter);
}

static struct rect sessions_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    (void)view;
    size_t count = ((struct sessions *)dialog)->list.count;
    return dialog_center(rows, cols, (int)(count < 30 ? count : 30) + 5, 110);
}

static void sessions_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                           struct rect inside)
{
    struct sessions *sessions = (struct sessions *)dialog;
    struct rect body = rect_make(inside.row + 2, inside.col, inside.rows - 2, inside.cols);
    struct rect text = rect_make(body.row, body.col + 10, body.rows, body.cols - 11);
    struct start_columns columns = start_columns_of(canvas, sessions->list.items, sessions->list.count, text.cols);
    (void)ui;
    (void)view;
    input_paint(&sessions->filter, canvas, rect_make(inside.row, inside.col + 1, 1, inside.cols - 2), "open: ");
    list_update(&dialog->list, sessions->shown_count, body.rows);
    if (!sessions->shown_count)
        canvas_str(canvas, body, 0, 1, LOOK_DIM,
                   sessions->list.count ? "Nothing has that in it. Enter opens it as a file."
                                        : "No sessions yet, and no fixtures were found. Type the name of a recording.");
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < sessions->shown_count; i++) {
        const struct start_item *item = &sessions->list.items[sessions->shown[dialog->list.top + (size_t)i]];
        canvas_str(canvas, body, i, 1, LOOK_DIM, item->fixture ? "look at" : item->running ? "watch" : "go on");
        start_row_paint(canvas, text, i, &columns, item);
        dialog_select_row(canvas, body, dialog, dialog->list.top + (size_t)i);
    }
}

static void open_chosen(struct sessions *sessions, struct ui *ui)
{
    size_t at = sessions->dialog.list.cursor;
    const char *what =
        at < sessions->shown_count ? sessions->list.items[sessions->shown[at]].path : sessions->filter.text.buf;
    CLEANUP(free) char *path = xstrdup(what);
    if (!*path)
        return;
    ui_close_dialog(ui);
    ui_open(ui, path);
}

static bool sessions_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                         enum action action)
{
    struct sessions *sessions = (struct sessions *)dialog;
    (void)view;
    /* Letters are text here; only keys that are no characters move. */
    if ((key->code >= KEYSYM_BASE || key->ctrl || key->code == 0) &&
        list_action(&dialog->list, action, dialog->height - 2))
        return true;
    switch (input_key(&sessions->filter, key)) {
    case INPUT_CHANGED:
        narrow(sessions);
        return true;
    case INPUT_DONE:
        open_chosen(sessions, ui);
        return true;
    case INPUT_CLOSED:
        ui_close_dialog(ui);
        return true;
    case INPUT_IGNORED:
        break;
    }
    return action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW;
}

static const char *sessions_title(struct dialog *dialog, const struct view *view)
{
    (void)dialog;
    (void)view;
    return "sessions";
}

static const char *sessions_footer(struct dialog *dialog, const struct view *view)
{
    (void)dialog;
    (void)view;
    return "Enter open   Up/Down choose   letters narrow it down   Esc close";
}

static const struct dialog_ops sessions_ops = {.name = "sessions",
                                               .size = sizeof(struct sessions),
                                               .release = sessions_free,
                                               .place = sessions_place,
                                               .paint = sessions_paint,
                                               .key = sessions_key,
                                               .title = sessions_title,
                                               .footer = sessions_footer};

struct dialog *dialog_sessions_new(void)
{
    struct sessions *sessions = (struct sessions *)dialog_alloc(&sessions_ops);
    start_list_load(&sessions->list, NULL);
    sessions->shown = xcalloc(sessions->list.count + 1, sizeof(*sessions->shown));
    input_init(&sessions->filter, false);
    narrow(sessions);
    return &sessions->dialog;
}
