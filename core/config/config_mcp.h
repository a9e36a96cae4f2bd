#pragma once
/* The "mcpServers" of config.json, and files that other programs keep in the same form. Between config.c and
 * config_mcp.c. */

#include "base/arena.h"
#include "base/err.h"
#include "mcp/spec.h"

struct json;

/* Where lines were counted up to, in a text whose values are asked about in its order. */
struct config_lines {
    const char *counted;
    long line;
};

/* Adds the servers of the object. `foreign`: a file of another program's, whose other keys are noted, not refused. */
int config_mcp_read(struct arena *arena, struct mcp_specs *specs, const struct json *servers,
                    struct config_lines *lines, bool foreign, struct err *err) CHECKED;
/* Folders that are not absolute are meant from where the file is: of the servers from `first` on. */
void config_mcp_place(struct arena *arena, struct mcp_specs *specs, size_t first, const char *file);
