/* Opens paths in a workspace and follows absolute links that point into it (inside.h).
 *
 * If the kernel reports that a path leads out, the first offending link is replaced by its target and the rest is tried
 * again. The replacement is text and proves nothing: the kernel checks the new path again. */

#include "inside.h"
#include "base/beneath.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HOPS_MAX 40

/* The target of the link at `path`, or NULL. The caller frees it. */
static char *target_of(const struct beneath *root, const char *path)
{
    CLEANUP(fd) int fd = beneath_openat(root, path, O_PATH | O_NOFOLLOW, 0, NULL);
    char target[PATH_MAX];
    if (fd < 0)
        return NULL;
    ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1); /* ENOENT or EINVAL: not a link */
    return len > 0 ? xmemdup0(target, (size_t)len) : NULL;
}

/* `path` with its first link that leads out replaced by its target, as a path below the root; NULL if that is not
 * possible. */
static char *replace_link(const struct beneath *root, const char *path)
{
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        CLEANUP(free) char *prefix = xmemdup0(path, (size_t)(end - path));
        struct err err = ERR_INIT;
        int fd = beneath_openat(root, prefix, O_PATH, 0, &err);
        if (fd >= 0) {
            close(fd);
            continue;
        }
        CLEANUP(free) char *target = err.code == EXDEV ? target_of(root, prefix) : NULL;
        if (!target)
            return NULL;
        CLEANUP(free) char *joined = NULL;
        const char *slash = strrchr(prefix, '/');
        if (*target == '/' || !slash)
            joined = xasprintf("%s%s", target, end);
        else
            joined = xasprintf("%.*s/%s%s", (int)(slash - prefix), prefix, target, end);
        return beneath_clean(root, joined, NULL);
    }
    return NULL;
}

int inside_reopen(int seen)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", seen);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The path of a descriptor from /proc, or NULL. */
static char *path_of(int fd)
{
    char link[40], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    return len > 0 ? xmemdup0(path, (size_t)len) : NULL;
}

char *inside_real(const struct beneath *root, int fd, const char *otherwise)
{
    CLEANUP(free) char *top = path_of(beneath_fd(root)), *path = path_of(fd);
    size_t len = top ? strlen(top) : 0;
    if (top && path && strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]))
        return xstrdup(path[len] ? path + len + 1 : ".");
    return xstrdup(otherwise); /* no /proc, or moved meanwhile: use the given name, which is only for display */
}

int inside_open(const struct beneath *root, const char *path, int flags, char **real, struct err *err)
{
    CLEANUP(free) char *at = beneath_clean(root, path, err);
    if (!at)
        return -1;
    struct err own = ERR_INIT;
    for (int hops = 0;; hops++) {
        int fd = beneath_openat(root, at, flags, 0, &own);
        if (fd >= 0) {
            if (real)
                *real = inside_real(root, fd, at);
            return fd;
        }
        char *next = own.code == EXDEV && hops < HOPS_MAX ? replace_link(root, at) : NULL;
        if (!next) {
            if (err)
                *err = own;
            return -1;
        }
        free(at);
        at = next;
    }
}
