#pragma once
/* Bytes into lines, whatever the pieces they come in. A line that does not fit into `limit` bytes is dropped whole, so
 * a writer without newlines costs no memory. */

#include "strbuf.h"
#include <stdbool.h>
#include <stddef.h>

struct lines {
    struct strbuf part; /* a line whose end has not come */
    size_t limit;       /* 0: none */
    bool skipping;      /* the line at hand is too long */
};

#define LINES_INIT(max)                     \
    {                                       \
        .part = STRBUF_INIT, .limit = (max) \
    }
void lines_release(struct lines *lines);
/* Calls `line` for each whole line, without its newline and without a NUL behind it. Stops early when `line` returns
 * false; tells how many bytes were used. */
size_t lines_feed(struct lines *lines, const char *bytes, size_t len,
                  bool (*line)(void *user, const char *text, size_t len), void *user);
