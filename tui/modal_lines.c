#include "modal_lines.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

#define ROWS_MOST 20
#define COLS      76

static struct narrow *narrow_of(struct modal *modal)
{
    return &((struct modal_lines *)modal)->narrow;
}

static const struct modal_lines_ops *ops_of(const struct modal *modal)
{
    return CONTAINER_OF(modal->ops, const struct modal_lines_ops, modal);
}

static const char *text_of(const struct modal *modal, const struct view *view)
{
    const char *text = ops_of(modal)->text(view);
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

void modal_lines_release(struct modal *modal)
{
    narrow_release(narrow_of(modal));
}

struct rect modal_lines_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    size_t count = count_lines(text_of(modal, view));
    return modal_center(rows, cols, (int)(count < ROWS_MOST ? count : ROWS_MOST) + 4, COLS); /* one for what is typed */
}

void modal_lines_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                       struct rect inside)
{
    struct narrow *narrow = narrow_of(modal);
    const char *text = text_of(modal, view);
    struct rect body = narrow_paint(narrow, canvas, inside);
    size_t count = narrow_rows(narrow, count_lines(text), line_fits, text), len = 0;
    list_update(&modal->list, count, body.rows);
    if (!count && !narrow_paint_nothing(narrow, canvas, body)) {
        CLEANUP(strbuf) struct strbuf none = STRBUF_INIT;
        ops_of(modal)->say_none(&none, ui, view);
        canvas_str(canvas, body, 0, 1, LOOK_DIM, none.buf);
    }
    for (int i = 0; i < body.rows && modal->list.top + (size_t)i < count; i++) {
        const char *line = line_at(text, narrow_row(narrow, modal->list.top + (size_t)i), &len);
        ops_of(modal)->paint(view, canvas, body, i, line, len);
        modal_select_row(canvas, body, modal, modal->list.top + (size_t)i);
    }
}

bool modal_lines_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                     enum action action)
{
    size_t len;
    if (narrow_key(narrow_of(modal), modal, key, action) != NARROW_NOT)
        return true;
    const char *line = line_at(text_of(modal, view), narrow_row(narrow_of(modal), modal->list.cursor), &len);
    return (line && ops_of(modal)->key(ui, key, line, len)) || list_action(&modal->list, action, modal->height);
}

const char *modal_lines_title(struct modal *modal, const struct view *view)
{
    (void)view;
    return ops_of(modal)->title;
}

const char *modal_lines_footer(struct modal *modal, const struct view *view)
{
    return narrow_footer(narrow_of(modal), *text_of(modal, view) ? ops_of(modal)->footer : "Esc close");
}

struct modal *modal_lines_new(const struct modal_lines_ops *ops)
{
    struct modal *modal = modal_alloc(&ops->modal);
    narrow_init(narrow_of(modal));
    return modal;
}
