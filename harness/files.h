#pragma once
/* Files that come with a request. The supervisor checks them when it reads the line and packs them for the child's
 * pipe. The child places them in the workspace after it has entered the layers. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct strbuf;

#define FILES_MAX 1000

struct request_file {
    const char *path; /* below the workspace: no ".." and no empty part */
    const char *bytes;
    size_t len;
    bool executable;
};

/* Parses the request's list [{"path","base64","executable"}…]. On failure returns -1; err holds the sentence to answer
 * with. */
int files_parse(const struct request_file **files, size_t *count, struct arena *arena, const struct json *list,
                struct err *err) CHECKED;
void files_pack(struct strbuf *out, const struct request_file *files, size_t count);
/* Creates the files below the working folder, all read-only. */
int files_place(const char *packed, size_t len, struct err *err) CHECKED;

/* Bounds on what a script can put into its workspace. If the workspace is its own file system, as bubblewrap and
 * containers make it, the kernel bounds its bytes. The supervisor counts its files, which cost kernel memory too. */

/* Files and folders that a script may create. The supervisor notices more within WORKSPACE_LOOK_MS. */
#define WORKSPACE_FILES_MAX 20000u
#define WORKSPACE_LOOK_MS   100

/* Returns the size in MB; 0 if the workspace shares a file system with others and is unbounded. */
uint64_t workspace_bound_mb(const char *path);
/* Returns how many files it holds; 0 if that is unknown without visiting each. */
uint64_t workspace_files(const char *path);
