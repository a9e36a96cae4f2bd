#pragma once
/* Lists and trees that are longer than their pane: cursor, scrolling, follow mode, folding.
 *
 * A list knows the number of its rows and not their contents, so every function takes constant time. Follow mode keeps
 * the last row visible; it stops when the user scrolls up and starts again at the end. */

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list {
    size_t count;  /* rows */
    size_t cursor; /* selected row */
    size_t top;    /* first row shown */
    int left;      /* columns scrolled to the right */
    bool follow;   /* keep the last row visible */
    bool follows;  /* may follow: follow mode restarts at the end */
};

enum list_step {
    LIST_STAY,
    LIST_UP,
    LIST_DOWN,
    LIST_PAGE_UP,
    LIST_PAGE_DOWN,
    LIST_HOME,
    LIST_END,
    LIST_LEFT,
    LIST_RIGHT
};

void list_init(struct list *list, bool follow);
/* Sets the number of rows and the height; keeps the cursor visible. */
void list_update(struct list *list, size_t count, int height);
/* Moves the cursor; true if something changed. */
bool list_move(struct list *list, enum list_step step, int height);
void list_select(struct list *list, size_t row, int height);

/* A text scrolls as a whole: it has no cursor, only a first line (`top`). Sets the number of lines and the height. */
void list_set_lines(struct list *list, size_t count, int height);
/* True unless the step is LIST_STAY. */
bool list_scroll(struct list *list, enum list_step step, int height);
/* Scrolls until the line is visible, and stops following so that it stays visible. */
void list_show(struct list *list, size_t line, int height);
/* Removes rows at the front; the same rows stay visible. */
void list_drop(struct list *list, size_t rows);

#define TREE_NONE UINT32_MAX

struct tree_node {
    const char *key; /* identifies the node when the tree is rebuilt */
    const char *label;
    const char *note; /* "" if there is none */
    uint32_t parent;  /* index, or TREE_NONE */
    uint32_t ref;     /* for the owner of the tree */
    uint16_t depth;
    uint8_t kind; /* for the owner of the tree */
    bool branch;  /* can be folded */
    bool open;
    bool shut;    /* folded initially */
    bool sure;    /* for the owner of the tree: its size is known, not a sum */
    int64_t size; /* bytes; -1: not shown */
};

/* Nodes in display order. Rebuild the tree whenever its content changes; folds survive, because they are stored by
 * key. */
struct treeview {
    struct arena arena; /* of texts */
    struct tree_node *nodes;
    uint32_t count, room;
    uint32_t *shown; /* nodes without a folded ancestor */
    uint32_t shown_count, shown_room;
    char **folded; /* keys of nodes that the user folded, or unfolded if `shut` */
    size_t folded_count, folded_room;
    uint64_t generation; /* changes with every rebuild and fold */
};

void tree_release(struct treeview *tree);
/* Building: tree_begin, tree_add for each node (after its parent and before its parent's sibling), tree_end. Copies the
 * texts. */
void tree_begin(struct treeview *tree);
uint32_t tree_add(struct treeview *tree, uint32_t parent, const char *key, const char *label);
void tree_end(struct treeview *tree);
/* Folds or unfolds a node; false if it is not a branch. */
bool tree_toggle(struct treeview *tree, uint32_t node);
/* Unfolds all ancestors of a node. */
void tree_reveal(struct treeview *tree, uint32_t node);
/* The node with this key, or TREE_NONE. */
uint32_t tree_find(const struct treeview *tree, const char *key);
/* The row of a node, or of the folded node above it. */
uint32_t tree_row(const struct treeview *tree, uint32_t node);
