/* Removes, copies and hashes whole trees, as visitors of the walk (tree.h). A tree that another process changes
 * meanwhile can cause an error, but cannot lead out of the tree.
 *
 * A copy creates each folder when the walk enters it, and sets its mode when the walk leaves it. Small files go
 * through a buffer, which costs less than copying in the kernel. Sharing bytes is tried until a file system refuses. */

#include "tree.h"
#include "file.h"
#include "mem.h"
#include "strbuf.h"
#include "walk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define BUFFER_BYTES (128 << 10)
#define SMALL_BYTES  BUFFER_BYTES
#define WRITE_BITS   0222
#define PIECES       8 /* of the stream that is hashed */
#define PIECE_BYTES  (256 << 10)
#define THREAD_FILES 32 /* from as many files on */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- removing ---- */

/* Returns 0 or an errno value. Overrides modes that a program set, because the tree belongs to Keyturn. */
static int remove_name(int folder, const char *name, int flags)
{
    if (unlinkat(folder, name, flags) == 0 || errno == ENOENT)
        return 0;
    if (errno != EACCES || fchmod(folder, 0700) < 0)
        return errno;
    return unlinkat(folder, name, flags) == 0 ? 0 : errno;
}

static enum walk_next remove_entry(void *code, const struct walk_entry *entry)
{
    if (entry->type == DT_DIR)
        return WALK_CONTINUE;
    *(int *)code = remove_name(entry->dir_fd, entry->name, 0);
    return *(int *)code ? WALK_STOP : WALK_SKIP;
}

static void remove_left_folder(void *code, const struct walk_entry *entry, int fd)
{
    (void)fd;
    if (!*(int *)code)
        *(int *)code = entry->dir_fd < 0 ? ESTALE : remove_name(entry->dir_fd, entry->name, AT_REMOVEDIR);
}

static enum walk_next fail_removal(void *code, const char *path, int why)
{
    (void)path;
    *(int *)code = why;
    return WALK_STOP;
}

/* 0, or an errno value. */
static int remove_content(int folder)
{
    static const struct walk_visitor remover = {
        .entry = remove_entry, .leave = remove_left_folder, .denied = fail_removal};
    struct walk_options options = {.max_depth = WALK_ANY_DEPTH, .unlock = true};
    int code = 0;
    return walk_tree(folder, "", &options, &remover, &code, NULL) < 0 && !code ? EIO : code;
}

int file_empty_folder(const char *path, struct err *err)
{
    CLEANUP(fd) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = fd < 0 ? errno : remove_content(fd);
    return code ? err_set_errno(err, code, "cannot empty %s", path) : 0;
}

int file_remove_tree(const char *path, struct err *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    int code = errno;
    if (code != EISDIR && code != EPERM)
        return err_set_errno(err, code, "cannot remove %s", path);
    CLEANUP(fd) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        code = remove_content(fd);
    else if (errno != ENOTDIR)
        code = errno;
    if (!code && rmdir(path) < 0)
        code = errno;
    return code ? err_set_errno(err, code, "cannot remove %s", path) : 0;
}

/* ---- copying bytes ---- */

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
            break; /* the file became shorter */
        status = got < 0 ? -1 : file_write_all(to, bytes, (size_t)got);
        at += got;
    }
    int code = errno;
    free(bytes);
    errno = code;
    return status;
}

/* Copies the bytes from `at` to `end`, to the same offset; the destination is already positioned there. */
static int copy_range(struct tree_copy *c, int from, int to, off_t at, off_t end)
{
    while (!c->no_range && end - at > SMALL_BYTES) {
        off_t in = at;
        ssize_t got = copy_file_range(from, &in, to, NULL, (size_t)(end - at), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) { /* not possible between these file systems, or a special file */
            c->no_range = got < 0;
            break;
        }
        at += got;
    }
    return copy_through_buffer(from, to, at, end);
}

static int copy_sparse(struct tree_copy *c, int from, int to, off_t size)
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

static int copy_bytes(struct tree_copy *c, int from, int to, const struct stat *st)
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

/* ---- copying files ---- */

/* The bits that the umask clears. umask(2) returns them only by changing them, which other threads would notice.
 * Without /proc any of them may be masked. */
static mode_t masked_bits(void)
{
    CLEANUP(strbuf) struct strbuf status = STRBUF_INIT;
    if (file_read("/proc/self/status", &status, 0, NULL) < 0)
        return 0777;
    const char *line = strstr(status.buf, "\nUmask:");
    return line ? (mode_t)strtoul(line + strlen("\nUmask:"), NULL, 8) & 0777 : 0777;
}

static int create_file(const struct tree_copy *c, int folder, const char *name, mode_t mode)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(folder, name, flags, mode);
    if (fd < 0 && errno == EEXIST && !c->exact && unlinkat(folder, name, 0) == 0)
        fd = openat(folder, name, flags, mode);
    return fd;
}

static bool give(const struct tree_copy *c, int folder, int made)
{
    return !c->give || c->give(folder, made);
}

static mode_t mode_for(const struct tree_copy *c, mode_t mode)
{
    return mode & 0777 & ~(c->read_only ? (mode_t)WRITE_BITS : 0);
}

/* Takes the descriptor of the new file. */
static int fill_file(struct tree_copy *c, int from, const struct stat *st, int to, int take_fd)
{
    mode_t mode = mode_for(c, st->st_mode);
    bool filled = give(c, to, take_fd) && copy_bytes(c, from, take_fd, st) == 0 &&
                  (!(mode & c->mask) || fchmod(take_fd, mode) == 0);
    int code = errno;
    int closed = close(take_fd);
    if (!filled)
        errno = code;
    return filled ? closed : -1;
}

int tree_copy_file(struct tree_copy *c, int from, const struct stat *st, int to, const char *name, const char *label,
                   struct err *err)
{
    if (c->left >= 0 && st->st_size > c->left) {
        err_set(err, "cannot copy %.300s: it has %jd bytes, and the workspace has room for %jd", label,
                (intmax_t)st->st_size, (intmax_t)c->left);
        if (err)
            err->code = EDQUOT;
        return -1;
    }
    if (!c->mask_known) {
        c->mask = masked_bits();
        c->mask_known = true;
    }
    int fd = create_file(c, to, name, mode_for(c, st->st_mode));
    if (fd < 0 && errno == EISDIR)
        return err_set(err, "cannot replace the folder %.300s with a file", name);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write %.300s", name);
    if (fill_file(c, from, st, to, fd) < 0) {
        err_set_errno(err, errno, "cannot copy %.300s", label);
        unlinkat(to, name, 0);
        return -1;
    }
    if (c->left >= 0)
        c->left -= st->st_size;
    return 0;
}

/* ---- copying trees ---- */

struct tree_copying {
    struct tree_copy *copy;
    dev_t to_dev; /* the top of the destination: not copied into itself when it lies inside the source */
    ino_t to_ino;
    int from;               /* the top of the source */
    int to[WALK_DEPTH_MAX]; /* where the entries of each depth go */
    const char *label;
    struct err *err;
    int status;
};

static enum walk_next fail_copy(struct tree_copying *t, const char *path)
{
    t->status = err_set_errno(t->err, errno, "cannot copy %.200s/%.200s", t->label, path);
    return WALK_STOP;
}

static enum walk_next copy_regular(struct tree_copying *t, const struct walk_entry *entry, int flags)
{
    CLEANUP(fd) int fd = openat(entry->dir_fd, entry->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    struct stat st;
    struct err why = ERR_INIT;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_copy(t, entry->path);
    if (!S_ISREG(st.st_mode) ||
        tree_copy_file(t->copy, fd, &st, t->to[entry->depth], entry->name, entry->path, &why) == 0)
        return WALK_SKIP;
    if (t->copy->exact) {
        errno = why.code;
        return fail_copy(t, entry->path);
    }
    if (t->err)
        *t->err = why;
    t->status = -1;
    return WALK_STOP;
}

/* True if a path, which may be or contain links, ends outside of the folder. */
static bool leads_out(int folder, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    CLEANUP(fd) int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
    return fd < 0 && errno == EXDEV;
}

static enum walk_next copy_link(struct tree_copying *t, const struct walk_entry *entry)
{
    char target[PATH_MAX];
    struct stat st;
    struct tree_copy *c = t->copy;
    int to = t->to[entry->depth];
    /* Checked from the top, because the link may lead to a sibling of its folder. */
    bool out = (c->follow || c->left_out) && leads_out(t->from, entry->path);
    if (out && c->left_out) {
        strbuf_addf(c->left_out, "%s%s", c->left_out->len ? ", " : "", entry->path);
        return WALK_SKIP;
    }
    if (out && fstatat(entry->dir_fd, entry->name, &st, 0) == 0 && S_ISREG(st.st_mode))
        return copy_regular(t, entry, 0);
    ssize_t len = readlinkat(entry->dir_fd, entry->name, target, sizeof(target) - 1);
    if (len < 0)
        return fail_copy(t, entry->path);
    target[len] = '\0';
    if (symlinkat(target, to, entry->name) < 0 &&
        (errno != EEXIST || c->exact || unlinkat(to, entry->name, 0) < 0 || symlinkat(target, to, entry->name) < 0))
        return fail_copy(t, entry->path);
    return WALK_SKIP;
}

static enum walk_next copy_entry(void *user, const struct walk_entry *entry)
{
    if (entry->type == DT_REG)
        return copy_regular(user, entry, O_NOFOLLOW);
    if (entry->type == DT_LNK)
        return copy_link(user, entry);
    return entry->type == DT_DIR ? WALK_CONTINUE : WALK_SKIP;
}

static enum walk_next enter_copy(void *user, const struct walk_entry *entry, int fd)
{
    struct tree_copying *t = user;
    struct stat st;
    int to = t->to[entry->depth];
    if (fstat(fd, &st) < 0)
        return fail_copy(t, entry->path);
    if (st.st_dev == t->to_dev && st.st_ino == t->to_ino)
        return WALK_SKIP;
    if (mkdirat(to, entry->name, 0700) < 0 && (errno != EEXIST || t->copy->exact))
        return fail_copy(t, entry->path);
    CLEANUP(fd) int made = openat(to, entry->name, FOLDER_FLAGS);
    if (made < 0 || !give(t->copy, to, made))
        return fail_copy(t, entry->path);
    t->to[entry->depth + 1] = made;
    made = -1;
    return WALK_CONTINUE;
}

static void leave_copy(void *user, const struct walk_entry *entry, int fd)
{
    struct tree_copying *t = user;
    CLEANUP(fd) int made = t->to[entry->depth + 1];
    /* Programs must be able to read staged files; the caller decides whether they may write. */
    struct stat st = {.st_mode = 0755};
    if (t->status < 0)
        return;
    if ((t->copy->exact && fstat(fd, &st) < 0) || fchmod(made, mode_for(t->copy, st.st_mode)) < 0)
        fail_copy(t, entry->path);
}

static enum walk_next fail_denied(void *user, const char *path, int code)
{
    errno = code == ELOOP ? ENAMETOOLONG : code;
    return fail_copy(user, path);
}

int tree_copy(struct tree_copy *c, int from, int to, const char *label, struct err *err)
{
    static const struct walk_visitor copier = {
        .entry = copy_entry, .enter = enter_copy, .leave = leave_copy, .denied = fail_denied};
    struct walk_options options = {.order = WALK_ANY};
    struct stat st;
    if (fstat(to, &st) < 0)
        return err_set_errno(err, errno, "cannot copy %.300s", label);
    struct tree_copying t = {
        .copy = c, .to_dev = st.st_dev, .to_ino = st.st_ino, .from = from, .to = {to}, .label = label, .err = err};
    if (walk_tree(from, "", &options, &copier, &t, NULL) < 0 || t.status < 0)
        return -1;
    if (c->read_only && fchmod(to, mode_for(c, st.st_mode)) < 0)
        return err_set_errno(err, errno, "cannot copy %.300s", label);
    return 0;
}

int file_copy_tree(const char *from, const char *to, struct err *err)
{
    CLEANUP(fd) int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (in < 0 || fstat(in, &st) < 0)
        return err_set_errno(err, errno, "cannot copy %s", from);
    bool made = mkdir(to, 0700) == 0;
    CLEANUP(fd) int out = made || errno == EEXIST ? open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (out < 0)
        return err_set_errno(err, errno, "cannot create the folder %s", to);
    struct tree_copy copy = {.exact = true, .left = -1};
    if (tree_copy(&copy, in, out, from, err) < 0)
        return -1;
    return made && fchmod(out, st.st_mode & 0777) < 0 ? err_set_errno(err, errno, "cannot create the folder %s", to)
                                                      : 0;
}

/* ---- digest ---- */

/* The digest hashes one stream of bytes, so two threads cannot share the hashing. But one can open and read the
 * files meanwhile, which is the other half of the work. The stream is cut into pieces that circulate between the
 * two. Small trees are not worth a thread. */
struct digest_piece {
    unsigned char *bytes;
    size_t len;
};

struct digest_stream {
    int folder;
    bool own_links;
    int64_t left; /* bytes that may still be read; -1: any */
    size_t files;
    struct digest_piece pieces[PIECES];
    size_t filling; /* index of the piece being filled, never reset */
    struct sha256 sha;
    struct err *err;
    int status;
    /* Shared between the threads. */
    bool threaded;
    pthread_t hasher;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t filled, hashed; /* pieces so far */
    bool done;
};

/* Hashes the full piece, here or in the other thread, and returns the next one to fill. */
static struct digest_piece *next_piece(struct digest_stream *s)
{
    struct digest_piece *piece = &s->pieces[s->filling % PIECES];
    if (!s->threaded) {
        sha256_add(&s->sha, piece->bytes, piece->len);
        piece->len = 0;
        return piece;
    }
    pthread_mutex_lock(&s->mutex);
    s->filled = ++s->filling;
    pthread_cond_broadcast(&s->changed);
    while (s->filled - s->hashed >= PIECES)
        pthread_cond_wait(&s->changed, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    piece = &s->pieces[s->filling % PIECES];
    piece->len = 0;
    return piece;
}

static void add_bytes(struct digest_stream *s, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    struct digest_piece *piece = &s->pieces[s->filling % PIECES];
    while (len > 0) {
        if (piece->len == PIECE_BYTES)
            piece = next_piece(s);
        size_t part = len < PIECE_BYTES - piece->len ? len : PIECE_BYTES - piece->len;
        memcpy(piece->bytes + piece->len, at, part);
        piece->len += part;
        at += part;
        len -= part;
    }
}

/* Reads up to the end of the file. A short read is the end, which saves one call for each of many files. */
static int add_content(struct digest_stream *s, int fd)
{
    for (;;) {
        struct digest_piece *piece = &s->pieces[s->filling % PIECES];
        if (piece->len == PIECE_BYTES)
            piece = next_piece(s);
        size_t room = PIECE_BYTES - piece->len;
        ssize_t got = read(fd, piece->bytes + piece->len, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        piece->len += (size_t)got;
        if (s->left >= 0 && (s->left -= got) < 0) {
            errno = EFBIG;
            return -1;
        }
        if ((size_t)got < room)
            return 0;
    }
}

/* Adds a link as the text of its target, or skips it. Returns false for a link to a file inside, which is followed. */
static bool add_link(struct digest_stream *s, const struct walk_entry *entry)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t len = readlinkat(entry->dir_fd, entry->name, target, sizeof(target) - 1);
    if (len < 0)
        return false;
    if (leads_out(s->folder, entry->path))
        return true;
    if (fstatat(entry->dir_fd, entry->name, &st, 0) == 0 && S_ISREG(st.st_mode))
        return false;
    add_bytes(s, entry->path, entry->path_len + 1);
    add_bytes(s, target, (size_t)len);
    add_bytes(s, "", 1);
    return true;
}

/* Opens the file without blocking and checks its descriptor: a FIFO or a link to /dev/zero is an error, not an
 * endless read. */
static int add_file(struct digest_stream *s, const struct walk_entry *entry)
{
    CLEANUP(fd) int fd = openat(entry->dir_fd, entry->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(s->err, errno, "cannot read %.200s", entry->path);
    if (!S_ISREG(st.st_mode)) {
        err_set(s->err, "cannot read %.200s: it is not a file", entry->path);
        if (s->err)
            s->err->code = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    add_bytes(s, entry->path, entry->path_len + 1);
    if (add_content(s, fd) < 0)
        return err_set_errno(s->err, errno, "cannot read %.200s", entry->path);
    add_bytes(s, "", 1);
    return 0;
}

static void *hash_pieces(void *user)
{
    struct digest_stream *s = user;
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (s->hashed == s->filled && !s->done)
            pthread_cond_wait(&s->changed, &s->mutex);
        if (s->hashed == s->filled)
            break;
        const struct digest_piece *piece = &s->pieces[s->hashed % PIECES];
        pthread_mutex_unlock(&s->mutex);
        sha256_add(&s->sha, piece->bytes, piece->len);
        pthread_mutex_lock(&s->mutex);
        s->hashed++;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static enum walk_next digest_entry(void *user, const struct walk_entry *entry)
{
    struct digest_stream *s = user;
    if (entry->type == DT_DIR)
        return WALK_CONTINUE;
    if (++s->files == THREAD_FILES)
        s->threaded = pthread_create(&s->hasher, NULL, hash_pieces, s) == 0;
    if (!(s->own_links && entry->type == DT_LNK && add_link(s, entry)))
        s->status = add_file(s, entry);
    return s->status < 0 ? WALK_STOP : WALK_SKIP;
}

static void finish_stream(struct digest_stream *s)
{
    if (s->threaded) {
        pthread_mutex_lock(&s->mutex);
        s->done = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->hasher, NULL);
    }
    const struct digest_piece *last = &s->pieces[s->filling % PIECES]; /* the piece that is not full */
    sha256_add(&s->sha, last->bytes, last->len);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
}

int tree_digest(int folder, bool own_links, int64_t bytes_max, char out[HASH_SHA256_HEX], struct err *err)
{
    static const struct walk_visitor visitor = {.entry = digest_entry};
    struct walk_options options = {.order = WALK_BY_PATH};
    struct digest_stream s = {
        .folder = folder, .own_links = own_links, .left = bytes_max > 0 ? bytes_max : -1, .err = err};
    CLEANUP(free) unsigned char *bytes = xmalloc((size_t)PIECES * PIECE_BYTES);
    for (size_t i = 0; i < PIECES; i++)
        s.pieces[i].bytes = bytes + i * PIECE_BYTES;
    pthread_mutex_init(&s.mutex, NULL);
    pthread_cond_init(&s.changed, NULL);
    sha256_init(&s.sha);
    int status = walk_tree(folder, "", &options, &visitor, &s, err);
    finish_stream(&s);
    sha256_hex(&s.sha, out);
    return status < 0 ? status : s.status;
}
