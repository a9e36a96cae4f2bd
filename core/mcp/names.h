#pragma once
/* What a model calls a tool of a server: SERVER__TOOL of letters, digits, _ and -, at most 64 of them, as every
 * provider takes it. Whatever else a server calls itself or its tools is replaced; names that would then be the same
 * are told apart by a few digits that depend on nothing but the names. */

#include "base/hash.h"

#define MCP_NAME_MAX 64

/* The caller's. `taken` holds the names given so far, and then this one. */
char *mcp_name(const char *server, const char *tool, struct hash_map *taken);
