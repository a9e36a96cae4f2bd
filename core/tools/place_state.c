/* What there is in a workspace, for workspace.state. What programs make comes first and what they only use last, so
 * that of a workspace with many files the bound leaves out what says least. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "place_inside.h"
#include "workspace/layout.h"
#include "workspace/metadata.h"
#include "workspace/walk.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define ENTRIES_MAX 500
#define RECORDS_MAX 200

struct looking {
    struct json_writer entries;
    int64_t listed, more;
    bool used_only; /* this time what is only used, else the rest */
    const struct metadata *md;
    int64_t *files; /* of each skill */
};

static const char *kind_of(unsigned char type)
{
    switch (type) {
    case DT_REG:
        return "file";
    case DT_DIR:
        return "dir";
    case DT_LNK:
        return "link";
    default:
        return "other";
    }
}

static bool is_below(const char *path, enum layout_dir dir)
{
    size_t len = strlen(layout_rows[dir].name);
    return strncmp(path, layout_rows[dir].name, len) == 0 && path[len] == '/';
}

static void count_for_skill(struct looking *l, const struct walk_entry *entry)
{
    for (size_t i = 0; i < l->md->skill_count && entry->type == DT_REG; i++) {
        const char *rel = l->md->skills[i].rel_path;
        size_t len = rel ? strlen(rel) : 0;
        l->files[i] += len && strncmp(entry->path, rel, len) == 0 && entry->path[len] == '/';
    }
}

static enum walk_next see(void *user, const struct walk_entry *entry)
{
    struct looking *l = user;
    bool only_used = is_below(entry->path, LAYOUT_SKILLS) || is_below(entry->path, LAYOUT_RUNS);
    struct stat st;
    if (entry->depth == 0 && (strcmp(entry->name, LAYOUT_METADATA) == 0 || metadata_is_temp(entry->path)))
        return WALK_PAST;
    if (only_used != l->used_only)
        return only_used ? WALK_PAST : WALK_ON;
    if (only_used)
        count_for_skill(l, entry);
    if (l->listed == ENTRIES_MAX) {
        l->more++;
        return WALK_ON;
    }
    l->listed++;
    json_open(&l->entries, NULL, '{');
    json_add_str(&l->entries, "path", entry->path);
    if (entry->type == DT_REG && fstatat(entry->folder, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        json_add_int(&l->entries, "size", st.st_size);
    json_add_str(&l->entries, "kind", kind_of(entry->type));
    json_close(&l->entries, '}');
    return WALK_ON;
}

/* What cannot be read is not listed; its folder is. */
static enum walk_next shut(void *user, const char *path, int code)
{
    (void)user;
    (void)path;
    (void)code;
    return WALK_ON;
}

static void list_entries(struct place_seen *seen, const struct workspace *ws, struct looking *l)
{
    struct err err = ERR_INIT;
    struct walk walk = {.see = see, .shut = shut, .user = l};
    l->entries = json_begin(&seen->entries);
    json_open(&l->entries, NULL, '[');
    for (int pass = 0; pass < 2; pass++) {
        l->used_only = pass == 1;
        if (walk_tree(beneath_fd(ws->root), "", &walk, &err))
            break;
    }
    json_close(&l->entries, ']');
    seen->more = l->more;
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
    list_entries(seen, ws, &l);
    list_inputs(&seen->inputs, &md);
    list_outputs(&seen->outputs, place);
    list_skills(&seen->skills, &l);
    seen->used = workspace_disk_used(ws);
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
