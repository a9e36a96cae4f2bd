/* Copies a fold, so that a replay can return to it. */

#include "base/mem.h"
#include "session_fold.h"
#include <string.h>

/* Reuses the existing memory if it is large enough. A copy of a long session has megabytes, and fresh memory costs
 * more than the copying. */
static void *assign_items(void *have, uint32_t *room, const void *items, uint32_t count, size_t size)
{
    if (*room < count) {
        free(have);
        have = xreallocarray(NULL, count, size);
        *room = count;
    }
    if (count)
        memcpy(have, items, (size_t)count * size);
    return have;
}
#define ASSIGN(to, from, field, count, room) \
    (to)->field = assign_items((to)->field, &(to)->room, (from)->field, (from)->count, sizeof(*(from)->field))

static void assign_text(struct strbuf *to, const struct strbuf *from)
{
    strbuf_reset(to);
    strbuf_add(to, from->buf, from->len);
}

static void assign_names(struct session_names *to, const struct session_names *from, uint32_t calls)
{
    assign_text(&to->texts, &from->texts);
    ASSIGN(to, from, names, count, room);
    to->count = from->count;
    /* The size of the table is part of its layout, so both must be equal. */
    if (to->slot_room != from->slot_room) {
        free(to->slots);
        to->slots = from->slot_room ? xreallocarray(NULL, from->slot_room, sizeof(*to->slots)) : NULL;
        to->slot_room = from->slot_room;
    }
    if (from->slot_room)
        memcpy(to->slots, from->slots, from->slot_room * sizeof(*to->slots));
    to->kept_for_undo = from->kept_for_undo;
    /* One per row of calls; the entries beyond were never set. */
    uint32_t older = from->older_room < calls ? from->older_room : calls;
    to->older_call = assign_items(to->older_call, &to->older_room, from->older_call, older, sizeof(*to->older_call));
}

void session_assign(struct session *to, const struct session *from)
{
    struct session kept = *to;
    *to = *from;
    to->names = kept.names;
    text_pool_share(from->texts); /* share first: `to` may own the same pool */
    text_pool_free(kept.texts);
    assign_names(to->names, from->names, from->call_count);
#define ROWS(rows, count, room) \
    to->rows = kept.rows;       \
    to->room = kept.room;       \
    ASSIGN(to, from, rows, count, room)
    ROWS(turns, turn_count, turn_room);
    ROWS(steps, step_count, step_room);
    ROWS(calls, call_count, call_room);
    ROWS(waves, wave_count, wave_room);
    ROWS(asks, ask_count, ask_room);
    ROWS(programs, program_count, program_room);
    ROWS(pieces, piece_count, piece_room);
    ROWS(workspaces, workspace_count, workspace_room);
#undef ROWS
    to->partial_text = kept.partial_text;
    to->partial_thinking = kept.partial_thinking;
    assign_text(&to->partial_text, &from->partial_text);
    assign_text(&to->partial_thinking, &from->partial_thinking);
}
