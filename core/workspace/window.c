/* Cutting at the beginnings of characters. */

#include "window.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Only what is UTF-8. A replacement character that stands in the text takes three bytes; one that stands for a broken
 * byte may take as many, but then they are not its own. */
static void add_valid(struct strbuf *out, const char *text, size_t len)
{
    for (size_t used; len; text += used, len -= used) {
        if (utf8_decode(text, len, &used) != UTF8_REPLACEMENT || utf8_valid(text, used))
            strbuf_add(out, text, used);
    }
}

bool window_text(struct strbuf *out, const char *text, size_t len, size_t max_bytes)
{
    const size_t mark = sizeof(WINDOW_MARK) - 1;
    if (!max_bytes || (len <= max_bytes && utf8_valid(text, len))) {
        strbuf_add(out, text, len);
        return false;
    }
    CLEANUP(strbuf) struct strbuf valid = STRBUF_INIT;
    add_valid(&valid, text, len);
    if (valid.len <= max_bytes) {
        strbuf_add(out, valid.buf, valid.len);
        return true;
    }
    size_t content = max_bytes > mark ? max_bytes - mark : 0;
    size_t head = content ? (content + 1) / 2 : max_bytes;
    size_t tail = valid.len - (content - (content ? head : 0));
    while (head && is_inside(valid.buf[head]))
        head--;
    while (tail < valid.len && is_inside(valid.buf[tail]))
        tail++;
    strbuf_add(out, valid.buf, head);
    if (content) {
        strbuf_addstr(out, WINDOW_MARK);
        strbuf_add(out, valid.buf + tail, valid.len - tail);
    }
    return true;
}
