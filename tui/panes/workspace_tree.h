#pragma once
/* The content of a workspace as a tree: its folders and files, staged inputs, collected outputs, skills, and the
 * programs of the session. All of it comes from the newest workspace.state of each workspace, so a recording shows the
 * same as the live session. */

#include "app/view.h"
#include "screen/document.h"
#include "screen/list.h"

enum workspace_kind {
    WORKSPACE_ROOT,   /* a workspace, if there are several; ref: its row */
    WORKSPACE_FOLDER, /* ref: its entry, or TREE_NONE if it is not listed */
    WORKSPACE_ENTRY,  /* ref: index of the entry */
    WORKSPACE_GROUP,  /* inputs, outputs, skills, programs */
    WORKSPACE_INPUT,  /* ref: index of the input */
    WORKSPACE_OUTPUT,
    WORKSPACE_SKILL,
    WORKSPACE_PROGRAM, /* ref: its row */
    WORKSPACE_MORE,    /* entries of the folder above that are not listed */
};

/* How full a workspace is. */
struct workspace_use {
    uint32_t row;
    int64_t used;
    int64_t limit;              /* -1: no limit */
    int64_t count, count_limit; /* number of entries and its limit; 0 if not counted */
    int64_t entries, more;      /* listed entries, and unlisted ones */
};
#define WORKSPACES_SHOWN 20 /* the newest ones */

struct workspacetree {
    struct treeview tree;
    struct workspace_use uses[WORKSPACES_SHOWN];
    size_t use_count;
    const struct journal_reader *lines; /* NULL: not built yet */
    uint64_t built_of;                  /* a number for the state it was built from */
};

void workspacetree_release(struct workspacetree *tree);
/* Rebuilds the tree if the state changed. */
void workspacetree_update(struct workspacetree *tree, const struct view *view);
/* The row of the workspace that a node belongs to, or the newest workspace if it belongs to none. SESSION_NONE: no
 * workspace. */
uint32_t workspacetree_owner(const struct workspacetree *tree, const struct view *view, uint32_t node);

/* How full a workspace was when the tree was built; NULL if its state could not be read. */
const struct workspace_use *workspacetree_use(const struct workspacetree *tree, uint32_t row);
/* True if the workspace of a node is gone. */
bool workspacetree_gone(const struct workspacetree *tree, const struct view *view, uint32_t node);
/* Adds a unique text for a node: the path of an entry, after the workspace's name if there are several; otherwise its
 * label. */
void workspacetree_path(struct strbuf *out, const struct workspacetree *tree, uint32_t node);
/* Adds the path of an entry, an input or an output in its workspace; false for any other node. */
bool workspacetree_entry(struct strbuf *out, const struct workspacetree *tree, uint32_t node);
/* Adds all known details of a node: size, source, where it was saved, the digest of its skill. */
void workspacetree_describe(struct document *out, const struct workspacetree *tree, const struct view *view,
                            uint32_t node);
