#pragma once
/* Copies workspace files into a script's own workspace: named by path, by folder, or by a glob (workspace/glob.h).
 * Changes that a script makes to the copies reach no other file. */

#include "base/err.h"
#include "sandbox/script.h"
#include <stdatomic.h>

struct beneath;
struct json;

/* The most a script gets. A harness accepts a request of 16 MB, and a script's disk limit is not much larger. */
#define SCRIPT_FILES_MAX   500
#define SCRIPT_FILES_BYTES (8u << 20)

struct script_files {
    struct script_file *items;
    size_t count, room;
    size_t bytes;
};

/* Reads the files that the list names, each once, in the order of the list. Returns -1 with a sentence if an entry
 * matches nothing, or if they are too large together. Blocks. */
int script_files_read(struct script_files *files, const struct beneath *root, const struct json *list,
                      const atomic_bool *cancelled, struct err *err) CHECKED;
void script_files_release(struct script_files *files);
