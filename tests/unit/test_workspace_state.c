/* Tests that a full workspace.state and its deltas say the same as the newest state alone. */

#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/workspace_state.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

#define PATHS  40
#define ROUNDS 400

static uint32_t seed = 20261118;

static uint32_t next_random(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

/* A state with some of the paths; few of them differ from one state to the next. */
static struct event_workspace_state make_state(struct arena *arena, const int64_t *sizes, int64_t outputs)
{
    struct event_workspace_entry *entries = arena_calloc(arena, PATHS, sizeof(*entries));
    struct event_workspace_output *items = arena_calloc(arena, 4, sizeof(*items));
    struct event_workspace_state state = {.exec_id = "e", .path = "/w", .limit = 9, .count_limit = EVENT_NULL_INT};
    for (size_t i = 0; i < PATHS; i++)
        if (sizes[i]) {
            entries[state.entries.count++] = (struct event_workspace_entry){.path = arena_printf(arena, "work/%zu", i),
                                                                            .size = sizes[i],
                                                                            .kind = "file",
                                                                            .bytes = EVENT_NULL_INT,
                                                                            .count = EVENT_NULL_INT,
                                                                            .more = EVENT_NULL_INT};
            state.used += sizes[i];
        }
    for (int64_t i = 0; i < outputs; i++)
        items[i] = (struct event_workspace_output){.name = "out/a", .size = i, .version = EVENT_NULL_INT};
    state.entries.items = entries;
    state.inputs.items = arena_calloc(arena, 1, sizeof(*state.inputs.items));
    state.outputs = (struct event_workspace_output_list){items, (size_t)outputs};
    state.skills.items = arena_calloc(arena, 1, sizeof(*state.skills.items));
    return state;
}

static int by_path(const void *a, const void *b)
{
    const struct event_workspace_entry *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* As text, with the entries in order of their paths. */
static char *text_of(struct arena *arena, struct event_workspace_state state)
{
    struct strbuf out = STRBUF_INIT;
    struct event_workspace_entry *entries = arena_calloc(arena, state.entries.count + 1, sizeof(*entries));
    memcpy(entries, state.entries.items, state.entries.count * sizeof(*entries));
    qsort(entries, state.entries.count, sizeof(*entries), by_path);
    state.entries.items = entries;
    event_encode(&out, &(struct event){.type = EVENT_WORKSPACE_STATE, .workspace_state = state});
    return strbuf_detach(&out, NULL);
}

/* What a reader of the journal gets. */
static struct event *through_the_journal(struct arena *arena, const struct event_workspace_state *state)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct event *event = arena_calloc(arena, 1, sizeof(*event));
    struct err err = ERR_INIT;
    event_encode(&line, &(struct event){.type = EVENT_WORKSPACE_STATE, .workspace_state = *state});
    if (event_decode(event, arena, arena_memdup0(arena, line.buf, line.len), line.len, &err))
        fail_msg("%s", err.text);
    return event;
}

TEST(deltas_say_what_the_newest_state_says)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct workspace_content content = {0};
    struct event_workspace_state before = {0};
    int64_t sizes[PATHS] = {0}, outputs = 0;
    size_t deltas = 0, longest = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = next_random(4); i > 0; i--)
            sizes[next_random(PATHS)] = next_random(3);
        outputs = next_random(10) ? outputs : next_random(4);
        struct event_workspace_state now = make_state(&arena, sizes, outputs), delta;
        bool changed = workspace_state_changes(&before, &now, &delta, &arena);
        if (round % 50 == 0) {
            workspace_content_release(&content);
            workspace_content_begin(&content, through_the_journal(&arena, &now));
        } else if (changed) {
            struct event *event = through_the_journal(&arena, &delta);
            assert_true(event->workspace_state.entries.count <= 3);
            longest = event->workspace_state.entries.count > longest ? event->workspace_state.entries.count : longest;
            workspace_content_apply(&content, event);
            deltas++;
        }
        CLEANUP(free) char *want = text_of(&arena, now), *got = text_of(&arena, content.state);
        assert_string_equal(got, want);
        for (size_t i = 0; i < content.state.entries.count; i++)
            assert_string_equal(
                content.entry_from[i].event->workspace_state.entries.items[content.entry_from[i].index].path,
                content.state.entries.items[i].path);
        before = now;
    }
    assert_true(deltas > ROUNDS / 4 && longest == 3);
    workspace_content_release(&content);
}

TEST(the_same_state_is_no_change)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    int64_t sizes[PATHS] = {1, 2, 3};
    struct event_workspace_state before = make_state(&arena, sizes, 2), now = make_state(&arena, sizes, 2), delta;
    assert_false(workspace_state_changes(&before, &now, &delta, &arena));
    now.kept = true;
    assert_true(workspace_state_changes(&before, &now, &delta, &arena));
}
