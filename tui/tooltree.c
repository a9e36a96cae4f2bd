#include "tooltree.h"
#include "base/mem.h"
#include "call_row.h"

void tooltree_release(struct tooltree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        told_rows_release(&tree->open[i]);
    free(tree->open);
    *tree = (struct tooltree){0};
}

static struct told_rows *find(struct tooltree *tree, uint32_t call)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->open[i].call == call)
            return &tree->open[i];
    return NULL;
}

const struct told_rows *tooltree_rows(struct tooltree *tree, const struct view *view, uint32_t call)
{
    struct told_rows *rows = find(tree, call);
    if (rows)
        told_rows_update(rows, view);
    return rows;
}

bool tooltree_has_reason(const struct session_call *call, const struct told_rows *rows)
{
    return call_row_went_wrong(call) && !(rows && rows->failed && call->state == CALL_FAILED);
}

size_t tooltree_lines(struct tooltree *tree, const struct view *view, uint32_t call)
{
    const struct session_call *row = &view->session->calls[call];
    const struct told_rows *rows = tooltree_rows(tree, view, call);
    size_t told = rows ? rows->count : row->output_seq ? 1 : 0;
    return 1 + told + (tooltree_has_reason(row, rows) ? 1 : 0);
}

/* ---- the cursor ---- */

static uint32_t call_at(const struct pane *pane, size_t index)
{
    return (uint32_t)pane_row(pane, index);
}

static size_t told_count(struct tooltree *tree, const struct pane *pane, const struct view *view, size_t index)
{
    const struct told_rows *rows = index < pane->list.count ? tooltree_rows(tree, view, call_at(pane, index)) : NULL;
    return rows ? rows->count : 0;
}

/* A cursor that went to another call stands on it, and one at the end stays there. */
static void settle(struct tooltree *tree, const struct pane *pane, const struct view *view)
{
    size_t told = told_count(tree, pane, view, pane->list.cursor);
    uint32_t call = pane->list.count ? call_at(pane, pane->list.cursor) : 0;
    if (call != tree->call) {
        tree->inside = 0;
        tree->tail = false;
    }
    tree->call = call;
    if (tree->tail || tree->inside > told)
        tree->inside = told;
}

bool tooltree_toggle(struct tooltree *tree, const struct pane *pane, const struct view *view)
{
    if (!pane->list.count)
        return false;
    uint32_t call = call_at(pane, pane->list.cursor);
    struct told_rows *rows = find(tree, call);
    if (!rows && !view->session->calls[call].output_seq)
        return false;
    tree->call = call;
    tree->inside = 0;
    tree->tail = !rows && view->session->calls[call].state == CALL_RUNNING;
    if (rows) {
        told_rows_release(rows);
        *rows = tree->open[--tree->count];
    } else {
        GROW(tree->open, tree->count, tree->room);
        tree->open[tree->count++] = (struct told_rows){.call = call};
    }
    settle(tree, pane, view);
    return true;
}

static bool step(struct tooltree *tree, struct pane *pane, const struct view *view, bool down, int height)
{
    size_t told = told_count(tree, pane, view, pane->list.cursor);
    if (down ? tree->inside < told : tree->inside > 0) {
        tree->inside = down ? tree->inside + 1 : tree->inside - 1;
        tree->tail = tree->inside == told;
        pane->list.follow = pane->list.follow && tree->tail;
        return true;
    }
    size_t before = pane->list.cursor;
    bool moved = pane_list_action(pane, down ? ACTION_DOWN : ACTION_UP, height);
    settle(tree, pane, view);
    if (!down && pane->list.cursor != before)
        tree->inside = told_count(tree, pane, view, pane->list.cursor);
    return moved;
}

bool tooltree_action(struct tooltree *tree, struct pane *pane, const struct view *view, enum action action, int height)
{
    bool moved = false;
    settle(tree, pane, view);
    switch (action) {
    case ACTION_UP:
    case ACTION_DOWN:
        return step(tree, pane, view, action == ACTION_DOWN, height);
    case ACTION_PAGE_UP:
    case ACTION_PAGE_DOWN:
        if (!tree->count)
            break;
        for (int line = 1; line < height || line == 1; line++)
            moved |= step(tree, pane, view, action == ACTION_PAGE_DOWN, height);
        return moved;
    case ACTION_HOME:
    case ACTION_END:
        moved = pane_list_action(pane, action, height);
        tree->tail = false;
        settle(tree, pane, view);
        size_t to = action == ACTION_END ? told_count(tree, pane, view, pane->list.cursor) : 0;
        moved |= to != tree->inside;
        tree->inside = to;
        tree->tail = to > 0;
        return moved;
    default:
        break;
    }
    return pane_list_action(pane, action, height);
}

const struct told_row *tooltree_selected(struct tooltree *tree, const struct pane *pane, const struct view *view)
{
    if (!pane->list.count)
        return NULL;
    settle(tree, pane, view);
    const struct told_rows *rows = tooltree_rows(tree, view, tree->call);
    return rows && tree->inside && tree->inside <= rows->count ? &rows->rows[tree->inside - 1] : NULL;
}

void tooltree_click(struct tooltree *tree, struct pane *pane, const struct view *view, size_t line)
{
    size_t want = line + tree->skip;
    for (size_t at = tree->top; at < pane->list.count; at++) {
        size_t lines = tooltree_lines(tree, view, call_at(pane, at));
        if (want < lines) {
            list_select(&pane->list, at, pane->height);
            settle(tree, pane, view);
            size_t told = told_count(tree, pane, view, at);
            tree->inside = want <= told ? want : 0;
            tree->tail = false;
            return;
        }
        want -= lines;
    }
}

/* ---- what is in sight ---- */

/* One line on, or one call where it is folded; gives the lines that leave the sight. */
static size_t go_on(struct tooltree *tree, const struct pane *pane, const struct view *view)
{
    size_t lines = tooltree_lines(tree, view, call_at(pane, tree->top));
    if (find(tree, call_at(pane, tree->top)) && tree->skip + 1 < lines) {
        tree->skip++;
        return 1;
    }
    lines -= tree->skip;
    tree->skip = 0;
    tree->top++;
    return lines;
}

/* One line back, or one call; 0 where that needs more than `room` lines or there is none. */
static size_t go_back(struct tooltree *tree, const struct pane *pane, const struct view *view, size_t room)
{
    if (tree->skip && room) {
        tree->skip--;
        return 1;
    }
    if (!tree->top || !room)
        return 0;
    size_t lines = tooltree_lines(tree, view, call_at(pane, tree->top - 1));
    if (find(tree, call_at(pane, tree->top - 1))) {
        tree->top--;
        tree->skip = lines - 1;
        return 1;
    }
    if (lines > room)
        return 0;
    tree->top--;
    return lines;
}

void tooltree_scroll(struct tooltree *tree, struct pane *pane, const struct view *view, int height)
{
    struct list *list = &pane->list;
    size_t room = height > 0 ? (size_t)height : 1, used = 0;
    if (!list->count) {
        tree->top = tree->skip = 0;
        return;
    }
    settle(tree, pane, view);
    if (list->cursor < tree->top || (list->cursor == tree->top && tree->inside < tree->skip)) {
        tree->top = list->cursor;
        tree->skip = tree->inside;
    } else if (list->cursor - tree->top >= room) {
        tree->top = list->cursor - (room - 1);
        tree->skip = 0;
    }
    size_t own = tooltree_lines(tree, view, call_at(pane, list->cursor));
    size_t need = find(tree, tree->call) ? tree->inside + 1 : own;
    for (size_t row = tree->top; row < list->cursor; row++)
        used += tooltree_lines(tree, view, call_at(pane, row));
    used += need - tree->skip;
    while (used > room && (tree->top < list->cursor || tree->skip < tree->inside))
        used -= go_on(tree, pane, view);
    used += own - need;
    for (size_t row = list->cursor + 1; row < list->count && used <= room; row++)
        used += tooltree_lines(tree, view, call_at(pane, row));
    for (size_t back; used < room && (back = go_back(tree, pane, view, room - used)); used += back)
        continue;
    list->top = tree->top;
}
