#include "modal.h"
#include "base/mem.h"
#include "flow.h"
#include "text.h"

struct modal *modal_alloc(const struct modal_ops *ops)
{
    struct modal *modal = xcalloc(1, ops->size);
    modal->ops = ops;
    list_init(&modal->list, false);
    return modal;
}

struct rect modal_center(int rows, int cols, int want_rows, int want_cols)
{
    int height = want_rows < rows - 2 ? want_rows : rows - 2;
    int width = want_cols < cols - 4 ? want_cols : cols - 4;
    return rect_make(1 + (rows - 2 - height) / 2, (cols - width) / 2, height, width);
}

void modal_select_row(struct canvas *canvas, struct rect inside, const struct modal *modal, size_t row)
{
    if (row == modal->list.cursor && row >= modal->list.top && row - modal->list.top < (size_t)inside.rows)
        canvas_tint(canvas, rect_make(inside.row + (int)(row - modal->list.top), inside.col, 1, inside.cols),
                    LOOK_SELECT);
}

bool modal_pages(struct modal *modal, const struct key *key, enum action action)
{
    bool pages = !key->code || key->code == KEYSYM_PGUP || key->code == KEYSYM_PGDN;
    return pages && list_scroll(&modal->list, action, modal->height);
}

int modal_rows(const char *text, int cols)
{
    return flow_rows(&(struct canvas){.ascii = !text_utf8()}, text, cols);
}
