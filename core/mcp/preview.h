#pragma once
/* What a call of a server's tool would make of a file of the workspace, as a change set to be asked about. All of it
 * blocks: for the pool. */

#include "base/err.h"

struct beneath;
struct change_set;
struct json;
struct strbuf;

/* The file that the arguments name, as it is now: a set of one change that changes nothing yet. `cwd`: the folder that
 * the server takes a path from that is not absolute, NULL: the workspace. NULL and err: there is no such file that
 * could be shown. */
struct change_set *mcp_preview_begin(struct beneath *root, const char *path, const char *cwd, struct err *err) CHECKED;
/* A file that goes to another place: two changes. NULL and err: it is none, or there is something already. */
struct change_set *mcp_preview_move(struct beneath *root, const char *from, const char *to, const char *cwd,
                                    struct err *err) CHECKED;
/* The call says all that the file will hold, or what comes behind it, or that it goes. */
void mcp_preview_content(struct change_set *set, const char *content, size_t len);
void mcp_preview_append(struct change_set *set, const char *content, size_t len);
void mcp_preview_delete(struct change_set *set);
/* The server says how the file will change. */
int mcp_preview_patch(struct change_set *set, const char *text, struct err *err) CHECKED;
/* Whether it changes anything. */
int mcp_preview_changes(const struct change_set *set);
/* 0, or -1 naming the first file that is not what the set says it has become (`after`), or was before. */
int mcp_preview_check(const struct change_set *set, struct beneath *root, int after, struct err *err) CHECKED;
/* Where no diff can be had: a line about each file of the workspace that the arguments name, as it is now. */
void mcp_preview_name(struct strbuf *out, struct beneath *root, const struct json *arguments, const char *cwd);

/* The arguments with one of them replaced, or added, by a JSON text. */
void mcp_arguments_with(struct strbuf *out, const struct json *arguments, const char *name, const char *value);
