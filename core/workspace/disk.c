/* How much a workspace holds, against what its policy allows. Bytes are those the files say they have, not blocks: a
 * file full of holes is as large as it claims to whoever collects it. A file with several names counts once.
 *
 * The files are ours whatever a program did to them, so folders that it shut are opened. A walk goes down as
 * far as it has descriptors; below that one goes on that has only the folder it is in, and comes back by "..", so no
 * tree is too deep. What cannot be counted all the same counts as nothing, and is told. */

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
#define BACK_BYTES 1024                        /* of names read at once by who comes back for the next one */
#define WHAT_TO_DO "remove what is not needed, or raise \"max_disk_mb\" in the config file"

struct counting {
    struct disk_count count;
    struct hash_map linked; /* files with more than one name */
    bool puts_back;         /* the modes of what it opened */
};

/* A folder that one is below, and how to go on there. */
struct above {
    dev_t dev;
    ino_t ino;
    int64_t next;
    mode_t was; /* of the one below it, to be put back */
};

struct climb {
    struct counting *c;
    struct above *above;
    size_t count, room;
    struct walk_names names;
    int folder; /* the one it is in */
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

static void count_one(struct counting *c, int folder, const char *name, unsigned char type)
{
    struct stat st;
    if (type == DT_REG && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !(st.st_nlink > 1 && is_counted(c, &st)) &&
        __builtin_add_overflow(c->count.bytes, (int64_t)st.st_size, &c->count.bytes))
        c->count.bytes = INT64_MAX;
    c->count.entries++;
}

static enum walk_next count_entry(void *user, const struct walk_entry *entry)
{
    struct counting *c = user;
    count_one(c, entry->folder, entry->name, entry->type);
    return c->count.entries < SEEN_MAX ? WALK_ON : WALK_END;
}

static enum walk_next count_shut(void *user, const char *path, int code)
{
    struct counting *c = user;
    if (!c->count.missed++)
        snprintf(c->count.why, sizeof(c->count.why), "%.100s: %s", path,
                 code == ELOOP ? "it was moved meanwhile" : strerrordesc_np(code));
    return WALK_ON;
}

/* ---- what is deep ---- */

static void enter(struct climb *climb, const char *name)
{
    struct above above = {.next = climb->names.next};
    struct stat st;
    int below = walk_open_ours(climb->folder, name, &above.was);
    if (below < 0 || fstat(climb->folder, &st) < 0) {
        if (below >= 0)
            walk_shut_again(below, above.was);
        else if (errno != ENOENT)
            count_shut(climb->c, "…", errno);
        return;
    }
    above.dev = st.st_dev;
    above.ino = st.st_ino;
    GROW(climb->above, climb->count, climb->room);
    climb->above[climb->count++] = above;
    close(climb->folder);
    climb->folder = below;
    climb->names = (struct walk_names){.bytes = climb->names.bytes};
}

/* Back to where it came from; who was moved meanwhile has another folder above it. */
static bool go_back(struct climb *climb)
{
    struct above above = climb->above[--climb->count];
    struct stat st;
    int folder = openat(climb->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    walk_shut_again(climb->folder, climb->c->puts_back ? above.was : WALK_AS_IT_IS);
    climb->folder = folder;
    climb->names = (struct walk_names){.bytes = climb->names.bytes, .room = BACK_BYTES};
    return folder >= 0 && fstat(folder, &st) == 0 && st.st_dev == above.dev && st.st_ino == above.ino &&
           lseek(folder, above.next, SEEK_SET) >= 0;
}

/* Whether there is more to be counted. */
static bool climb_on(struct climb *climb)
{
    const char *name;
    unsigned char type;
    int got = walk_next_name(&climb->names, climb->folder, &name, &type);
    if (got < 0 && errno != ENOENT)
        count_shut(climb->c, "…", errno);
    if (got <= 0) {
        if (!climb->count)
            return false;
        if (go_back(climb))
            return true;
        count_shut(climb->c, "…", ELOOP);
        return false;
    }
    if (type != DT_UNKNOWN)
        count_one(climb->c, climb->folder, name, type);
    if (type == DT_DIR)
        enter(climb, name);
    return climb->c->count.entries < SEEN_MAX;
}

static bool count_deep(void *user, int folder)
{
    CLEANUP(free) char *bytes = xmalloc(WALK_BUFFER_BYTES);
    struct counting *c = user;
    struct climb climb = {.c = c, .names = {.bytes = bytes}};
    climb.folder = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (climb.folder < 0)
        return false;
    while (climb_on(&climb))
        ;
    while (climb.count && climb.folder >= 0 && go_back(&climb)) /* what was opened is shut again */
        ;
    if (climb.folder >= 0)
        close(climb.folder);
    free(climb.above);
    return true;
}

static struct disk_count count_all(int root, bool puts_back)
{
    struct counting c = {.puts_back = puts_back};
    struct walk walk = {
        .see = count_entry, .shut = count_shut, .deep = count_deep, .ours = true, .puts_back = puts_back, .user = &c};
    struct err err = ERR_INIT;
    if (walk_tree(root, "", &walk, &err))
        count_shut(&c, err.text, err.code);
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
