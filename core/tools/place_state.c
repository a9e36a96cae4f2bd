/* What there is in a workspace, for workspace.state: its tree (place_tree.h), what was staged and what collected. */

#include "base/beneath.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/walk.h"
#include "place_inside.h"
#include "place_tree.h"
#include "workspace/metadata.h"
#include <dirent.h>
#include <string.h>

#define RECORDS_MAX 200

struct looking {
    const struct metadata *md;
    int64_t *files; /* of each skill */
};

static void count_for_skill(void *user, const struct walk_entry *entry)
{
    struct looking *l = user;
    for (size_t i = 0; i < l->md->skill_count && entry->type == DT_REG; i++) {
        const char *rel = l->md->skills[i].rel_path;
        size_t len = rel ? strlen(rel) : 0;
        l->files[i] += len && strncmp(entry->path, rel, len) == 0 && entry->path[len] == '/';
    }
}

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static size_t first_shown(size_t count)
{
    return count > RECORDS_MAX ? count - RECORDS_MAX : 0;
}

static struct event_workspace_input_list list_inputs(struct arena *arena, const struct metadata *md)
{
    size_t first = first_shown(md->input_count), count = md->input_count - first;
    struct event_workspace_input *items = arena_calloc(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct metadata_input *input = &md->inputs[first + i];
        items[i] = (struct event_workspace_input){
            .from = copy_text(arena, input->from),
            .to = copy_text(arena, input->to),
            .mode = copy_text(arena, input->mode),
            .version = input->version == METADATA_NO_VERSION ? EVENT_NULL_INT : input->version};
    }
    return (struct event_workspace_input_list){items, count};
}

static struct event_workspace_output_list list_outputs(struct arena *arena, struct place *place)
{
    pthread_mutex_lock(&place->mutex);
    size_t count = place->output_count;
    struct event_workspace_output *items = arena_calloc(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct place_output *output = &place->outputs[i];
        items[i] = (struct event_workspace_output){.name = copy_text(arena, output->name),
                                                   .size = output->size,
                                                   .truncated = output->truncated,
                                                   .saved_as = copy_text(arena, output->saved_as),
                                                   .version = output->saved_as ? output->version : EVENT_NULL_INT};
    }
    pthread_mutex_unlock(&place->mutex);
    return (struct event_workspace_output_list){items, count};
}

static struct event_workspace_skill_list list_skills(struct arena *arena, const struct looking *l)
{
    size_t first = first_shown(l->md->skill_count), count = l->md->skill_count - first;
    struct event_workspace_skill *items = arena_calloc(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct metadata_skill *skill = &l->md->skills[first + i];
        items[i] = (struct event_workspace_skill){.name = copy_text(arena, skill->name),
                                                  .digest = copy_text(arena, skill->digest),
                                                  .files = l->files[first + i]};
    }
    return (struct event_workspace_skill_list){items, count};
}

static uint64_t hash_of(const struct event_workspace_state *state)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    event_encode(&text, &(struct event){.type = EVENT_WORKSPACE_STATE, .workspace_state = *state});
    return hash_fnv1a(text.buf, text.len);
}

struct place_seen *place_see(struct place *place, struct workspace *ws)
{
    struct place_seen *seen = xcalloc(1, sizeof(*seen));
    const struct workspace_policy *policy = &place->options.policy;
    CLEANUP(metadata) struct metadata md;
    (void)!metadata_load(ws->root, ws->clock, &md,
                         NULL); /* what a program made of it; then nothing is known of inputs */
    CLEANUP(free) int64_t *files = xcalloc(md.skill_count + 1, sizeof(*files));
    struct looking l = {.md = &md, .files = files};
    struct place_tree tree = {.see = count_for_skill, .user = &l};
    struct disk_count count = disk_count(beneath_fd(ws->root));
    struct event_workspace_entry_list entries = place_tree_list(&tree, ws->root, &seen->arena);
    seen->state = (struct event_workspace_state){
        .exec_id = place->options.id,
        .path = arena_strdup(&seen->arena, ws->path),
        .used = count.bytes,
        .limit = policy->max_disk_bytes > 0 ? policy->max_disk_bytes : EVENT_NULL_INT,
        .entries = entries,
        .more = tree.more,
        .inputs = list_inputs(&seen->arena, &md),
        .outputs = list_outputs(&seen->arena, place),
        .skills = list_skills(&seen->arena, &l),
        .count = count.entries,
        .count_limit = policy->max_disk_bytes > 0 ? WORKSPACE_ENTRIES_MAX : EVENT_NULL_INT,
        .kept = policy->persist};
    seen->hash = hash_of(&seen->state);
    return seen;
}

void place_seen_free(struct place_seen *seen)
{
    if (!seen)
        return;
    arena_release(&seen->arena);
    free(seen);
}
