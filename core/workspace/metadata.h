#pragma once
/* metadata.json: the record of what was staged into a workspace and collected from it.
 *
 * A missing file reads as defaults. An invalid file is an error with the code METADATA_CORRUPT. Unknown members are
 * kept. The file is replaced whole, through a temporary file with a unique name that collections skip. Changes
 * happen under a lock per root, which other threads and other processes respect. */

#include "base/arena.h"
#include "base/err.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct beneath;
struct clock;
struct doc;
struct strbuf;

#define METADATA_VERSION   1
#define METADATA_MODE      0600
#define METADATA_CORRUPT   EBADMSG
#define METADATA_BYTES_MAX (16 << 20) /* Keyturn never writes more */

struct metadata_skill {
    const char *name, *rel_path, *digest, *staged_at;
    const char *source; /* where it came from; NULL if another program staged it */
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
    struct doc *others; /* unknown members, as in the file; NULL: none */
};

/* Defaults, as of now. */
void metadata_init(struct metadata *md, struct clock *clock);
void metadata_release(struct metadata *md);
static inline void metadata_cleanup(struct metadata *md)
{
    metadata_release(md);
}

/* Appends a record and copies its texts. A skill replaces the one of the same name. */
void metadata_add_input(struct metadata *md, const struct metadata_input *input);
void metadata_add_output(struct metadata *md, const struct metadata_output *output);
void metadata_put_skill(struct metadata *md, const struct metadata_skill *skill);
const struct metadata_skill *metadata_find_skill(const struct metadata *md, const char *name);

/* Parses and writes the text of a file. Release `md` even after a failed parse. */
int metadata_parse(struct metadata *md, const char *text, size_t len, struct err *err) CHECKED;
void metadata_write(const struct metadata *md, struct strbuf *out);

/* Release `md` in any case; after an error it holds defaults. */
int metadata_load(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err) CHECKED;
/* Sets updated_at. */
int metadata_save(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err) CHECKED;
/* Writes defaults if the file is missing. */
int metadata_ensure(const struct beneath *root, struct clock *clock, struct err *err) CHECKED;
/* Reads the file, calls `change` and saves, under the lock. Replaces a corrupt file by defaults. */
int metadata_update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                    void *user, struct err *err) CHECKED;

/* True if this path, relative to the root, is a temporary file of metadata.json, which are only in the root itself. */
bool metadata_is_temp(const char *path);

/* "2026-11-16T12:39:42.123456Z" */
#define METADATA_STAMP_MAX 48
void metadata_stamp(struct clock *clock, char out[METADATA_STAMP_MAX]);
