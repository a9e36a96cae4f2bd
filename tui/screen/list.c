/* Lists and trees that are longer than their pane.
 *
 * Every function of a list takes constant time. `top` moves only as far as the cursor requires, so that the screen does
 * not jump, and no empty rows are shown below the last row while rows above the first are hidden. */

#include "list.h"
#include "base/mem.h"
#include <string.h>

#define SIDE_STEP 8
#define SIDE_MOST 100000

void list_init(struct list *list, bool follow)
{
    *list = (struct list){.follow = follow, .follows = follow};
}

static size_t page(int height)
{
    return height > 0 ? (size_t)height : 1;
}

/* The highest `top`: the last row is just visible. */
static size_t last_top(const struct list *list, int height)
{
    return list->count > page(height) ? list->count - page(height) : 0;
}

static void keep_in_sight(struct list *list, int height)
{
    size_t rows = page(height);
    if (list->cursor < list->top)
        list->top = list->cursor;
    else if (list->cursor - list->top >= rows)
        list->top = list->cursor - rows + 1;
    if (list->top > last_top(list, height))
        list->top = last_top(list, height);
}

void list_update(struct list *list, size_t count, int height)
{
    list->count = count;
    if (list->follow || list->cursor >= count)
        list->cursor = count ? count - 1 : 0;
    keep_in_sight(list, height);
}

void list_select(struct list *list, size_t row, int height)
{
    size_t last = list->count ? list->count - 1 : 0;
    list->cursor = row < last ? row : last;
    list->follow = list->follows && list->cursor == last;
    keep_in_sight(list, height);
}

/* A page moves `top` as far as the cursor, and keeps one row of the previous page visible. */
static void turn_page(struct list *list, bool down, int height)
{
    size_t by = page(height) > 1 ? page(height) - 1 : 1;
    size_t last = list->count ? list->count - 1 : 0;
    if (down) {
        list->top += by < last - list->top ? by : last - list->top;
        list_select(list, by < last - list->cursor ? list->cursor + by : last, height);
    } else {
        list->top -= by < list->top ? by : list->top;
        list_select(list, list->cursor - (by < list->cursor ? by : list->cursor), height);
    }
}

bool list_move(struct list *list, enum list_step step, int height)
{
    struct list before = *list;
    switch (step) {
    case LIST_UP:
        list_select(list, list->cursor ? list->cursor - 1 : 0, height);
        break;
    case LIST_DOWN:
        list_select(list, list->cursor + 1, height);
        break;
    case LIST_PAGE_UP:
        turn_page(list, false, height);
        break;
    case LIST_PAGE_DOWN:
        turn_page(list, true, height);
        break;
    case LIST_HOME:
        list_select(list, 0, height);
        list->left = 0;
        break;
    case LIST_END:
        list_select(list, list->count, height);
        break;
    case LIST_LEFT:
        list->left = list->left > SIDE_STEP ? list->left - SIDE_STEP : 0;
        break;
    case LIST_RIGHT:
        if (list->left < SIDE_MOST)
            list->left += SIDE_STEP;
        break;
    case LIST_STAY:
        return false;
    }
    return list->cursor != before.cursor || list->top != before.top || list->left != before.left ||
           list->follow != before.follow;
}

void list_set_lines(struct list *list, size_t count, int height)
{
    list->count = count;
    if (list->follow || list->top > last_top(list, height))
        list->top = last_top(list, height);
    list->cursor = list->top;
}

bool list_scroll(struct list *list, enum list_step step, int height)
{
    size_t by = page(height) > 1 ? page(height) - 1 : 1;
    switch (step) {
    case LIST_UP:
        list->top -= list->top > 0;
        break;
    case LIST_DOWN:
        list->top++;
        break;
    case LIST_PAGE_UP:
        list->top -= by < list->top ? by : list->top;
        break;
    case LIST_PAGE_DOWN:
        list->top += by;
        break;
    case LIST_HOME:
        list->top = 0;
        list->left = 0;
        break;
    case LIST_END:
        list->top = list->count;
        break;
    case LIST_LEFT:
    case LIST_RIGHT:
        list_move(list, step, height);
        return true;
    case LIST_STAY:
        return false;
    }
    /* At the end, new lines stay visible. */
    list->follow = list->follows && list->top >= last_top(list, height);
    list_set_lines(list, list->count, height);
    return true;
}

void list_show(struct list *list, size_t line, int height)
{
    list->follow = false;
    if (line < list->top || line - list->top >= page(height))
        list->top = line;
    list_set_lines(list, list->count, height);
}

void list_drop(struct list *list, size_t rows)
{
    list->top -= rows < list->top ? rows : list->top;
    list->cursor -= rows < list->cursor ? rows : list->cursor;
    list->count -= rows < list->count ? rows : list->count;
}

/* ---- trees ---- */

#define DEPTH_MAX 64 /* deeper nodes are indented like this depth */

void tree_release(struct treeview *tree)
{
    for (size_t i = 0; i < tree->folded_count; i++)
        free(tree->folded[i]);
    free(tree->folded);
    free(tree->nodes);
    free(tree->shown);
    arena_release(&tree->arena);
    *tree = (struct treeview){0};
}

static size_t find_folded(const struct treeview *tree, const char *key)
{
    for (size_t i = 0; i < tree->folded_count; i++)
        if (strcmp(tree->folded[i], key) == 0)
            return i;
    return SIZE_MAX;
}

static void show_open(struct treeview *tree)
{
    tree->shown_count = 0;
    tree->generation++;
    for (uint32_t i = 0; i < tree->count;) {
        const struct tree_node *node = &tree->nodes[i];
        uint16_t depth = node->depth;
        bool open = !node->branch || node->open;
        GROW(tree->shown, tree->shown_count, tree->shown_room);
        tree->shown[tree->shown_count++] = i++;
        while (!open && i < tree->count && tree->nodes[i].depth > depth)
            i++;
    }
}

void tree_begin(struct treeview *tree)
{
    tree->count = 0;
    arena_reset(&tree->arena);
}

uint32_t tree_add(struct treeview *tree, uint32_t parent, const char *key, const char *label)
{
    uint16_t depth = parent == TREE_NONE ? 0 : (uint16_t)(tree->nodes[parent].depth + 1);
    GROW(tree->nodes, tree->count, tree->room);
    tree->nodes[tree->count] = (struct tree_node){.key = arena_strdup(&tree->arena, key),
                                                  .label = arena_strdup(&tree->arena, label),
                                                  .note = "",
                                                  .parent = parent,
                                                  .depth = depth < DEPTH_MAX ? depth : DEPTH_MAX,
                                                  .open = true,
                                                  .size = -1};
    if (parent != TREE_NONE)
        tree->nodes[parent].branch = true;
    return tree->count++;
}

void tree_end(struct treeview *tree)
{
    for (uint32_t i = 0; i < tree->count; i++)
        tree->nodes[i].open = !tree->nodes[i].shut;
    for (uint32_t i = 0; tree->folded_count && i < tree->count; i++)
        if (tree->nodes[i].branch && find_folded(tree, tree->nodes[i].key) != SIZE_MAX)
            tree->nodes[i].open = tree->nodes[i].shut;
    show_open(tree);
}

static void set_open(struct treeview *tree, struct tree_node *node, bool open)
{
    size_t at = find_folded(tree, node->key);
    bool usual = open != node->shut;
    node->open = open;
    if (!usual && at == SIZE_MAX) {
        GROW(tree->folded, tree->folded_count, tree->folded_room);
        tree->folded[tree->folded_count++] = xstrdup(node->key);
    } else if (usual && at != SIZE_MAX) {
        free(tree->folded[at]);
        tree->folded[at] = tree->folded[--tree->folded_count];
    }
}

bool tree_toggle(struct treeview *tree, uint32_t index)
{
    struct tree_node *node = &tree->nodes[index];
    if (!node->branch)
        return false;
    set_open(tree, node, !node->open);
    show_open(tree);
    return true;
}

void tree_reveal(struct treeview *tree, uint32_t index)
{
    for (uint32_t at = tree->nodes[index].parent; at != TREE_NONE; at = tree->nodes[at].parent)
        set_open(tree, &tree->nodes[at], true);
    show_open(tree);
}

uint32_t tree_find(const struct treeview *tree, const char *key)
{
    for (uint32_t i = 0; i < tree->count; i++)
        if (strcmp(tree->nodes[i].key, key) == 0)
            return i;
    return TREE_NONE;
}

uint32_t tree_row(const struct treeview *tree, uint32_t index)
{
    uint32_t low = 0, high = tree->shown_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->shown[middle] <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}
