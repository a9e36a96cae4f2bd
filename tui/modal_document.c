/* A text to read, and nothing else: it scrolls, and can be copied. */

#include "base/mem.h"
#include "modal.h"
#include "pretty.h"
#include "ui.h"

#define ROWS_LEAST 6

struct document {
    struct modal modal;
    char *title;
    struct pretty text;
};

static struct document *document_of(struct modal *modal)
{
    return (struct document *)modal;
}

static void document_release(struct modal *modal)
{
    free(document_of(modal)->title);
    pretty_release(&document_of(modal)->text);
}

static struct rect document_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    const struct pretty *text = &document_of(modal)->text;
    (void)view;
    int lines = text->count < (size_t)rows ? (int)text->count : rows;
    return modal_center(rows, cols, (lines > ROWS_LEAST ? lines : ROWS_LEAST) + 2, text->width + 4);
}

static void document_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                           struct rect inside)
{
    const struct pretty *text = &document_of(modal)->text;
    struct rect body = rect_make(inside.row, inside.col + 1, inside.rows, inside.cols - 2);
    (void)ui, (void)view;
    list_settle(&modal->list, text->count, body.rows);
    pretty_paint(text, canvas, body, modal->list.top, modal->list.left);
}

static bool document_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                         enum action action)
{
    struct document *document = document_of(modal);
    (void)view, (void)key;
    if (action == ACTION_COPY) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        pretty_write(&document->text, &text);
        ui_get_host(ui)->copy(ui_get_host(ui), text.buf, text.len);
        ui_say(ui, LOOK_GOOD, "Copied %zu bytes to the clipboard.", text.len);
        return true;
    }
    if (action == ACTION_INSPECT) { /* the key that opened it closes it */
        ui_close_modal(ui);
        return true;
    }
    return list_scroll(&modal->list, action, modal->height);
}

static const char *document_title(struct modal *modal, const struct view *view)
{
    (void)view;
    return document_of(modal)->title;
}

static const char *document_footer(struct modal *modal, const struct view *view)
{
    (void)modal, (void)view;
    return "arrows PgUp PgDn scroll   Y copy   Esc close";
}

static const struct modal_ops document_ops = {
    .name = "document",
    .size = sizeof(struct document),
    .release = document_release,
    .place = document_place,
    .paint = document_paint,
    .key = document_key,
    .title = document_title,
    .footer = document_footer,
};

struct modal *modal_document_new(const char *title, struct pretty *take_document)
{
    struct document *document = (struct document *)modal_alloc(&document_ops);
    document->title = xstrdup(title);
    document->text = *take_document;
    pretty_init(take_document, 0);
    return &document->modal;
}
