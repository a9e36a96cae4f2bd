#include "dialog_lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

#define ROWS_MOST 20
#define COLS      76

static struct narrow *narrow_of(struct dialog *dialog)
{
    return &((struct dialog_lines *)dialog)->narrow;
}

static const struct dialog_lines_ops *ops_of(const struct dialog *dialog)
{
    return CONTAINER_OF(dialog->ops, const struct dialog_lines_ops, dialog);
}

static const char *text_of(const struct dialog *dialog, const struct view *view)
{
    const char *text = ops_of(dialog)->text(view);
    return text ? text : "";
}

/* Line `row` of the text; NULL when there are fewer. */
static const char *line_at(const char *text, size_t row, size_t *len)
{
    for (size_t i = 0; *text; i++) {
        *len = strcspn(text, "\n");
        if (i == row)
            return text;
        text += *len + (text[*len] == '\n');
    }
    return NULL;
}

static size_t count_lines(const char *text)
{
    size_t count = 0, len;
    while (line_at(text, count, &len))
        count++;
    return count;
}

static bool line_fits(const struct filter *filter, size_t row, const void *data)
{
    size_t len;
    const char *line = line_at(data, row, &len);
    return line && filter_text_fits(filter, line, len);
}

void dialog_lines_release(struct dialog *dialog)
{
    narrow_release(narrow_of(dialog));
}

struct rect dialog_lines_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    size_t count = count_lines(text_of(dialog, view));
    return dialog_center(rows, cols, (int)(count < ROWS_MOST ? count : ROWS_MOST) + 4,
                         COLS); /* one for what is typed */
}

void dialog_lines_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                        struct rect inside)
{
    struct narrow *narrow = narrow_of(dialog);
    const char *text = text_of(dialog, view);
    struct rect body = narrow_paint(narrow, canvas, inside);
    size_t count = narrow_rows(narrow, count_lines(text), line_fits, text), len = 0;
    list_update(&dialog->list, count, body.rows);
    if (!count && !narrow_paint_nothing(narrow, canvas, body)) {
        CLEANUP(strbuf) struct strbuf none = STRBUF_INIT;
        ops_of(dialog)->say_none(&none, ui, view);
        canvas_str(canvas, body, 0, 1, LOOK_DIM, none.buf);
    }
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < count; i++) {
        const char *line = line_at(text, narrow_row(narrow, dialog->list.top + (size_t)i), &len);
        ops_of(dialog)->paint(view, canvas, body, i, line, len);
        dialog_select_row(canvas, body, dialog, dialog->list.top + (size_t)i);
    }
}

bool dialog_lines_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                      enum action action)
{
    size_t len;
    if (narrow_key(narrow_of(dialog), dialog, key, action) != NARROW_NOT)
        return true;
    const char *line = line_at(text_of(dialog, view), narrow_row(narrow_of(dialog), dialog->list.cursor), &len);
    return (line && ops_of(dialog)->key(ui, key, line, len)) || list_action(&dialog->list, action, dialog->height);
}

const char *dialog_lines_title(struct dialog *dialog, const struct view *view)
{
    (void)view;
    return ops_of(dialog)->title;
}

const char *dialog_lines_footer(struct dialog *dialog, const struct view *view)
{
    return narrow_footer(narrow_of(dialog), *text_of(dialog, view) ? ops_of(dialog)->footer : "Esc close");
}

struct dialog *dialog_lines_new(const struct dialog_lines_ops *ops)
{
    struct dialog *dialog = dialog_alloc(&ops->dialog);
    narrow_init(narrow_of(dialog));
    return dialog;
}
