/* Changes as values: reads the current state, copies, computes digests, and selects hunks. change_commit.c writes
 * them.
 *
 * A change holds whole contents on both sides. That costs memory (at most CHANGE_BYTES_MAX a side). In return the
 * bytes shown, the bytes kept for undo and the bytes written are the same, however long the user takes to decide and
 * whatever happens to the file meanwhile. */

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
#include <stdbool.h>
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

/* A content never changes after it was made, and copies of a set share it, because the loop copies questions about
 * 200 MB. */
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

/* Opens the regular file `path` in `folder`. Returns -1 with err->code ENOENT if nothing is there. */
static int open_target(int folder, const char *path, struct stat *st, struct err *err)
{
    const char *name = last_name(path);
    CLEANUP(fd) int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        int code = errno;
        /* A link is ELOOP, a socket ENXIO, an unreadable FIFO EACCES. The error names the kind of file instead of the
         * failure. */
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

/* Opens the file at the resolved path. Returns -1 with err->code ENOENT if nothing is there. */
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
            err_set(err, "%s is larger than %u MB, too large to undo", place.path, CHANGE_BYTES_MAX >> 20);
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
    free(from->has); /* the new path keeps its attributes */
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
    char block[8192]; /* small, because pool threads may have small stacks */
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

/* Approval of an ordinary path does not cover a path that has become protected since. */
static int check_guards(const struct change_set *set, struct beneath *root, struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct change *change = &set->items[i];
        const struct guarded *now = guard_of(root, change->path, change->through);
        if (!now || now->guard != GUARD_PROTECTED || change_protected(change))
            continue;
        err_set(err, "%.300s is now a protected path", change->path);
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
                err->code = why.code; /* ESTALE: the folder was replaced */
            return -1;
        }
        CLEANUP(fd) int fd = folder >= 0 ? open_target(folder, change->path, &st, &why) : -1;
        if (fd < 0 && why.code != ENOENT)
            return err_set(err, "%s", why.text);
        if (fd < 0 && change->old.exists)
            return err_set(err, "%s was deleted since it was read", change->path);
        if (fd >= 0 && !change->old.exists)
            return err_set(err, "%s was created by someone else since it was read", change->path);
        if (fd < 0)
            continue;
        int same = change_side_matches(&change->old, fd);
        if (same < 0)
            return err_set_errno(err, errno, "%s", change->path);
        if (!same)
            return err_set(err, "%s was changed by someone else since it was read", change->path);
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
        struct err ignored = ERR_INIT; /* a failed count is no reason not to write */
        struct diff *diff = change_diff(change, &ignored);
        change_count(change, diff);
        diff_free(diff);
    }
}

int change_keep_hunks(struct change *change, const struct diff *diff, const bool *keep, size_t count, struct err *err)
{
    if (!diff || diff->cut)
        return err_set(err, "the diff of %s is too large to choose hunks", change->path);
    if (count != diff->hunk_count)
        return err_set(err, "%s has %zu hunks, not %zu", change->path, diff->hunk_count, count);
    size_t kept = 0, added = 0, removed = 0;
    for (size_t i = 0; i < count; i++) {
        kept += keep[i];
        added += keep[i] ? diff->hunks[i].added : 0;
        removed += keep[i] ? diff->hunks[i].removed : 0;
    }
    /* Without hunks (binary, empty, only the mode) the change stays whole. All and none use the sides directly,
     * because an absent file and an empty one are the same text. */
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

/* ---- patch ---- */

struct patching {
    struct strbuf *out;
    const char *at, *end; /* the rest of the old text */
    long line;            /* its number, from 1 */
    struct err *err;
};

static size_t line_length(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? (size_t)(stop - at) : (size_t)(end - at);
}

/* Passes one line of the old text, with its line end. */
static void pass(struct patching *patch, bool keep)
{
    size_t len = line_length(patch->at, patch->end);
    len += patch->at + len < patch->end;
    if (keep)
        strbuf_add(patch->out, patch->at, len);
    patch->at += len;
    patch->line++;
}

static int expect(struct patching *patch, const char *line, size_t len, bool keep)
{
    if (patch->at >= patch->end || line_length(patch->at, patch->end) != len || memcmp(patch->at, line, len) != 0)
        return err_set(patch->err, "line %ld of the file does not match the diff", patch->line);
    pass(patch, keep);
    return 0;
}

/* "\ No newline at end of file" after a line: removes the newline of the last output line. */
static void take_newline_back(struct patching *patch)
{
    struct strbuf *out = patch->out;
    if (out->len && out->buf[out->len - 1] == '\n')
        strbuf_set_len(out, out->len - 1);
}

struct hunk {
    long old_line, old_left, new_left;
};

static bool read_head(const char *line, size_t len, struct hunk *hunk)
{
    char head[96];
    long old_count = 1, new_line, new_count = 1;
    int used = 0;
    if (len >= sizeof(head) || len < 4 || memcmp(line, "@@ -", 4) != 0)
        return false;
    memcpy(head, line, len);
    head[len] = '\0';
    const char *at = head + 4;
    if (sscanf(at, "%9ld%n", &hunk->old_line, &used) != 1)
        return false;
    at += used;
    if (*at == ',' && sscanf(at, ",%9ld%n", &old_count, &used) == 1)
        at += used;
    if (sscanf(at, " +%9ld%n", &new_line, &used) != 1)
        return false;
    at += used;
    if (*at == ',' && sscanf(at, ",%9ld%n", &new_count, &used) == 1)
        at += used;
    hunk->old_left = old_count;
    hunk->new_left = new_count;
    return strncmp(at, " @@", 3) == 0 && hunk->old_line >= 0 && old_count >= 0 && new_count >= 0;
}

static int begin_hunk(struct patching *patch, const struct hunk *hunk)
{
    /* A hunk that removes nothing comes after the line it names. */
    long first = hunk->old_left ? hunk->old_line : hunk->old_line + 1;
    if (first < patch->line)
        return err_set(patch->err, "the hunks of the diff are out of order");
    while (patch->line < first && patch->at < patch->end)
        pass(patch, true);
    if (patch->line < first && hunk->old_left)
        return err_set(patch->err, "the file has no line %ld, which is in the diff", first);
    return 0;
}

static int take_line(struct patching *patch, struct hunk *hunk, const char *line, size_t len)
{
    char kind = len ? *line : ' ';
    const char *body = len ? line + 1 : line;
    size_t body_len = len ? len - 1 : 0;
    if ((kind == ' ' || kind == '-') && hunk->old_left-- <= 0)
        return err_set(patch->err, "a hunk of the diff is longer than its header says");
    if ((kind == ' ' || kind == '+') && hunk->new_left-- <= 0)
        return err_set(patch->err, "a hunk of the diff is longer than its header says");
    if (kind == ' ')
        return expect(patch, body, body_len, true);
    if (kind == '-')
        return expect(patch, body, body_len, false);
    if (kind != '+')
        return err_set(patch->err, "a line of the diff begins with %c", kind);
    strbuf_add(patch->out, body, body_len);
    strbuf_addch(patch->out, '\n');
    return 0;
}

int patch_apply(struct strbuf *out, const char *old, size_t old_len, const char *text, struct err *err)
{
    struct patching patch = {.out = out, .at = old, .end = old + old_len, .line = 1, .err = err};
    struct hunk hunk = {0};
    size_t hunks = 0;
    bool added = false; /* the previous line was an output line */
    const char *end = text + strlen(text);
    for (const char *line = text; line < end;) {
        size_t len = line_length(line, end);
        bool inside = hunk.old_left > 0 || hunk.new_left > 0;
        if (hunks && len && *line == '\\') {
            if (added)
                take_newline_back(&patch);
        } else if (inside) {
            added = len && *line == '+';
            if (take_line(&patch, &hunk, line, len))
                return -1;
        } else if (read_head(line, len, &hunk)) {
            hunks++;
            if (begin_hunk(&patch, &hunk))
                return -1;
        }
        line += len + (line + len < end);
    }
    if (!hunks)
        return err_set(err, "no diff in the text");
    if (hunk.old_left > 0 || hunk.new_left > 0)
        return err_set(err, "the diff is incomplete");
    strbuf_add(out, patch.at, (size_t)(patch.end - patch.at));
    return 0;
}
