/* workspace.state: what a look at the workspace found, and what calls collected from it. The first state is full; later
 * ones have what changed since, and nothing is emitted if that is nothing (event/workspace_state.h). */

#include "base/mem.h"
#include "event/workspace_state.h"
#include "runtime_internal.h"
#include "workspace/look.h"

struct runtime_seen {
    struct arena arena;
    struct workspace *ws; /* held */
    const struct workspace_look *look;
    struct event_workspace_state state; /* borrows from both */
};

static struct event_workspace_output_list list_outputs(struct arena *arena, struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->mutex);
    size_t count = runtime->output_count;
    struct event_workspace_output *items = arena_calloc(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct runtime_output *output = &runtime->outputs[i];
        items[i] =
            (struct event_workspace_output){.name = arena_strdup(arena, output->name),
                                            .size = output->size,
                                            .truncated = output->truncated,
                                            .saved_as = output->saved_as ? arena_strdup(arena, output->saved_as) : NULL,
                                            .version = output->saved_as ? output->version : EVENT_NULL_INT};
    }
    pthread_mutex_unlock(&runtime->mutex);
    return (struct event_workspace_output_list){items, count};
}

struct runtime_seen *runtime_see(struct runtime *runtime, struct workspace *ws, const struct workspace_look *take_look)
{
    struct runtime_seen *seen = xcalloc(1, sizeof(*seen));
    const struct workspace_policy *policy = &runtime->options.policy;
    const struct workspace_look *look = take_look ? take_look : workspace_look(ws);
    seen->ws = workspace_hold(ws);
    seen->look = look;
    seen->state = (struct event_workspace_state){
        .exec_id = runtime->options.id,
        .path = ws->path,
        .used = look->count.bytes,
        .limit = policy->max_disk_bytes > 0 ? policy->max_disk_bytes : EVENT_NULL_INT,
        .entries = look->entries,
        .more = look->more,
        .inputs = look->inputs,
        .outputs = list_outputs(&seen->arena, runtime),
        .skills = look->skills,
        .count = look->count.entries,
        .count_limit = policy->max_disk_bytes > 0 ? WORKSPACE_ENTRIES_MAX : EVENT_NULL_INT,
        .kept = policy->persist};
    return seen;
}

void runtime_seen_free(struct runtime_seen *seen)
{
    if (!seen)
        return;
    look_release(seen->ws, seen->look);
    workspace_free(seen->ws);
    arena_release(&seen->arena);
    free(seen);
}

void runtime_emit_seen(struct runtime *runtime, struct runtime_seen *take_seen)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_WORKSPACE_STATE};
    struct runtime_seen *told = runtime->told;
    if (!take_seen)
        return;
    if (!runtime->recorder || runtime->ended ||
        (told && !workspace_state_changes(&told->state, &take_seen->state, &event.workspace_state, &arena))) {
        runtime_seen_free(take_seen);
        return;
    }
    bool full = !told || runtime->deltas == WORKSPACE_DELTAS_MAX;
    if (full)
        event.workspace_state = take_seen->state;
    runtime->deltas = full ? 0 : runtime->deltas + 1;
    runtime->told = take_seen;
    emit(&runtime->emitter, &event);
    runtime_seen_free(told);
}
