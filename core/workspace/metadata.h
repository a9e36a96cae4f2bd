#pragma once
/* metadata.json: what was staged into a workspace and collected from it.
 *
 * A file that is missing reads as defaults, one that cannot be understood is an error with the code METADATA_CORRUPT,
 * and members that are not known here are kept. It is replaced whole, through a temporary with a name of its own that
 * no collection sees. Changes are made under a lock per root, which other threads and other programs respect. */

#include "base/arena.h"
#include "base/err.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct beneath;
struct clock;
struct strbuf;

#define METADATA_VERSION   1
#define METADATA_MODE      0600
#define METADATA_CORRUPT   EBADMSG
#define METADATA_BYTES_MAX (16 << 20) /* more was not written by us */

struct metadata_skill {
    const char *name, *rel_path, *digest, *staged_at;
    const char *source; /* where it came from; NULL when another program staged it */
    bool mounted;
};

struct metadata_input {
    const char *from, *to, *ts;
    const char *resolved, *mode; /* may be NULL */
    int64_t version;             /* METADATA_NO_VERSION: it has none */
};
#define METADATA_NO_VERSION (-1)

struct metadata_output {
    const char *const *globs, *const *saved_as;
    const int64_t *versions;
    size_t glob_count, saved_count, version_count;
    bool limits_hit;
    const char *ts;
};

/* Texts live in the arena; times are RFC 3339. */
struct metadata {
    struct arena arena;
    int64_t version;
    const char *created_at, *updated_at, *last_access;
    struct metadata_skill *skills;
    struct metadata_input *inputs;
    struct metadata_output *outputs;
    size_t skill_count, skill_room, input_count, input_room, output_count, output_room;
    const char *others; /* members nobody here knows, as in the file; NULL: none */
};

/* Defaults, as of now. */
void metadata_init(struct metadata *md, struct clock *clock);
void metadata_release(struct metadata *md);
static inline void metadata_cleanup(struct metadata *md)
{
    metadata_release(md);
}

/* Appends a record with every text copied. A skill replaces the one of the same name. */
void metadata_add_input(struct metadata *md, const struct metadata_input *input);
void metadata_add_output(struct metadata *md, const struct metadata_output *output);
void metadata_put_skill(struct metadata *md, const struct metadata_skill *skill);
void metadata_drop_skill(struct metadata *md, const char *name);
const struct metadata_skill *metadata_find_skill(const struct metadata *md, const char *name);

/* The text of a file, in and out. After a failed parse `md` is to be released all the same. */
int metadata_parse(struct metadata *md, const char *text, size_t len, struct err *err) CHECKED;
void metadata_write(const struct metadata *md, struct strbuf *out);

/* `md` is to be released in any case; after an error it holds defaults. */
int metadata_load(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err) CHECKED;
/* Sets updated_at. */
int metadata_save(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err) CHECKED;
/* Writes defaults where there is no file. */
int metadata_ensure(const struct beneath *root, struct clock *clock, struct err *err) CHECKED;
/* Reads, lets `change` have it, and saves, under the lock. A corrupt file begins anew. */
int metadata_update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                    void *user, struct err *err) CHECKED;

/* Whether this path, relative to the root, is a temporary of metadata.json (in the root itself, nowhere else). */
bool metadata_is_temp(const char *path);

/* "2026-11-16T12:39:42.123456Z" */
#define METADATA_STAMP_MAX 48
void metadata_stamp(struct clock *clock, char out[METADATA_STAMP_MAX]);
