/* Resolves the links of a path beneath the root, and reopens the folder of a resolved path.
 *
 * A write must go where the question said. So the links of its path are followed once, here, and the result has
 * none. From then on every open of it refuses links (RESOLVE_NO_SYMLINKS). The folder is identified by device and
 * inode, so that a replacement is noticed even if it is not a link. */

#include "beneath.h"
#include "beneath_internal.h"
#include "mem.h"
#include "strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>

#define LINKS_MAX 40 /* the kernel's own limit */

struct resolving {
    const struct beneath *root;
    const char *asked;
    struct strbuf done; /* resolved so far: the path of `folder` */
    struct strbuf todo;
    int folder;
    int links;
    struct strbuf link; /* the last link that was followed, and its target */
    struct strbuf target;
    bool last; /* that link was the last name */
};

static int open_plain(int folder, const char *name, int flags)
{
    return beneath_open_raw(folder, name, flags, 0, RESOLVE_NO_SYMLINKS);
}

static void resolving_cleanup(struct resolving *res)
{
    strbuf_release(&res->done);
    strbuf_release(&res->todo);
    strbuf_release(&res->link);
    strbuf_release(&res->target);
    if (res->folder >= 0)
        close(res->folder);
}

static int leaves(const struct resolving *res, struct err *err)
{
    if (res->last)
        err_set(err, "%.300s is a symbolic link to %.300s, which is outside the project", res->link.buf,
                res->target.buf);
    else
        err_set(err, "path escapes workspace: %.200s (%.200s is a symbolic link to %.200s)", res->asked, res->link.buf,
                res->target.buf);
    if (err)
        err->code = EXDEV;
    return -1;
}

static int go_to(struct resolving *res, struct err *err)
{
    int fd = open_plain(beneath_fd(res->root), res->done.len ? res->done.buf : ".", O_PATH | O_DIRECTORY);
    if (fd < 0)
        return beneath_refuse(err, errno, res->asked);
    if (res->folder >= 0)
        close(res->folder);
    res->folder = fd;
    return 0;
}

static int go_up(struct resolving *res, struct err *err)
{
    if (!res->done.len)
        return leaves(res, err);
    const char *slash = strrchr(res->done.buf, '/');
    strbuf_set_len(&res->done, slash ? (size_t)(slash - res->done.buf) : 0);
    return go_to(res, err);
}

static void add_name(struct strbuf *path, const char *name)
{
    strbuf_addf(path, "%s%s", path->len ? "/" : "", name);
}

/* Replaces the link's name by its target. */
static int follow(struct resolving *res, int link, const char *name, const char *rest, struct err *err)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);
    if (len < 0)
        return beneath_refuse(err, errno, res->asked);
    if (++res->links > LINKS_MAX)
        return beneath_refuse(err, ELOOP, res->asked);
    target[len] = '\0';
    strbuf_reset(&res->link);
    strbuf_addstr(&res->link, res->done.buf);
    add_name(&res->link, name);
    strbuf_reset(&res->target);
    strbuf_addstr(&res->target, target);
    res->last |= !*rest;
    const char *to = target;
    if (*target == '/') {
        to = beneath_rest(res->root, target);
        if (!to)
            return leaves(res, err);
        strbuf_reset(&res->done);
        if (go_to(res, err) < 0)
            return -1;
    }
    CLEANUP(free) char *todo = xasprintf("%s/%s", to, rest);
    strbuf_reset(&res->todo);
    strbuf_addstr(&res->todo, todo);
    return 0;
}

/* The rest of the path does not exist: keeps it unchanged. */
static int keep_missing(struct resolving *res, struct strbuf *path, const char *name, const char *rest, struct err *err)
{
    add_name(path, name);
    for (const char *at = rest; *at;) {
        size_t len = strcspn(at, "/");
        CLEANUP(free) char *part = xmemdup0(at, len);
        if (strcmp(part, "..") == 0)
            return beneath_refuse(err, ENOENT, res->asked);
        if (len && strcmp(part, ".") != 0)
            add_name(path, part);
        at += len + strspn(at + len, "/");
    }
    return 0;
}

/* Resolves one more name. Returns 1 at the end of the path. */
static int step(struct resolving *res, struct strbuf *path, struct err *err)
{
    CLEANUP(free) char *todo = xstrdup(res->todo.buf);
    char *name = todo + strspn(todo, "/");
    char *rest = name + strcspn(name, "/");
    if (*rest)
        *rest++ = '\0';
    rest += strspn(rest, "/");
    strbuf_reset(&res->todo);
    strbuf_addstr(&res->todo, rest);
    if (!*name || strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return go_up(res, err);
    CLEANUP(fd) int fd = open_plain(res->folder, name, O_PATH | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 && errno == ENOENT)
        return keep_missing(res, path, name, rest, err) < 0 ? -1 : 1;
    if (fd < 0 || fstat(fd, &st) < 0)
        return beneath_refuse(err, errno, res->asked);
    if (S_ISLNK(st.st_mode))
        return follow(res, fd, name, rest, err);
    if (!*rest) {
        add_name(path, name);
        return 1;
    }
    if (!S_ISDIR(st.st_mode))
        return beneath_refuse(err, ENOTDIR, res->asked);
    add_name(&res->done, name);
    close(res->folder);
    res->folder = fd;
    fd = -1;
    return 0;
}

int beneath_resolve(const struct beneath *root, const char *path, struct beneath_place *place, struct err *err)
{
    *place = (struct beneath_place){.folder = -1};
    CLEANUP(free) char *clean = beneath_clean(root, path, err);
    if (!clean)
        return -1;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);      /* the clock that file systems use */
    CLEANUP(strbuf) struct strbuf end = STRBUF_INIT; /* the part below the folder */
    CLEANUP(resolving) struct resolving res = {.root = root, .asked = clean, .folder = -1};
    strbuf_init(&res.done);
    strbuf_init(&res.todo);
    strbuf_init(&res.link);
    strbuf_init(&res.target);
    strbuf_addstr(&res.todo, clean);
    int found = go_to(&res, err);
    while (found == 0 && res.todo.len)
        found = step(&res, &end, err);
    struct stat st;
    if (found < 0)
        return -1;
    if (fstat(res.folder, &st) < 0)
        return beneath_refuse(err, errno, clean);
    place->anchor = (struct beneath_anchor){.len = res.done.len, .dev = st.st_dev, .ino = st.st_ino, .seen = now};
    if (end.len)
        add_name(&res.done, end.buf);
    place->path = xstrdup(res.done.len ? res.done.buf : ".");
    place->link = res.last;
    place->folder = res.folder;
    res.folder = -1;
    return 0;
}

void beneath_place_release(struct beneath_place *place)
{
    free(place->path);
    if (place->folder >= 0)
        close(place->folder);
    *place = (struct beneath_place){.folder = -1};
}

static int was_replaced(struct err *err, const char *path, size_t len)
{
    err_set(err, "%.*s was moved or replaced during the call", len > 200 ? 200 : (int)len, path);
    if (err)
        err->code = ESTALE;
    return -1;
}

/* Opens for reading, for fsync, if permissions allow. */
static int open_folder(int above, const char *name)
{
    int fd = open_plain(above, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && errno == EACCES)
        fd = open_plain(above, name, O_PATH | O_DIRECTORY);
    return fd;
}

static int open_anchor(const struct beneath *root, const char *path, const struct beneath_anchor *anchor,
                       struct err *err)
{
    size_t len = anchor ? anchor->len : 0;
    CLEANUP(free) char *prefix = xmemdup0(path, len);
    struct stat st;
    int fd = open_folder(beneath_fd(root), len ? prefix : ".");
    if (fd < 0)
        return anchor && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)
                   ? was_replaced(err, prefix, len)
                   : beneath_refuse(err, errno, len ? prefix : ".");
    if (anchor && (fstat(fd, &st) < 0 || st.st_dev != anchor->dev || st.st_ino != anchor->ino)) {
        close(fd);
        return was_replaced(err, len ? prefix : "the workspace", len ? len : strlen("the workspace"));
    }
    return fd;
}

/* True if the folder was created before that time; false if the file system does not record it. */
static bool is_older(int fd, const struct timespec *than)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) < 0 || !(st.stx_mask & STATX_BTIME))
        return false;
    return st.stx_btime.tv_sec < than->tv_sec ||
           (st.stx_btime.tv_sec == than->tv_sec && (long)st.stx_btime.tv_nsec < than->tv_nsec);
}

int beneath_folder(const struct beneath *root, const char *path, const struct beneath_anchor *anchor, bool make,
                   struct err *err)
{
    const char *last = strrchr(path, '/');
    size_t at = anchor ? anchor->len : 0, end = last ? (size_t)(last - path) : 0;
    int fd = open_anchor(root, path, anchor, err);
    while (fd >= 0 && at < end) {
        at += path[at] == '/';
        size_t len = strcspn(path + at, "/");
        CLEANUP(free) char *name = xmemdup0(path + at, len);
        int next = open_folder(fd, name);
        if (next < 0 && errno == ENOENT && make && (mkdirat(fd, name, 0755) == 0 || errno == EEXIST)) {
            fsync(fd); /* else a crash could lose the new folder and what we put into it */
            next = open_folder(fd, name);
        }
        int code = errno;
        close(fd);
        at += len;
        if (next >= 0 && anchor && is_older(next, &anchor->seen)) {
            close(next);
            return was_replaced(err, path, at);
        }
        if (next < 0) {
            CLEANUP(free) char *prefix = xmemdup0(path, at);
            return code == ELOOP ? was_replaced(err, path, at) : beneath_refuse(err, code, prefix);
        }
        fd = next;
    }
    return fd;
}
