/* Finding skills on the host and staging them. Whether a staged one is still the same is asked of its files, not only
 * of the record: a program may have changed them, whatever their write bits say. */

#include "skills.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tree.h"
#include "layout.h"
#include "metadata.h"
#include "stage_inside.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_BYTES_MAX  (1 << 20)   /* of a SKILL.md */
#define SKILL_BYTES_MAX (1LL << 30) /* of a staged one that is looked at again */

/* ---- finding ---- */

static void skill_cleanup(struct skill *skill)
{
    free(skill->name);
    free(skill->description);
    free(skill->path);
    free(skill->project);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct skill *)a)->name, ((const struct skill *)b)->name);
}

static void leave(struct skills *skills, const char *name, char *take_why, char *take_text)
{
    GROW(skills->left, skills->left_count, skills->left_room);
    skills->left[skills->left_count++] = (struct skill_left){xstrdup(name), take_why, take_text};
}

static void hide(struct skills *skills, const struct skill *first, const char *path)
{
    if (strcmp(first->path, path) == 0)
        return; /* the same folder, named twice */
    leave(skills, first->name, xstrdup("another skill is called so too, and comes first"),
          xasprintf("%s is hidden: %s is called %s too, and comes first", path, first->path, first->name));
}

static void leads_out(struct skills *skills, const char *name, const char *path, const char *of)
{
    leave(skills, name, xasprintf("it is a link that leads out of the %s", of),
          xasprintf("%s is left out: it is a link that leads out of the %s", path, of));
}

/* `folder` is that of the skill in its list, where its name comes from if it says none. */
static void add_skill(struct skills *skills, struct skill *take_skill, const char *folder)
{
    CLEANUP(skill) struct skill skill = *take_skill;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct beneath *root = skills_open(&skill, &err);
    if (!root) {
        if (err.code == EXDEV)
            leads_out(skills, folder, skill.path, "project");
        return;
    }
    int status = beneath_read(root, SKILL_FILE, &text, HEAD_BYTES_MAX, NULL, &err);
    beneath_close(root);
    if (status) {
        CLEANUP(free) char *file = xasprintf("%s/%s", skill.path, SKILL_FILE);
        if (err.code == EXDEV)
            leads_out(skills, folder, file, "skill");
        return;
    }
    skills_parse_head(text.buf, text.len, &skill.name, &skill.description);
    /* The name becomes a folder, so one that could not be is replaced by that of the folder it has. */
    if (!*skill.name || strchr(skill.name, '/') || strcmp(skill.name, ".") == 0 || strcmp(skill.name, "..") == 0 ||
        strlen(skill.name) > 200) {
        free(skill.name);
        skill.name = xstrdup(folder);
    }
    const struct skill *first = skills_find(skills, skill.name);
    if (first) {
        hide(skills, first, skill.path);
        return;
    }
    GROW(skills->items, skills->count, skills->room);
    skills->items[skills->count++] = skill;
    skill = (struct skill){0};
}

static int by_entry(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Those below an open folder, which is `path` for people. */
static int list_folder(struct skills *skills, int folder, const char *path, const char *project)
{
    struct dirent **entries = NULL;
    int count = scandirat(folder, ".", &entries, NULL, by_entry);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        struct skill skill = {0};
        if (name[0] != '.') {
            skill.path = xasprintf("%s/%s", path, name);
            skill.project = project ? xstrdup(project) : NULL;
            add_skill(skills, &skill, name);
        }
        free(entries[i]);
    }
    free(entries);
    if (skills->count)
        qsort(skills->items, skills->count, sizeof(*skills->items), by_name);
    return count < 0 ? -1 : 0;
}

int skills_list(struct skills *skills, const char *folder, struct err *err)
{
    struct err own = ERR_INIT;
    struct beneath *root = beneath_open(folder, &own);
    if (!root && own.code == ENOENT)
        return 0;
    int status = root ? list_folder(skills, beneath_fd(root), beneath_path(root), NULL) : -1;
    int code = root ? errno : own.code;
    beneath_close(root);
    return status ? err_set_errno(err, code, "cannot list the skills in %s", folder) : 0;
}

int skills_list_project(struct skills *skills, const char *project, struct err *err)
{
    struct err own = ERR_INIT;
    struct beneath *root = beneath_open(project, &own);
    CLEANUP(fd) int folder = root ? beneath_openat(root, SKILLS_PROJECT, O_RDONLY | O_DIRECTORY, 0, &own) : -1;
    CLEANUP(free) char *path = root ? xasprintf("%s/%s", beneath_path(root), SKILLS_PROJECT) : NULL;
    int code = own.code, status = folder < 0 ? -1 : 0;
    if (folder >= 0 && (status = list_folder(skills, folder, path, beneath_path(root))) < 0)
        code = errno;
    beneath_close(root);
    if (root && code == EXDEV)
        leads_out(skills, SKILLS_PROJECT, path, "project");
    return !status || code == ENOENT || code == EXDEV
               ? 0
               : err_set_errno(err, code, "cannot list the skills of %s", project);
}

void skills_list_all(struct skills *skills, const char *project, const char *const *folders)
{
    struct err err = ERR_INIT;
    if (project && skills_list_project(skills, project, &err))
        log_info("%s", err.text);
    for (; folders && *folders; folders++)
        if (skills_list(skills, *folders, &err))
            log_info("%s", err.text);
}

struct beneath *skills_open(const struct skill *skill, struct err *err)
{
    if (!skill->project)
        return beneath_open(skill->path, err);
    struct beneath *project = beneath_open(skill->project, err);
    struct beneath *root = project ? beneath_within(project, skill->path, err) : NULL;
    beneath_close(project);
    return root;
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
    for (size_t i = 0; i < skills->count; i++)
        skill_cleanup(&skills->items[i]);
    for (size_t i = 0; i < skills->left_count; i++) {
        free(skills->left[i].name);
        free(skills->left[i].why);
        free(skills->left[i].text);
    }
    free(skills->left);
    free(skills->items);
    *skills = (struct skills){0};
}

/* ---- staging ---- */

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
    return tree_digest(fd, options->left_out != NULL, SKILL_BYTES_MAX, now, NULL) == 0 && strcmp(now, digest) == 0;
}

/* What was staged before goes, whatever it has become. */
static int remove_old(const struct workspace *ws, const char *to, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    CLEANUP(fd) int folder = stage_open_parent(ws, to, &name, err);
    if (folder < 0)
        return -1;
    CLEANUP(free) char *path = xasprintf("/proc/self/fd/%d/%s", folder, name);
    return file_remove_tree(path, err);
}

static void put_record(struct metadata *md, void *user)
{
    metadata_put_skill(md, user);
}

/* From its open folder: what its path leads to may be another one meanwhile. */
static int stage_opened(struct workspace *ws, const struct skill *skill, const struct stage_options *options,
                        bool *staged, struct err *err)
{
    CLEANUP(free) char *to = xasprintf("%s/%s", layout_rows[LAYOUT_SKILLS].name, skill->name);
    char digest[HASH_SHA256_HEX], now[METADATA_STAMP_MAX];
    bool mounted;
    /* Links that lead out of a skill are no part of it where they are left out. */
    if (tree_digest(beneath_fd(options->opened), options->left_out != NULL, 0, digest, err) < 0)
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
    *staged = true;
    return metadata_update(ws->root, ws->clock, put_record, &record, err);
}

int skills_stage(struct workspace *ws, const struct skill *skill, const struct stage_options *options, bool *staged,
                 struct err *err)
{
    struct stage_options own = options ? *options : (struct stage_options){.read_only = true};
    bool done = false;
    if (strchr(skill->name, '/') || strcmp(skill->name, "..") == 0 || strcmp(skill->name, ".") == 0 || !*skill->name)
        return err_set(err, "a skill cannot be called \"%.200s\"", skill->name);
    struct beneath *root = skills_open(skill, err);
    own.opened = root;
    int status = root ? stage_opened(ws, skill, &own, &done, err) : err_prefix(err, "skill %.100s", skill->name);
    beneath_close(root);
    if (staged)
        *staged = done;
    return status;
}
