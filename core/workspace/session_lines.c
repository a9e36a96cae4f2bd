/* A ring of lines, whose room is a power of two. */

#include "session_lines.h"
#include "base/mem.h"

struct session_line {
    char *text;
    size_t len;
};

void session_lines_init(struct session_lines *lines, size_t max)
{
    *lines = (struct session_lines){.max = max};
    strbuf_init(&lines->partial);
}

static struct session_line *line_at(const struct session_lines *lines, size_t index)
{
    return &lines->items[(lines->first + index) & (lines->room - 1)];
}

static void drop_oldest(struct session_lines *lines)
{
    struct session_line *line = line_at(lines, 0);
    lines->bytes -= line->len;
    free(line->text);
    lines->first = (lines->first + 1) & (lines->room - 1);
    lines->count--;
    lines->base++;
    if (lines->cursor < lines->base)
        lines->cursor = lines->base;
}

void session_lines_release(struct session_lines *lines)
{
    while (lines->count)
        drop_oldest(lines);
    free(lines->items);
    strbuf_release(&lines->partial);
}

static void make_room(struct session_lines *lines)
{
    size_t room = lines->room ? lines->room * 2 : 16;
    struct session_line *items = xcalloc(room, sizeof(*items));
    for (size_t i = 0; i < lines->count; i++)
        items[i] = *line_at(lines, i);
    free(lines->items);
    lines->items = items;
    lines->first = 0;
    lines->room = room;
}

/* The unfinished line has ended. */
static void end_line(struct session_lines *lines)
{
    if (lines->count == lines->room)
        make_room(lines);
    *line_at(lines, lines->count++) =
        (struct session_line){xmemdup0(lines->partial.buf, lines->partial.len), lines->partial.len};
    lines->bytes += lines->partial.len;
    strbuf_reset(&lines->partial);
}

static void trim(struct session_lines *lines)
{
    while ((lines->max && lines->count > lines->max) || lines->bytes > SESSION_LINES_BYTES)
        drop_oldest(lines);
}

void session_lines_add(struct session_lines *lines, const char *text, size_t len)
{
    const char *stop = text + len;
    lines->added += len;
    while (text < stop) {
        const char *newline = memchr(text, '\n', (size_t)(stop - text));
        size_t part = (size_t)((newline ? newline : stop) - text);
        bool cr = newline && part && text[part - 1] == '\r';
        strbuf_add(&lines->partial, text, cr ? part - 1 : part);
        if (newline || lines->partial.len > SESSION_LINE_BYTES_MAX) {
            end_line(lines);
            trim(lines);
        }
        text += part + (newline ? 1 : 0);
    }
}

/* Not trimmed: who reads at the end what was retained loses no line by the end itself. */
void session_lines_end(struct session_lines *lines, int exit_code)
{
    if (lines->exited)
        return;
    if (lines->partial.len)
        end_line(lines);
    lines->exited = true;
    lines->exit_code = exit_code;
}

static struct session_window window_of(const struct session_lines *lines, size_t offset, size_t limit)
{
    size_t end = lines->base + lines->count;
    if (offset < lines->base)
        offset = lines->base;
    if (offset > end)
        offset = end;
    return (struct session_window){offset, limit && limit < end - offset ? offset + limit : end};
}

static void add_window(const struct session_lines *lines, struct session_window window, struct strbuf *out)
{
    size_t began = out->len;
    for (size_t i = window.offset; i < window.next; i++) {
        const struct session_line *line = line_at(lines, i - lines->base);
        if (i > window.offset)
            strbuf_addch(out, '\n');
        strbuf_add(out, line->text, line->len);
    }
    if (window.next != lines->base + lines->count || !lines->partial.len)
        return;
    if (out->len > began)
        strbuf_addch(out, '\n');
    strbuf_add(out, lines->partial.buf, lines->partial.len);
}

struct session_window session_lines_poll(struct session_lines *lines, size_t limit, struct strbuf *out)
{
    struct session_window window = window_of(lines, lines->cursor, limit);
    add_window(lines, window, out);
    lines->cursor = window.next;
    return window;
}

struct session_window session_lines_log(const struct session_lines *lines, size_t offset, size_t limit,
                                        struct strbuf *out)
{
    struct session_window window = window_of(lines, offset, limit);
    add_window(lines, window, out);
    return window;
}

struct session_window session_lines_take(struct session_lines *lines, size_t limit, struct strbuf *out)
{
    struct session_window window = window_of(lines, lines->cursor, limit);
    for (size_t i = window.offset; i < window.next; i++) {
        const struct session_line *line = line_at(lines, i - lines->base);
        strbuf_add(out, line->text, line->len);
        strbuf_addch(out, '\n');
    }
    lines->cursor = window.next;
    return window;
}
