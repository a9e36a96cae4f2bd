#pragma once
/* Lines from a stream (struct lines) and from a file (struct line_reader), in bounded memory. */

#include "strbuf.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Splits bytes that arrive in pieces of any size into lines. A line longer than `limit` is dropped whole, so a writer
 * without newlines costs no memory. */
struct lines {
    struct strbuf part; /* a line whose end has not arrived */
    size_t limit;       /* 0: none */
    bool skipping;      /* the current line is too long */
};

#define LINES_INIT(max)                     \
    {                                       \
        .part = STRBUF_INIT, .limit = (max) \
    }
void lines_release(struct lines *lines);
/* Calls `line` for each whole line, without its newline and not NUL-terminated. Stops early if `line` returns false.
 * Returns how many bytes it used. */
size_t lines_feed(struct lines *lines, const char *bytes, size_t len,
                  bool (*line)(void *user, const char *text, size_t len), void *user);

/* Reads lines of an open file of any size, in bounded memory. A line longer than `cap` comes with its beginning and
 * its true length. Only '\n' ends a line; a last line without one counts, with `newline` false. */

struct line_reader;

struct line {
    const char *text; /* until the next call; not terminated */
    size_t len;       /* of text, at most the cap */
    uint64_t full;    /* length of the line itself */
    uint64_t start;   /* its place in the file */
    bool newline;
};

/* Reads from the descriptor's position, `start` in the file. The caller keeps the descriptor. `cancelled` may be
 * NULL. */
struct line_reader *line_reader_new(int fd, uint64_t start, size_t cap, const atomic_bool *cancelled);
void line_reader_free(struct line_reader *reader);
static inline void line_reader_cleanup(struct line_reader **reader)
{
    line_reader_free(*reader);
}
/* Shows the next bytes, as many as one read gave, without consuming them. 1, 0 at the end, or -1 with errno. */
int line_reader_peek(struct line_reader *reader, const char **text, size_t *len);
/* 1, 0 at the end, or -1 with errno (ECANCELED). */
int line_reader_next(struct line_reader *reader, struct line *line);
