#pragma once
/* Files that come with a request: checked when the line is read, packed for the pipe to the child, and put into the
 * workspace by the child itself, when the layers are on. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct arena;
struct json;
struct strbuf;

#define FILES_MAX 1000

struct request_file {
    const char *path; /* below the workspace: no "..", nothing empty */
    const char *bytes;
    size_t len;
    bool executable;
};

/* The request's list: [{"path","base64","executable"}…]. -1 with the sentence to answer with. */
int files_parse(const struct request_file **files, size_t *count, struct arena *arena, const struct json *list,
                struct err *err) CHECKED;
void files_pack(struct strbuf *out, const struct request_file *files, size_t count);
/* Makes the files below the working folder, none of them to be written to. */
int files_place(const char *packed, size_t len, struct err *err) CHECKED;
