#pragma once
/* Whole trees: copying and the digest of what is in them. Removing one, and copying one by path, is in file.h.
 *
 * A copy leaves out FIFOs, sockets and devices, and copies links as links. It follows no link at the destination. Where
 * the file system can share bytes it does, else the kernel copies them; holes stay holes. */

#include "err.h"
#include "hash.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct strbuf;

struct tree_copy {
    bool exact;     /* folders keep their modes, and the target must not exist. Otherwise folders get 0755; files and
                     * links are replaced, folders are not */
    bool read_only; /* no write bits on anything that is made */
    bool follow;    /* copy a link out of the source to a file as that file; only for our own sources */
    int64_t left;   /* bytes that may be written; -1: any */
    struct strbuf *left_out;            /* links that lead out of the source are left out and named here; may be NULL */
    bool (*give)(int folder, int made); /* called for all that is made in a folder; may be NULL */
    /* Results of the copy. */
    bool no_clone, no_range, mask_known;
    mode_t mask; /* bits of a mode that must be set after the file is made */
};

/* The content of the folder `from` into the folder `to`. `label` names the source in errors. */
int tree_copy(struct tree_copy *copy, int from, int to, const char *label, struct err *err) CHECKED;
/* The open file `from` as `name` in the folder `to`, with its permission bits. */
int tree_copy_file(struct tree_copy *copy, int from, const struct stat *st, int to, const char *name, const char *label,
                   struct err *err) CHECKED;

/* The digest of a folder's content: SHA-256 over path, NUL, content, NUL of every file, in the byte order of the paths.
 * Modes, times and empty folders do not count. A link to a file is read through; a link to a folder, or anything that
 * is not a file, makes it fail.
 *
 * `bytes_max` 0: no limit; a tree with more content is an error (EFBIG). `own_links`: links that lead out do not count,
 * and one to a folder, or to nothing, is the text of its target. */
int tree_digest(int folder, bool own_links, int64_t bytes_max, char out[HASH_SHA256_HEX], struct err *err) CHECKED;
