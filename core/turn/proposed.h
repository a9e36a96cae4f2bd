#pragma once
/* What a recorded question was about, made again from its diffs and the files that are there now. */

#include "base/err.h"
#include "event/event.h"
#include <stdbool.h>

struct beneath;
struct change_set;

/* `files` is that of a write.proposed. NULL and err when a file is not what it was then, or when the
 * recording does not hold what it became (`lost`: binary, or its difference is not there whole): nothing is guessed.
 * Blocks; call it on the pool. */
struct change_set *proposed_again(struct beneath *root, const struct event_proposed_file_list *files, bool *lost,
                                  struct err *err) CHECKED;
