#pragma once
/* Every regular file below a folder of the workspace, in the order of whole paths.
 *
 * Links are not followed, so no file is seen twice and nothing leaves the workspace; `.git` is left out. A folder's
 * names are read and its descriptor closed before the walk goes deeper, so depth costs no descriptors. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct beneath;

struct walk {
    const struct beneath *root;
    const atomic_bool *cancelled;
    bool (*file)(struct walk *walk, const char *path); /* false: no more */
    size_t unreadable;                                 /* folders that could not be looked into */
};

/* `path` is clean ("." is the workspace) and `take_folder` its open descriptor. False when it was ended early. */
bool walk_files(struct walk *walk, const char *path, int take_folder);
