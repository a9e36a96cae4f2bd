#pragma once
/* A tree in lines: nodes in the order in which they are shown, each knowing how deep it lies, some of which can be
 * folded. It is built anew whenever what it shows changed; what was folded stays so, because nodes are known by their
 * keys. */

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_NONE UINT32_MAX

struct tree_node {
    const char *key; /* what it is known by */
    const char *label;
    const char *note; /* "" when there is nothing to say */
    uint32_t parent;  /* index, TREE_NONE */
    uint32_t ref;     /* the owner's */
    uint16_t depth;
    uint8_t kind; /* the owner's */
    bool branch;  /* can be folded */
    bool open;
    bool shut;    /* folded, until somebody unfolds it */
    bool sure;    /* the owner's: its size is known, and no sum */
    int64_t size; /* bytes, -1: none to be shown */
};

struct treeview {
    struct arena arena; /* of texts */
    struct tree_node *nodes;
    uint32_t count, room;
    uint32_t *shown; /* nodes that are not below a folded one */
    uint32_t shown_count, shown_room;
    char **folded; /* keys of what somebody folded, or unfolded where it is shut */
    size_t folded_count, folded_room;
    uint64_t generation; /* another number when something changed */
};

void tree_release(struct treeview *tree);
/* Building: begin, nodes each after its parent and before its parent's sibling, end. Texts are copied. */
void tree_begin(struct treeview *tree);
uint32_t tree_add(struct treeview *tree, uint32_t parent, const char *key, const char *label);
void tree_end(struct treeview *tree);
/* Folds or unfolds; false when the node is no branch. */
bool tree_toggle(struct treeview *tree, uint32_t node);
/* Unfolds everything above a node. */
void tree_reveal(struct treeview *tree, uint32_t node);
/* The node with this key, TREE_NONE. */
uint32_t tree_find(const struct treeview *tree, const char *key);
/* Where a node is shown, or what is folded above it. */
uint32_t tree_place(const struct treeview *tree, uint32_t node);
