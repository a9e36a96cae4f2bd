/* Cuts bytes into lines. A line that comes whole is handed on where it stands; only one that is cut is put together in
 * `part`. */

#include "lines.h"

#define KEPT_MAX ((size_t)1 << 16) /* memory that waits for the next cut line; most are short */

void lines_release(struct lines *lines)
{
    strbuf_release(&lines->part);
    lines->skipping = false;
}

/* Keeps more of the line at hand, or gives it up. */
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
