#pragma once
/* A request line: what the host asks to be run. */

#include "base/err.h"
#include "files.h"
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* A longer line is refused. */
#define REQUEST_MAX    ((size_t)16 << 20)
#define REQUEST_ID_MAX 256

struct request {
    const char *id; /* NULL where the line gives none that can be used */
    const char *script;
    size_t script_len;
    double timeout; /* seconds, at least 1 */
    double named;   /* what an error calls it: the host may have used up a part of what somebody asked for */
    const char *const *secrets;
    size_t secret_count;
    bool all_tools; /* else only those: */
    const char *const *tools;
    size_t tool_count;
    const struct request_file *files;
    size_t file_count;
};

/* Reads a line. -1 with the sentence to answer with; `request->id` is set then too if the line has one. Everything
 * lives in the arena. */
int request_parse(struct request *request, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;
