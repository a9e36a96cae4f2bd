/* The disk limit of programs: counts what a folder holds and compares that with the limit (disk_limit.h).
 *
 * Sizes are those the files report, not blocks: a sparse file is as large as it claims to anyone who collects it. A
 * file with several names counts once. The files are ours whatever a program did to them, so the walk opens folders
 * that the program closed, at any depth. What still cannot be counted counts as nothing, and `missed` says so. */

#include "disk_limit.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/walk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEEN_MAX   (4 * WORKSPACE_ENTRIES_MAX) /* a count stops here, far above the limit */
#define WHAT_TO_DO "delete files, or raise \"max_disk_mb\" in the config file"

/* Also notes how many names of the file the walk has not met yet. */
static bool is_counted(struct disk_counting *c, const struct stat *st)
{
    char key[48];
    snprintf(key, sizeof(key), "%jx:%jx", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
    bool again = hash_map_has(&c->linked, key);
    c->names_missing += again ? -1 : (int64_t)st->st_nlink - 1;
    if (!again)
        hash_map_put(&c->linked, key, 1);
    return again;
}

int64_t disk_counting_add(struct disk_counting *c, const struct walk_entry *entry)
{
    struct stat st = {0};
    bool file = entry->type == DT_REG && fstatat(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (file && !(st.st_nlink > 1 && is_counted(c, &st)) &&
        __builtin_add_overflow(c->count.bytes, (int64_t)st.st_size, &c->count.bytes))
        c->count.bytes = INT64_MAX;
    c->count.entries++;
    return file ? st.st_size : 0;
}

bool disk_counting_full(const struct disk_counting *c)
{
    return c->count.entries >= SEEN_MAX;
}

void disk_counting_missed(struct disk_counting *c, const char *path, int code)
{
    if (!c->count.missed++)
        snprintf(c->count.why, sizeof(c->count.why), "%.100s: %s", path,
                 code == ESTALE ? "it was moved during the count" : strerrordesc_np(code));
}

void disk_counting_release(struct disk_counting *c)
{
    hash_map_release(&c->linked);
}

static enum walk_next count_entry(void *user, const struct walk_entry *entry)
{
    disk_counting_add(user, entry);
    return disk_counting_full(user) ? WALK_STOP : WALK_CONTINUE;
}

static enum walk_next count_denied(void *user, const char *path, int code)
{
    disk_counting_missed(user, path, code);
    return WALK_CONTINUE;
}

struct disk_count disk_count(int root)
{
    static const struct walk_visitor visitor = {.entry = count_entry, .denied = count_denied};
    struct walk_options options = {.max_depth = WALK_ANY_DEPTH, .unlock = true, .relock = true};
    struct disk_counting c = {0};
    struct err err = ERR_INIT;
    if (walk_tree(root, "", &options, &visitor, &c, &err))
        disk_counting_missed(&c, err.text, err.code);
    disk_counting_release(&c);
    return c.count;
}

/* "20 MB", "1.5 GB" */
static const char *size_text(char out[24], int64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
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
        err_set(err, "the workspace is full: it has more than %d files and folders (delete some)",
                WORKSPACE_ENTRIES_MAX);
    else if (more)
        err_set(err, "the workspace has a limit of %s: it has %s, and %s more do not fit (" WHAT_TO_DO ")",
                size_text(may, limit), size_text(has, count->bytes), size_text(wants, more));
    else if (strcmp(size_text(has, count->bytes), size_text(may, limit)) == 0)
        err_set(err, "the workspace is full: it has more than its limit of %s (" WHAT_TO_DO ")", may);
    else
        err_set(err, "the workspace is full: it has %s, and its limit is %s (" WHAT_TO_DO ")", has, may);
    if (err)
        err->code = EDQUOT;
    return -1;
}
