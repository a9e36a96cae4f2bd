/* The output of an interactive program: a ring of lines (its size a power of two), and what a poll reads from it. */

#include "process_output.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <ctype.h>
#include <string.h>

struct printed_line {
    char *text;
    size_t len;
};

void output_lines_init(struct output_lines *lines, size_t max)
{
    *lines = (struct output_lines){.max = max};
    strbuf_init(&lines->partial);
}

static struct printed_line *line_at(const struct output_lines *lines, size_t index)
{
    return &lines->items[(lines->first + index) & (lines->room - 1)];
}

static void drop_oldest(struct output_lines *lines)
{
    struct printed_line *line = line_at(lines, 0);
    lines->bytes -= line->len;
    free(line->text);
    lines->first = (lines->first + 1) & (lines->room - 1);
    lines->count--;
    lines->base++;
    if (lines->cursor < lines->base)
        lines->cursor = lines->base;
}

void output_lines_release(struct output_lines *lines)
{
    while (lines->count)
        drop_oldest(lines);
    free(lines->items);
    strbuf_release(&lines->partial);
}

static void make_room(struct output_lines *lines)
{
    size_t room = lines->room ? lines->room * 2 : 16;
    struct printed_line *items = xcalloc(room, sizeof(*items));
    for (size_t i = 0; i < lines->count; i++)
        items[i] = *line_at(lines, i);
    free(lines->items);
    lines->items = items;
    lines->first = 0;
    lines->room = room;
}

/* Ends the unfinished line. */
static void end_line(struct output_lines *lines)
{
    if (lines->count == lines->room)
        make_room(lines);
    *line_at(lines, lines->count++) =
        (struct printed_line){xmemdup0(lines->partial.buf, lines->partial.len), lines->partial.len};
    lines->bytes += lines->partial.len;
    strbuf_reset(&lines->partial);
}

static void trim(struct output_lines *lines)
{
    while ((lines->max && lines->count > lines->max) || lines->bytes > OUTPUT_LINES_BYTES)
        drop_oldest(lines);
}

void output_lines_add(struct output_lines *lines, const char *text, size_t len)
{
    const char *stop = text + len;
    lines->added += len;
    while (text < stop) {
        const char *newline = memchr(text, '\n', (size_t)(stop - text));
        size_t part = (size_t)((newline ? newline : stop) - text);
        bool cr = newline && part && text[part - 1] == '\r';
        strbuf_add(&lines->partial, text, cr ? part - 1 : part);
        if (newline || lines->partial.len > OUTPUT_LINE_BYTES_MAX) {
            end_line(lines);
            trim(lines);
        }
        text += part + (newline ? 1 : 0);
    }
}

/* Trims nothing, so that a caller that reads the retained lines after the end loses none to the end itself. */
void output_lines_end(struct output_lines *lines, int exit_code)
{
    if (lines->exited)
        return;
    if (lines->partial.len)
        end_line(lines);
    lines->exited = true;
    lines->exit_code = exit_code;
}

static struct line_range window_of(const struct output_lines *lines, size_t offset, size_t limit)
{
    size_t end = lines->base + lines->count;
    if (offset < lines->base)
        offset = lines->base;
    if (offset > end)
        offset = end;
    return (struct line_range){offset, limit && limit < end - offset ? offset + limit : end};
}

static void add_window(const struct output_lines *lines, struct line_range window, struct strbuf *out)
{
    size_t began = out->len;
    for (size_t i = window.offset; i < window.next; i++) {
        const struct printed_line *line = line_at(lines, i - lines->base);
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

struct line_range output_lines_poll(struct output_lines *lines, size_t limit, struct strbuf *out)
{
    struct line_range window = window_of(lines, lines->cursor, limit);
    add_window(lines, window, out);
    lines->cursor = window.next;
    return window;
}

struct line_range output_lines_log(const struct output_lines *lines, size_t offset, size_t limit, struct strbuf *out)
{
    struct line_range window = window_of(lines, offset, limit);
    add_window(lines, window, out);
    return window;
}

struct line_range output_lines_take(struct output_lines *lines, size_t limit, struct strbuf *out)
{
    struct line_range window = window_of(lines, lines->cursor, limit);
    for (size_t i = window.offset; i < window.next; i++) {
        const struct printed_line *line = line_at(lines, i - lines->base);
        strbuf_add(out, line->text, line->len);
        strbuf_addch(out, '\n');
    }
    lines->cursor = window.next;
    return window;
}

/* ---- waiting for output ---- */

int64_t output_yield_ms(int64_t said_ms, int64_t otherwise_ms)
{
    return said_ms > 0 ? said_ms : otherwise_ms;
}

void output_wait_begin(struct output_wait *waiter, int64_t now_us, int64_t yield_ms, size_t limit)
{
    int64_t most = yield_ms < OUTPUT_YIELD_MAX_MS ? yield_ms : OUTPUT_YIELD_MAX_MS;
    *waiter = (struct output_wait){.limit = limit, .until_us = yield_ms > 0 ? now_us + most * 1000 : 0};
    strbuf_init(&waiter->seen.output);
}

static void finish_look(struct output_wait *waiter, struct output_lines *lines)
{
    struct output_seen *seen = &waiter->seen;
    bool all = seen->window.next == lines->base + lines->count;
    seen->exited = lines->exited;
    seen->exit_code = lines->exit_code;
    if (all)
        lines->told = lines->added;
    if (all && lines->partial.len)
        strbuf_add(&seen->output, lines->partial.buf, lines->partial.len);
    else if (seen->output.len)
        strbuf_set_len(&seen->output, seen->output.len - 1); /* the newline of the last line */
}

/* Collects the complete lines since the previous look. Returns true if the wait is over: the program exited, fell
 * silent for OUTPUT_SETTLE_MS, printed OUTPUT_SEEN_BYTES, or the time is up. Only then is the unfinished last line
 * added; adding it earlier would return the same text twice. */
bool output_wait_look(struct output_wait *waiter, struct output_lines *lines, int64_t now_us)
{
    struct output_seen *seen = &waiter->seen;
    size_t before = seen->output.len;
    bool first = !waiter->any;
    /* After the end no further look follows, so take all that is left. */
    struct line_range window = output_lines_take(lines, lines->exited ? 0 : waiter->limit, &seen->output);
    /* An unfinished line that was returned before is not new. Otherwise no later look would ever wait. */
    size_t known = waiter->added > lines->told ? waiter->added : lines->told;
    bool fresh = seen->output.len > before || (lines->partial.len && lines->added != known);
    waiter->added = lines->added;
    waiter->any = waiter->any || fresh;
    if (first)
        seen->window.offset = window.offset;
    seen->window.next = window.next;
    if (fresh)
        waiter->quiet_us = now_us + OUTPUT_SETTLE_MS * 1000;
    if (!lines->exited && seen->output.len < OUTPUT_SEEN_BYTES && !(waiter->quiet_us && now_us >= waiter->quiet_us) &&
        !(waiter->until_us && now_us >= waiter->until_us))
        return false;
    finish_look(waiter, lines);
    return true;
}

void output_wait_release(struct output_wait *waiter)
{
    strbuf_release(&waiter->seen.output);
}

/* ---- prompts ---- */

/* The last line that is not blank decides. Two lines that look like list items make a selection. */

/* A line without surrounding white space. */
struct output_piece {
    const char *text;
    size_t len;
};

static struct output_piece trim_line(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[0])) {
        text++;
        len--;
    }
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return (struct output_piece){text, len};
}

/* "1." or "2)" */
static bool looks_like_item(struct output_piece line)
{
    return line.len >= 2 && isdigit((unsigned char)line.text[0]) && (line.text[1] == '.' || line.text[1] == ')');
}

static bool says(const char *lower, const char *const *phrases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(lower, phrases[i]))
            return true;
    return false;
}

enum prompt_kind prompt_find(const char *output, struct strbuf *hint)
{
    static const char *const choices[] = {"enter a number",    "enter the number", "choose a number",
                                          "choose the number", "select a number",  "select the number"};
    static const char *const questions[] = {"press enter", "type your"};
    struct output_piece last = {"", 0};
    int items = 0;
    for (const char *at = output; *at;) {
        size_t len = strcspn(at, "\n");
        struct output_piece line = trim_line(at, len);
        items += looks_like_item(line);
        if (line.len)
            last = line;
        at += len + (at[len] == '\n');
    }
    if (!last.len)
        return PROMPT_NONE;
    CLEANUP(free) char *lower = xmemdup0(last.text, last.len);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    char end = last.text[last.len - 1];
    enum prompt_kind kind = PROMPT_NONE;
    if (items >= 2 || says(lower, choices, COUNT_OF(choices)))
        kind = PROMPT_SELECTION;
    else if (end == ':' || end == '?' || says(lower, questions, COUNT_OF(questions)))
        kind = PROMPT_TEXT;
    if (kind != PROMPT_NONE)
        strbuf_add(hint, last.text, last.len);
    return kind;
}

const char *prompt_kind_name(enum prompt_kind kind)
{
    static const char *const names[] = {[PROMPT_TEXT] = "prompt", [PROMPT_SELECTION] = "selection"};
    return names[kind];
}

/* ---- cutting at the starts of characters ---- */

static bool is_inside(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Adds only valid UTF-8. A replacement character in the text takes three bytes. One that replaces a broken byte may
 * take as many, but then those bytes are not its own. */
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
