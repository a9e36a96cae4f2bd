#pragma once
/* The tools that servers offer: their effect classes, their names for the model, and the files their arguments name.
 *
 * Hints are claims, not facts. Keyturn believes the hints of a server that the user marked as trusted. Every tool of
 * any other server counts as the worst class. A user's rule for one tool overrides both. A rule for all tools of a
 * server ("*") is a minimum, and the server's hints may only raise it. */

#include "base/hash.h"
#include "mcp.h"
#include <stdbool.h>

struct json;
struct strbuf;

/* Returns the class that the tool's annotations claim; NULL: it has none. */
struct mcp_class mcp_claimed(const struct json *annotations);
/* Returns the class that applies to a tool of this server. */
struct mcp_class mcp_class_of(const struct mcp_spec *spec, const char *tool, const struct json *annotations);

/* ---- files among the arguments ----
 *
 * What Keyturn understands of a tool's arguments without asking its server: which one names a file, and what happens to
 * that file. It uses the tool's name and its schema and never guesses. An unknown tool has no form, and the user
 * approves its call by the plain arguments. */

enum mcp_form_kind {
    MCP_FORM_NONE,
    MCP_FORM_NAMES,   /* names a file; only the server knows what happens to it */
    MCP_FORM_WHOLE,   /* `content` is the file's whole new content */
    MCP_FORM_APPENDS, /* …is appended to the file */
    MCP_FORM_DELETES,
    MCP_FORM_MOVES, /* from `path` to `target` */
};

/* Names of arguments; NULL if absent. */
struct mcp_file_arguments {
    enum mcp_form_kind kind;
    const char *path, *target, *content;
    const char *dry_run; /* a switch for a dry run */
    bool elsewhere;      /* its files are elsewhere: in a repository on a server, in a bucket */
};

/* The form of one call: the arguments may change that of the tool. */
enum mcp_form_kind mcp_form_of_call(const struct mcp_file_arguments *form, const struct json *arguments);
/* Returns true if the name of the argument says that it is a path. */
bool mcp_file_arguments_name_path(const char *argument);

/* ---- names ----
 *
 * The model's name for a tool of a server: SERVER__TOOL, at most 64 letters, digits, _ and -, as every provider
 * accepts. All other characters are replaced. If two names would become equal, a few digits are added that depend only
 * on the original names. */

#define MCP_NAME_MAX 64

/* The caller frees the name. `taken` holds the names given so far; this function adds the new one. */
char *mcp_name(const char *server, const char *tool, struct hash_map *taken);
