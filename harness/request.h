#pragma once
/* A request line, with which the host asks the harness to run a script. */

#include "base/err.h"
#include "files.h"
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* A longer line is refused. */
#define REQUEST_MAX    ((size_t)16 << 20)
#define REQUEST_ID_MAX 256

struct request {
    const char *id; /* NULL if the line has no usable id */
    const char *script;
    size_t script_len;
    double timeout; /* seconds, at least 1 */
    double named;   /* timeout that errors name: the host may have used a part of what the user set */
    const char *const *secrets;
    size_t secret_count;
    bool all_tools; /* otherwise only these: */
    const char *const *tools;
    size_t tool_count;
    const struct request_file *files;
    size_t file_count;
};

/* Parses a line. On failure returns -1, and err holds the sentence to answer with; `request->id` is still set if the
 * line has one. Everything lives in the arena. */
int request_parse(struct request *request, struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;
