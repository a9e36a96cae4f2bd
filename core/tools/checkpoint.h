#pragma once
/* The bytes before a write, saved so that it can be undone. A checkpoint is a manifest and blobs in a folder of the
 * session's own (0700), durable before the write happens.
 *
 * Undo restores in reverse order, and only if every file is still as the write left it. It refuses if another program
 * changed one since. Undo is itself a write with its own checkpoint, so it can be undone. */

#include "change.h"

struct checkpoints;

struct checkpoints *checkpoints_open(const char *dir, struct err *err) CHECKED; /* created if missing */
void checkpoints_close(struct checkpoints *store);
/* For a fork: its checkpoints get numbers above this one of the recording, whose own are in another folder. */
void checkpoints_number_from(struct checkpoints *store, const char *id);

/* Saves the old sides; returns the id ("cp_1"…), which the caller frees. */
char *checkpoint_save(struct checkpoints *store, const char *call, const struct change_set *set,
                      struct err *err) CHECKED;
/* Removes a checkpoint without a write. Its number stays used. Blocks. */
void checkpoint_discard(struct checkpoints *store, const char *id);
/* The change that undoes it: old sides are the current files (which must be as written), new sides the saved ones.
 * NULL with a reason if another program changed files. */
struct change_set *checkpoint_undo(struct checkpoints *store, struct beneath *root, const char *id,
                                   struct err *err) CHECKED;
