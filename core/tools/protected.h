#pragma once
/* Protected and dangerous paths of a project, by the table in protected.def. */

#include "base/strbuf.h"
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

/* The row for a path by its text alone; NULL: an ordinary path. */
const struct guarded *guarded_find(const char *path);
/* The same, but NULL for a path that is only dangerous. */
const struct guarded *protected_find(const char *path);
bool change_protected(const struct change *change);
/* The first protected file of the set, borrowed; NULL: none. */
const struct change *protected_in(const struct change_set *set);

/* The real locations of .git and .keyturn. They may be links, a .git file may name the folder, and git's
 * configuration may name the folder of its hooks. */
#define GUARDS_MAX 16
struct guards {
    const struct beneath *root;
    struct {
        const char *name; /* the name that git or Keyturn uses */
        char *path;       /* its location, relative to the root */
    } homes[GUARDS_MAX];
    size_t count;
};
/* Finds the locations. Blocks; call it on the pool. `root` may be NULL and is borrowed. */
void guards_init(struct guards *guards, const struct beneath *root);
void guards_release(struct guards *guards);
/* The row for a resolved path and the spelling that led there (NULL: the same). The path is protected if one of the
 * two is, if it is at a real location of a protected folder or in a folder that git treats as a repository, or if the
 * root itself is in one. Blocks. */
const struct guarded *guards_find(const struct guards *guards, const char *path, const char *through);

/* Protected paths that a call without files names in its arguments.
 *
 * Such a call is a foreign tool's, and Keyturn does not know which of its texts are paths. So every text and every
 * member name is checked. A text that cannot be checked within the bounds counts as naming a protected path. */

struct beneath;
struct json;

struct named {
    struct strbuf texts; /* each with its NUL */
    size_t count;
    const char *beyond; /* the bound that was exceeded; NULL: none */
};

void named_init(struct named *named);
void named_release(struct named *named);
/* Copies texts that may be paths, because the pool cannot read the arguments themselves. */
void named_collect(struct named *named, const struct json *arguments);
/* "names a protected path: …" or "may name a protected path: …"; NULL: none. Blocks; call it on the pool. `root`
 * may be NULL. */
char *named_find(const struct named *named, const struct beneath *root);
