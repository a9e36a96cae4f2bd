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

/* The mode it had, or WALK_AS_IT_IS; false: that cannot be done. */
static bool unlock(int folder, mode_t bits, mode_t *was)
{
    char path[40];
    struct stat st;
    *was = WALK_AS_IT_IS;
    if (fstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    if ((st.st_mode & bits) == bits)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder); /* fchmod takes no descriptor of O_PATH */
    if (chmod(path, (st.st_mode & 07777) | bits) < 0)
        return false;
    *was = st.st_mode & 07777;
    return true;
}

bool walk_unlock(int folder, mode_t bits)
{
    mode_t was;
    return unlock(folder, bits, &was);
}

/* Whoever may list a folder but not pass through it sees names and no sizes: that counts as shut, too. */
int walk_open_ours(int folder, const char *name, mode_t *was)
{
    const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder, name, O_RDONLY | flags);
    *was = WALK_AS_IT_IS;
    if (fd >= 0) {
        unlock(fd, S_IXUSR, was);
        return fd;
    }
    if (errno != EACCES)
        return -1;
    int path = openat(folder, name, O_PATH | flags);
    if (path >= 0 && unlock(path, S_IRWXU, was))
        fd = openat(path, ".", O_RDONLY | flags);
    if (path >= 0)
        close(path);
    if (fd < 0)
        errno = EACCES;
    return fd;
}

static void put_back(int folder, mode_t was)
{
    struct stat st;
    mode_t ours = was | S_IRWXU;
    if (was != WALK_AS_IT_IS && fstat(folder, &st) == 0 &&
        ((st.st_mode & 07777) == ours || (st.st_mode & 07777) == (was | S_IXUSR)))
        fchmod(folder, was);
}

void walk_shut_again(int folder, mode_t was)
{
    put_back(folder, was);
    close(folder);
}

static int walk_into(struct walking *w, int folder, const char *name, int depth)
{
    mode_t was = WALK_AS_IT_IS;
    int below = w->walk->ours ? walk_open_ours(folder, name, &was)
                              : openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int status;
    if (below < 0)
        return errno == ENOENT ? 0 : shut(w, errno); /* gone meanwhile: as if it had not been there */
    if (depth < WALK_DEPTH_MAX)
        status = walk_folder(w, below, depth);
    else
        status = w->walk->deep && w->walk->deep(w->walk->user, below) ? 0 : shut(w, ELOOP);
    walk_shut_again(below, w->walk->puts_back ? was : WALK_AS_IT_IS);
    return status;
}

static int see_entry(struct walking *w, int folder, const char *name, unsigned char type, int depth)
{
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

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

int walk_next_name(struct walk_names *names, int folder, const char **name, unsigned char *type)
{
    for (;;) {
        if (names->at == names->got) {
            size_t room = names->room && names->room < WALK_BUFFER_BYTES ? names->room : WALK_BUFFER_BYTES;
            names->room *= 2;
            names->at = 0;
            names->got = syscall(SYS_getdents64, folder, names->bytes, room);
            if (names->got <= 0) {
                int status = names->got < 0 ? -1 : 0;
                names->got = 0;
                return status;
            }
        }
        const struct raw_entry *raw = (const struct raw_entry *)(names->bytes + names->at);
        names->at += raw->len;
        names->next = raw->off;
        if (is_dots(raw->name))
            continue;
        *name = raw->name;
        *type = raw->type == DT_UNKNOWN ? type_of(folder, raw->name) : raw->type;
        return 1;
    }
}

static int walk_folder(struct walking *w, int folder, int depth)
{
    CLEANUP(free) char *buffer = xmalloc(WALK_BUFFER_BYTES);
    struct walk_names names = {.bytes = buffer};
    const char *name;
    unsigned char type;
    int got;
    while (!w->ended && (got = walk_next_name(&names, folder, &name, &type)) != 0) {
        if (got < 0)
            return errno == ENOENT ? 0 : shut(w, errno);
        if (see_entry(w, folder, name, type, depth) < 0)
            return -1;
    }
    return 0;
}

int walk_tree(int folder, const char *prefix, const struct walk *walk, struct err *err)
{
    struct walking w = {.walk = walk, .path = STRBUF_INIT, .err = err};
    mode_t was = WALK_AS_IT_IS;
    strbuf_addstr(&w.path, prefix);
    if (walk->ours)
        unlock(folder, S_IRWXU, &was);
    /* A descriptor of its own: reading moves it. */
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = own < 0 ? shut(&w, errno) : walk_folder(&w, own, 0);
    if (own >= 0)
        walk_shut_again(own, walk->puts_back ? was : WALK_AS_IT_IS);
    strbuf_release(&w.path);
    return status;
}
