/* Finding skills on the host and staging them. Whether a staged one is still the same is asked of its files, not only of the
 * record: a program may have changed them, whatever their write bits say. */

#include "skills.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "digest.h"
#include "layout.h"
#include "metadata.h"
#include "stage.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_BYTES_MAX  (1 << 20)  /* of a SKILL.md */
#define SKILL_BYTES_MAX (1LL << 30) /* of a staged one that is looked at again */

/* ---- finding ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct skill *)a)->name, ((const struct skill *)b)->name);
}

static void hide(struct skills *skills, const struct skill *first, const char *path)
{
    if (strcmp(first->path, path) == 0)
        return; /* the same folder, named twice */
    GROW(skills->doubles, skills->double_count, skills->double_room);
    skills->doubles[skills->double_count++] =
        xasprintf("%s is hidden: %s is called %s too, and comes first", path, first->path, first->name);
}

static void add_skill(struct skills *skills, const char *path, const char *folder)
{
    CLEANUP(free) char *file = xasprintf("%s/%s", path, SKILL_FILE), *name = NULL, *description = NULL;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (file_read(file, &text, HEAD_BYTES_MAX, NULL) < 0)
        return;
    skills_parse_head(text.buf, text.len, &name, &description);
    /* The name becomes a folder, so one that could not be is replaced by that of the folder it has. */
    if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strlen(name) > 200) {
        free(name);
        name = xstrdup(folder);
    }
    const struct skill *first = skills_find(skills, name);
    if (first) {
        hide(skills, first, path);
        return;
    }
    GROW(skills->items, skills->count, skills->room);
    skills->items[skills->count++] =
        (struct skill){.name = steal(&name), .description = steal(&description), .path = xstrdup(path)};
}

static int by_entry(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int skills_list(struct skills *skills, const char *folder, struct err *err)
{
    struct dirent **entries = NULL;
    CLEANUP(free) char *real = realpath(folder, NULL);
    int count = real ? scandir(real, &entries, NULL, by_entry) : -1;
    if (count < 0)
        return errno == ENOENT ? 0 : err_set_errno(err, errno, "cannot list the skills in %s", folder);
    for (int i = 0; i < count; i++) {
        CLEANUP(free) char *path = xasprintf("%s/%s", real, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            add_skill(skills, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (skills->count)
        qsort(skills->items, skills->count, sizeof(*skills->items), by_name);
    return 0;
}

const struct skill *skills_find(const struct skills *skills, const char *name)
{
    for (size_t i = 0; i < skills->count; i++)
        if (strcmp(skills->items[i].name, name) == 0)
            return &skills->items[i];
    return NULL;
}

void skills_release(struct skills *skills)
{
    for (size_t i = 0; i < skills->count; i++) {
        free(skills->items[i].name);
        free(skills->items[i].description);
        free(skills->items[i].path);
    }
    for (size_t i = 0; i < skills->double_count; i++)
        free(skills->doubles[i]);
    free(skills->doubles);
    free(skills->items);
    *skills = (struct skills){0};
}

/* ---- staging ---- */

/* Links that lead out of a skill are no part of it where they are left out. */
static int digest_skill(const char *path, const struct stage_options *options, char out[HASH_SHA256_HEX],
                        struct err *err)
{
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot read the folder %.200s", path);
    return digest_folder(fd, options->left_out != NULL, 0, out, err);
}

/* Whether the metadata and the files say that exactly this is staged. */
static bool is_staged(const struct workspace *ws, const char *name, const char *to, const struct stage_options *options,
                      const char *digest)
{
    CLEANUP(metadata) struct metadata md;
    char now[HASH_SHA256_HEX];
    int status = metadata_load(ws->root, ws->clock, &md, NULL);
    const struct metadata_skill *record = status == 0 ? metadata_find_skill(&md, name) : NULL;
    if (!record || strcmp(record->digest, digest) != 0)
        return false;
    CLEANUP(fd) int fd = beneath_openat(ws->root, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return false;
    return digest_folder(fd, options->left_out != NULL, SKILL_BYTES_MAX, now, NULL) == 0 && strcmp(now, digest) == 0;
}

/* What was staged before goes, whatever it has become. */
static int remove_old(const struct workspace *ws, const char *to, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    CLEANUP(fd) int folder = beneath_parent(ws->root, to, true, &name, err);
    if (folder < 0)
        return -1;
    CLEANUP(free) char *path = xasprintf("/proc/self/fd/%d/%s", folder, name);
    return file_remove_tree(path, err);
}

static void put_record(struct metadata *md, void *user)
{
    metadata_put_skill(md, user);
}

int skills_stage(struct workspace *ws, const struct skill *skill, const struct stage_options *options, bool *staged,
                 struct err *err)
{
    static const struct stage_options read_only = {.read_only = true};
    CLEANUP(free) char *to = xasprintf("%s/%s", layout_rows[LAYOUT_SKILLS].name, skill->name);
    char digest[HASH_SHA256_HEX], now[METADATA_STAMP_MAX];
    bool mounted;
    if (staged)
        *staged = false;
    if (strchr(skill->name, '/') || strcmp(skill->name, "..") == 0 || strcmp(skill->name, ".") == 0 || !*skill->name)
        return err_set(err, "a skill cannot be called \"%.200s\"", skill->name);
    if (!options)
        options = &read_only;
    if (digest_skill(skill->path, options, digest, err) < 0)
        return err_prefix(err, "skill %.100s", skill->name);
    if (is_staged(ws, skill->name, to, options, digest))
        return 0;
    if (remove_old(ws, to, err) < 0 || stage_directory(ws, skill->path, to, options, &mounted, err) < 0)
        return -1;
    metadata_stamp(ws->clock, now);
    struct metadata_skill record = {.name = skill->name,
                                    .rel_path = to,
                                    .digest = digest,
                                    .staged_at = now,
                                    .source = skill->path,
                                    .mounted = mounted};
    if (staged)
        *staged = true;
    return metadata_update(ws->root, ws->clock, put_record, &record, err);
}
