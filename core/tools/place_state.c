/* What there is in a workspace, for workspace.state: its tree (place_tree.h), what was staged and what collected. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "place_inside.h"
#include "place_tree.h"
#include "workspace/metadata.h"
#include "workspace/walk.h"
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

static size_t first_shown(size_t count)
{
    return count > RECORDS_MAX ? count - RECORDS_MAX : 0;
}

static void list_inputs(struct strbuf *out, const struct metadata *md)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = first_shown(md->input_count); i < md->input_count; i++) {
        const struct metadata_input *input = &md->inputs[i];
        json_open(&w, NULL, '{');
        json_add_str(&w, "from", input->from);
        json_add_str(&w, "to", input->to);
        if (input->mode)
            json_add_str(&w, "mode", input->mode);
        if (input->version != METADATA_NO_VERSION)
            json_add_int(&w, "version", input->version);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}

static void list_outputs(struct strbuf *out, struct place *place)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    pthread_mutex_lock(&place->mutex);
    for (size_t i = 0; i < place->output_count; i++) {
        const struct place_output *output = &place->outputs[i];
        json_open(&w, NULL, '{');
        json_add_str(&w, "name", output->name);
        json_add_int(&w, "size", output->size);
        if (output->truncated)
            json_add_bool(&w, "truncated", true);
        if (output->saved_as) {
            json_add_str(&w, "saved_as", output->saved_as);
            json_add_int(&w, "version", output->version);
        }
        json_close(&w, '}');
    }
    pthread_mutex_unlock(&place->mutex);
    json_close(&w, ']');
}

static void list_skills(struct strbuf *out, const struct looking *l)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = first_shown(l->md->skill_count); i < l->md->skill_count; i++) {
        const struct metadata_skill *skill = &l->md->skills[i];
        json_open(&w, NULL, '{');
        json_add_str(&w, "name", skill->name);
        json_add_str(&w, "digest", skill->digest);
        json_add_int(&w, "files", l->files[i]);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}

struct place_seen *place_see(struct place *place, struct workspace *ws)
{
    struct place_seen *seen = xcalloc(1, sizeof(*seen));
    CLEANUP(metadata) struct metadata md;
    strbuf_init(&seen->entries);
    strbuf_init(&seen->inputs);
    strbuf_init(&seen->outputs);
    strbuf_init(&seen->skills);
    (void)!metadata_load(ws->root, ws->clock, &md,
                         NULL); /* what a program made of it; then nothing is known of inputs */
    CLEANUP(free) int64_t *files = xcalloc(md.skill_count + 1, sizeof(*files));
    struct looking l = {.md = &md, .files = files};
    struct place_tree tree = {.see = count_for_skill, .user = &l};
    place_tree_write(&tree, ws->root, &seen->entries);
    list_inputs(&seen->inputs, &md);
    list_outputs(&seen->outputs, place);
    list_skills(&seen->skills, &l);
    struct disk_count count = disk_count(beneath_fd(ws->root));
    seen->more = tree.more;
    seen->used = count.bytes;
    seen->count = count.entries;
    return seen;
}

void place_seen_free(struct place_seen *seen)
{
    if (!seen)
        return;
    strbuf_release(&seen->entries);
    strbuf_release(&seen->inputs);
    strbuf_release(&seen->outputs);
    strbuf_release(&seen->skills);
    free(seen);
}
