#pragma once
/* Turns a server's answer into a tool's reply, and previews what a call would do to a file.
 *
 * All text of the server is below a key of ours in the reply. So the model cannot mistake it for words of the
 * executor. */

#include "base/err.h"
#include <stdbool.h>

struct beneath;
struct change_set;
struct json;
struct strbuf;
struct tool_reply;

/* `result` of tools/call becomes an output, or an error if it has isError or is not a valid result. */
void mcp_content_reply(const struct json *result, struct tool_reply *reply);
/* Appends the complete text of the result, for a caller that searches it. */
void mcp_content_text(const struct json *result, struct strbuf *out);

/* ---- questions of a server ----
 *
 * A server may answer a call with questions (resultType "input_required"): forms for a person or a model. Keyturn
 * declines them, and the outcome of the call quotes them in full. */

bool mcp_input_wanted(const struct json *result);
/* Writes the questions, for people and models. */
void mcp_input_write(struct strbuf *out, const struct json *result);
/* Writes what a repeated request must contain to decline all questions: JSON members, each after a comma. Returns false
 * if the protocol cannot decline. */
bool mcp_input_decline(struct strbuf *out, const struct json *result);

/* ---- previews ----
 *
 * A preview is a change set: what a call would do to a file of the workspace, for the user to approve. All functions
 * block: call them on the pool. */

/* Reads the file that the arguments name into a set of one change that changes nothing yet. The server resolves a
 * relative path from `cwd`; NULL: the workspace. Returns NULL and err if the file does not exist or cannot be shown. */
struct change_set *mcp_preview_begin(struct beneath *root, const char *path, const char *cwd, struct err *err) CHECKED;
/* A moved file: two changes. Returns NULL and err if `from` is not a file or `to` exists. */
struct change_set *mcp_preview_move(struct beneath *root, const char *from, const char *to, const char *cwd,
                                    struct err *err) CHECKED;
/* Set the file's new content, append to it, or delete it. */
void mcp_preview_content(struct change_set *set, const char *content, size_t len);
void mcp_preview_append(struct change_set *set, const char *content, size_t len);
void mcp_preview_delete(struct change_set *set);
/* Applies the patch that the server described. */
int mcp_preview_patch(struct change_set *set, const char *text, struct err *err) CHECKED;
/* Returns whether the set changes anything. */
int mcp_preview_changes(const struct change_set *set);
/* Returns 0, or -1 naming the first file that differs from what the set says it is now (`after`) or was before. */
int mcp_preview_check(const struct change_set *set, struct beneath *root, int after, struct err *err) CHECKED;
/* If no diff can be made: writes a line about the present state of each workspace file that the arguments name. */
void mcp_preview_name(struct strbuf *out, struct beneath *root, const struct json *arguments, const char *cwd);

/* Writes the arguments with one of them replaced or added as JSON text. */
void mcp_arguments_with(struct strbuf *out, const struct json *arguments, const char *name, const char *value);
