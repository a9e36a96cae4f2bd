#pragma once
/* Lines of an open file, however large, in bounded memory: a line longer than `cap` comes with its beginning and its
 * true length. Only '\n' ends a line; a last line without one is a line, and `newline` tells. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_reader;

struct line {
    const char *text; /* until the next call; not terminated */
    size_t len;       /* of text, at most the cap */
    uint64_t full;    /* length of the line itself */
    uint64_t start;   /* its place in the file */
    bool newline;
};

/* Reads from the descriptor's position, `start` in the file; the descriptor stays the caller's. `cancelled` may be
 * NULL. */
struct line_reader *line_reader_new(int fd, uint64_t start, size_t cap, const atomic_bool *cancelled);
void line_reader_free(struct line_reader *reader);
static inline void line_reader_cleanup(struct line_reader **reader)
{
    line_reader_free(*reader);
}
/* What comes next, as much of it as one read gave; nothing is taken. 1, 0 at the end, or -1 with errno. */
int line_reader_peek(struct line_reader *reader, const char **text, size_t *len);
/* 1, 0 at the end, or -1 with errno (ECANCELED). */
int line_reader_next(struct line_reader *reader, struct line *line);
