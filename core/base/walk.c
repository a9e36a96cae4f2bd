/* Walks through a tree of files (walk.h). The levels from the top to the current folder are a stack on the heap, so
 * no tree is too deep for it.
 *
 * Names are read with getdents64, many at a time. The first OPEN_LEVELS folders of the stack and the last two stay
 * open. A folder between them is closed, and its unread names stay in memory. The walk returns to it through ".."
 * and checks that it is the same folder. Two stay open because ".." needs permission to pass through the folder
 * below, which the walk proved by opening a folder in it. */

#include "walk.h"
#include "beneath_internal.h"
#include "mem.h"
#include "strbuf.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OPEN_LEVELS    64
#define CHUNK_BYTES    32768
#define CHUNK_LEAST    4096 /* free room that makes another read worthwhile */
#define MODE_UNCHANGED ((mode_t)-1)
#define FOLDER_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A folder on the stack of the walk. */
struct walk_level {
    int fd; /* -1: closed to save descriptors, or lost */
    mode_t mode_before;
    dev_t dev; /* of a closed folder */
    ino_t ino;
    size_t path_len; /* of the folder's own path */
    char *bytes;     /* names as the kernel writes them: `at` up to `len` are unread */
    size_t at, len, room;
    bool complete; /* all names were read from the folder */
    struct dirent64 **sorted;
    size_t count, next;
};

/* A folder that a breadth-first walk will enter. */
struct walk_folder {
    char *path;
    int depth;
};

struct walker {
    const struct walk_options *options;
    const struct walk_visitor *visitor;
    void *user;
    struct err *err;
    struct strbuf path;
    struct walk_level *levels;
    size_t count, room;
    struct walk_folder *queue;
    size_t queued, queue_room;
    int depth;   /* of the entries in levels[0] */
    char *spare; /* a buffer of CHUNK_BYTES for the next folder */
    bool stopped;
};

static struct walk_level *top_level(struct walker *w)
{
    return &w->levels[w->count - 1];
}

static bool is_cancelled(const struct walker *w)
{
    const atomic_bool *flag = w->options->cancelled;
    return flag && atomic_load_explicit((atomic_bool *)flag, memory_order_relaxed);
}

static int fail_cancelled(struct walker *w)
{
    err_set(w->err, "canceled");
    if (w->err)
        w->err->code = ECANCELED;
    return -1;
}

static int depth_max(const struct walker *w)
{
    return w->options->max_depth ? w->options->max_depth : WALK_DEPTH_MAX;
}

/* Returns 0 to continue without the folder at the current path, or -1 and the error. */
static int deny(struct walker *w, int code)
{
    if (w->visitor->denied && w->visitor->denied(w->user, w->path.buf, code) != WALK_STOP)
        return 0;
    if (code == ELOOP)
        return err_set(w->err, "%.200s is more than %d folders deep", w->path.buf, depth_max(w));
    return err_set_errno(w->err, code, "cannot read the folder %.200s", w->path.buf);
}

/* ---- closed folders ---- */

static bool unlock(int folder, mode_t bits, mode_t *before)
{
    char path[40];
    struct stat st;
    *before = MODE_UNCHANGED;
    if (fstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    if ((st.st_mode & bits) == bits)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder); /* fchmod takes no descriptor of O_PATH */
    if (chmod(path, (st.st_mode & 07777) | bits) < 0)
        return false;
    *before = st.st_mode & 07777;
    return true;
}

bool walk_unlock(int folder, mode_t bits)
{
    mode_t before;
    return unlock(folder, bits, &before);
}

/* A folder that can be listed but not entered shows names without sizes, so it counts as closed too. */
static int open_unlocked(int folder, const char *name, mode_t *before)
{
    int fd = openat(folder, name, FOLDER_FLAGS);
    if (fd >= 0) {
        unlock(fd, S_IXUSR, before);
        return fd;
    }
    if (errno != EACCES)
        return -1;
    CLEANUP(fd) int path = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (path >= 0 && unlock(path, S_IRWXU, before))
        fd = openat(path, ".", FOLDER_FLAGS);
    if (fd < 0)
        errno = EACCES;
    return fd;
}

/* Gives a folder its mode back, unless another process changed the mode since. */
static void lock_again(int folder, mode_t before)
{
    struct stat st;
    if (before == MODE_UNCHANGED || fstat(folder, &st) < 0)
        return;
    mode_t now = st.st_mode & 07777;
    if (now == (before | S_IRWXU) || now == (before | S_IXUSR))
        fchmod(folder, before);
}

static void close_folder(const struct walker *w, int folder, mode_t before)
{
    if (w->options->relock)
        lock_again(folder, before);
    close(folder);
}

/* ---- names ---- */

static bool is_dots(const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* The next entry in the buffer, or NULL. It has a type unless it was removed meanwhile. */
static struct dirent64 *buffered_name(struct walk_level *level)
{
    while (level->at < level->len) {
        struct dirent64 *entry = (struct dirent64 *)(void *)(level->bytes + level->at);
        struct stat st;
        level->at += entry->d_reclen;
        if (is_dots(entry->d_name))
            continue;
        if (entry->d_type == DT_UNKNOWN && fstatat(level->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            entry->d_type = (unsigned char)IFTODT(st.st_mode);
        return entry;
    }
    return NULL;
}

/* Reads a chunk of names after those in the buffer. 1, 0 at the end, or -1 and errno. */
static int read_chunk(struct walk_level *level)
{
    if (level->complete)
        return 0;
    if (level->room - level->len < CHUNK_LEAST) {
        level->room = level->room * 2 + CHUNK_BYTES;
        level->bytes = xreallocarray(level->bytes, level->room, 1);
    }
    ssize_t got = getdents64(level->fd, level->bytes + level->len, level->room - level->len);
    if (got > 0)
        level->len += (size_t)got;
    level->complete = got == 0;
    return got > 0 ? 1 : (int)got;
}

/* 1 and an entry, 0 at the end, or -1 and errno. */
static int next_name(struct walk_level *level, const struct dirent64 **entry)
{
    if (level->sorted) {
        *entry = level->next < level->count ? level->sorted[level->next++] : NULL;
        return *entry != NULL;
    }
    for (;;) {
        *entry = buffered_name(level);
        if (*entry)
            return 1;
        level->at = level->len = 0;
        int got = read_chunk(level);
        if (got <= 0)
            return got;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct dirent64 *const *x = a, *const *y = b;
    return strcmp((*x)->d_name, (*y)->d_name);
}

/* Compares a folder as if its name ended with '/', so that the walk meets whole paths in order. */
static int by_path(const void *a, const void *b)
{
    const struct dirent64 *x = *(const struct dirent64 *const *)a, *y = *(const struct dirent64 *const *)b;
    size_t i = 0;
    while (x->d_name[i] && x->d_name[i] == y->d_name[i])
        i++;
    unsigned char cx = (unsigned char)x->d_name[i], cy = (unsigned char)y->d_name[i];
    if (!cx && x->d_type == DT_DIR)
        cx = '/';
    if (!cy && y->d_type == DT_DIR)
        cy = '/';
    return (cx > cy) - (cx < cy);
}

/* Reads all names of the top folder. 0, or an errno value. */
static int read_names(const struct walker *w, struct walk_level *level, size_t max)
{
    size_t seen = 0;
    int got;
    while ((got = read_chunk(level)) > 0) {
        if (is_cancelled(w))
            return 0; /* the walk ends before the next entry */
        while (max && buffered_name(level))
            if (seen++ == max)
                return E2BIG;
    }
    return got < 0 ? errno : 0;
}

static int sort_names(const struct walker *w, struct walk_level *level)
{
    int code = read_names(w, level, w->options->max_names);
    size_t room = 0;
    struct dirent64 *entry;
    level->at = 0;
    GROW(level->sorted, level->count, room);
    while ((entry = buffered_name(level))) {
        GROW(level->sorted, level->count, room);
        level->sorted[level->count++] = entry;
    }
    qsort(level->sorted, level->count, sizeof(struct dirent64 *),
          w->options->order == WALK_BY_PATH ? by_path : by_name);
    return code;
}

/* ---- levels ---- */

/* Takes the descriptor of the folder at the current path. */
static int push_level(struct walker *w, int take_fd, mode_t mode_before)
{
    GROW(w->levels, w->count, w->room);
    struct walk_level *level = &w->levels[w->count++];
    *level = (struct walk_level){.fd = take_fd, .mode_before = mode_before, .path_len = w->path.len};
    level->bytes = w->spare ? w->spare : xmalloc(CHUNK_BYTES);
    level->room = CHUNK_BYTES;
    w->spare = NULL;
    int code = w->options->order == WALK_ANY ? 0 : sort_names(w, level);
    return !code || code == ENOENT ? 0 : deny(w, code);
}

static void release_names(struct walker *w, struct walk_level *level)
{
    free(level->sorted);
    if (level->room == CHUNK_BYTES && !w->spare)
        w->spare = level->bytes;
    else
        free(level->bytes);
}

/* Closes a folder in the middle of the stack. If that fails, it only costs a descriptor. */
static void close_level(const struct walker *w, struct walk_level *level)
{
    struct stat st;
    if (level->fd < 0 || fstat(level->fd, &st) < 0 || (!level->sorted && read_names(w, level, 0)) || is_cancelled(w))
        return;
    level->dev = st.st_dev;
    level->ino = st.st_ino;
    close(level->fd);
    level->fd = -1;
    if (level->sorted)
        return;
    level->len -= level->at;
    memmove(level->bytes, level->bytes + level->at, level->len);
    level->at = 0;
    level->room = level->len + 1;
    level->bytes = xreallocarray(level->bytes, level->room, 1);
}

/* A folder that was moved has another one above it. */
static bool reopen_level(struct walk_level *level, int below)
{
    struct stat st;
    int fd = below < 0 ? -1 : openat(below, "..", FOLDER_FLAGS);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == level->dev && st.st_ino == level->ino)
        level->fd = fd;
    else if (fd >= 0)
        close(fd);
    return level->fd >= 0;
}

static struct walk_entry entry_at(struct walker *w, size_t above, int depth, int dir_fd, unsigned char type)
{
    const char *name = w->path.buf + above + (above && w->path.buf[above] == '/');
    return (struct walk_entry){
        .path = w->path.buf, .name = name, .path_len = w->path.len, .dir_fd = dir_fd, .depth = depth, .type = type};
}

/* Returns false if the folder above is lost. */
static bool pop_level(struct walker *w)
{
    struct walk_level *level = top_level(w);
    bool back = true;
    strbuf_set_len(&w->path, level->path_len);
    if (w->count > 1) {
        struct walk_level *above = level - 1;
        back = above->fd >= 0 || reopen_level(above, level->fd) || level->fd < 0;
        struct walk_entry entry = entry_at(w, above->path_len, w->depth + (int)w->count - 2, above->fd, DT_DIR);
        if (w->visitor->leave)
            w->visitor->leave(w->user, &entry, level->fd);
    }
    if (level->fd >= 0)
        close_folder(w, level->fd, level->mode_before);
    release_names(w, level);
    w->count--;
    return back;
}

/* ---- the walk ---- */

static void queue_folder(struct walker *w, int depth)
{
    GROW(w->queue, w->queued, w->queue_room);
    w->queue[w->queued++] = (struct walk_folder){xmemdup0(w->path.buf, w->path.len), depth};
}

static int enter_folder(struct walker *w, const struct walk_entry *entry)
{
    mode_t before = MODE_UNCHANGED;
    if (entry->depth + 1 >= depth_max(w))
        return deny(w, ELOOP);
    if (w->options->order == WALK_BREADTH_FIRST) {
        queue_folder(w, entry->depth + 1);
        return 0;
    }
    int fd = w->options->unlock ? open_unlocked(entry->dir_fd, entry->name, &before)
                                : openat(entry->dir_fd, entry->name, FOLDER_FLAGS);
    if (fd < 0)
        return errno == ENOENT ? 0 : deny(w, errno); /* removed meanwhile: as if it had never existed */
    enum walk_next next = w->visitor->enter ? w->visitor->enter(w->user, entry, fd) : WALK_CONTINUE;
    if (next != WALK_CONTINUE) {
        w->stopped = next == WALK_STOP;
        close_folder(w, fd, before);
        return 0;
    }
    if (w->count > OPEN_LEVELS + 1)
        close_level(w, &w->levels[w->count - 2]);
    return push_level(w, fd, before);
}

static int visit(struct walker *w, const struct dirent64 *found)
{
    struct walk_level *level = top_level(w);
    if (found->d_type == DT_UNKNOWN || (w->options->skip_git && strcmp(found->d_name, ".git") == 0))
        return 0;
    strbuf_set_len(&w->path, level->path_len);
    if (level->path_len)
        strbuf_addch(&w->path, '/');
    strbuf_addstr(&w->path, found->d_name);
    struct walk_entry entry = entry_at(w, level->path_len, w->depth + (int)w->count - 1, level->fd, found->d_type);
    enum walk_next next = w->visitor->entry(w->user, &entry);
    w->stopped = next == WALK_STOP;
    return next == WALK_CONTINUE && entry.type == DT_DIR ? enter_folder(w, &entry) : 0;
}

/* Walks until the stack is empty, or the walk ends early. */
static int walk_levels(struct walker *w)
{
    int status = 0;
    while (w->count && !w->stopped && status == 0) {
        struct walk_level *level = top_level(w);
        const struct dirent64 *found;
        int got = level->fd < 0 ? 0 : next_name(level, &found);
        if (is_cancelled(w)) {
            status = fail_cancelled(w);
        } else if (got > 0) {
            status = visit(w, found);
        } else {
            int code = got < 0 && errno != ENOENT ? errno : 0;
            if (!pop_level(w))
                code = ESTALE;
            status = code ? deny(w, code) : 0;
        }
    }
    return status;
}

static int walk_queue(struct walker *w, int dir_fd)
{
    size_t prefix = w->path.len;
    int status = 0;
    queue_folder(w, 0);
    for (size_t i = 0; i < w->queued && !w->stopped && status == 0; i++) {
        struct walk_folder folder = w->queue[i];
        const char *below = folder.path + prefix + (prefix && folder.path[prefix] == '/');
        strbuf_reset(&w->path);
        strbuf_addstr(&w->path, folder.path);
        w->depth = folder.depth;
        int fd = beneath_open_raw(dir_fd, *below ? below : ".", FOLDER_FLAGS, 0, RESOLVE_NO_SYMLINKS);
        if (fd < 0)
            status = errno == ENOENT ? 0 : deny(w, errno);
        else
            status = push_level(w, fd, MODE_UNCHANGED) < 0 ? -1 : walk_levels(w);
    }
    return status;
}

static int walk_down(struct walker *w, int dir_fd)
{
    mode_t before = MODE_UNCHANGED;
    if (w->options->unlock)
        unlock(dir_fd, S_IRWXU, &before);
    int fd = openat(dir_fd, ".", FOLDER_FLAGS); /* a separate descriptor, because reading moves its position */
    if (fd < 0)
        return deny(w, errno);
    return push_level(w, fd, before) < 0 ? -1 : walk_levels(w);
}

int walk_tree(int dir_fd, const char *prefix, const struct walk_options *options, const struct walk_visitor *visitor,
              void *user, struct err *err)
{
    struct walker w = {.options = options, .visitor = visitor, .user = user, .err = err, .path = STRBUF_INIT};
    strbuf_addstr(&w.path, prefix);
    int status = options->order == WALK_BREADTH_FIRST ? walk_queue(&w, dir_fd) : walk_down(&w, dir_fd);
    while (w.count)
        pop_level(&w);
    for (size_t i = 0; i < w.queued; i++)
        free(w.queue[i].path);
    free(w.queue);
    free(w.levels);
    free(w.spare);
    strbuf_release(&w.path);
    return status;
}
