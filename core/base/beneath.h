#pragma once
/* Opens files beneath the root of a workspace. The kernel checks every path (openat2 with RESOLVE_BENEATH); strings
 * are never compared.
 *
 * So "..", absolute paths, links that lead out and races with all of them get the same refusal. */

#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct beneath;
struct strbuf;

struct beneath *beneath_open(const char *dir, struct err *err) CHECKED;
/* Opens a folder beneath a root as a root of its own. */
struct beneath *beneath_within(const struct beneath *root, const char *path, struct err *err) CHECKED;
void beneath_close(struct beneath *root);
const char *beneath_path(const struct beneath *root); /* absolute, for people */
/* Sets another absolute path of the root: programs in a sandbox see it there, and create links to it. Call before
 * threads share the root. */
void beneath_set_alias(struct beneath *root, const char *path);
int beneath_fd(const struct beneath *root); /* of the root; borrowed */

/* "a file", "a folder", "a symbolic link", "a FIFO"… for sentences. */
const char *beneath_kind(mode_t mode);

/* "./a//b/" → "a/b"; "." for the root. An absolute path below the root is taken as relative to it. Empty text, NUL,
 * ".." that climbs out or another absolute path is an error ("path escapes workspace: …"). The kernel checks again. */
char *beneath_clean(const struct beneath *root, const char *path, struct err *err) CHECKED;
/* The part of an absolute path below the root, "" or beginning with '/', by its own path or the alias; NULL: not
 * below it. */
const char *beneath_rest(const struct beneath *root, const char *path);
/* Cleans only the text: no empty or "." parts, ".." resolved. NULL if it leaves the root. */
char *beneath_tidy(const char *path);
/* open(2) beneath the root, O_CLOEXEC, never a controlling tty, never blocking on a FIFO. */
int beneath_openat(const struct beneath *root, const char *path, int flags, mode_t mode, struct err *err) CHECKED;
/* Describes the entry itself, not the target of a link. err->code has an errno value; ENOENT is a normal answer. */
int beneath_lstat(const struct beneath *root, const char *path, struct stat *st, struct err *err) CHECKED;
/* Whole content of a regular file, at most `limit` bytes (more: EFBIG). Links are followed while they stay beneath. */
int beneath_read(const struct beneath *root, const char *path, struct strbuf *out, size_t limit, struct stat *st,
                 struct err *err) CHECKED;

/* The folder in which a path was resolved: how much of the path names it (0: the root), and its identity. */
struct beneath_anchor {
    size_t len;
    dev_t dev;
    ino_t ino;
    struct timespec seen; /* when: a folder below that was missing then must not be older, else it was moved there */
};
/* The result of following every link on a path, as far as it exists. */
struct beneath_place {
    char *path;                   /* clean, relative to the root, no part of it is a link; "." for the root */
    int folder;                   /* O_PATH: the deepest folder above the last name that exists */
    struct beneath_anchor anchor; /* that folder; as long as `path` when the path is a folder that a link named */
    bool link;                    /* the last name was itself a link */
};
/* Links that stay beneath the root are followed, absolute ones too. One that leaves is an error that names it (EXDEV).
 */
int beneath_resolve(const struct beneath *root, const char *path, struct beneath_place *place, struct err *err) CHECKED;
void beneath_place_release(struct beneath_place *place);
/* Opens the folder that holds a resolved path, without following links. With an anchor it must be the same folder as
 * before, and folders that were missing below it must be newer; ESTALE: moved or replaced. Creates missing folders
 * if `make` is set, else fails with ENOENT. */
int beneath_folder(const struct beneath *root, const char *path, const struct beneath_anchor *anchor, bool make,
                   struct err *err) CHECKED;
