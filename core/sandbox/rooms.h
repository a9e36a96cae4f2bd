#pragma once
/* Folders for the workspaces of boxes: one per box, 0700, all below one folder of this program's own that is locked
 * while it runs. What a killed program left behind is found by its lock, which nobody holds any more, and removed by
 * the next one. The scratch copies that turns are run in are kept in the same way. */

#include "base/err.h"

struct rooms;

struct rooms *rooms_open(const char *folder, struct err *err) CHECKED;
/* The same among the temporary files of this machine. */
struct rooms *rooms_open_scratch(struct err *err) CHECKED;
const char *rooms_path(const struct rooms *rooms);
/* A new empty folder of that name. The caller's. */
char *rooms_make(struct rooms *rooms, const char *name, struct err *err) CHECKED;
/* Removes everything. */
void rooms_close(struct rooms *rooms);
