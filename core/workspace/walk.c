/* Names are read with getdents64 into a buffer per level, which is far fewer calls than readdir of a small libc buffer,
 * and folders are opened relative to their parent's descriptor, which costs the kernel one look-up each. */

#include "walk.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define BUFFER_BYTES 32768

struct walking {
    const struct walk *walk;
    struct strbuf path;
    struct err *err;
    bool ended;
};

struct raw_entry { /* as the kernel has it */
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
    char name[];
};

static unsigned char type_of(int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

static int walk_folder(struct walking *w, int folder, int depth);

/* 0 to go on, -1 with the error told. */
static int shut(struct walking *w, int code)
{
    if (w->walk->shut && w->walk->shut(w->walk->user, w->path.buf, code) == WALK_ON)
        return 0;
    if (code == ELOOP)
        return err_set(w->err, "%.200s is more than %d folders deep", w->path.buf, WALK_DEPTH_MAX);
    return err_set_errno(w->err, code, "cannot read the folder %.200s", w->path.buf);
}

bool walk_unlock(int folder, mode_t bits)
{
    char path[40];
    struct stat st;
    if (fstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    if ((st.st_mode & bits) == bits)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder); /* fchmod takes no descriptor of O_PATH */
    return chmod(path, (st.st_mode & 07777) | bits) == 0;
}

/* Whoever may list a folder but not pass through it sees names and no sizes: that counts as shut, too. */
static int open_below(const struct walking *w, int folder, const char *name)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder, name, O_RDONLY | flags);
    if (!w->walk->ours)
        return fd;
    if (fd >= 0) {
        walk_unlock(fd, S_IXUSR);
        return fd;
    }
    if (errno != EACCES)
        return -1;
    int path = openat(folder, name, O_PATH | flags);
    if (path >= 0 && walk_unlock(path, S_IRWXU))
        fd = openat(path, ".", O_RDONLY | flags);
    if (path >= 0)
        close(path);
    if (fd < 0)
        errno = EACCES;
    return fd;
}

static int walk_into(struct walking *w, int folder, const char *name, int depth)
{
    CLEANUP(fd) int below = open_below(w, folder, name);
    if (below < 0)
        return errno == ENOENT ? 0 : shut(w, errno); /* gone meanwhile: as if it had not been there */
    if (depth < WALK_DEPTH_MAX)
        return walk_folder(w, below, depth);
    return w->walk->deep && w->walk->deep(w->walk->user, below) ? 0 : shut(w, ELOOP);
}

static int see_entry(struct walking *w, int folder, const struct raw_entry *raw, int depth)
{
    const char *name = raw->name;
    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
        return 0;
    unsigned char type = raw->type == DT_UNKNOWN ? type_of(folder, name) : raw->type;
    if (type == DT_UNKNOWN)
        return 0; /* gone meanwhile */
    size_t len = w->path.len;
    if (len)
        strbuf_addch(&w->path, '/');
    size_t begin = w->path.len;
    strbuf_addstr(&w->path, name);
    struct walk_entry entry = {.path = w->path.buf,
                               .path_len = w->path.len,
                               .name = w->path.buf + begin,
                               .folder = folder,
                               .type = type,
                               .depth = depth};
    enum walk_next next = w->walk->see(w->walk->user, &entry);
    int status = 0;
    if (next == WALK_END)
        w->ended = true;
    else if (next == WALK_ON && type == DT_DIR)
        status = walk_into(w, folder, name, depth + 1);
    strbuf_set_len(&w->path, len);
    return status;
}

static int walk_folder(struct walking *w, int folder, int depth)
{
    CLEANUP(free) char *buffer = xmalloc(BUFFER_BYTES);
    for (;;) {
        long got = syscall(SYS_getdents64, folder, buffer, BUFFER_BYTES);
        if (got < 0)
            return errno == ENOENT ? 0 : shut(w, errno);
        if (got == 0)
            return 0;
        for (long at = 0; at < got && !w->ended;) {
            const struct raw_entry *raw = (const struct raw_entry *)(buffer + at);
            if (see_entry(w, folder, raw, depth) < 0)
                return -1;
            at += raw->len;
        }
        if (w->ended)
            return 0;
    }
}

int walk_tree(int folder, const char *prefix, const struct walk *walk, struct err *err)
{
    struct walking w = {.walk = walk, .path = STRBUF_INIT, .err = err};
    strbuf_addstr(&w.path, prefix);
    if (walk->ours)
        walk_unlock(folder, S_IRWXU);
    /* A descriptor of its own: reading moves it. */
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = own < 0 ? shut(&w, errno) : walk_folder(&w, own, 0);
    if (own >= 0)
        close(own);
    strbuf_release(&w.path);
    return status;
}
