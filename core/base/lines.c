/* Splits bytes into lines (lines.h). A line that arrives whole is passed on in place; only a split line is assembled
 * in `part`. */

#include "lines.h"
#include "mem.h"
#include "strbuf.h"
#include <errno.h>
#include <string.h>

#define KEPT_MAX ((size_t)1 << 16) /* memory that waits for the next cut line; most are short */

void lines_release(struct lines *lines)
{
    strbuf_release(&lines->part);
    lines->skipping = false;
}

/* Adds to the current line, or drops the line if it is too long. */
static void keep(struct lines *lines, const char *bytes, size_t len)
{
    if (lines->limit && len > lines->limit - lines->part.len) {
        strbuf_release(&lines->part);
        lines->skipping = true;
    }
    if (!lines->skipping)
        strbuf_add(&lines->part, bytes, len);
}

size_t lines_feed(struct lines *lines, const char *bytes, size_t len,
                  bool (*line)(void *user, const char *text, size_t len), void *user)
{
    const char *at = bytes, *end = bytes + len;
    while (at < end) {
        const char *text = at, *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((newline ? newline : end) - at);
        bool whole = newline && !lines->part.len && !lines->skipping && (!lines->limit || size <= lines->limit);
        at += size + (newline ? 1 : 0);
        if (!whole) {
            keep(lines, text, size);
            text = lines->part.buf;
            size = lines->part.len;
        }
        if (!newline)
            break;
        bool go_on = lines->skipping || line(user, text, size);
        lines->skipping = false;
        if (!whole && lines->part.room > KEPT_MAX)
            strbuf_release(&lines->part);
        else if (!whole)
            strbuf_reset(&lines->part);
        if (!go_on)
            break;
    }
    return (size_t)(at - bytes);
}

/* ---- line reader ---- */

/* A line that lies within one block is handed out in place; one that crosses blocks is put together, up to the cap. */

#define BLOCK 65536

struct line_reader {
    int fd;
    const atomic_bool *cancelled;
    size_t cap;
    uint64_t position; /* of block[at] in the file */
    size_t at, have;
    bool ended;
    struct strbuf parts;
    char block[BLOCK];
};

struct line_reader *line_reader_new(int fd, uint64_t start, size_t cap, const atomic_bool *cancelled)
{
    struct line_reader *reader = xmalloc(sizeof(*reader)); /* not zeroed: the block is large */
    reader->fd = fd;
    reader->cancelled = cancelled;
    reader->cap = cap;
    reader->position = start;
    reader->at = reader->have = 0;
    reader->ended = false;
    strbuf_init(&reader->parts);
    return reader;
}

void line_reader_free(struct line_reader *reader)
{
    if (!reader)
        return;
    strbuf_release(&reader->parts);
    free(reader);
}

/* 1 when there are bytes in the block, 0 at the end, -1 with errno. */
static int fill(struct line_reader *reader)
{
    if (reader->at < reader->have)
        return 1;
    while (!reader->ended) {
        if (reader->cancelled && atomic_load_explicit((atomic_bool *)reader->cancelled, memory_order_relaxed)) {
            errno = ECANCELED;
            return -1;
        }
        ssize_t got = read(reader->fd, reader->block, sizeof(reader->block));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        reader->ended = got == 0;
        reader->at = 0;
        reader->have = (size_t)got;
        if (got > 0)
            return 1;
    }
    return 0;
}

int line_reader_peek(struct line_reader *reader, const char **text, size_t *len)
{
    int rc = fill(reader);
    *text = reader->block + reader->at;
    *len = rc > 0 ? reader->have - reader->at : 0;
    return rc;
}

int line_reader_next(struct line_reader *reader, struct line *line)
{
    *line = (struct line){.start = reader->position, .text = ""};
    strbuf_reset(&reader->parts);
    bool first = true;
    for (;;) {
        int rc = fill(reader);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return line->full > 0; /* an unfinished line, or nothing left */
        const char *from = reader->block + reader->at;
        const char *newline = memchr(from, '\n', reader->have - reader->at);
        size_t len = newline ? (size_t)(newline - from) : reader->have - reader->at;
        size_t wanted = reader->cap - line->len < len ? reader->cap - line->len : len;
        reader->at += len + (newline != NULL);
        reader->position += len + (newline != NULL);
        line->full += len;
        line->len += wanted;
        if (first && newline) {
            line->text = from;
        } else {
            strbuf_add(&reader->parts, from, wanted);
            line->text = reader->parts.buf;
        }
        first = false;
        if (newline) {
            line->newline = true;
            return 1;
        }
    }
}
