/* Whole lines are taken at every look, the unfinished one only at the last: so each text is there once, however often
 * one looks, and no line break is lost between two looks. */

#include "program_session.h"
#include <string.h>

int64_t session_yield_ms(int64_t said_ms, int64_t otherwise_ms)
{
    return said_ms > 0 ? said_ms : otherwise_ms;
}

void session_waiter_begin(struct session_waiter *waiter, int64_t now_us, int64_t yield_ms, size_t limit)
{
    int64_t most = yield_ms < SESSION_YIELD_MAX_MS ? yield_ms : SESSION_YIELD_MAX_MS;
    *waiter = (struct session_waiter){.limit = limit, .until_us = yield_ms > 0 ? now_us + most * 1000 : 0};
    strbuf_init(&waiter->seen.output);
}

static void finish(struct session_waiter *waiter, struct session_lines *lines)
{
    struct session_seen *seen = &waiter->seen;
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

bool session_waiter_look(struct session_waiter *waiter, struct session_lines *lines, int64_t now_us)
{
    struct session_seen *seen = &waiter->seen;
    size_t before = seen->output.len;
    bool first = !waiter->any;
    /* Who has ended is not asked again: all that is left, then. */
    struct session_window window = session_lines_take(lines, lines->exited ? 0 : waiter->limit, &seen->output);
    /* An unfinished line that was told before is nothing new, or no later look would ever wait. */
    size_t known = waiter->added > lines->told ? waiter->added : lines->told;
    bool fresh = seen->output.len > before || (lines->partial.len && lines->added != known);
    waiter->added = lines->added;
    waiter->any = waiter->any || fresh;
    if (first)
        seen->window.offset = window.offset;
    seen->window.next = window.next;
    if (fresh)
        waiter->quiet_us = now_us + SESSION_SETTLE_MS * 1000;
    if (!lines->exited && seen->output.len < SESSION_SEEN_BYTES && !(waiter->quiet_us && now_us >= waiter->quiet_us) &&
        !(waiter->until_us && now_us >= waiter->until_us))
        return false;
    finish(waiter, lines);
    return true;
}

void session_waiter_release(struct session_waiter *waiter)
{
    strbuf_release(&waiter->seen.output);
}
