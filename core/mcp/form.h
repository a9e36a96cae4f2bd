#pragma once
/* What of a tool's arguments can be understood without asking its server: which of them names a file, and what becomes
 * of that file. By the tool's name and its schema; nothing is guessed, so a tool that is not known has no form, and the
 * call is asked about as it is. */

#include <stdbool.h>

struct json;

enum mcp_form_kind {
    MCP_FORM_NONE,
    MCP_FORM_NAMES,   /* names a file; what becomes of it only the server knows */
    MCP_FORM_WHOLE,   /* `content` is all that it will hold */
    MCP_FORM_APPENDS, /* …stands behind what it holds */
    MCP_FORM_DELETES,
    MCP_FORM_MOVES, /* from `path` to `target` */
};

/* Names of arguments; NULL where there is none. */
struct mcp_form {
    enum mcp_form_kind kind;
    const char *path, *target, *content;
    const char *dry_run; /* a switch that makes it tell and not do */
    bool elsewhere;      /* its files are those of another place: a repository on a server, a bucket */
};

struct mcp_form mcp_form_of(const char *tool, const struct json *schema);
/* The same for one call: arguments may say that it is done in another way. */
enum mcp_form_kind mcp_form_of_call(const struct mcp_form *form, const struct json *arguments);
/* Whether an argument of this name is a path by what it is called. */
bool mcp_form_names_path(const char *argument);
