#pragma once
/* The "mcpServers" of config.json, and files of other programs in the same format. Only config.c and config_mcp.c use
 * it. */

#include "base/arena.h"
#include "base/err.h"
#include "mcp/mcp.h"

/* Adds the servers of the object in `text`, which begins in line `first_line` of its file. */
int config_mcp_read(struct arena *arena, struct mcp_specs *specs, const char *text, size_t len, long first_line,
                    struct err *err) CHECKED;
/* Resolves relative folders of the servers from `first` on against the folder of the file. */
void config_mcp_place(struct arena *arena, struct mcp_specs *specs, size_t first, const char *file);
