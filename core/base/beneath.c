/* Opens files beneath the workspace root (beneath.h).
 *
 * The kernel resolves every path (openat2 with RESOLVE_BENEATH), component by component, and refuses one that
 * leaves: "..", an absolute link, a link whose target climbs out, /proc's magic links, and a folder that another
 * process swaps for a link meanwhile. Comparing strings could guarantee none of that. So beneath_clean only gives
 * one spelling per file for people, digests and resource keys. Nothing relies on it for safety.
 *
 * Every open is non-blocking and never takes a terminal, because a name in a workspace may be a FIFO without a
 * writer, or a tty. The opened file is then checked by fstat on the descriptor, not by a stat before the open. */

#include "beneath.h"
#include "beneath_internal.h"
#include "mem.h"
#include "strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

struct beneath {
    int fd;
    char *path;  /* resolved, absolute */
    char *alias; /* the path in the sandbox of its programs; NULL: the same */
};

/* openat2 returns EAGAIN if a rename elsewhere made it uncertain whether ".." stayed beneath. */
#define OPEN_ATTEMPTS 64

struct beneath *beneath_open(const char *dir, struct err *err)
{
    char *path = realpath(dir, NULL);
    if (!path) {
        err_set_errno(err, errno, "%s", dir);
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        err_set_errno(err, errno, "%s", dir);
        free(path);
        return NULL;
    }
    struct beneath *root = xcalloc(1, sizeof(*root));
    root->fd = fd;
    root->path = path;
    return root;
}

void beneath_close(struct beneath *root)
{
    if (!root)
        return;
    close(root->fd);
    free(root->path);
    free(root->alias);
    free(root);
}

void beneath_set_alias(struct beneath *root, const char *path)
{
    free(root->alias);
    root->alias = path ? xstrdup(path) : NULL;
}

const char *beneath_path(const struct beneath *root)
{
    return root->path;
}

int beneath_fd(const struct beneath *root)
{
    return root->fd;
}

const char *beneath_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a file";
    case S_IFDIR:
        return "a folder";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

static int escapes(struct err *err, const char *path)
{
    err_set(err, "path escapes workspace: %s", path);
    if (err)
        err->code = EXDEV;
    return -1;
}

int beneath_refuse(struct err *err, int code, const char *path)
{
    const char *why = NULL;
    switch (code) {
    case EXDEV:
        return escapes(err, path);
    case ENOENT:
        why = "does not exist";
        break;
    case ELOOP:
        why = "leads through too many symbolic links";
        break;
    case ENOTDIR:
        why = "does not exist: a part of its path is not a folder";
        break;
    case EACCES:
    case EPERM:
        why = "cannot be opened: permission denied";
        break;
    case ENXIO:
    case ENODEV:
        why = "cannot be read: it is a socket or a device";
        break;
    case ENAMETOOLONG:
        why = "is too long for a file name";
        break;
    case ENOSYS:
        why = "cannot be opened safely: this kernel lacks openat2; use Linux 5.6 or newer";
        break;
    default:
        return err_set_errno(err, code, "%s", path);
    }
    /* A path may be longer than the whole text, and the reason must not be cut. */
    size_t len = strlen(path);
    err_set(err, "%.*s%s %s", len > 320 ? 320 : (int)len, path, len > 320 ? "…" : "", why);
    if (err)
        err->code = code;
    return -1;
}

/* The part of an absolute path below another, or NULL. */
static const char *below(const char *top, const char *path)
{
    size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(path, top, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    return path + len;
}

const char *beneath_rest(const struct beneath *root, const char *path)
{
    const char *rest = below(root->path, path);
    return rest || !root->alias ? rest : below(root->alias, path);
}

char *beneath_tidy(const char *path)
{
    char *out = xmalloc(strlen(path) + 2);
    size_t len = 0;
    for (const char *at = path; *at;) {
        size_t part = strcspn(at, "/");
        if (part == 2 && at[0] == '.' && at[1] == '.') {
            if (len == 0) {
                free(out);
                return NULL;
            }
            while (len > 0 && out[len - 1] != '/')
                len--;
            len -= len > 0;
        } else if (part > 0 && !(part == 1 && at[0] == '.')) {
            if (len > 0)
                out[len++] = '/';
            memcpy(out + len, at, part);
            len += part;
        }
        at += part;
        at += strspn(at, "/");
    }
    if (len == 0)
        out[len++] = '.';
    out[len] = '\0';
    return out;
}

char *beneath_clean(const struct beneath *root, const char *path, struct err *err)
{
    if (!path || !*path) {
        err_set(err, "the path is empty");
        return NULL;
    }
    const char *at = path;
    if (*at == '/') {
        at = beneath_rest(root, path);
        if (!at) {
            escapes(err, path);
            return NULL;
        }
    }
    char *out = beneath_tidy(at);
    if (!out)
        escapes(err, path);
    return out;
}

int beneath_open_raw(int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    flags |= O_CLOEXEC;
    if (!(flags & O_PATH))
        flags |= O_NONBLOCK | O_NOCTTY; /* with O_PATH openat2 refuses them */
    struct open_how how = {
        .flags = (unsigned)flags,
        .mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
    };
    for (int attempt = 0;; attempt++) {
        int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0 || attempt == OPEN_ATTEMPTS || (errno != EAGAIN && errno != EINTR))
            return fd;
    }
}

/* The descriptor, or -1 with errno. */
static int open_beneath(const struct beneath *root, const char *path, int flags, mode_t mode)
{
    return beneath_open_raw(root->fd, path, flags, mode, 0);
}

int beneath_openat(const struct beneath *root, const char *path, int flags, mode_t mode, struct err *err)
{
    char *clean = beneath_clean(root, path, err);
    if (!clean)
        return -1;
    int fd = open_beneath(root, clean, flags, mode);
    if (fd < 0)
        beneath_refuse(err, errno, clean);
    free(clean);
    return fd;
}

struct beneath *beneath_within(const struct beneath *root, const char *path, struct err *err)
{
    char name[PATH_MAX], link[40];
    int fd = beneath_openat(root, path, O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0)
        return NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof(name));
    struct beneath *within = xcalloc(1, sizeof(*within));
    within->fd = fd;
    /* Without /proc use the given path: it is only for display. */
    within->path = len > 0 ? xmemdup0(name, (size_t)len) : xasprintf("%s/%s", root->path, path);
    return within;
}

int beneath_lstat(const struct beneath *root, const char *path, struct stat *st, struct err *err)
{
    CLEANUP(fd) int fd = beneath_openat(root, path, O_PATH | O_NOFOLLOW, 0, err);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) < 0)
        return beneath_refuse(err, errno, path);
    return 0;
}

int beneath_read(const struct beneath *root, const char *path, struct strbuf *out, size_t limit, struct stat *st,
                 struct err *err)
{
    CLEANUP(fd) int fd = beneath_openat(root, path, O_RDONLY, 0, err);
    if (fd < 0)
        return -1;
    struct stat own;
    if (!st)
        st = &own;
    if (fstat(fd, st) < 0)
        return beneath_refuse(err, errno, path);
    if (!S_ISREG(st->st_mode)) {
        err_set(err, "%s is %s, not a file", path, beneath_kind(st->st_mode));
        if (err)
            err->code = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    if ((limit && (uintmax_t)st->st_size > limit) || strbuf_read(out, fd, limit) < 0) {
        int code = limit && (uintmax_t)st->st_size > limit ? EFBIG : errno;
        return err_set_errno(err, code, "%s", path);
    }
    return 0;
}
