#pragma once
/* Scratch folders for the workspaces of boxes: one per box, 0700, all below one folder that this process locks while
 * it runs.
 *
 * If the process is killed, its lock ends, and the next process finds and removes the folder. Scratch copies of
 * turns work the same way. */

#include "base/err.h"

struct scratch_dirs;

struct scratch_dirs *scratch_dirs_open(const char *folder, struct err *err) CHECKED;
/* The same among the temporary files of this machine. */
struct scratch_dirs *scratch_dirs_open_scratch(struct err *err) CHECKED;
const char *scratch_dirs_path(const struct scratch_dirs *scratch);
/* Creates an empty folder of that name. The caller frees the path. */
char *scratch_dirs_make(struct scratch_dirs *scratch, const char *name, struct err *err) CHECKED;
/* Removes everything. */
void scratch_dirs_close(struct scratch_dirs *scratch);
