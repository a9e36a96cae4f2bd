#pragma once
/* Opening what a program left in a workspace. The kernel keeps it beneath the root; on top of that, a link whose target
 * is absolute but lies in the workspace counts as inside: programs are told absolute paths and make such links. */

#include "base/err.h"

struct beneath;

/* As beneath_openat. EXDEV when the path leads out. `real`, when given, gets the path relative to the root with every
 * link resolved; the caller's. */
int inside_open(const struct beneath *root, const char *path, int flags, char **real, struct err *err) CHECKED;
/* For reading, what is open by O_PATH and was seen to be a file or a folder: to open a FIFO would wake who writes to
 * it. -1 with errno. */
int inside_reopen(int seen);
/* Where a descriptor is, relative to the root; `otherwise` when that cannot be told. The caller's. */
char *inside_real(const struct beneath *root, int fd, const char *otherwise);
