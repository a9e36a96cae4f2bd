#pragma once
/* Files of the program's own: read whole, replaced whole, and the XDG folders they live in. What an agent reads and
 * writes in a workspace goes through beneath.h instead. */

#include "err.h"
#include <stddef.h>
#include <sys/types.h>

struct strbuf;

/* Appends the content. More than `limit` bytes (0: none) is an error, so is anything but a regular file. */
int file_read(const char *path, struct strbuf *out, size_t limit, struct err *err) CHECKED;
/* Writes everything, with as many calls of write(2) as it needs. 0, or -1 with errno. */
int file_write_all(int fd, const void *bytes, size_t len);
/* Replaces the content or nothing: a temporary beside it, fsync, rename, fsync of the folder. */
int file_replace(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err) CHECKED;
/* Makes the folder and those above it. */
int file_mkdirs(const char *path, mode_t mode, struct err *err) CHECKED;
/* Removes a tree; symbolic links are removed, not followed. Missing is fine. */
int file_remove_tree(const char *path, struct err *err) CHECKED;
/* Removes everything in a folder and keeps the folder itself: a process that has it open or mounted sees it empty. */
int file_empty_folder(const char *path, struct err *err) CHECKED;
/* Copies a tree: folders, regular files (with their permission bits) and symbolic links as links; others are left
 * out. */
int file_copy_tree(const char *from, const char *to, struct err *err) CHECKED;
/* A new folder "<base>/<prefix>XXXXXX", 0700. `base` NULL: $TMPDIR or /tmp. */
char *file_make_temp_dir(const char *base, const char *prefix, struct err *err) CHECKED;

enum file_xdg { FILE_CONFIG, FILE_DATA, FILE_STATE, FILE_CACHE };
/* "<folder>/keyturn/<name>" ($XDG_… or its default below $HOME); `name` may be "". Does not create anything. */
char *file_xdg_path(enum file_xdg kind, const char *name);
/* The folder of the running program, without a slash at the end. */
char *file_program_dir(void);
