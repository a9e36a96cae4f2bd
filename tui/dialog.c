#include "dialog.h"
#include "base/mem.h"
#include "flow.h"
#include "text.h"

struct dialog *dialog_alloc(const struct dialog_ops *ops)
{
    struct dialog *dialog = xcalloc(1, ops->size);
    dialog->ops = ops;
    list_init(&dialog->list, false);
    return dialog;
}

struct rect dialog_center(int rows, int cols, int want_rows, int want_cols)
{
    int height = want_rows < rows - 2 ? want_rows : rows - 2;
    int width = want_cols < cols - 4 ? want_cols : cols - 4;
    return rect_make(1 + (rows - 2 - height) / 2, (cols - width) / 2, height, width);
}

void dialog_select_row(struct canvas *canvas, struct rect inside, const struct dialog *dialog, size_t row)
{
    if (row == dialog->list.cursor && row >= dialog->list.top && row - dialog->list.top < (size_t)inside.rows)
        canvas_tint(canvas, rect_make(inside.row + (int)(row - dialog->list.top), inside.col, 1, inside.cols),
                    LOOK_SELECT);
}

bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action)
{
    bool pages = !key->code || key->code == KEYSYM_PGUP || key->code == KEYSYM_PGDN;
    return pages && list_scroll(&dialog->list, action, dialog->height);
}

int dialog_rows(const char *text, int cols)
{
    return flow_rows(&(struct canvas){.ascii = !text_utf8()}, text, cols);
}
