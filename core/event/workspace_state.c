/* The differences between two states of a workspace, and putting them together again (workspace_state.h). */

#include "workspace_state.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

/* ---- the writer ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_entry(const struct event_workspace_entry *a, const struct event_workspace_entry *b)
{
    return a->size == b->size && a->bytes == b->bytes && a->count == b->count && a->more == b->more &&
           same_text(a->kind, b->kind) && same_text(a->target, b->target);
}

/* A state with one list as text. */
static void write_list(struct strbuf *out, struct event_workspace_state state)
{
    strbuf_reset(out);
    event_encode(out, &(struct event){.type = EVENT_WORKSPACE_STATE, .workspace_state = state});
}

static bool same_list(struct event_workspace_state a, struct event_workspace_state b)
{
    CLEANUP(strbuf) struct strbuf left = STRBUF_INIT, right = STRBUF_INIT;
    write_list(&left, a);
    write_list(&right, b);
    return left.len == right.len && memcmp(left.buf, right.buf, left.len) == 0;
}

#define SAME(list)                                                                       \
    ((before->list.items == now->list.items && before->list.count == now->list.count) || \
     same_list((struct event_workspace_state){.list = before->list},                     \
               (struct event_workspace_state){.list = now->list}))

static void compare_entries(const struct event_workspace_state *before, const struct event_workspace_state *now,
                            struct event_workspace_state *delta, struct arena *arena)
{
    struct hash_map places = {0};
    struct event_workspace_entry *changed = arena_calloc(arena, now->entries.count + 1, sizeof(*changed));
    const char **gone = arena_calloc(arena, before->entries.count + 1, sizeof(*gone));
    for (size_t i = 0; i < before->entries.count; i++)
        hash_map_put(&places, before->entries.items[i].path, (int64_t)i);
    for (size_t i = 0; i < now->entries.count; i++) {
        const struct event_workspace_entry *entry = &now->entries.items[i];
        int64_t at = hash_map_get(&places, entry->path, -1);
        if (at < 0 || !same_entry(entry, &before->entries.items[at]))
            changed[delta->entries.count++] = *entry;
        hash_map_put(&places, entry->path, -1);
    }
    for (size_t i = 0; i < before->entries.count; i++)
        if (hash_map_get(&places, before->entries.items[i].path, -1) >= 0)
            gone[delta->gone.count++] = before->entries.items[i].path;
    hash_map_release(&places);
    delta->entries.items = delta->entries.count ? changed : NULL;
    delta->gone.items = delta->gone.count ? gone : NULL;
}

bool workspace_state_changes(const struct event_workspace_state *before, const struct event_workspace_state *now,
                             struct event_workspace_state *delta, struct arena *arena)
{
    *delta = *now;
    delta->delta = true;
    delta->path = NULL; /* it never changes */
    delta->entries = (struct event_workspace_entry_list){0};
    delta->gone = (struct event_strs){0};
    bool inputs = !SAME(inputs), outputs = !SAME(outputs), skills = !SAME(skills);
    if (!inputs)
        delta->inputs = (struct event_workspace_input_list){0};
    if (!outputs)
        delta->outputs = (struct event_workspace_output_list){0};
    if (!skills)
        delta->skills = (struct event_workspace_skill_list){0};
    if (before->entries.items != now->entries.items)
        compare_entries(before, now, delta, arena);
    return inputs || outputs || skills || delta->entries.count || delta->gone.count || before->used != now->used ||
           before->limit != now->limit || before->more != now->more || before->count != now->count ||
           before->count_limit != now->count_limit || before->kept != now->kept;
}

/* ---- the reader ---- */

static void put_entry(struct workspace_content *content, const struct event *event, size_t index)
{
    const struct event_workspace_entry *entry = &event->workspace_state.entries.items[index];
    size_t count = content->state.entries.count;
    int64_t at = event->workspace_state.delta && entry->path ? hash_map_get(&content->places, entry->path, -1) : -1;
    if (at < 0) {
        if (count == content->room) {
            content->room = content->room * 2 + 64;
            content->entries = xreallocarray(content->entries, content->room, sizeof(*content->entries));
            content->entry_from = xreallocarray(content->entry_from, content->room, sizeof(*content->entry_from));
        }
        at = (int64_t)count;
        content->state.entries.count++;
        if (entry->path)
            hash_map_put(&content->places, entry->path, at);
    }
    content->entries[at] = *entry;
    content->entry_from[at] = (struct workspace_origin){event, index};
    content->state.entries.items = content->entries;
}

static void put_entries(struct workspace_content *content, const struct event *event)
{
    for (size_t i = 0; i < event->workspace_state.entries.count; i++)
        put_entry(content, event, i);
}

/* The last entry takes the place. */
static void drop_entry(struct workspace_content *content, const char *path)
{
    int64_t at = path ? hash_map_get(&content->places, path, -1) : -1;
    if (at < 0)
        return;
    size_t last = --content->state.entries.count;
    hash_map_put(&content->places, path, -1);
    if ((size_t)at == last)
        return;
    content->entries[at] = content->entries[last];
    content->entry_from[at] = content->entry_from[last];
    if (content->entries[at].path)
        hash_map_put(&content->places, content->entries[at].path, at);
}

void workspace_content_begin(struct workspace_content *content, const struct event *full)
{
    *content = (struct workspace_content){
        .state = full->workspace_state, .inputs_from = full, .outputs_from = full, .skills_from = full};
    content->state.entries = (struct event_workspace_entry_list){0};
    put_entries(content, full);
}

void workspace_content_apply(struct workspace_content *content, const struct event *delta)
{
    const struct event_workspace_state *e = &delta->workspace_state;
    struct event_workspace_state *state = &content->state;
    state->used = e->used;
    state->limit = e->limit;
    state->more = e->more;
    state->count = e->count;
    state->count_limit = e->count_limit;
    state->kept = e->kept;
    for (size_t i = 0; i < e->gone.count; i++)
        drop_entry(content, e->gone.items[i]);
    put_entries(content, delta);
    if (e->inputs.items) {
        state->inputs = e->inputs;
        content->inputs_from = delta;
    }
    if (e->outputs.items) {
        state->outputs = e->outputs;
        content->outputs_from = delta;
    }
    if (e->skills.items) {
        state->skills = e->skills;
        content->skills_from = delta;
    }
}

void workspace_content_release(struct workspace_content *content)
{
    free(content->entries);
    free(content->entry_from);
    hash_map_release(&content->places);
}
