#pragma once
/* The tree of a workspace as workspace.state lists it: a bounded part of it, and of every folder in that part how much
 * there is in it, listed or not.
 *
 * What lies higher comes first, and at one height every folder gets as much of the list as the others, so that none
 * takes all of it. Of one folder its folders come before its files, and both by name. */

#include "event/event.h"
#include <stdint.h>

struct beneath;
struct walk_entry;

struct place_tree {
    /* Every entry that is counted, once; may be NULL. */
    void (*see)(void *user, const struct walk_entry *entry);
    void *user;
    int64_t more; /* that are not listed; set by place_tree_list */
};

/* The entries, in the arena. Blocks. */
struct event_workspace_entry_list place_tree_list(struct place_tree *tree, const struct beneath *root,
                                                  struct arena *arena);
