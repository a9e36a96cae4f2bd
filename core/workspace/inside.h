#pragma once
/* Opens files that a program left in a workspace.
 *
 * The kernel keeps every path beneath the root. In addition, an absolute link into the workspace counts as inside,
 * because programs know absolute paths and create such links. */

#include "base/err.h"

struct beneath;

/* Opens like beneath_openat. EXDEV if the path leads out. `real`, if given, gets the path relative to the root with
 * all links resolved; the caller frees it. */
int inside_open(const struct beneath *root, const char *path, int flags, char **real, struct err *err) CHECKED;
/* Reopens for reading a descriptor that is open with O_PATH and known to be a file or a folder. Opening a FIFO would
 * wake its writer. -1 with errno. */
int inside_reopen(int seen);
/* The path of a descriptor relative to the root; `otherwise` if that is unknown. The caller frees it. */
char *inside_real(const struct beneath *root, int fd, const char *otherwise);
