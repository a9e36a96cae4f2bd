/* Reads an event stream.
 *
 * It finds lines with memchr in the fed bytes and copies only a line that the end of the bytes cuts. So an event with
 * one line of data, which is what providers send, is passed on without a copy. */

#include "sse.h"

void sse_init(struct sse *sse, bool (*event)(void *user, const char *data, size_t len), void *user)
{
    *sse = (struct sse){.line = STRBUF_INIT, .data = STRBUF_INIT, .event = event, .user = user};
}

void sse_release(struct sse *sse)
{
    strbuf_release(&sse->line);
    strbuf_release(&sse->data);
}

/* Copies the data out of the fed bytes, before more is added or the bytes become invalid. */
static void keep_data(struct sse *sse)
{
    if (sse->whole)
        strbuf_add(&sse->data, sse->whole, sse->whole_len);
    sse->whole = NULL;
}

static int add_data(struct sse *sse, const char *value, size_t len, struct err *err)
{
    size_t so_far = sse->whole ? sse->whole_len : sse->data.len;
    if (len > SSE_EVENT_MAX || so_far > SSE_EVENT_MAX - len)
        return err_set(err, "an event of the stream is longer than %u MB", SSE_EVENT_MAX >> 20);
    if (!sse->has_data) {
        sse->whole = value;
        sse->whole_len = len;
        sse->has_data = true;
        return 0;
    }
    keep_data(sse);
    strbuf_addch(&sse->data, '\n');
    strbuf_add(&sse->data, value, len);
    return 0;
}

/* Returns 1 to continue, 0 to stop. */
static int end_event(struct sse *sse)
{
    bool more = true;
    if (sse->has_data)
        more = sse->whole ? sse->event(sse->user, sse->whole, sse->whole_len)
                          : sse->event(sse->user, sse->data.buf, sse->data.len);
    sse->has_data = false;
    sse->whole = NULL;
    strbuf_reset(&sse->data);
    return more;
}

/* Returns 1 to continue, 0 to stop, -1 on error. */
static int take_line(struct sse *sse, const char *line, size_t len, struct err *err)
{
    if (!sse->begun) {
        sse->begun = true;
        if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
            line += 3;
            len -= 3;
        }
    }
    if (len == 0)
        return end_event(sse);
    if (len < 4 || memcmp(line, "data", 4) != 0 || (len > 4 && line[4] != ':'))
        return 1;
    size_t skip = len == 4 ? 4 : len > 5 && line[5] == ' ' ? 6 : 5;
    return add_data(sse, line + skip, len - skip, err) < 0 ? -1 : 1;
}

/* The line in `sse->line` is complete. Its data must be moved out, because the next line overwrites it. */
static int take_kept_line(struct sse *sse, struct err *err)
{
    int result = take_line(sse, sse->line.buf, sse->line.len, err);
    keep_data(sse);
    strbuf_reset(&sse->line);
    return result;
}

static int keep_line(struct sse *sse, const char *bytes, size_t len, struct err *err)
{
    if (len > SSE_EVENT_MAX || sse->line.len > SSE_EVENT_MAX - len)
        return err_set(err, "a line of the stream is longer than %u MB", SSE_EVENT_MAX >> 20);
    strbuf_add(&sse->line, bytes, len);
    return 0;
}

int sse_feed(struct sse *sse, const char *bytes, size_t len, struct err *err)
{
    const char *end = bytes + len;
    while (bytes < end) {
        if (sse->skip_lf) {
            sse->skip_lf = false;
            if (*bytes == '\n' && ++bytes == end)
                break;
        }
        const char *lf = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *stop = lf ? lf : end, *cr = memchr(bytes, '\r', (size_t)(stop - bytes));
        int more;
        if (cr)
            stop = cr;
        if (stop == end) {
            if (keep_line(sse, bytes, (size_t)(end - bytes), err))
                return -1;
            break;
        }
        sse->skip_lf = stop == cr;
        if (sse->line.len) {
            if (keep_line(sse, bytes, (size_t)(stop - bytes), err))
                return -1;
            more = take_kept_line(sse, err);
        } else {
            more = take_line(sse, bytes, (size_t)(stop - bytes), err);
        }
        if (more <= 0)
            return more;
        bytes = stop + 1;
    }
    keep_data(sse);
    return 0;
}
