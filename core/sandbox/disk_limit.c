/* The disk limit of programs: counts what a folder holds and watches it while a program runs (disk_limit.h).
 *
 * Sizes are those the files report, not blocks: a sparse file is as large as it claims to anyone who collects it. A
 * file with several names counts once. The files are ours whatever a program did to them, so the walk opens folders
 * that the program closed, at any depth. What still cannot be counted counts as nothing, and `missed` says so.
 *
 * A watch runs one count at a time. The first starts with the program: what was there before is not its doing. A last
 * count requested during another one follows it. */

#include "disk_limit.h"
#include "base/beneath.h"
#include "base/hash.h"
#include "base/loop.h"
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
                 code == ESTALE ? "it was moved during the count" : strerrordesc_np(code));
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

/* Runs one count at a time, the first when the program starts: earlier files are not the program's doing. A last
 * count requested during another one follows it. */

struct disk_watch {
    struct loop *loop;
    int root;
    int64_t limit;
    int64_t pause_us;
    struct loop_timer timer;
    struct loop_work work;
    struct disk_count first, before; /* finished counts */
    int64_t before_us;               /* when `before` began; -1: no earlier count */
    bool counting, hidden, last, told, freed;
    void (*full)(void *user, const char *why);
    void (*counted)(void *user, const char *why);
    void *user;
    /* State of one count. The thread owns it while the count runs. */
    int64_t began_us;
    struct disk_count now;
    struct err err;
    bool over, runs; /* `runs`: the program runs */
};

static void close_watch(struct disk_watch *watch)
{
    close(watch->root);
    free(watch);
}

static void count_work(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    watch->err = (struct err)ERR_INIT;
    watch->now = watch->runs ? disk_count(watch->root) : disk_count_opening(watch->root);
    watch->over = disk_check(watch->limit, &watch->now, 0, &watch->err) < 0;
}

static void count_timer(struct loop_timer *timer);

/* Bounds the pause to the time in which the program would use half of the remaining space at its present rate. */
static void bound_pause(struct disk_watch *watch, int64_t before, int64_t now, int64_t limit)
{
    if (now <= before)
        return;
    double half = (double)(limit - now) / 2 / (double)(now - before) * (double)(watch->began_us - watch->before_us);
    if (half < (double)watch->pause_us)
        watch->pause_us = (int64_t)half;
}

/* Doubles the pause between counts, unless the limit is near. */
static void set_pace(struct disk_watch *watch)
{
    watch->pause_us *= 2;
    bound_pause(watch, watch->before.bytes, watch->now.bytes, watch->limit);
    bound_pause(watch, watch->before.entries, watch->now.entries, WORKSPACE_ENTRIES_MAX);
    if (watch->pause_us > DISK_WATCH_MAX_MS * 1000)
        watch->pause_us = DISK_WATCH_MAX_MS * 1000;
    if (watch->pause_us < DISK_WATCH_MIN_MS * 1000)
        watch->pause_us = DISK_WATCH_MIN_MS * 1000;
}

/* A program may create, remove and close folders during a count. So uncountable folders matter only if two counts in
 * a row find more of them than the first count. */
static bool is_full(struct disk_watch *watch)
{
    const struct disk_count *now = &watch->now, *before = &watch->before;
    bool hidden = now->missed > watch->first.missed, again = hidden && watch->hidden;
    watch->hidden = hidden;
    if (again && !watch->over)
        err_set(&watch->err, "cannot measure what it wrote: %s", now->why);
    return again || (watch->over && (now->bytes > before->bytes || now->entries > before->entries));
}

static void judge_count(struct disk_watch *watch)
{
    bool full = false;
    if (watch->before_us < 0) {
        watch->first = watch->now;
    } else {
        full = is_full(watch);
        set_pace(watch);
    }
    watch->before = watch->now;
    watch->before_us = watch->began_us;
    int64_t now = loop_now_us(watch->loop), share = (now - watch->began_us) * DISK_WATCH_SHARE;
    loop_timer_start(watch->loop, &watch->timer, now + (share > watch->pause_us ? share : watch->pause_us),
                     count_timer);
    if (!full || watch->told)
        return;
    watch->told = true;
    watch->full(watch->user, watch->err.text);
}

static void start_count(struct disk_watch *watch);

static void count_done(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    bool last = watch->last;
    watch->counting = false;
    if (watch->freed)
        close_watch(watch);
    else if (!last)
        judge_count(watch);
    else if (watch->began_us < 0) /* the last count was requested while this one ran */
        start_count(watch);
    else
        watch->counted(watch->user, watch->over ? watch->err.text : NULL);
}

static void start_count(struct disk_watch *watch)
{
    watch->counting = true;
    watch->runs = !watch->last;
    watch->began_us = loop_now_us(watch->loop);
    loop_work_start(watch->loop, &watch->work, count_work, count_done);
}

static void count_timer(struct loop_timer *timer)
{
    start_count(CONTAINER_OF(timer, struct disk_watch, timer));
}

struct disk_watch *disk_watch_new(struct loop *loop, int root, int64_t limit, void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user)
{
    if (limit <= 0)
        return NULL;
    struct disk_watch *watch = xcalloc(1, sizeof(*watch));
    *watch = (struct disk_watch){.loop = loop,
                                 .root = fcntl(root, F_DUPFD_CLOEXEC, 0),
                                 .limit = limit,
                                 .pause_us = DISK_WATCH_MIN_MS * 1000,
                                 .before_us = -1,
                                 .full = full,
                                 .counted = counted,
                                 .user = user};
    start_count(watch);
    return watch;
}

void disk_watch_finish(struct disk_watch *watch)
{
    loop_timer_stop(watch->loop, &watch->timer);
    watch->last = true;
    if (watch->counting)
        watch->began_us = -1;
    else
        start_count(watch);
}

void disk_watch_free(struct disk_watch *watch)
{
    if (!watch)
        return;
    loop_timer_stop(watch->loop, &watch->timer);
    watch->freed = true;
    if (watch->counting)
        loop_work_disown(watch->loop, &watch->work);
    else
        close_watch(watch);
}
