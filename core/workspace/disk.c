/* How much a workspace holds, against what its policy allows. Bytes are those the files say they have, not blocks: a
 * file full of holes is as large as it claims to whoever collects it. A file with several names counts once.
 *
 * The files are ours whatever a program did to them, so folders that it shut are opened. One walk goes down as far as
 * it has descriptors; another goes on from where it ended, so no tree is too deep. What cannot be counted all the same
 * counts as nothing, and is told. */

#include "base/beneath.h"
#include "base/hash.h"
#include "base/mem.h"
#include "walk.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SEEN_MAX   (4 * WORKSPACE_ENTRIES_MAX) /* from there on it is much too much */
#define DEEP_MAX   64                          /* ends of walks that wait for another */
#define WHAT_TO_DO "remove what is not needed, or raise \"max_disk_mb\" in the config file"

struct counting {
    struct disk_count count;
    struct hash_map linked; /* files with more than one name */
    int deep[DEEP_MAX];
    size_t deep_count;
};

static bool is_counted(struct counting *c, const struct stat *st)
{
    char key[48];
    snprintf(key, sizeof(key), "%jx:%jx", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
    if (hash_map_has(&c->linked, key))
        return true;
    hash_map_put(&c->linked, key, 1);
    return false;
}

static enum walk_next count_entry(void *user, const struct walk_entry *entry)
{
    struct counting *c = user;
    struct stat st;
    if (entry->type == DT_REG && fstatat(entry->folder, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !(st.st_nlink > 1 && is_counted(c, &st)) &&
        __builtin_add_overflow(c->count.bytes, (int64_t)st.st_size, &c->count.bytes))
        c->count.bytes = INT64_MAX;
    return ++c->count.entries < SEEN_MAX ? WALK_ON : WALK_END;
}

static enum walk_next count_shut(void *user, const char *path, int code)
{
    struct counting *c = user;
    if (!c->count.missed++)
        snprintf(c->count.why, sizeof(c->count.why), "%.100s: %s", path,
                 code == ELOOP ? "too many folders are that deep" : strerrordesc_np(code));
    return WALK_ON;
}

static bool count_deep(void *user, int folder)
{
    struct counting *c = user;
    int own = c->deep_count < DEEP_MAX ? fcntl(folder, F_DUPFD_CLOEXEC, 0) : -1;
    if (own >= 0)
        c->deep[c->deep_count++] = own;
    return own >= 0;
}

struct disk_count disk_count(int root)
{
    struct counting c = {0};
    struct walk walk = {.see = count_entry, .shut = count_shut, .deep = count_deep, .ours = true, .user = &c};
    struct err err = ERR_INIT;
    int failed = walk_tree(root, "", &walk, &err);
    while (c.deep_count) {
        int folder = c.deep[--c.deep_count];
        if (!failed && c.count.entries < SEEN_MAX)
            failed = walk_tree(folder, "…", &walk, &err);
        close(folder);
    }
    if (failed)
        count_shut(&c, err.text, err.code);
    hash_map_release(&c.linked);
    return c.count;
}

int64_t workspace_disk_used(const struct workspace *ws)
{
    return disk_count(beneath_fd(ws->root)).bytes;
}

/* "20 MiB", "1.5 GiB" */
static const char *size_text(char out[24], int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < COUNT_OF(units); unit++)
        size /= 1024;
    int tenths = (int)(size * 10 + 0.5);
    if (tenths % 10 && tenths < 1000)
        snprintf(out, 24, "%d.%d %s", tenths / 10, tenths % 10, units[unit]);
    else
        snprintf(out, 24, "%d %s", (tenths + 5) / 10, units[unit]);
    return out;
}

int disk_check(int64_t limit, const struct disk_count *count, int64_t more, struct err *err)
{
    char has[24], may[24], wants[24];
    bool crowded = count->entries > WORKSPACE_ENTRIES_MAX;
    if (!crowded && count->bytes <= limit && more <= limit - count->bytes)
        return 0;
    if (crowded)
        err_set(err, "the workspace is full: it has more than %d files and folders (remove what is not needed)",
                WORKSPACE_ENTRIES_MAX);
    else if (more)
        err_set(err, "the workspace may hold %s: it has %s, and %s more do not fit (" WHAT_TO_DO ")",
                size_text(may, limit), size_text(has, count->bytes), size_text(wants, more));
    else if (strcmp(size_text(has, count->bytes), size_text(may, limit)) == 0)
        err_set(err, "the workspace is full: it has more than the %s that it may hold (" WHAT_TO_DO ")", may);
    else
        err_set(err, "the workspace is full: it has %s and may hold %s (" WHAT_TO_DO ")", has, may);
    if (err)
        err->code = EDQUOT;
    return -1;
}

int workspace_check_disk(const struct workspace *ws, int64_t more, struct err *err)
{
    if (ws->policy.max_disk_bytes <= 0)
        return 0;
    struct disk_count count = disk_count(beneath_fd(ws->root));
    return disk_check(ws->policy.max_disk_bytes, &count, more, err);
}

bool workspace_warn_disk(const struct workspace *ws, struct err *err)
{
    if (ws->policy.max_disk_bytes <= 0)
        return false;
    struct disk_count count = disk_count(beneath_fd(ws->root));
    if (disk_check(ws->policy.max_disk_bytes, &count, 0, err) < 0)
        return true;
    if (count.missed)
        err_set(err, "what a part of the workspace holds cannot be counted, and counts as nothing: %s", count.why);
    return count.missed > 0;
}
