#pragma once
/* A byte string that grows. `buf` is never NULL and always ends with a NUL that `len` does not count, so it can be
 * handed to anything that wants a C string; bytes in between may be NUL. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct strbuf {
    char *buf;
    size_t len;
    size_t room; /* 0 while buf is the shared empty string */
};

extern char strbuf_empty[];
#define STRBUF_INIT ((struct strbuf){strbuf_empty, 0, 0})

void strbuf_init(struct strbuf *sb);
void strbuf_release(struct strbuf *sb);
/* Makes it empty and keeps its memory. */
void strbuf_reset(struct strbuf *sb);
/* Returns the bytes (the caller frees them) and empties the strbuf. The result is from malloc even when empty. */
char *strbuf_detach(struct strbuf *sb, size_t *len);
/* Makes room for `extra` more bytes and the NUL; then buf[len…len+extra) may be written and strbuf_set_len called. */
void strbuf_grow(struct strbuf *sb, size_t extra);
/* The same, but returns false and changes nothing if memory runs out. Bytes that fit into the room need no memory. */
bool strbuf_try_grow(struct strbuf *sb, size_t extra);
void strbuf_set_len(struct strbuf *sb, size_t len);

void strbuf_add(struct strbuf *sb, const void *bytes, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *text);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* Bytes of an open file up to `limit` (0: none); returns 0, or -1 with errno. More than `limit` bytes is EFBIG. */
int strbuf_read(struct strbuf *sb, int fd, size_t limit);

static inline void strbuf_addch(struct strbuf *sb, char c)
{
    if (sb->len + 1 >= sb->room)
        strbuf_grow(sb, 1);
    sb->buf[sb->len++] = c;
    sb->buf[sb->len] = '\0';
}

static inline void strbuf_cleanup(struct strbuf *sb)
{
    strbuf_release(sb);
}
