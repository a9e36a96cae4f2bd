/* A copy of a fold, to go back to. Room is taken for what is there and no more: a copy is kept, not grown. */

#include "base/mem.h"
#include "session_fold.h"
#include <string.h>

static void *copy_items(const void *items, size_t count, size_t size)
{
    if (!count)
        return NULL;
    void *copy = xreallocarray(NULL, count, size);
    memcpy(copy, items, count * size);
    return copy;
}
#define COPY(to, from, field, count) (to)->field = copy_items((from)->field, (from)->count, sizeof(*(from)->field))

static void copy_text(struct strbuf *to, const struct strbuf *from)
{
    strbuf_init(to);
    if (from->len)
        strbuf_add(to, from->buf, from->len);
}

static struct session_names *copy_names(const struct session_names *from, uint32_t calls)
{
    struct session_names *to = xmalloc(sizeof(*to));
    *to = *from;
    copy_text(&to->texts, &from->texts);
    COPY(to, from, names, count);
    to->room = to->count;
    COPY(to, from, slots, slot_room);
    /* One per row of calls; what is beyond them was never set. */
    to->older_room = from->older_room < calls ? from->older_room : calls;
    to->older_call = copy_items(from->older_call, to->older_room, sizeof(*to->older_call));
    to->scratch = (struct arena)ARENA_INIT;
    return to;
}

void session_copy(struct session *to, const struct session *from)
{
    *to = *from;
    to->names = copy_names(from->names, from->call_count);
    COPY(to, from, turns, turn_count);
    COPY(to, from, steps, step_count);
    COPY(to, from, calls, call_count);
    COPY(to, from, waves, wave_count);
    COPY(to, from, asks, ask_count);
    to->turn_room = to->turn_count;
    to->step_room = to->step_count;
    to->call_room = to->call_count;
    to->wave_room = to->wave_count;
    to->ask_room = to->ask_count;
    copy_text(&to->partial_text, &from->partial_text);
    copy_text(&to->partial_thinking, &from->partial_thinking);
}
