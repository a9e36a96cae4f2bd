#pragma once
/* Versioned artifacts: files that outlive their workspace, by name, each save a new version counting from 0. What a
 * turn keeps because an output was too long for the model is another thing (tools/artifact.h): that one has no
 * versions, and a time to live.
 *
 * Two implementations behind one vector: in memory, and on disk in a folder that several programs may share. Any thread
 * may call. */

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct strbuf;
struct versions;

#define VERSIONS_NEWEST (-1)
#define ARTIFACT_SCHEME \
    "artifact://" /* before a name or a name@version, and before the id of an output that was too long */

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

struct versions *versions_in_memory(void);
/* Below `folder`, which is made when the first artifact is saved. */
struct versions *versions_on_disk(const char *folder);
void versions_free(struct versions *versions);

/* Keeps the bytes as the next version. A blank type is application/octet-stream. `versions` NULL is an error. */
int versions_save(struct versions *versions, const char *name, const void *bytes, size_t len, const char *mime,
                  int64_t *version, struct err *err) CHECKED;
/* Appends the content. `mime` (the caller's) and `actual` may be NULL. */
int versions_load(struct versions *versions, const char *name, int64_t version, struct strbuf *out, char **mime,
                  int64_t *actual, struct err *err) CHECKED;
/* Ascending; the caller's. None is not an error. */
int versions_list(struct versions *versions, const char *name, int64_t **list, size_t *count, struct err *err) CHECKED;
/* All versions; one that is not there is fine. */
int versions_remove(struct versions *versions, const char *name, struct err *err) CHECKED;

/* "name@7" → name and 7; without "@digits" at the end all of it is the name and `version` is VERSIONS_NEWEST. A version
 * of a blank name is an error. The name is the caller's. */
int versions_parse_ref(const char *ref, char **name, int64_t *version, struct err *err) CHECKED;
