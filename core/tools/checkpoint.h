#pragma once
/* The bytes before a write, kept so that it can be undone. A checkpoint is a manifest and blobs in a folder of the
 * session's own (0700), durable before the write happens.
 *
 * Undo restores in reverse order, and only when every file still is what the write left: it refuses when somebody else
 * changed one since. Undo is itself a write with its own checkpoint, so it can be undone. */

#include "change.h"

struct checkpoints;

struct checkpoints *checkpoints_open(const char *dir, struct err *err) CHECKED; /* made when missing */
void checkpoints_close(struct checkpoints *store);

/* Keeps the old sides; gives the id ("cp_1"…) to the caller. */
char *checkpoint_save(struct checkpoints *store, const char *call, const struct change_set *set,
                      struct err *err) CHECKED;
/* Removes a checkpoint that nothing was written on account of. Its number stays used. Blocks. */
void checkpoint_discard(struct checkpoints *store, const char *id);
/* The change that would undo it: old sides are what is there now (and must be what was written), new sides what was
 * kept. NULL with a reason when files were changed by someone else. */
struct change_set *checkpoint_undo(struct checkpoints *store, struct beneath *root, const char *id,
                                   struct err *err) CHECKED;
/* Newest first; NULL-terminated array of ids, the array and texts are the caller's. */
char **checkpoint_list(struct checkpoints *store, struct err *err) CHECKED;
