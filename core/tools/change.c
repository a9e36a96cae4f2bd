/* Changes as values: reading the present state, copying, digests, and choosing hunks. change_commit.c writes them.
 *
 * A change holds whole contents on both sides. That costs memory (at most CHANGE_BYTES_MAX a side) and buys what the
 * approval promises: what was shown, what is kept for undo and what is written are the same bytes, however long a
 * person takes to decide and whatever happens to the file meanwhile. */

#include "change.h"
#include "attributes.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "diff.h"
#include "protected.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char digest_absent[] = "absent";

struct change_set *change_set_new(void)
{
    return xcalloc(1, sizeof(struct change_set));
}

/* ---- contents ---- */

/* A content never changes once it is there, and copies of a set share it: a question about 200 MB is copied on the
 * loop. */
struct content {
    atomic_size_t holders; /* on several threads */
    char bytes[];
};

static struct content *content_of(const char *bytes)
{
    return (struct content *)(uintptr_t)(bytes - offsetof(struct content, bytes));
}

static char *make_content(const void *bytes, size_t len)
{
    struct content *content = xmalloc(sizeof(*content) + len + 1);
    atomic_init(&content->holders, 1);
    if (len)
        memcpy(content->bytes, bytes, len);
    content->bytes[len] = '\0';
    return content->bytes;
}

static void hold_content(const char *bytes)
{
    if (bytes)
        atomic_fetch_add(&content_of(bytes)->holders, 1);
}

static void drop_content(const char *bytes)
{
    if (bytes && atomic_fetch_sub(&content_of(bytes)->holders, 1) == 1)
        free(content_of(bytes));
}

/* ---- changes ---- */

void change_release(struct change *change)
{
    free(change->path);
    free(change->through);
    free(change->loses);
    free(change->has);
    free(change->like);
    drop_content(change->old.bytes);
    drop_content(change->new.bytes);
    *change = (struct change){0};
}

void change_set_free(struct change_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        change_release(&set->items[i]);
    free(set->items);
    free(set->left_out);
    free(set);
}

void change_side_set(struct change_side *side, const void *bytes, size_t len, mode_t mode)
{
    char *copy = make_content(bytes, len); /* before the drop: `bytes` may be the side's own */
    drop_content(side->bytes);
    side->exists = true;
    side->mode = mode & 0777;
    side->bytes = copy;
    side->len = len;
    hash_sha256(copy, len, side->digest);
}

void change_side_absent(struct change_side *side)
{
    drop_content(side->bytes);
    *side = (struct change_side){0};
    memcpy(side->digest, digest_absent, sizeof(digest_absent));
}

static void copy_side(struct change_side *to, const struct change_side *from)
{
    const char *before = to->bytes;
    *to = *from;
    hold_content(to->bytes);
    drop_content(before);
}

static char *copy_text(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

struct change_set *change_set_copy(const struct change_set *set)
{
    struct change_set *copy = change_set_new();
    copy->items = xcalloc(set->count, sizeof(*copy->items));
    copy->count = copy->room = set->count;
    for (size_t i = 0; i < set->count; i++) {
        const struct change *from = &set->items[i];
        struct change *to = &copy->items[i];
        *to = *from;
        to->path = xstrdup(from->path);
        to->through = copy_text(from->through);
        to->loses = copy_text(from->loses);
        to->has = copy_text(from->has);
        to->like = copy_text(from->like);
        to->old.bytes = to->new.bytes = NULL;
        copy_side(&to->old, &from->old);
        copy_side(&to->new, &from->new);
    }
    copy->left_out = copy_text(set->left_out);
    copy->left_count = set->left_count;
    copy->move = set->move;
    return copy;
}

static int refuse_kind(const char *path, mode_t mode, struct err *err)
{
    return err_set(err, "%s is %s, not a file that can be changed", path, beneath_kind(mode));
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Opens the regular file `path`, which is in `folder`. -1 with err->code ENOENT when there is nothing. */
static int open_target(int folder, const char *path, struct stat *st, struct err *err)
{
    const char *name = last_name(path);
    CLEANUP(fd) int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        /* A link is ELOOP, a socket ENXIO, an unreadable FIFO EACCES: say what it is rather than why it did not open.
         */
        if (code != ENOENT && fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st->st_mode))
            return refuse_kind(path, st->st_mode, err);
        if (code == EACCES || code == EPERM) {
            err_set(err, "%.320s cannot be opened: permission denied", path);
            err->code = code;
            return -1;
        }
        return err_set_errno(err, code, "%.320s", path);
    }
    if (fstat(fd, st) < 0)
        return err_set_errno(err, errno, "%s", path);
    if (!S_ISREG(st->st_mode))
        return refuse_kind(path, st->st_mode, err);
    int opened = fd;
    fd = -1;
    return opened;
}

static size_t parent_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static void place_cleanup(struct beneath_place *place)
{
    beneath_place_release(place);
}

/* Opens what is at the resolved place. -1 with err->code ENOENT when there is nothing. */
static int open_place(const struct beneath_place *place, struct stat *st, struct err *err)
{
    size_t len = strlen(place->path);
    if (strcmp(place->path, ".") == 0 || place->anchor.len == len)
        return refuse_kind(place->path, S_IFDIR, err);
    if (place->anchor.len == parent_len(place->path))
        return open_target(place->folder, place->path, st, err);
    return err_set_errno(err, ENOENT, "%s", place->path);
}

static const struct guarded *guard_of(const struct beneath *root, const char *path, const char *through)
{
    struct guards guards;
    guards_init(&guards, root);
    const struct guarded *guard = guards_find(&guards, path, through);
    guards_release(&guards);
    return guard;
}

struct change *change_set_add(struct change_set *set, struct beneath *root, const char *path, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(root, path, err);
    CLEANUP(place) struct beneath_place place = {.folder = -1};
    if (!clean || beneath_resolve(root, clean, &place, err) < 0)
        return NULL;
    struct stat st;
    struct err why = ERR_INIT;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(fd) int fd = open_place(&place, &st, &why);
    if (fd < 0 && why.code != ENOENT) {
        if (err)
            *err = why;
        return NULL;
    }
    if (fd >= 0 && (st.st_size > CHANGE_BYTES_MAX || strbuf_read(&bytes, fd, CHANGE_BYTES_MAX) < 0)) {
        int code = st.st_size > CHANGE_BYTES_MAX ? EFBIG : errno;
        if (code == EFBIG)
            err_set(err, "%s is larger than %u MiB, too large to be changed with undo", place.path,
                    CHANGE_BYTES_MAX >> 20);
        else
            err_set_errno(err, code, "%s", place.path);
        return NULL;
    }
    GROW(set->items, set->count, set->room);
    struct change *change = &set->items[set->count++];
    *change = (struct change){.path = steal(&place.path), .link = place.link, .anchor = place.anchor};
    if (strcmp(clean, change->path) != 0)
        change->through = steal(&clean);
    change->guard = guard_of(root, change->path, change->through);
    if (fd >= 0) {
        change_side_set(&change->old, bytes.buf, bytes.len, st.st_mode);
        change->loses = attributes_lost(place.folder, fd);
        change->has = attributes_list(place.folder, fd);
    } else {
        change_side_absent(&change->old);
    }
    copy_side(&change->new, &change->old);
    return change;
}

void change_set_moves(struct change *to, struct change *from)
{
    change_side_set(&to->new, from->old.bytes, from->old.len, from->old.mode);
    free(to->like);
    free(to->loses);
    to->like = xstrdup(from->path);
    to->loses = copy_text(from->loses);
    free(from->has); /* it goes on at the new place */
    from->has = NULL;
}

const char *change_loses(const struct change *change)
{
    if (!change->new.exists)
        return change->old.exists ? change->has : NULL;
    return change->old.exists || change->like ? change->loses : NULL;
}

const char *change_next_loss(const char **rest, size_t *len)
{
    const char *line = *rest;
    if (!line || !*line)
        return NULL;
    *len = strcspn(line, "\n");
    *rest = line + *len + (line[*len] == '\n');
    return line;
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
        if (change_loses(change))
            sha256_add(&ctx, change_loses(change), strlen(change_loses(change)) + 1);
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
    char block[8192]; /* pool threads may have small stacks */
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

/* A yes to an ordinary place is none to what has become a protected one since. */
static int check_guards(const struct change_set *set, struct beneath *root, struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        const struct guarded *now = guard_of(root, change->path, change->through);
        if (!now || now->guard != GUARD_PROTECTED || change_protected(change))
            continue;
        err_set(err, "%.300s has become a protected place meanwhile", change->path);
        if (err)
            err->code = ESTALE;
        return -1;
    }
    return 0;
}

int change_set_check(const struct change_set *set, struct beneath *root, struct err *err)
{
    if (check_guards(set, root, err) < 0)
        return -1;
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        struct stat st;
        struct err why = ERR_INIT;
        CLEANUP(fd) int folder = beneath_folder(root, change->path, &change->anchor, false, &why);
        if (folder < 0 && why.code != ENOENT) {
            err_set(err, "%s", why.text);
            if (err)
                err->code = why.code; /* ESTALE: it is the folder that is another one */
            return -1;
        }
        CLEANUP(fd) int fd = folder >= 0 ? open_target(folder, change->path, &st, &why) : -1;
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

int change_keep_hunks(struct change *change, const struct diff *diff, const bool *keep, size_t count, struct err *err)
{
    if (!diff || diff->cut)
        return err_set(err, "the difference of %s is too large to be decided hunk by hunk", change->path);
    if (count != diff->hunk_count)
        return err_set(err, "%s has %zu hunks, not %zu", change->path, diff->hunk_count, count);
    size_t kept = 0, added = 0, removed = 0;
    for (size_t i = 0; i < count; i++) {
        kept += keep[i];
        added += keep[i] ? diff->hunks[i].added : 0;
        removed += keep[i] ? diff->hunks[i].removed : 0;
    }
    /* Without hunks (binary, empty, only the mode) there is nothing to choose: the change stays whole. All and none are
     * taken by their sides, because an absent file and an empty one are the same text. */
    if (kept < count)
        change->counts = (struct change_counts){.known = true, .added = added, .removed = removed, .hunks = kept};
    if (kept == 0 && count > 0) {
        copy_side(&change->new, &change->old);
    } else if (kept < count) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        diff_apply(&text, diff, change->old.bytes, change->old.len, keep);
        change_side_set(&change->new, text.buf, text.len, change->new.exists ? change->new.mode : change->old.mode);
    }
    return 0;
}
