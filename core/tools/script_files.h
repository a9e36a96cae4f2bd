#pragma once
/* Files of the workspace for a script's own: named by path, by folder, or by a glob (workspace/glob.h). Copies: what a
 * script does to them reaches nobody. */

#include "base/err.h"
#include "sandbox/executor.h"
#include <stdatomic.h>

struct beneath;
struct json;

/* What a script is given at most. A harness takes a request of 16 MiB, and what a script may fill is not much more. */
#define SCRIPT_FILES_MAX   500
#define SCRIPT_FILES_BYTES (8u << 20)

struct script_files {
    struct script_file *items;
    size_t count, room;
    size_t bytes;
};

/* Reads what the list of texts names, each file once, in the order of the list. -1 with a sentence when one of them
 * names nothing, or together they are too much. Blocks. */
int script_files_read(struct script_files *files, const struct beneath *root, const struct json *list,
                      const atomic_bool *cancelled, struct err *err) CHECKED;
void script_files_release(struct script_files *files);
