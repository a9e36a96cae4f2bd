/* Changes as values: reading the present state, copying, digests, and choosing hunks. change_commit.c writes them.
 *
 * A change holds whole contents on both sides. That costs memory (at most CHANGE_BYTES_MAX a side) and buys what the
 * approval promises: what was shown, what is kept for undo and what is written are the same bytes, however long a person
 * takes to decide and whatever happens to the file meanwhile. */

#include "change.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "diff.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char digest_absent[] = "absent";

struct change_set *change_set_new(void)
{
    return xcalloc(1, sizeof(struct change_set));
}

void change_set_free(struct change_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].path);
        free(set->items[i].old.bytes);
        free(set->items[i].new.bytes);
    }
    free(set->items);
    free(set->left_out);
    free(set);
}

void change_side_set(struct change_side *side, const void *bytes, size_t len, mode_t mode)
{
    char *copy = xmemdup0(bytes, len); /* before the free: `bytes` may be the side's own */
    free(side->bytes);
    side->exists = true;
    side->mode = mode & 0777;
    side->bytes = copy;
    side->len = len;
    hash_sha256(copy, len, side->digest);
}

void change_side_absent(struct change_side *side)
{
    free(side->bytes);
    *side = (struct change_side){0};
    memcpy(side->digest, digest_absent, sizeof(digest_absent));
}

static void copy_side(struct change_side *to, const struct change_side *from)
{
    char *before = to->bytes;
    *to = *from;
    if (from->bytes)
        to->bytes = xmemdup0(from->bytes, from->len);
    free(before);
}

struct change_set *change_set_copy(const struct change_set *set)
{
    struct change_set *copy = change_set_new();
    copy->items = xcalloc(set->count, sizeof(*copy->items));
    copy->count = copy->room = set->count;
    for (size_t i = 0; i < set->count; i++) {
        copy->items[i].path = xstrdup(set->items[i].path);
        copy_side(&copy->items[i].old, &set->items[i].old);
        copy_side(&copy->items[i].new, &set->items[i].new);
        copy->items[i].counts = set->items[i].counts;
        copy->items[i].made = set->items[i].made;
    }
    copy->left_out = set->left_out ? xstrdup(set->left_out) : NULL;
    return copy;
}

/* A link is never written through: what the user approves is a file with a name, and a link could be turned to another
 * one at any time. The text names the file it leads to, so that the next attempt can be right. */
static int refuse_link(struct beneath *root, const char *path, struct err *err)
{
    CLEANUP(fd) int link = beneath_openat(root, path, O_PATH | O_NOFOLLOW, 0, err);
    if (link < 0)
        return -1;
    char target[PATH_MAX];
    ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);
    if (len < 0)
        return err_set_errno(err, errno, "%s", path);
    target[len] = '\0';

    const char *slash = strrchr(path, '/');
    CLEANUP(free) char *joined = target[0] == '/' || !slash
                                     ? xstrdup(target)
                                     : xasprintf("%.*s/%s", (int)(slash - path), path, target);
    struct err outside = ERR_INIT;
    CLEANUP(free) char *inside = beneath_clean(root, joined, &outside);
    if (!inside)
        return err_set(err, "%s is a symbolic link to %s, which is outside the workspace", path, target);
    return err_set(err, "%s is a symbolic link to %s; write to %s itself", path, inside, inside);
}

static int refuse_kind(const char *path, mode_t mode, struct err *err)
{
    return err_set(err, "%s is %s, not a file that can be changed", path, beneath_kind(mode));
}

/* Opens the regular file at `path` itself. -1 with err->code ENOENT when there is nothing. */
static int open_target(struct beneath *root, const char *path, struct stat *st, struct err *err)
{
    struct err why = ERR_INIT;
    CLEANUP(fd) int fd = beneath_openat(root, path, O_RDONLY | O_NOFOLLOW, 0, &why);
    if (fd < 0) {
        struct err gone = ERR_INIT;
        /* A link is ELOOP, a socket ENXIO, an unreadable FIFO EACCES: say what it is rather than why it did not open. */
        if (why.code != ENOENT && beneath_lstat(root, path, st, &gone) == 0) {
            if (S_ISLNK(st->st_mode))
                return refuse_link(root, path, err);
            if (!S_ISREG(st->st_mode))
                return refuse_kind(path, st->st_mode, err);
        }
        if (err)
            *err = why;
        return -1;
    }
    if (fstat(fd, st) < 0)
        return err_set_errno(err, errno, "%s", path);
    if (!S_ISREG(st->st_mode))
        return refuse_kind(path, st->st_mode, err);
    int opened = fd;
    fd = -1;
    return opened;
}

struct change *change_set_add(struct change_set *set, struct beneath *root, const char *path, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(root, path, err);
    if (!clean)
        return NULL;
    struct stat st;
    struct err why = ERR_INIT;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(fd) int fd = open_target(root, clean, &st, &why);
    if (fd < 0 && why.code != ENOENT) {
        if (err)
            *err = why;
        return NULL;
    }
    if (fd >= 0 && (st.st_size > CHANGE_BYTES_MAX || strbuf_read(&bytes, fd, CHANGE_BYTES_MAX) < 0)) {
        int code = st.st_size > CHANGE_BYTES_MAX ? EFBIG : errno;
        if (code == EFBIG)
            err_set(err, "%s is larger than %u MiB, too large to be changed with undo", clean, CHANGE_BYTES_MAX >> 20);
        else
            err_set_errno(err, code, "%s", clean);
        return NULL;
    }
    GROW(set->items, set->count, set->room);
    struct change *change = &set->items[set->count++];
    *change = (struct change){.path = steal(&clean)};
    if (fd >= 0)
        change_side_set(&change->old, bytes.buf, bytes.len, st.st_mode);
    else
        change_side_absent(&change->old);
    copy_side(&change->new, &change->old);
    return change;
}

void change_set_digest(const struct change_set *set, char out[HASH_SHA256_HEX])
{
    struct sha256 ctx;
    sha256_init(&ctx);
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        sha256_add(&ctx, change->path, strlen(change->path) + 1);
        sha256_add(&ctx, change->old.digest, strlen(change->old.digest) + 1);
        sha256_add(&ctx, change->new.digest, strlen(change->new.digest) + 1);
        char modes[32];
        int len = snprintf(modes, sizeof(modes), "%o %o", change->old.mode, change->new.mode);
        sha256_add(&ctx, modes, (size_t)len + 1);
    }
    sha256_hex(&ctx, out);
}

int change_side_matches(const struct change_side *side, int fd)
{
    struct stat st;
    if (!side->exists || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uintmax_t)st.st_size != side->len)
        return 0;
    struct sha256 ctx;
    sha256_init(&ctx);
    char block[65536];
    size_t total = 0;
    for (;;) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        total += (size_t)got;
        if (total > side->len)
            return 0;
        sha256_add(&ctx, block, (size_t)got);
    }
    char digest[HASH_SHA256_HEX];
    sha256_hex(&ctx, digest);
    return strcmp(digest, side->digest) == 0;
}

int change_set_check(const struct change_set *set, struct beneath *root, struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        struct stat st;
        struct err why = ERR_INIT;
        CLEANUP(fd) int fd = open_target(root, change->path, &st, &why);
        if (fd < 0 && why.code != ENOENT)
            return err_set(err, "%s", why.text);
        if (fd < 0 && change->old.exists)
            return err_set(err, "%s was deleted meanwhile", change->path);
        if (fd >= 0 && !change->old.exists)
            return err_set(err, "%s was created by someone else meanwhile", change->path);
        if (fd < 0)
            continue;
        int same = change_side_matches(&change->old, fd);
        if (same < 0)
            return err_set_errno(err, errno, "%s", change->path);
        if (!same)
            return err_set(err, "%s was changed by someone else meanwhile", change->path);
    }
    return 0;
}

struct diff *change_diff(const struct change *change, struct err *err)
{
    return diff_new(change->path, change->old.bytes, change->old.len, change->new.bytes, change->new.len, err);
}

void change_count(struct change *change, const struct diff *diff)
{
    change->counts = (struct change_counts){.known = true};
    if (diff)
        change->counts = (struct change_counts){.known = true,
                                                .binary = diff->binary,
                                                .cut = diff->cut,
                                                .added = diff->added,
                                                .removed = diff->removed,
                                                .hunks = diff->hunk_count};
}

void change_set_count(struct change_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct change *change = &set->items[i];
        if (change->counts.known)
            continue;
        struct err ignored = ERR_INIT; /* that it cannot be counted is no reason not to write it */
        struct diff *diff = change_diff(change, &ignored);
        change_count(change, diff);
        diff_free(diff);
    }
}

void change_set_take_counts(struct change_set *set, const struct change_set *counted)
{
    for (size_t i = 0; i < set->count && i < counted->count; i++)
        if (strcmp(set->items[i].path, counted->items[i].path) == 0 &&
            strcmp(set->items[i].new.digest, counted->items[i].new.digest) == 0)
            set->items[i].counts = counted->items[i].counts;
}

int change_keep_hunks(struct change *change, const bool *keep, size_t count, struct err *err)
{
    struct diff *diff = change_diff(change, err);
    if (!diff)
        return -1;
    if (diff->cut) {
        err_set(err, "the difference of %s is too large to be decided hunk by hunk", change->path);
        diff_free(diff);
        return -1;
    }
    if (count != diff->hunk_count) {
        err_set(err, "%s has %zu hunks, not %zu", change->path, diff->hunk_count, count);
        diff_free(diff);
        return -1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += keep[i];
    /* Without hunks (binary, empty, only the mode) there is nothing to choose: the change stays whole. All and none are
     * taken by their sides, because an absent file and an empty one are the same text. */
    if (kept < count)
        change->counts.known = false;
    if (kept == 0 && count > 0) {
        copy_side(&change->new, &change->old);
    } else if (kept < count) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        diff_apply(&text, diff, change->old.bytes, change->old.len, keep);
        change_side_set(&change->new, text.buf, text.len, change->new.exists ? change->new.mode : change->old.mode);
    }
    diff_free(diff);
    return 0;
}
