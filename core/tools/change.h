#pragma once
/* Changes to files as values: proposed, decided, saved for undo, and committed all or nothing.
 *
 * A change holds the whole old and the whole new content with their digests. A commit checks that every file still
 * has the old digest, writes the new bytes to temporaries beside their targets, fsyncs, renames, fsyncs the folders.
 * If a later file of a set cannot be written, the earlier ones are restored. */

#include "base/beneath.h"
#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct diff;
struct guarded;

#define CHANGE_BYTES_MAX (32u << 20) /* of one file, before or after; larger files are refused, not shown in part */

struct change_side {
    bool exists;
    mode_t mode;       /* permission bits */
    const char *bytes; /* shared with copies, so never changed; NULL if the file does not exist */
    size_t len;
    char digest[HASH_SHA256_HEX]; /* "absent" if the file does not exist */
};

/* The counts of a diff. Made with the diff on the pool and carried along, so that the sides need not be compared
 * again. Code that changes a side must set `known` to false. */
struct change_counts {
    bool known;
    bool binary;
    bool cut; /* see struct diff: too large to decide hunk by hunk */
    size_t added, removed, hunks;
};

struct change {
    char *path;                   /* relative to the workspace root, with every link resolved */
    char *through;                /* the requested path, if links lead from there to `path`; NULL: the same */
    bool link;                    /* the last name of `through` is itself a link */
    struct beneath_anchor anchor; /* the folder that was read; the commit requires the same one */
    const struct guarded *guard;  /* why the path is protected or dangerous (protected.h); NULL: ordinary */
    char *loses;     /* attributes of the old file that the write loses, one per line (attributes.h); NULL: none */
    char *has;       /* for a file that is removed: attributes that an undo cannot restore, one per line; NULL: none */
    char *like;      /* for a new file that replaces another one: the file whose attributes it gets; NULL: its own */
    bool exact_mode; /* for a new file: exactly these permission bits, whatever the umask is */
    struct change_side old, new;
    struct change_counts counts;
    size_t made; /* for a new file: the length of the first folder on its path that must be created; for a removed
                  * one: of the first folder to remove with it if empty; 0: none */
};

struct change_set {
    struct change *items;
    size_t count, room;
    char *left_out;    /* files that could not be proposed, and why, as text; NULL: none */
    size_t left_count; /* their number */
    bool move;         /* items[1] becomes items[0]: one operation, not two */
};

struct change_set *change_set_new(void);
void change_set_free(struct change_set *set);
struct change_set *change_set_copy(const struct change_set *set);
void change_release(struct change *change);
/* Reads the current state of `path` into a new change whose new side equals the old one; the caller then sets it.
 * Resolves links inside the workspace. Fails with a clear text for links that leave it, folders, FIFOs, devices,
 * unreadable and too large files. */
struct change *change_set_add(struct change_set *set, struct beneath *root, const char *path, struct err *err) CHECKED;
void change_side_set(struct change_side *side, const void *bytes, size_t len, mode_t mode); /* copies the bytes */
void change_side_absent(struct change_side *side);
/* Whether the open file has exactly this content: 1, 0, or -1 with errno. Reads from the descriptor's position. */
int change_side_matches(const struct change_side *side, int fd);
/* One digest over the whole set; an approval must name it. */
void change_set_digest(const struct change_set *set, char out[HASH_SHA256_HEX]);

/* Marks the new file `to` as the moved `from`: it gets the attributes of `from`, and lists what it loses. */
void change_set_moves(struct change *to, struct change *from);
/* Lost attributes for the question: `loses` if the file exists before and after, `has` if it is removed. */
const char *change_loses(const struct change *change);
/* Returns the next of these lines and moves behind it; NULL: no more. `rest` may be NULL.
 *
 *     for (const char *rest = change_loses(change), *line; (line = change_next_loss(&rest, &len));) */
const char *change_next_loss(const char **rest, size_t *len);

/* Returns 0, or -1 with the first file that differs: its content is no longer the old side or, with err->code ESTALE,
 * its folder was replaced or its path has become protected. */
int change_set_check(const struct change_set *set, struct beneath *root, struct err *err) CHECKED;
/* Sets `made` of new files. Blocks, like the next. */
void change_set_note_folders(struct change_set *set, struct beneath *root);
/* Check and commit, or nothing. Blocks; call it on the pool. */
int change_set_commit(const struct change_set *set, struct beneath *root, struct err *err) CHECKED;

/* The diff of one change; NULL and err if it fails. May take seconds: call it on the pool. */
struct diff *change_diff(const struct change *change, struct err *err) CHECKED;
/* Sets its counts from a diff (NULL: the diff failed, and they are 0). */
void change_count(struct change *change, const struct diff *diff);
/* Counts the changes that are not counted yet. Blocks; call it on the pool. */
void change_set_count(struct change_set *set);
/* Keeps only the chosen hunks: keep[i] for hunk i of `diff`, which is change_diff's. Sets the new side accordingly
 * and counts it. */
int change_keep_hunks(struct change *change, const struct diff *diff, const bool *keep, size_t count,
                      struct err *err) CHECKED;

/* Applies a unified diff from an MCP server or a recording. No fuzzy matching: each line must be exactly where the
 * diff says, else there is no result. */

struct strbuf;

/* `text` holds the diff, alone or in a fence. Appends the new content of `old`. */
int patch_apply(struct strbuf *out, const char *old, size_t old_len, const char *text, struct err *err) CHECKED;
