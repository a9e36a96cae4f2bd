/* Removing and copying whole trees.
 *
 * Everything goes by folder descriptor and never follows a symbolic link, so a tree that something else is changing can
 * lead to an error but not out of the tree. Descriptors are bounded, however deep a tree is: a removal that gets too
 * deep moves the rest up to the root of the tree and takes it from there, a copy refuses. */

#include "file.h"
#include "mem.h"
#include "strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HOIST_DEPTH    64
#define COPY_DEPTH_MAX 200

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void dir_cleanup(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Lists a folder through a descriptor of its own, so that `fd` stays with the caller. */
static DIR *list_folder(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return NULL;
    DIR *dir = fdopendir(own);
    if (!dir)
        close(own);
    return dir;
}

/* Removal */

struct removal {
    int root;        /* the top of the tree */
    unsigned hoists; /* for names nobody else uses */
    bool again;      /* something was moved up to the root, which may have been listed already */
};

static int open_for_removal(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES) {
        /* Ours, but closed even to us: whoever made the tree need not have meant it to be removable. */
        fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW);
        fd = openat(parent, name, flags);
    }
    return fd;
}

static int remove_content(struct removal *rm, int fd, int depth);

static int remove_folder(struct removal *rm, int parent, const char *name, int depth)
{
    CLEANUP(fd) int fd = open_for_removal(parent, name);
    if (fd < 0)
        return -1;
    if (remove_content(rm, fd, depth))
        return -1;
    return unlinkat(parent, name, AT_REMOVEDIR);
}

static int hoist(struct removal *rm, int parent, const char *name)
{
    char up[48];
    for (;;) {
        snprintf(up, sizeof(up), ".keyturn-removing-%u", rm->hoists++);
        if (renameat2(parent, name, rm->root, up, 1 /* RENAME_NOREPLACE */) == 0)
            break;
        if (errno != EEXIST)
            return -1;
    }
    rm->again = true;
    return 0;
}

static int remove_entry(struct removal *rm, int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM && errno != EACCES)
        return -1;
    int code = errno;
    if (errno == EACCES && fchmod(parent, 0700) == 0 && unlinkat(parent, name, 0) == 0)
        return 0;
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW))
        return -1;
    if (!S_ISDIR(st.st_mode)) {
        errno = code;
        return -1;
    }
    if (depth >= HOIST_DEPTH)
        return hoist(rm, parent, name);
    return remove_folder(rm, parent, name, depth + 1);
}

static int remove_content(struct removal *rm, int fd, int depth)
{
    CLEANUP(dir) DIR *dir = list_folder(fd);
    if (!dir)
        return -1;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? -1 : 0;
        if (!is_dots(entry->d_name) && remove_entry(rm, fd, entry->d_name, depth))
            return -1;
    }
}

static int empty_folder(int fd)
{
    struct removal rm = {.root = fd};
    do {
        rm.again = false;
        if (remove_content(&rm, fd, 0))
            return -1;
    } while (rm.again);
    return 0;
}

int file_empty_folder(const char *path, struct err *err)
{
    CLEANUP(fd) int fd = open_for_removal(AT_FDCWD, path);
    if (fd < 0 || empty_folder(fd))
        return err_set_errno(err, errno, "cannot empty %s", path);
    return 0;
}

int file_remove_tree(const char *path, struct err *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return err_set_errno(err, errno, "cannot remove %s", path);
    int code = errno;
    CLEANUP(fd) int fd = open_for_removal(AT_FDCWD, path);
    if (fd < 0)
        return err_set_errno(err, errno == ENOTDIR ? code : errno, "cannot remove %s", path);
    if (empty_folder(fd) || rmdir(path))
        return err_set_errno(err, errno, "cannot remove %s", path);
    return 0;
}

/* Copying */

struct copying {
    dev_t to_dev; /* the new root: not copied into itself when it lies inside the old one */
    ino_t to_ino;
    struct strbuf at; /* the path of what is being copied, for the error */
};

static int copy_bytes(int from, int to)
{
    char bytes[16 << 10]; /* a stack may be small */
    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        if (file_write_all(to, bytes, (size_t)got))
            return -1;
    }
}

static int copy_file(int from, int to, const char *name)
{
    CLEANUP(fd) int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (in < 0 || fstat(in, &st))
        return -1;
    if (!S_ISREG(st.st_mode))
        return 0;
    CLEANUP(fd) int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0 || copy_bytes(in, out) || fchmod(out, st.st_mode & 0777))
        return -1;
    int done = close(out);
    out = -1;
    return done;
}

static int copy_link(int from, int to, const char *name)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);
    if (len < 0)
        return -1;
    target[len] = '\0';
    return symlinkat(target, to, name);
}

static int copy_content(struct copying *cp, int from, int to, int depth);

static int copy_folder(struct copying *cp, int from, int to, const char *name, int depth)
{
    if (depth == COPY_DEPTH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    CLEANUP(fd) int in = openat(from, name, flags);
    struct stat st;
    if (in < 0 || fstat(in, &st))
        return -1;
    if (st.st_dev == cp->to_dev && st.st_ino == cp->to_ino)
        return 0;
    if (mkdirat(to, name, 0700))
        return -1;
    CLEANUP(fd) int out = openat(to, name, flags);
    if (out < 0 || copy_content(cp, in, out, depth + 1))
        return -1;
    return fchmod(out, st.st_mode & 0777);
}

static int copy_entry(struct copying *cp, int from, int to, const char *name, int depth)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
        return -1;
    if (S_ISREG(st.st_mode))
        return copy_file(from, to, name);
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to, name);
    if (S_ISDIR(st.st_mode))
        return copy_folder(cp, from, to, name, depth);
    return 0;
}

static int copy_content(struct copying *cp, int from, int to, int depth)
{
    CLEANUP(dir) DIR *dir = list_folder(from);
    if (!dir)
        return -1;
    size_t len = cp->at.len;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? -1 : 0;
        if (is_dots(entry->d_name))
            continue;
        strbuf_addf(&cp->at, "/%s", entry->d_name);
        if (copy_entry(cp, from, to, entry->d_name, depth))
            return -1;
        strbuf_set_len(&cp->at, len);
    }
}

int file_copy_tree(const char *from, const char *to, struct err *err)
{
    CLEANUP(fd) int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat from_st;
    if (in < 0 || fstat(in, &from_st))
        return err_set_errno(err, errno, "cannot copy %s", from);
    bool made = mkdir(to, 0700) == 0;
    CLEANUP(fd) int out = made || errno == EEXIST ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct stat to_st;
    if (out < 0 || fstat(out, &to_st))
        return err_set_errno(err, errno, "cannot create the folder %s", to);
    struct copying cp = {.to_dev = to_st.st_dev, .to_ino = to_st.st_ino, .at = STRBUF_INIT};
    strbuf_addstr(&cp.at, from);
    int failed = copy_content(&cp, in, out, 0);
    if (failed)
        err_set_errno(err, errno, "cannot copy %s", cp.at.buf);
    else if (made && fchmod(out, from_st.st_mode & 0777))
        failed = err_set_errno(err, errno, "cannot create the folder %s", to);
    strbuf_release(&cp.at);
    return failed;
}
