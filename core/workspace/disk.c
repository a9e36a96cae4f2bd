/* How much a workspace holds, against what its policy allows. Bytes are those the files say they have, not blocks: a file
 * full of holes is as large as it claims to whoever collects it. A file with several names counts once. */

#include "base/beneath.h"
#include "base/hash.h"
#include "walk.h"
#include "workspace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

struct counting {
    int64_t bytes;
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
    if (entry->type == DT_REG && fstatat(entry->folder, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !(st.st_nlink > 1 && is_counted(c, &st)) && __builtin_add_overflow(c->bytes, (int64_t)st.st_size, &c->bytes))
        c->bytes = INT64_MAX;
    return WALK_ON;
}

int64_t disk_used(int root, struct err *err)
{
    struct counting counting = {0};
    struct walk walk = {.see = count_entry, .user = &counting};
    int status = walk_tree(root, "", &walk, err);
    hash_map_release(&counting.linked);
    return status < 0 ? -1 : counting.bytes;
}

int64_t workspace_disk_used(const struct workspace *ws, struct err *err)
{
    return disk_used(beneath_fd(ws->root), err);
}

int disk_check(int64_t limit, int64_t used, int64_t more, struct err *err)
{
    if (used <= limit && more <= limit - used)
        return 0;
    if (more)
        err_set(err, "the workspace may hold %" PRId64 " bytes: it has %" PRId64 " and %" PRId64 " more do not fit", limit,
                used, more);
    else
        err_set(err, "the workspace may hold %" PRId64 " bytes, and it has %" PRId64, limit, used);
    if (err)
        err->code = EDQUOT;
    return -1;
}

int workspace_check_disk(const struct workspace *ws, int64_t more, struct err *err)
{
    if (ws->policy.max_disk_bytes <= 0)
        return 0;
    int64_t used = workspace_disk_used(ws, err);
    return used < 0 ? -1 : disk_check(ws->policy.max_disk_bytes, used, more, err);
}
