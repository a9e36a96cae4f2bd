#pragma once
/* What a workspace of programs holds, as a tree: its folders with what is in them, what was staged, what was collected,
 * its skills, and the programs of the session. All of it is read from the newest workspace.state of each workspace, so
 * a recording shows what a live session showed. */

#include "pretty.h"
#include "treeview.h"
#include "view.h"

enum workspace_kind {
    WORKSPACE_ROOT,   /* a workspace, where there are several; ref: its row */
    WORKSPACE_FOLDER, /* ref: its entry, TREE_NONE when none says so */
    WORKSPACE_ENTRY,  /* ref: number among the entries */
    WORKSPACE_GROUP,  /* inputs, outputs, skills, programs */
    WORKSPACE_INPUT,  /* ref: number among the inputs */
    WORKSPACE_OUTPUT,
    WORKSPACE_SKILL,
    WORKSPACE_PROGRAM, /* ref: its row */
    WORKSPACE_MORE,    /* entries of the folder above that are not listed */
};

/* How full a workspace is. */
struct workspace_use {
    uint32_t row;
    int64_t used;
    int64_t limit;              /* -1: none */
    int64_t count, count_limit; /* of all entries, likewise; 0 where nobody has counted */
    int64_t entries, more;      /* listed, and not */
};
#define WORKSPACES_SHOWN 20 /* the newest */

struct workspacetree {
    struct treeview tree;
    struct workspace_use uses[WORKSPACES_SHOWN];
    size_t use_count;
    const struct journal_reader *lines; /* NULL: nothing was built */
    uint64_t built_of;                  /* what it was built of, as a number */
};

void workspacetree_release(struct workspacetree *tree);
/* Builds it anew when something changed. */
void workspacetree_update(struct workspacetree *tree, const struct view *view);
/* The row of the workspace that a node belongs to; the newest where it belongs to none. SESSION_NONE: there is none. */
uint32_t workspacetree_owner(const struct workspacetree *tree, const struct view *view, uint32_t node);

/* How full a workspace was when the tree was built; NULL when its state could not be read. */
const struct workspace_use *workspacetree_use(const struct workspacetree *tree, uint32_t row);
/* Whether the workspace is gone that a node belongs to. */
bool workspacetree_gone(const struct workspacetree *tree, const struct view *view, uint32_t node);
/* What tells a node from all others: of an entry its path, beside the workspace's name where there are several; of
 * anything else its label. */
void workspacetree_path(struct strbuf *out, const struct workspacetree *tree, uint32_t node);
/* The path in its workspace of an entry, or of what was staged or collected; false: it is neither. */
bool workspacetree_entry(struct strbuf *out, const struct workspacetree *tree, uint32_t node);
/* All that is known of a node: size, source, where it was saved, the digest of its skill. */
void workspacetree_describe(struct pretty *out, const struct workspacetree *tree, const struct view *view,
                            uint32_t node);
