#pragma once
/* The tree of a workspace as workspace.state lists it: a bounded part of it, and of every folder in that part how much
 * there is in it, listed or not.
 *
 * What lies higher comes first, and at one height every folder gets as much of the list as the others, so that none
 * takes all of it. Of one folder its folders come before its files, and both by name. */

#include "base/strbuf.h"
#include <stdint.h>

struct beneath;
struct walk_entry;

struct place_tree {
    /* Every entry that is counted, once; may be NULL. */
    void (*see)(void *user, const struct walk_entry *entry);
    void *user;
    int64_t more; /* that are not listed; when it was written */
};

/* Appends a JSON array. Blocks. */
void place_tree_write(struct place_tree *tree, const struct beneath *root, struct strbuf *out);
