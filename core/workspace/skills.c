/* Finds skills on the host, reads the head of their SKILL.md, and stages them (skills.h).
 *
 * Whether a staged skill is unchanged is checked in its files, not only in the record: a program may have changed them
 * despite their write bits. */

#include "skills.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tree.h"
#include "base/utf8.h"
#include "layout.h"
#include "metadata.h"
#include "stage.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD_BYTES_MAX  (1 << 20)   /* of a SKILL.md */
#define SKILL_BYTES_MAX (1LL << 30) /* of a staged skill that is checked again */

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

static void skills_leave(struct skills *skills, const char *name, char *take_why, char *take_text)
{
    GROW(skills->left, skills->left_count, skills->left_room);
    skills->left[skills->left_count++] = (struct skill_left){xstrdup(name), take_why, take_text};
}

static void hide(struct skills *skills, const struct skill *first, const char *path)
{
    if (strcmp(first->path, path) == 0)
        return; /* the same folder, named twice */
    skills_leave(skills, first->name, xstrdup("hidden by another skill of the same name"),
                 xasprintf("%s is hidden: %s has the same name %s and comes first", path, first->path, first->name));
}

static void leads_out(struct skills *skills, const char *name, const char *path, const char *of)
{
    skills_leave(skills, name, xasprintf("it is a link that leads outside the %s", of),
                 xasprintf("%s is ignored: it is a link that leads outside the %s", path, of));
}

/* `folder` is the skill's folder in its list; its name is the default for the skill's name. */
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
    /* The name becomes a folder. If it cannot be one, use the name of the skill's own folder. */
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

/* Adds the skills below an open folder; `path` is its name for display. */
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

/* True if the metadata and the files agree that exactly this skill is staged. */
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

/* Removes the earlier copy, whatever a program made of it. */
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

/* Stages from the open folder, because its path may lead to another one by now. */
static int stage_opened(struct workspace *ws, const struct skill *skill, const struct stage_options *options,
                        bool *staged, struct err *err)
{
    CLEANUP(free) char *to = xasprintf("%s/%s", layout_rows[LAYOUT_SKILLS].name, skill->name);
    char digest[HASH_SHA256_HEX], now[METADATA_STAMP_MAX];
    bool mounted;
    /* Links that lead out of a skill are not part of it if they are skipped. */
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
        return err_set(err, "invalid skill name \"%.200s\"", skill->name);
    struct beneath *root = skills_open(skill, err);
    own.opened = root;
    int status = root ? stage_opened(ws, skill, &own, &done, err) : err_prefix(err, "skill %.100s", skill->name);
    beneath_close(root);
    if (staged)
        *staged = done;
    return status;
}

/* ---- the head of SKILL.md ---- */

/* The head of a SKILL.md is a little YAML: one level of keys, with values plain, quoted, or over several lines
 * (folded after '>', kept after '|', or continued on indented lines). Other YAML is not read; values that cannot be
 * parsed count as missing. */

#define TEXT_MAX 4096 /* of a description, in bytes */

struct skill_line {
    const char *at;
    size_t len; /* without the end of the line */
    size_t indent;
};

static bool next_line(const char **at, const char *end, struct skill_line *line)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    size_t len = (size_t)((stop ? stop : end) - *at);
    line->at = *at;
    *at += len + (stop != NULL);
    while (len > 0 && (line->at[len - 1] == '\r' || line->at[len - 1] == ' ' || line->at[len - 1] == '\t'))
        len--;
    line->len = len;
    line->indent = 0;
    while (line->indent < len && (line->at[line->indent] == ' ' || line->at[line->indent] == '\t'))
        line->indent++;
    return true;
}

static bool is_fence(const struct skill_line *line)
{
    return line->len == 3 && memcmp(line->at, "---", 3) == 0;
}

/* Decodes a quoted value: '' in single quotes is a quote, a backslash in double quotes escapes the next character. */
static void add_quoted(struct strbuf *out, const char *at, size_t len)
{
    char quote = at[0];
    for (size_t i = 1; i < len; i++) {
        if (at[i] == quote) {
            if (quote != '\'' || i + 1 == len || at[i + 1] != quote)
                return;
            i++;
        } else if (quote == '"' && at[i] == '\\' && i + 1 < len) {
            i++;
            strbuf_addch(out, at[i] == 'n' ? '\n' : at[i]);
            continue;
        }
        strbuf_addch(out, at[i]);
    }
}

/* A plain value ends where a comment begins. */
static size_t plain_length(const char *at, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (at[i] == '#' && (at[i - 1] == ' ' || at[i - 1] == '\t'))
            len = i;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    return len;
}

/* Reads the value that begins in `rest` of a line and continues on the indented lines below. */
static void read_value(struct strbuf *out, const char *rest, size_t len, const char **at, const char *end)
{
    char block = len > 0 && (rest[0] == '|' || rest[0] == '>') ? rest[0] : '\0';
    bool quoted = len > 0 && (rest[0] == '"' || rest[0] == '\'');
    CLEANUP(strbuf) struct strbuf raw = STRBUF_INIT;
    if (!block)
        strbuf_add(&raw, rest, quoted ? len : plain_length(rest, len));
    const char *ahead = *at;
    for (struct skill_line line; next_line(&ahead, end, &line) && (line.indent > 0 || line.len == 0); *at = ahead) {
        if (raw.len)
            strbuf_addch(&raw, block == '|' ? '\n' : ' ');
        strbuf_add(&raw, line.at + line.indent, line.len - line.indent);
    }
    while (raw.len > 0 && (raw.buf[raw.len - 1] == ' ' || raw.buf[raw.len - 1] == '\n'))
        strbuf_set_len(&raw, raw.len - 1);
    strbuf_reset(out);
    if (quoted)
        add_quoted(out, raw.buf, raw.len);
    else
        strbuf_add(out, raw.buf, raw.len);
}

static char *finished(const struct strbuf *text)
{
    CLEANUP(strbuf) struct strbuf clean = STRBUF_INIT;
    size_t len = text->len < TEXT_MAX ? text->len : TEXT_MAX;
    utf8_scrub(&clean, text->buf, len);
    return xmemdup0(clean.buf, strlen(clean.buf));
}

void skills_parse_head(const char *text, size_t len, char **name, char **description)
{
    CLEANUP(strbuf) struct strbuf found_name = STRBUF_INIT, found_description = STRBUF_INIT;
    const char *at = text, *end = text + len;
    struct skill_line line;
    if (len >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    bool open = next_line(&at, end, &line) && is_fence(&line);
    while (open && next_line(&at, end, &line) && !is_fence(&line)) {
        const char *colon = memchr(line.at, ':', line.len);
        size_t key = colon ? (size_t)(colon - line.at) : 0;
        struct strbuf *value = line.indent > 0                                        ? NULL
                               : key == 4 && memcmp(line.at, "name", 4) == 0          ? &found_name
                               : key == 11 && memcmp(line.at, "description", 11) == 0 ? &found_description
                                                                                      : NULL;
        if (!value)
            continue;
        const char *rest = colon + 1;
        while (rest < line.at + line.len && (*rest == ' ' || *rest == '\t'))
            rest++;
        read_value(value, rest, (size_t)(line.at + line.len - rest), &at, end);
    }
    *name = finished(&found_name);
    *description = finished(&found_description);
}
