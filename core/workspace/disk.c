/* How much a workspace holds, against what its policy allows. Bytes are those the files say they have, not blocks: a
 * file full of holes is as large as it claims to whoever collects it. A file with several names counts once.
 *
 * The files are ours whatever a program did to them, so the walk opens folders that it shut. No tree is too deep.
 * What cannot be counted all the same counts as nothing, and `missed` says so. */

#include "base/beneath.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/walk.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SEEN_MAX   (4 * WORKSPACE_ENTRIES_MAX) /* from there on it is much too much */
#define WHAT_TO_DO "remove what is not needed, or raise \"max_disk_mb\" in the config file"

struct counting {
    struct disk_count count;
    struct hash_map linked; /* files with more than one name */
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
    if (entry->type == DT_REG && fstatat(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !(st.st_nlink > 1 && is_counted(c, &st)) &&
        __builtin_add_overflow(c->count.bytes, (int64_t)st.st_size, &c->count.bytes))
        c->count.bytes = INT64_MAX;
    return ++c->count.entries < SEEN_MAX ? WALK_CONTINUE : WALK_STOP;
}

static enum walk_next count_denied(void *user, const char *path, int code)
{
    struct counting *c = user;
    if (!c->count.missed++)
        snprintf(c->count.why, sizeof(c->count.why), "%.100s: %s", path,
                 code == ESTALE ? "it was moved meanwhile" : strerrordesc_np(code));
    return WALK_CONTINUE;
}

static struct disk_count count_all(int root, bool relock)
{
    static const struct walk_visitor visitor = {.entry = count_entry, .denied = count_denied};
    struct walk_options options = {.max_depth = WALK_ANY_DEPTH, .unlock = true, .relock = relock};
    struct counting c = {0};
    struct err err = ERR_INIT;
    if (walk_tree(root, "", &options, &visitor, &c, &err))
        count_denied(&c, err.text, err.code);
    hash_map_release(&c.linked);
    return c.count;
}

struct disk_count disk_count(int root)
{
    return count_all(root, true);
}

struct disk_count disk_count_opening(int root)
{
    return count_all(root, false);
}

int64_t workspace_disk_used(const struct workspace *ws)
{
    return disk_count_opening(beneath_fd(ws->root)).bytes;
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
