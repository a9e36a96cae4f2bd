#include "treeview.h"
#include "base/mem.h"
#include <string.h>

#define DEPTH_MAX 64 /* what lies deeper is shown as deep as this */

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

uint32_t tree_place(const struct treeview *tree, uint32_t index)
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
