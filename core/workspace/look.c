/* One walk of a workspace with several users (look.h). */

#include "look.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/walk.h"
#include "changes.h"
#include "layout.h"
#include "listing.h"
#include "metadata.h"
#include "workspace.h"
#include <string.h>

#define RECORDS_MAX 200 /* inputs and skills in a look */

/* ---- what a look finds ---- */

static size_t first_shown(size_t count)
{
    return count > RECORDS_MAX ? count - RECORDS_MAX : 0;
}

static const char *copy_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static void list_inputs(struct workspace_look *look, const struct metadata *md)
{
    size_t first = first_shown(md->input_count), count = md->input_count - first;
    struct event_workspace_input *items = arena_calloc(&look->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct metadata_input *input = &md->inputs[first + i];
        items[i] = (struct event_workspace_input){.from = copy_text(&look->arena, input->from),
                                                  .to = copy_text(&look->arena, input->to),
                                                  .mode = copy_text(&look->arena, input->mode),
                                                  .version = input->version == METADATA_NO_VERSION ? EVENT_NULL_INT
                                                                                                   : input->version};
    }
    look->inputs = (struct event_workspace_input_list){items, count};
}

static void list_skills(struct workspace_look *look, const struct metadata *md, const int64_t *files)
{
    size_t first = first_shown(md->skill_count), count = md->skill_count - first;
    struct event_workspace_skill *items = arena_calloc(&look->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct metadata_skill *skill = &md->skills[first + i];
        items[i] = (struct event_workspace_skill){.name = copy_text(&look->arena, skill->name),
                                                  .digest = copy_text(&look->arena, skill->digest),
                                                  .files = files[first + i]};
    }
    look->skills = (struct event_workspace_skill_list){items, count};
}

/* ---- the walk ---- */

struct looking {
    struct disk_counting counting;
    struct listing *listing;
    struct changes *changes; /* NULL: changes are not watched */
};

static enum walk_next see_entry(void *user, const struct walk_entry *entry)
{
    struct looking *looking = user;
    listing_add(looking->listing, entry, disk_counting_add(&looking->counting, entry));
    return disk_counting_full(&looking->counting) ? WALK_STOP : WALK_CONTINUE;
}

static enum walk_next see_folder(void *user, const struct walk_entry *entry, int fd)
{
    struct looking *looking = user;
    if (looking->changes && fd >= 0)
        changes_watch(looking->changes, fd,
                      entry->depth == 0 && strcmp(entry->name, layout_rows[LAYOUT_RUNS].name) == 0);
    return WALK_CONTINUE;
}

static enum walk_next see_denied(void *user, const char *path, int code)
{
    struct looking *looking = user;
    disk_counting_missed(&looking->counting, path, code);
    return WALK_CONTINUE;
}

/* Returns true if the walk met every name. */
static bool walk(struct workspace_look *look, const struct workspace *ws, struct looking *looking, bool relock)
{
    static const struct walk_visitor visitor = {.entry = see_entry, .enter = see_folder, .denied = see_denied};
    struct walk_options options = {.max_depth = WALK_ANY_DEPTH, .unlock = true, .relock = relock};
    struct err err = ERR_INIT;
    CLEANUP(metadata) struct metadata md;
    (void)!metadata_load(ws->root, ws->clock, &md, NULL); /* fails if a program changed it: inputs unknown */
    const char **folders = xcalloc(md.skill_count + 1, sizeof(*folders));
    for (size_t i = 0; i < md.skill_count; i++)
        folders[i] = md.skills[i].rel_path;
    looking->listing = listing_new(folders, md.skill_count);
    if (walk_tree(beneath_fd(ws->root), "", &options, &visitor, looking, &err))
        disk_counting_missed(&looking->counting, err.text, err.code);
    look->count = looking->counting.count;
    look->entries = listing_end(looking->listing, &look->arena, &look->more);
    list_inputs(look, &md);
    list_skills(look, &md, listing_files(looking->listing));
    bool whole = !look->count.missed && !disk_counting_full(&looking->counting) && !looking->counting.names_missing;
    listing_free(looking->listing);
    disk_counting_release(&looking->counting);
    free(folders);
    return whole;
}

/* Folders that a program closed stay open after it: no program is left that could see the difference. */
static struct workspace_look *look_now(struct workspace *ws)
{
    struct workspace_look *look = xcalloc(1, sizeof(*look));
    int64_t began_us = clock_system()->now_us(clock_system());
    pthread_mutex_lock(&ws->mutex);
    unsigned begun = ws->programs_begun, running = ws->programs_running;
    ws->looks++;
    pthread_mutex_unlock(&ws->mutex);
    struct looking looking = {.changes = running ? NULL : ws->changes};
    if (looking.changes)
        changes_begin(looking.changes, beneath_fd(ws->root));
    bool whole = walk(look, ws, &looking, running > 0);
    pthread_mutex_lock(&ws->mutex);
    bool alone = !running && begun == ws->programs_begun;
    pthread_mutex_unlock(&ws->mutex);
    if (looking.changes)
        changes_end(looking.changes, whole && alone);
    look->took_us = clock_system()->now_us(clock_system()) - began_us;
    return look;
}

const struct workspace_look *workspace_look(struct workspace *ws)
{
    pthread_mutex_lock(&ws->looking);
    pthread_mutex_lock(&ws->mutex);
    struct workspace_look *look = ws->changes && changes_none(ws->changes) ? ws->last : NULL, *before = NULL;
    pthread_mutex_unlock(&ws->mutex);
    struct workspace_look *made = look ? NULL : look_now(ws);
    pthread_mutex_lock(&ws->mutex);
    if (made) {
        made->refs = 1;
        before = ws->last;
        ws->last = look = made;
    }
    look->refs++;
    pthread_mutex_unlock(&ws->mutex);
    look_release(ws, before);
    pthread_mutex_unlock(&ws->looking);
    return look;
}

void look_release(struct workspace *ws, const struct workspace_look *look)
{
    struct workspace_look *own = (struct workspace_look *)(uintptr_t)look;
    if (!own)
        return;
    pthread_mutex_lock(&ws->mutex);
    bool last = --own->refs == 0;
    pthread_mutex_unlock(&ws->mutex);
    if (!last)
        return;
    arena_release(&own->arena);
    free(own);
}

bool workspace_last_count(struct workspace *ws, struct disk_count *count, int64_t *took_us)
{
    pthread_mutex_lock(&ws->mutex);
    const struct workspace_look *look = ws->last;
    if (look) {
        *count = look->count;
        *took_us = look->took_us;
    }
    pthread_mutex_unlock(&ws->mutex);
    return look;
}

struct disk_count workspace_sample(struct workspace *ws, bool early)
{
    pthread_mutex_lock(&ws->mutex);
    bool known = early && ws->changes && ws->last && changes_none(ws->changes);
    struct disk_count count = known ? ws->last->count : (struct disk_count){0};
    ws->samples += !known;
    pthread_mutex_unlock(&ws->mutex);
    return known ? count : disk_count(beneath_fd(ws->root));
}

struct workspace_walks workspace_walks(struct workspace *ws)
{
    pthread_mutex_lock(&ws->mutex);
    struct workspace_walks walks = {ws->looks, ws->samples};
    pthread_mutex_unlock(&ws->mutex);
    return walks;
}

/* ---- programs ---- */

void workspace_program_begins(struct workspace *ws)
{
    pthread_mutex_lock(&ws->mutex);
    ws->programs_running++;
    ws->programs_begun++;
    pthread_mutex_unlock(&ws->mutex);
}

/* A program that was only killed counts as running from now on: its processes may live a little longer. */
void workspace_program_ended(struct workspace *ws, bool sure)
{
    pthread_mutex_lock(&ws->mutex);
    ws->programs_running -= sure;
    pthread_mutex_unlock(&ws->mutex);
}
