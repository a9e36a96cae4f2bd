#pragma once
/* Changes to files, as values: proposed, decided, kept for undo, and committed all or nothing.
 *
 * A change holds the whole old and the whole new content with their digests. Committing checks that every file still
 * has the old digest, writes the new bytes to temporaries beside their targets, fsyncs, renames, fsyncs the folders.
 * When a later file of a set cannot be written, the earlier ones are put back. */

#include "base/beneath.h"
#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct diff;
struct guarded;

#define CHANGE_BYTES_MAX (32u << 20) /* of one file, before or after: more is refused, not half shown */

struct change_side {
    bool exists;
    mode_t mode;       /* permission bits */
    const char *bytes; /* shared with copies, so never changed; NULL when it does not exist */
    size_t len;
    char digest[HASH_SHA256_HEX]; /* "absent" when it does not exist */
};

/* What a difference comes to. Made where the difference is made, on the pool, and carried along, so that nobody needs
 * to compare the sides again to tell it. Whoever changes a side sets `known` to false. */
struct change_counts {
    bool known;
    bool binary;
    bool cut; /* see struct diff: too large to be decided hunk by hunk */
    size_t added, removed, hunks;
};

struct change {
    char *path;    /* relative to the workspace root, with every link resolved */
    char *through; /* the path that was asked for, when links lead from there to `path`; NULL: the same */
    bool link;     /* the last name of `through` is itself a link */
    struct beneath_anchor anchor; /* the folder that was looked at; the commit insists on it */
    const struct guarded *guard;  /* the place is protected or dangerous, and why (protected.h); NULL: ordinary */
    char *loses;     /* what the write cannot keep of the old file, a line each (attributes.h); NULL: nothing */
    char *has;       /* of a file that goes: what an undo cannot bring back, a line each; NULL: nothing */
    char *like;      /* of a new file that takes the place of another one: whose attributes it gets; NULL: its own */
    bool exact_mode; /* of a new file: just these permission bits, whatever the umask is */
    struct change_side old, new;
    struct change_counts counts;
    size_t made; /* of a file that is made: the length of the first folder on its path that has to be made for it; of
                  * one that goes: of the first that goes with it when it is empty then; 0: none */
};

struct change_set {
    struct change *items;
    size_t count, room;
    char *left_out;    /* what could not be proposed, and why, in words; NULL: nothing */
    size_t left_count; /* how many */
    bool move;         /* items[1] becomes items[0]: one thing, not two */
};

struct change_set *change_set_new(void);
void change_set_free(struct change_set *set);
struct change_set *change_set_copy(const struct change_set *set);
void change_release(struct change *change);
/* Reads the present state of `path` into a new change whose new side is as the old one; the caller then sets it. Links
 * inside the workspace are resolved. Fails with a clear text for links that leave it, folders, FIFOs, devices,
 * unreadable and too large files. */
struct change *change_set_add(struct change_set *set, struct beneath *root, const char *path, struct err *err) CHECKED;
void change_side_set(struct change_side *side, const void *bytes, size_t len, mode_t mode); /* copies */
void change_side_absent(struct change_side *side);
/* Whether the open file has just this content: 1, 0, or -1 with errno. Reads from the descriptor's position. */
int change_side_matches(const struct change_side *side, int fd);
/* One digest over the whole set: what an approval refers to. */
void change_set_digest(const struct change_set *set, char out[HASH_SHA256_HEX]);

/* The new file `to` is what becomes of `from`: it gets its attributes, and says what it loses. */
void change_set_moves(struct change *to, struct change *from);
/* What the question has to say about lost attributes: `loses` if there is a file before and after, `has` if it goes. */
const char *change_loses(const struct change *change);
/* The next of such lines, and goes on behind it; NULL: there is none. `rest` may be NULL.
 *
 *     for (const char *rest = change_loses(change), *line; (line = change_next_loss(&rest, &len));) */
const char *change_next_loss(const char **rest, size_t *len);

/* 0, or -1 naming the first file whose content is no longer the old side, or (ESTALE) whose folder is another one or
 * whose place has become a protected one. */
int change_set_check(const struct change_set *set, struct beneath *root, struct err *err) CHECKED;
/* Fills in `made` of the files that are made. Blocks, as the next. */
void change_set_note_folders(struct change_set *set, struct beneath *root);
/* Check and commit, or nothing. Blocks; call it on the pool. */
int change_set_commit(const struct change_set *set, struct beneath *root, struct err *err) CHECKED;

/* The difference of one change; NULL and err when it cannot be made. May take seconds: call it on the pool. */
struct diff *change_diff(const struct change *change, struct err *err) CHECKED;
/* Its counts, from a difference that was made (NULL: it could not be, and they are 0). */
void change_count(struct change *change, const struct diff *diff);
/* Counts what is not counted yet. Blocks; call it on the pool. */
void change_set_count(struct change_set *set);
/* Keeps only the chosen hunks: keep[i] for hunk i of `diff`, which is change_diff's. Makes the new side what would then
 * be written, and counts it. */
int change_keep_hunks(struct change *change, const struct diff *diff, const bool *keep, size_t count,
                      struct err *err) CHECKED;
