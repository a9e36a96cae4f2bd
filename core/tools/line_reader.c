/* A line that lies within one block is handed out in place; one that crosses blocks is put together, up to the cap. */

#include "line_reader.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <errno.h>
#include <string.h>

#define BLOCK 65536

struct line_reader {
    int fd;
    const atomic_bool *cancelled;
    size_t cap;
    uint64_t place; /* of block[at] in the file */
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
    reader->place = start;
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
    *line = (struct line){.start = reader->place, .text = ""};
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
        reader->place += len + (newline != NULL);
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
