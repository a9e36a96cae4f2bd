#pragma once
/* The one walk through a tree of files: by descriptor, never through a link, with a bounded number of descriptors.
 *
 * Nothing in a tree can lead the walk out of it, even when a program changes the tree meanwhile. The type of an entry
 * comes with its name, so a walk needs no stat. Copy, remove and digest (tree.h), disk use, patterns and searches are
 * visitors. */

#include "err.h"
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct walk_entry {
    const char *path; /* prefix and names, joined by '/'; valid during the call */
    const char *name; /* the last part of `path` */
    size_t path_len;
    int dir_fd;         /* the folder that holds the entry */
    int depth;          /* 0: in the folder where the walk began */
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK…; never DT_UNKNOWN */
};

enum walk_order {
    WALK_ANY,           /* as the file system lists them */
    WALK_BY_PATH,       /* in the byte order of whole paths */
    WALK_BREADTH_FIRST, /* folder by folder, names in byte order; a folder comes after all that are less deep */
};

#define WALK_DEPTH_MAX 200
#define WALK_ANY_DEPTH INT_MAX

struct walk_options {
    enum walk_order order;
    int max_depth;    /* entries are less deep than this; 0: WALK_DEPTH_MAX */
    size_t max_names; /* sorted orders read about as many names of one folder; 0: all */
    bool unlock;      /* open folders that a program closed; only in our own trees, not WALK_BREADTH_FIRST */
    bool relock;      /* close them again when the walk leaves them */
    bool skip_git;    /* leave out entries named ".git" */
    const atomic_bool *cancelled; /* may be NULL */
};

enum walk_next {
    WALK_CONTINUE, /* enter it, if it is a folder */
    WALK_SKIP,     /* do not enter it */
    WALK_STOP,     /* end the walk */
};

/* All but `entry` may be NULL. */
struct walk_visitor {
    enum walk_next (*entry)(void *user, const struct walk_entry *entry);
    /* A folder was opened as `fd`, and its entries come next. Every folder that was entered is left, also when the walk
     * ends early. `fd` and `entry->dir_fd` are -1 for a folder that was moved away. WALK_BREADTH_FIRST calls neither.
     */
    enum walk_next (*enter)(void *user, const struct walk_entry *entry, int fd);
    void (*leave)(void *user, const struct walk_entry *entry, int fd);
    /* A folder cannot be read. `code` is an errno value; ELOOP: it is too deep, E2BIG: it has more than max_names,
     * ESTALE: it was moved while the walk was in it. WALK_STOP makes the walk fail, as it does without this function.
     */
    enum walk_next (*denied)(void *user, const char *path, int code);
};

/* Walks through the folder `dir_fd`, which the caller keeps. `prefix` (may be "") precedes every path. Returns 0 if
 * the walk ended or the visitor stopped it, -1 if a folder was denied or the walk was canceled (ECANCELED). */
int walk_tree(int dir_fd, const char *prefix, const struct walk_options *options, const struct walk_visitor *visitor,
              void *user, struct err *err) CHECKED;

/* Gives the owner of a folder these bits of its mode. The descriptor may be one of O_PATH. Returns false on failure. */
bool walk_unlock(int folder, mode_t bits);
