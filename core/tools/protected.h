#pragma once
/* Protected and dangerous places of a project, by the table in protected.def. */

#include <stdbool.h>

#include <stddef.h>

struct beneath;
struct change;
struct change_set;

enum guard { GUARD_DANGEROUS, GUARD_PROTECTED };
const char *guard_name(enum guard guard); /* "dangerous", "protected" */

struct guarded {
    enum guard guard;
    const char *pattern, *why;
};

/* The row for a path by its text alone; NULL: an ordinary place. */
const struct guarded *guarded_find(const char *path);
/* The same, NULL for a place that is only dangerous. */
const struct guarded *protected_find(const char *path);
bool change_protected(const struct change *change);
/* The first protected file of the set, borrowed; NULL: there is none. */
const struct change *protected_in(const struct change_set *set);

/* A project's .git and .keyturn may be links, a .git file may name the folder, and git's configuration the folder of
 * its hooks. This is where they really are. */
#define GUARDS_MAX 16
struct guards {
    const struct beneath *root;
    struct {
        const char *name; /* what git or Keyturn calls it */
        char *path;       /* where that is, relative to the root */
    } homes[GUARDS_MAX];
    size_t count;
};
/* Looks where they are. Blocks; call it on the pool. `root` may be NULL and is borrowed. */
void guards_init(struct guards *guards, const struct beneath *root);
void guards_release(struct guards *guards);
/* The row for a resolved path and the spelling that led there (NULL: the same). The place is protected if one of the
 * two is, if the path is where the project really keeps such a place or in a folder that git takes for a repository, or
 * if the root itself lies in one. Blocks. */
const struct guarded *guards_find(const struct guards *guards, const char *path, const char *through);
