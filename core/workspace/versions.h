#pragma once
/* Versioned artifacts: named files that outlive their workspace. Each save adds a version, counting from 0. A name
 * belongs to its project: the same name of another project is another artifact.
 *
 * Outputs that were too long for the model are different (tools/artifact.h): they have no versions, and a time to
 * live.
 *
 * There are two implementations behind one vector: in memory, and on disk in a folder that several programs may
 * share. Any thread may call. */

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct strbuf;
struct versions;

#define VERSIONS_NEWEST (-1)
#define ARTIFACT_SCHEME \
    "artifact://" /* prefix of a name or a name@version, and of the id of an output that was too long */

struct versions_ops {
    int (*save)(struct versions *self, const char *name, const void *bytes, size_t len, const char *mime,
                int64_t *version, struct err *err);
    int (*load)(struct versions *self, const char *name, int64_t version, struct strbuf *out, char **mime,
                int64_t *actual, struct err *err);
    int (*list)(struct versions *self, const char *name, int64_t **list, size_t *count, struct err *err);
    int (*remove)(struct versions *self, const char *name, struct err *err);
    void (*free)(struct versions *self);
};
struct versions {
    const struct versions_ops *ops;
};

/* Stores the artifacts of a project below `folder`, which the first save creates. */
struct versions *versions_on_disk(const char *folder, const char *project);
/* Removes artifacts below `folder` that are older than projects, once they have not changed for VERSIONS_OLD_DAYS.
 * Nothing else reads them. Blocks. */
void versions_remove_old(const char *folder, int64_t now_us);
#define VERSIONS_OLD_DAYS 30
void versions_free(struct versions *versions);

/* Saves the bytes as the next version. A blank type means application/octet-stream. `versions` NULL is an error. */
int versions_save(struct versions *versions, const char *name, const void *bytes, size_t len, const char *mime,
                  int64_t *version, struct err *err) CHECKED;
/* Appends the content. `mime` (the caller frees it) and `actual` may be NULL. */
int versions_load(struct versions *versions, const char *name, int64_t version, struct strbuf *out, char **mime,
                  int64_t *actual, struct err *err) CHECKED;
/* Ascending; the caller frees the list. No versions is not an error. */
int versions_list(struct versions *versions, const char *name, int64_t **list, size_t *count, struct err *err) CHECKED;
/* Removes all versions; a missing artifact is fine. */
int versions_remove(struct versions *versions, const char *name, struct err *err) CHECKED;

/* "name@7" → name and 7. Without "@digits" at the end, all of it is the name and `version` is VERSIONS_NEWEST. A
 * version of a blank name is an error. The caller frees the name. */
int versions_parse_ref(const char *ref, char **name, int64_t *version, struct err *err) CHECKED;
