#pragma once
/* Going through a tree that nobody vouches for: folder by folder, by descriptor, never through a link and never deeper
 * than WALK_DEPTH_MAX, so nothing in it can lead out, go on for ever or use up descriptors. The kind of an entry comes
 * with its name (getdents); nothing is looked at twice. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WALK_DEPTH_MAX 200

struct walk_entry {
    const char *path; /* relative to where the walk began, NUL-terminated; gone after the call */
    size_t path_len;
    const char *name;   /* the last part of it */
    int folder;         /* the descriptor of the folder that holds it */
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK…; never DT_UNKNOWN */
    int depth;          /* 0: in the folder where the walk began */
};

enum walk_next {
    WALK_ON,   /* into it, if it is a folder */
    WALK_PAST, /* not into it */
    WALK_END,  /* nothing more */
};

struct walk {
    enum walk_next (*see)(void *user, const struct walk_entry *entry);
    /* A folder that cannot be read (`code`: errno) or is too deep (ELOOP). Gives WALK_END to make the walk fail with
     * it, WALK_ON to go on without it. NULL: fail. */
    enum walk_next (*shut)(void *user, const char *path, int code);
    /* Gets a folder that is too deep instead, and may go on from there with a descriptor of its own; false: it does
     * not. NULL: nobody does. */
    bool (*deep)(void *user, int folder);
    bool ours; /* the tree is ours whatever a program did to it: folders that are shut to us are opened */
    void *user;
};

/* Entries come in no particular order. `folder` stays the caller's. `prefix` (may be "") stands before every path. */
int walk_tree(int folder, const char *prefix, const struct walk *walk, struct err *err) CHECKED;
/* Gives the owner of a folder these bits of its mode back. The descriptor may be one of O_PATH; false: that cannot be
 * done. */
bool walk_unlock(int folder, mode_t bits);
