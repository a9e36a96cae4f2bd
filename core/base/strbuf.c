/* A byte string that grows (strbuf.h). Invariants: buf points to strbuf_empty exactly while room is 0; otherwise it is
 * from malloc, holds `room` bytes, and len < room. buf[len] is NUL. The shared empty string is never written to. */

#include "strbuf.h"
#include "err.h"
#include "mem.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

char strbuf_empty[1];

void strbuf_init(struct strbuf *sb)
{
    *sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_release(struct strbuf *sb)
{
    if (sb->room)
        free(sb->buf);
    strbuf_init(sb);
}

void strbuf_reset(struct strbuf *sb)
{
    strbuf_set_len(sb, 0);
}

char *strbuf_detach(struct strbuf *sb, size_t *len)
{
    if (len)
        *len = sb->len;
    char *bytes = sb->room ? sb->buf : xcalloc(1, 1);
    strbuf_init(sb);
    return bytes;
}

bool strbuf_try_grow(struct strbuf *sb, size_t extra)
{
    if (extra < sb->room - sb->len && sb->room)
        return true;
    size_t room = sb->len + extra + 1;
    char *buf = extra < SIZE_MAX / 4 ? realloc(sb->room ? sb->buf : NULL, room) : NULL;
    if (!buf)
        return false;
    sb->buf = buf;
    sb->room = room;
    sb->buf[sb->len] = '\0';
    return true;
}

void strbuf_grow(struct strbuf *sb, size_t extra)
{
    if (extra < sb->room - sb->len && sb->room)
        return;
    if (extra > SIZE_MAX / 4 || sb->len > SIZE_MAX / 4)
        BUG("a text of %zu + %zu bytes", sb->len, extra);
    size_t need = sb->len + extra + 1;
    size_t room = sb->room ? sb->room * 2 : 64;
    if (room < need)
        room = need;
    sb->buf = xreallocarray(sb->room ? sb->buf : NULL, room, 1);
    sb->room = room;
    sb->buf[sb->len] = '\0';
}

void strbuf_set_len(struct strbuf *sb, size_t len)
{
    if (sb->room == 0) {
        if (len)
            BUG("length %zu of an empty strbuf", len);
        return;
    }
    if (len >= sb->room)
        BUG("length %zu in a room of %zu", len, sb->room);
    sb->len = len;
    sb->buf[len] = '\0';
}

void strbuf_add(struct strbuf *sb, const void *bytes, size_t len)
{
    if (len == 0)
        return;
    strbuf_grow(sb, len);
    memcpy(sb->buf + sb->len, bytes, len);
    sb->len += len;
    sb->buf[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *text)
{
    strbuf_add(sb, text, strlen(text));
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(sb, fmt, args);
    va_end(args);
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    strbuf_grow(sb, 64);
    size_t left = sb->room - sb->len;
    int len = vsnprintf(sb->buf + sb->len, left, fmt, args);
    if (len < 0)
        BUG("cannot format \"%s\"", fmt);
    if ((size_t)len >= left) {
        strbuf_grow(sb, (size_t)len);
        vsnprintf(sb->buf + sb->len, sb->room - sb->len, fmt, again);
    }
    va_end(again);
    sb->len += (size_t)len;
}

int strbuf_read(struct strbuf *sb, int fd, size_t limit)
{
    size_t taken = 0;
    size_t step = 8192;
    for (;;) {
        size_t want = step;
        /* One byte past the limit distinguishes "exactly full" from "too much". */
        if (limit && want > limit - taken + 1)
            want = limit - taken + 1;
        strbuf_grow(sb, want);
        ssize_t got = read(fd, sb->buf + sb->len, want);
        if (got < 0) {
            int code = errno;
            sb->buf[sb->len] = '\0';
            if (code == EINTR)
                continue;
            errno = code;
            return -1;
        }
        if (limit && (size_t)got > limit - taken) {
            strbuf_set_len(sb, sb->len + limit - taken);
            errno = EFBIG;
            return -1;
        }
        strbuf_set_len(sb, sb->len + (size_t)got);
        if (got == 0)
            return 0;
        taken += (size_t)got;
        if ((size_t)got == want && step < 1024 * 1024)
            step *= 2;
    }
}
