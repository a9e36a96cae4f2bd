/* A tree is copied in one pass, folder by folder, with two descriptors per level and no stat that the copy can do without.
 * Small files go through a buffer, which costs less than asking the kernel to copy; sharing bytes is tried until a file
 * system says that it cannot. */

#include "copy.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "sandbox/user.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define BUFFER_BYTES (128 << 10)
#define SMALL_BYTES  BUFFER_BYTES
#define WRITE_BITS   0222

struct tree {
    struct copying *c;
    dev_t to_dev; /* the top of the destination: not copied into itself when it lies inside the source */
    ino_t to_ino;
    int top; /* of the source */
    const char *label;
    struct strbuf at; /* relative to the top */
    struct err *err;
};

/* ---- bytes ---- */

static int copy_through_buffer(int from, int to, off_t at, off_t end)
{
    char *bytes = xmalloc(BUFFER_BYTES);
    int status = 0;
    while (status == 0 && at < end) {
        size_t want = end - at < BUFFER_BYTES ? (size_t)(end - at) : BUFFER_BYTES;
        ssize_t got = pread(from, bytes, want, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            break; /* shorter than it was */
        status = got < 0 ? -1 : file_write_all(to, bytes, (size_t)got);
        at += got;
    }
    int code = errno;
    free(bytes);
    errno = code;
    return status;
}

/* The bytes from `at` to `end`, to the same place; the destination's position is there already. */
static int copy_range(struct copying *c, int from, int to, off_t at, off_t end)
{
    while (!c->no_range && end - at > SMALL_BYTES) {
        off_t in = at;
        ssize_t got = copy_file_range(from, &in, to, NULL, (size_t)(end - at), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) { /* not between these file systems, or one that only looks like a file */
            c->no_range = got < 0;
            break;
        }
        at += got;
    }
    return copy_through_buffer(from, to, at, end);
}

static int copy_sparse(struct copying *c, int from, int to, off_t size)
{
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break; /* a hole up to the end */
        off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
        if (hole < 0) {
            data = at;
            hole = size;
        }
        if (hole > size)
            hole = size;
        if (lseek(to, data, SEEK_SET) < 0 || copy_range(c, from, to, data, hole) < 0)
            return -1;
        at = hole;
    }
    return ftruncate(to, size);
}

static int copy_bytes(struct copying *c, int from, int to, const struct stat *st)
{
    if (st->st_size == 0)
        return 0;
    if (!c->no_clone && st->st_size > SMALL_BYTES) {
        if (ioctl(to, FICLONE, from) == 0)
            return 0;
        c->no_clone = true;
    }
    if ((off_t)st->st_blocks * 512 < st->st_size && st->st_size > SMALL_BYTES)
        return copy_sparse(c, from, to, st->st_size);
    return copy_range(c, from, to, 0, st->st_size);
}

/* ---- one file ---- */

static int create(int folder, const char *name, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder, name, flags, mode);
    if (fd < 0 && errno == EEXIST && unlinkat(folder, name, 0) == 0)
        fd = openat(folder, name, flags, mode);
    return fd;
}

/* The bits that this process takes away from what it makes. umask(2) tells them only by changing them, which other threads
 * would feel; where /proc does not tell, any may be. */
static mode_t masked_bits(void)
{
    CLEANUP(strbuf) struct strbuf status = STRBUF_INIT;
    if (file_read("/proc/self/status", &status, 0, NULL) < 0)
        return 0777;
    const char *line = strstr(status.buf, "\nUmask:");
    return line ? (mode_t)strtoul(line + strlen("\nUmask:"), NULL, 8) & 0777 : 0777;
}

static int cannot(struct err *err, const char *label)
{
    return err_set_errno(err, errno, "cannot copy %.300s", label);
}

static mode_t mode_for(const struct copying *c, mode_t mode)
{
    return mode & 0777 & ~(c->read_only ? (mode_t)WRITE_BITS : 0);
}

int copy_file(struct copying *c, int from, const struct stat *st, int to, const char *name, const char *label,
              struct err *err)
{
    if (c->left >= 0 && st->st_size > c->left) {
        err_set(err, "cannot copy %.300s: it has %jd bytes, and the workspace has room for %jd", label,
                (intmax_t)st->st_size, (intmax_t)c->left);
        if (err)
            err->code = EDQUOT;
        return -1;
    }
    mode_t mode = mode_for(c, st->st_mode);
    if (!c->mask_known) {
        c->mask = masked_bits();
        c->mask_known = true;
    }
    CLEANUP(fd) int fd = create(to, name, mode);
    if (fd < 0 && errno == EISDIR)
        return err_set(err, "cannot put a file in the place of the folder %.300s", name);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write %.300s", name);
    if (!sandbox_user_give(to, fd) || copy_bytes(c, from, fd, st) < 0 || (mode & c->mask && fchmod(fd, mode) < 0)) {
        cannot(err, label);
        unlinkat(to, name, 0);
        return -1;
    }
    if (c->left >= 0)
        c->left -= st->st_size;
    c->bytes += st->st_size;
    c->files++;
    return 0;
}

/* ---- trees ---- */

static int cannot_copy(const struct tree *t)
{
    int code = errno;
    return err_set_errno(t->err, code, "cannot copy %.200s/%.200s", t->label, t->at.buf);
}

static int copy_regular(struct tree *t, int from, int to, const char *name, int flags)
{
    CLEANUP(fd) int fd = openat(from, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return cannot_copy(t);
    if (!S_ISREG(st.st_mode))
        return 0;
    return copy_file(t->c, fd, &st, to, name, t->at.buf, t->err);
}

bool copy_leads_out(int folder, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    CLEANUP(fd) int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
    return fd < 0 && errno == EXDEV;
}

static bool is_file(const struct tree *t)
{
    struct stat st;
    return fstatat(t->top, t->at.buf, &st, 0) == 0 && S_ISREG(st.st_mode);
}

static int copy_link(struct tree *t, int from, int to, const char *name)
{
    char target[PATH_MAX];
    /* Asked from the top: it may go up to a sibling of its folder. */
    bool out = (t->c->follow || t->c->left_out) && copy_leads_out(t->top, t->at.buf);
    if (out && t->c->left_out) {
        strbuf_addf(t->c->left_out, "%s%s", t->c->left_out->len ? ", " : "", t->at.buf);
        return 0;
    }
    if (out && is_file(t))
        return copy_regular(t, from, to, name, 0);
    ssize_t len = readlinkat(from, name, target, sizeof(target) - 1);
    if (len < 0)
        return cannot_copy(t);
    target[len] = '\0';
    if (symlinkat(target, to, name) < 0 &&
        (errno != EEXIST || unlinkat(to, name, 0) < 0 || symlinkat(target, to, name) < 0))
        return cannot_copy(t);
    return 0;
}

static int copy_content(struct tree *t, int from, int to, int depth);

static int copy_folder(struct tree *t, int from, int to, const char *name, int depth)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    if (depth == WALK_DEPTH_MAX) {
        errno = ENAMETOOLONG;
        return cannot_copy(t);
    }
    CLEANUP(fd) int in = openat(from, name, flags);
    if (in < 0 || fstat(in, &st) < 0)
        return cannot_copy(t);
    if (st.st_dev == t->to_dev && st.st_ino == t->to_ino)
        return 0;
    if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
        return cannot_copy(t);
    CLEANUP(fd) int out = openat(to, name, flags);
    if (out < 0 || !sandbox_user_give(to, out))
        return cannot_copy(t);
    if (copy_content(t, in, out, depth + 1) < 0)
        return -1;
    /* Programs must be able to read what is staged for them; whether they may write is the caller's to say. */
    return fchmod(out, mode_for(t->c, 0755)) < 0 ? cannot_copy(t) : 0;
}

static int copy_entry(struct tree *t, int from, int to, const struct dirent *entry, int depth)
{
    unsigned char type = entry->d_type;
    struct stat st;
    if (type == DT_UNKNOWN) {
        if (fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return cannot_copy(t);
        type = (unsigned char)IFTODT(st.st_mode);
    }
    switch (type) {
    case DT_REG:
        return copy_regular(t, from, to, entry->d_name, O_NOFOLLOW);
    case DT_LNK:
        return copy_link(t, from, to, entry->d_name);
    case DT_DIR:
        return copy_folder(t, from, to, entry->d_name, depth);
    default:
        return 0;
    }
}

static int copy_content(struct tree *t, int from, int to, int depth)
{
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (!dir)
        return cannot_copy(t);
    size_t len = t->at.len;
    int status = 0;
    while (status == 0) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            status = errno ? cannot_copy(t) : 0; /* half a folder is no copy */
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (len)
            strbuf_addch(&t->at, '/');
        strbuf_addstr(&t->at, entry->d_name);
        status = copy_entry(t, from, to, entry, depth);
        strbuf_set_len(&t->at, len);
    }
    closedir(dir);
    return status;
}

int copy_tree(struct copying *c, int from, int to, const char *label, struct err *err)
{
    struct stat st;
    if (fstat(to, &st) < 0)
        return cannot(err, label);
    struct tree t = {.c = c, .to_dev = st.st_dev, .to_ino = st.st_ino, .top = from, .label = label, .at = STRBUF_INIT, .err = err};
    int status = copy_content(&t, from, to, 0);
    strbuf_release(&t.at);
    if (status == 0 && c->read_only && fchmod(to, mode_for(c, st.st_mode)) < 0)
        return cannot(err, label);
    return status;
}
