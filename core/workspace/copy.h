#pragma once
/* Copying files and trees from one descriptor to another. Where the file system can share the bytes it does (FICLONE), else
 * the kernel copies them (copy_file_range); holes stay holes. Links are copied as links; FIFOs, sockets and devices are left
 * out. Nothing is followed at the destination: what is in the way of a file is replaced, what is in the way of a folder is
 * an error. */

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct strbuf;

struct copying {
    bool read_only; /* no write bits on anything that is made */
    bool follow;    /* the source is ours: a link out of it to a file is copied as that file */
    int64_t left;   /* bytes that may be written; -1: any */
    struct strbuf *left_out; /* links that lead out of the source are left out, and named here; NULL: they stay links */
    /* What the copy learns on its way. */
    bool no_clone, no_range, mask_known;
    mode_t mask; /* bits of a mode that must be set after the file is made */
    int64_t bytes, files;
};

/* Whether the path, which may be a link or lead through some, ends outside of the folder. */
bool copy_leads_out(int folder, const char *path);
/* The open file `from` as `name` in the folder `to`, with its permission bits. `label` is for the error. */
int copy_file(struct copying *c, int from, const struct stat *st, int to, const char *name, const char *label,
              struct err *err) CHECKED;
/* The content of the folder `from` into the folder `to`. */
int copy_tree(struct copying *c, int from, int to, const char *label, struct err *err) CHECKED;
