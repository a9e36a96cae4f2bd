#include "script_files.h"
#include "base/beneath.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "workspace/glob.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define SPECIAL "*?[{\\"

struct gathering {
    const struct beneath *root;
    const atomic_bool *cancelled;
    struct script_files *files;
    struct hash_map seen;    /* paths that were taken already */
    const struct glob *glob; /* NULL: every file */
    size_t found;            /* of the pattern */
    bool failed;
    struct err *err;
};

static int take_file(struct gathering *g, const char *path)
{
    struct script_files *files = g->files;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    size_t left = SCRIPT_FILES_BYTES - files->bytes;
    struct stat st;
    g->found++;
    if (hash_map_has(&g->seen, path))
        return 0;
    if (!utf8_valid(path, strlen(path)))
        return err_set(g->err, "files: the name of %s is not UTF-8", path);
    if (files->count == SCRIPT_FILES_MAX)
        return err_set(g->err, "files: more than %d (name fewer)", SCRIPT_FILES_MAX);
    /* One byte more than there may be: no limit at all would be 0. */
    if (beneath_read(g->root, path, &bytes, left + 1, &st, g->err) < 0 || bytes.len > left) {
        if (bytes.len > left || (g->err && g->err->code == EFBIG))
            return err_set(g->err, "files: more than %u MiB with %s (name fewer)", SCRIPT_FILES_BYTES >> 20, path);
        return err_prefix(g->err, "files");
    }
    hash_map_put(&g->seen, path, 1);
    files->bytes += bytes.len;
    GROW(files->items, files->count, files->room);
    struct script_file *file = &files->items[files->count++];
    *file = (struct script_file){.path = xstrdup(path), .executable = st.st_mode & S_IXUSR};
    file->bytes = strbuf_detach(&bytes, &file->len);
    return 0;
}

static enum walk_next take_entry(void *user, const struct walk_entry *entry)
{
    struct gathering *g = user;
    if (entry->type == DT_REG && (!g->glob || glob_match(g->glob, entry->path)))
        g->failed = take_file(g, entry->path) < 0;
    return g->failed ? WALK_STOP : WALK_CONTINUE;
}

/* A folder that cannot be read has no files to name. */
static enum walk_next ignore_denied(void *user, const char *path, int code)
{
    (void)user;
    (void)path;
    (void)code;
    return WALK_CONTINUE;
}

static int take_folder(struct gathering *g, const char *path, int fd)
{
    static const struct walk_visitor visitor = {.entry = take_entry, .denied = ignore_denied};
    struct walk_options options = {.order = WALK_BY_PATH, .skip_git = true, .cancelled = g->cancelled};
    const char *prefix = strcmp(path, ".") == 0 ? "" : path;
    return walk_tree(fd, prefix, &options, &visitor, g, g->err) < 0 || g->failed ? -1 : 0;
}

/* A file, or all below a folder. */
static int take_path(struct gathering *g, const char *path, bool may_lack)
{
    struct err why = ERR_INIT;
    CLEANUP(fd) int fd = beneath_openat(g->root, path, O_RDONLY, 0, &why);
    struct stat st;
    if (fd < 0 && may_lack && (why.code == ENOENT || why.code == ENOTDIR))
        return 0;
    if (fd < 0)
        return err_set(g->err, "files: %s", why.text);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return take_folder(g, path, fd);
    return g->glob ? 0 : take_file(g, path);
}

/* Files that match: they are looked for below the part of the pattern that is plain. */
static int take_matching(struct gathering *g, const char *pattern)
{
    size_t plain = strcspn(pattern, SPECIAL);
    while (plain && pattern[plain - 1] != '/')
        plain--;
    CLEANUP(free) char *given = plain ? xmemdup0(pattern, plain) : xstrdup(".");
    CLEANUP(free) char *folder = beneath_clean(g->root, given, g->err);
    if (!folder)
        return err_prefix(g->err, "files");
    CLEANUP(free)
    char *clean =
        xasprintf("%s%s%s", strcmp(folder, ".") ? folder : "", strcmp(folder, ".") ? "/" : "", pattern + plain);
    struct glob *glob = glob_new(clean, g->err);
    if (!glob)
        return err_prefix(g->err, "files");
    g->glob = glob;
    int rc = take_path(g, folder, true);
    g->glob = NULL;
    glob_free(glob);
    return rc;
}

static int take_pattern(struct gathering *g, const char *pattern)
{
    int rc;
    g->found = 0;
    if (pattern[strcspn(pattern, SPECIAL)]) {
        rc = take_matching(g, pattern);
    } else {
        CLEANUP(free) char *path = beneath_clean(g->root, pattern, g->err);
        rc = path ? take_path(g, path, false) : err_prefix(g->err, "files");
    }
    if (atomic_load(g->cancelled))
        return err_set(g->err, "cancelled");
    if (rc == 0 && !g->found)
        return err_set(g->err, "files: nothing is named by %s", pattern);
    return rc;
}

int script_files_read(struct script_files *files, const struct beneath *root, const struct json *list,
                      const atomic_bool *cancelled, struct err *err)
{
    struct gathering g = {.root = root, .cancelled = cancelled, .files = files, .err = err};
    int rc = 0;
    json_each (pattern, list)
        if (rc == 0)
            rc = take_pattern(&g, json_str(pattern, ""));
    hash_map_release(&g.seen);
    return rc;
}

void script_files_release(struct script_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].bytes);
    }
    free(files->items);
    *files = (struct script_files){0};
}
