#pragma once
/* Files that come with a request. The supervisor checks them when it reads the line and packs them for the child's
 * pipe. The child places them in the workspace after it has entered the layers. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

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
