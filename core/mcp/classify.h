#pragma once
/* What a server says about its tools, as effect classes.
 *
 * Hints are claims, not facts. A server that the user has marked as trusted is believed; of any other every tool counts
 * as the worst there is. A rule of the user's for a tool stands above both; one for all tools of a server ("*") is the
 * least they count as, and the server's own hints may only raise it. */

#include "spec.h"

struct json;
struct strbuf;

enum mcp_bits { MCP_WRITES = 1, MCP_NETWORK = 2, MCP_DESTROYS = 4 };

struct mcp_class {
    unsigned bits;      /* enum mcp_bits; 0: it only reads */
    enum effect effect; /* the strongest of them */
    bool idempotent;
    bool asks; /* a call needs a decision */
};

/* By the tool's annotations; NULL: it has none. */
struct mcp_class mcp_claimed(const struct json *annotations);
/* What counts of that for a tool of this server. */
struct mcp_class mcp_class_of(const struct mcp_spec *spec, const char *tool, const struct json *annotations);
/* "NETWORK + DESTRUCTIVE, idempotent" */
void mcp_class_write(struct strbuf *out, const struct mcp_class *class);
