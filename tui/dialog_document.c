/* A text to read, and nothing else: it scrolls, and can be copied. */

#include "base/mem.h"
#include "dialog.h"
#include "pretty.h"
#include "ui.h"

#define ROWS_LEAST 6

struct document {
    struct dialog dialog;
    char *title;
    struct pretty text;
};

static struct document *document_of(struct dialog *dialog)
{
    return (struct document *)dialog;
}

static void document_release(struct dialog *dialog)
{
    free(document_of(dialog)->title);
    pretty_release(&document_of(dialog)->text);
}

static struct rect document_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    const struct pretty *text = &document_of(dialog)->text;
    (void)view;
    int lines = text->count < (size_t)rows ? (int)text->count : rows;
    return dialog_center(rows, cols, (lines > ROWS_LEAST ? lines : ROWS_LEAST) + 2, text->width + 4);
}

static void document_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                           struct rect inside)
{
    const struct pretty *text = &document_of(dialog)->text;
    struct rect body = rect_make(inside.row, inside.col + 1, inside.rows, inside.cols - 2);
    (void)ui, (void)view;
    list_settle(&dialog->list, text->count, body.rows);
    pretty_paint(text, canvas, body, dialog->list.top, dialog->list.left);
}

static bool document_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                         enum action action)
{
    struct document *document = document_of(dialog);
    (void)view, (void)key;
    if (action == ACTION_COPY) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        pretty_write(&document->text, &text);
        ui_get_host(ui)->copy(ui_get_host(ui), text.buf, text.len);
        ui_say(ui, LOOK_GOOD, "Copied %zu bytes to the clipboard.", text.len);
        return true;
    }
    if (action == ACTION_INSPECT) { /* the key that opened it closes it */
        ui_close_dialog(ui);
        return true;
    }
    return list_scroll(&dialog->list, action, dialog->height);
}

static const char *document_title(struct dialog *dialog, const struct view *view)
{
    (void)view;
    return document_of(dialog)->title;
}

static const char *document_footer(struct dialog *dialog, const struct view *view)
{
    (void)dialog, (void)view;
    return "arrows PgUp PgDn scroll   Y copy   Esc close";
}

static const struct dialog_ops document_ops = {
    .name = "document",
    .size = sizeof(struct document),
    .release = document_release,
    .place = document_place,
    .paint = document_paint,
    .key = document_key,
    .title = document_title,
    .footer = document_footer,
};

struct dialog *dialog_document_new(const char *title, struct pretty *take_document)
{
    struct document *document = (struct document *)dialog_alloc(&document_ops);
    document->title = xstrdup(title);
    document->text = *take_document;
    pretty_init(take_document, 0);
    return &document->dialog;
}
