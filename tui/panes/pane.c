/* Filtering and searching, the same for every pane. A pane provides its rows and says which of them match. This file
 * checks a first piece at once and the rest between frames. */

#include "pane.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

#define FIRST_ROWS 1000  /* rows checked as soon as a filter is set: enough for a short recording */
#define FRAME_ROWS 128   /* rows checked while a frame is painted */
#define WORK_ROWS  32768 /* rows checked between two frames */

struct pane *pane_new(const struct pane_ops *ops, const struct keymap *keymap)
{
    struct pane *pane = xcalloc(1, ops->size);
    pane->ops = ops;
    pane->keymap = keymap;
    row_filter_init(&pane->rows_filter);
    ops->init(pane);
    return pane;
}

void pane_free(struct pane *pane)
{
    if (pane->ops->release)
        pane->ops->release(pane);
    row_filter_release(&pane->rows_filter);
    free(pane->search_text);
    free(pane->filter_text);
    free(pane);
}

static struct row_filter_rows rows_of(struct pane *pane, const struct view *view)
{
    struct row_filter_rows rows = {.owner = pane, .view = view, .of = view->lines, .state = view->session->event_count};
    pane->ops->rows(pane, view, &rows);
    return rows;
}

size_t pane_row(const struct pane *pane, size_t index)
{
    return row_filter_row(&pane->rows_filter, index);
}

size_t pane_cursor_row(struct pane *pane, const struct view *view)
{
    struct row_filter_rows rows = rows_of(pane, view);
    size_t count = row_filter_count(&pane->rows_filter, &rows);
    size_t row = pane->list.cursor < count ? pane_row(pane, pane->list.cursor) : SIZE_MAX;
    return row < rows.total ? row : SIZE_MAX;
}

static size_t place_of(struct pane *pane, const struct view *view)
{
    return pane->ops->place ? pane->ops->place(pane, view) : pane_cursor_row(pane, view);
}

static void go_to(struct pane *pane, const struct view *view, size_t row, bool back)
{
    if (pane->ops->go)
        pane->ops->go(pane, view, row, pane->search_text ? pane->search_text : "", back);
    else
        list_select(&pane->list, row_filter_index(&pane->rows_filter, row), pane->height);
}

/* ---- the filter ---- */

bool pane_filter(struct pane *pane, const struct view *view, const char *text)
{
    if (!pane->ops->rows)
        return false;
    size_t row = place_of(pane, view);
    free(pane->filter_text);
    pane->filter_text = *text ? xstrdup(text) : NULL;
    if (pane->ops->texts)
        filter_parse_texts(&pane->rows_filter.filter, text);
    else
        filter_parse(&pane->rows_filter.filter, view, text);
    row_filter_begin(&pane->rows_filter);
    struct row_filter_rows rows = rows_of(pane, view);
    row_filter_look(&pane->rows_filter, &rows, FIRST_ROWS);
    size_t count = row_filter_count(&pane->rows_filter, &rows);
    if (!pane->ops->go)
        list_update(&pane->list, count, pane->height);
    /* Stay near the selected row. */
    if (!pane->list.follow && row != SIZE_MAX && count && !pane->ops->go)
        list_select(&pane->list, row_filter_index(&pane->rows_filter, row), pane->height);
    return true;
}

size_t pane_update(struct pane *pane, const struct view *view, int height)
{
    struct list *list = &pane->list;
    struct row_filter *rows_filter = &pane->rows_filter;
    size_t row = rows_filter->filtered && list->cursor < rows_filter->matches.count
                     ? rows_filter->matches.rows[list->cursor]
                     : SIZE_MAX;
    struct row_filter_rows rows = rows_of(pane, view);
    row_filter_look(rows_filter, &rows, FRAME_ROWS);
    size_t count = row_filter_count(rows_filter, &rows);
    if (row != SIZE_MAX && !list->follow)
        list->cursor = row_filter_index(rows_filter, row);
    list_update(list, count, height);
    return count;
}

/* ---- searching ---- */

enum row_filter_found pane_search(struct pane *pane, const struct view *view, bool back)
{
    const char *text = pane->search_text;
    if (pane->ops->search && pane->ops->search(pane, view, text, back))
        return ROW_FILTER_FOUND;
    if (!pane->ops->rows)
        return ROW_FILTER_NOT;
    struct row_filter_rows rows = rows_of(pane, view);
    size_t row = place_of(pane, view), index;
    row_filter_look(&pane->rows_filter, &rows, 0);
    row_filter_search(&pane->rows_filter, &rows, text, back,
                      row == SIZE_MAX ? SIZE_MAX : row_filter_index(&pane->rows_filter, row));
    enum row_filter_found found = row_filter_search_on(&pane->rows_filter, &rows, WORK_ROWS, &index);
    if (found == ROW_FILTER_FOUND)
        go_to(pane, view, pane_row(pane, index), back);
    return found;
}

void pane_search_stop(struct pane *pane)
{
    row_filter_search_stop(&pane->rows_filter);
}

bool pane_work(struct pane *pane, const struct view *view, bool *lost)
{
    struct row_filter *rows_filter = &pane->rows_filter;
    size_t index;
    *lost = false;
    if (!pane->ops->rows || (!rows_filter->filtered && !row_filter_searching(rows_filter)))
        return false;
    struct row_filter_rows rows = rows_of(pane, view);
    if (row_filter_look(rows_filter, &rows, WORK_ROWS) || !row_filter_searching(rows_filter))
        return rows_filter->working;
    bool back = rows_filter->search.back;
    switch (row_filter_search_on(rows_filter, &rows, WORK_ROWS, &index)) {
    case ROW_FILTER_LATER:
        return true;
    case ROW_FILTER_FOUND:
        go_to(pane, view, pane_row(pane, index), back);
        break;
    case ROW_FILTER_NOT:
        *lost = true;
        break;
    }
    return false;
}

bool pane_list_action(struct pane *pane, enum action action, int height)
{
    bool moved = list_move(&pane->list, action_list_step(action), height);
    if (moved)
        pane_search_stop(pane);
    return moved;
}

/* A key may arrive after a recording went back and before a frame shows that, so rows of the list may be gone. If none
 * is gone, the rows stay where the user sees them. */
static void let_go(struct pane *pane, const struct view *view)
{
    if (!pane->ops->rows)
        return;
    struct row_filter_rows rows = rows_of(pane, view);
    if (rows.state < pane->rows_filter.state || row_filter_count(&pane->rows_filter, &rows) < pane->list.count)
        pane_update(pane, view, pane->height);
}

void pane_click(struct pane *pane, const struct view *view, int row, int col)
{
    let_go(pane, view);
    if (pane->ops->click)
        pane->ops->click(pane, view, row, col);
}

void pane_move(struct pane *pane, const struct view *view, enum action action)
{
    let_go(pane, view);
    if (pane->ops->move)
        pane->ops->move(pane, view, action);
    else
        pane_list_action(pane, action, pane->height);
}

/* ---- notes ---- */

bool pane_is_filtered(const struct pane *pane)
{
    return pane->rows_filter.filtered || row_filter_searching(&pane->rows_filter);
}

void pane_note(struct pane *pane, const struct view *view, struct strbuf *out, const char *one, const char *many)
{
    struct row_filter_rows rows = rows_of(pane, view);
    row_filter_note(out, &pane->rows_filter, &rows, one, many);
    if (pane->rows_filter.filtered)
        filter_note(out, pane->filter_text, pane->ops->name, pane->width);
}

bool pane_paint_nothing(const struct pane *pane, struct canvas *canvas, struct rect in, const char *what)
{
    if (!pane->rows_filter.filtered)
        return false;
    if (pane->rows_filter.working) {
        canvas_str(canvas, in, 0, 1, LOOK_DIM, "Filtering …");
        return true;
    }
    canvas_printf(canvas, in, 0, 1, LOOK_DIM, "No %s matches the filter.", what);
    canvas_printf(canvas, in, 1, 1, LOOK_DIM, "%s changes it; an empty filter shows all.",
                  keymap_key(pane->keymap, ACTION_FILTER));
    return true;
}
