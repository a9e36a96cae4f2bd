/* One stream of bytes is hashed, so the hashing itself cannot be shared out; but another thread can open and read the files
 * meanwhile, which is the other half of the work. The stream is cut into pieces that go round between the two. Small trees
 * are not worth a thread.
 *
 * Whatever stands in the tree is opened without waiting and judged by its descriptor: a FIFO or a link to /dev/zero is an
 * error, not an endless read. */

#include "digest.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/walk.h"
#include "copy.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECES       8
#define PIECE_BYTES  (256 << 10)
#define THREAD_FILES 32 /* from as many files on */

struct piece {
    unsigned char *bytes;
    size_t len;
};

struct stream {
    int folder;
    bool own_links;
    int64_t left; /* bytes that may still be read; -1: any */
    const char **paths;
    size_t count;
    struct piece pieces[PIECES];
    bool threaded;
    size_t filling; /* the piece being filled, without end */
    struct sha256 sha;
    /* Between the threads. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t filled, hashed; /* pieces so far */
    bool done;
};

/* ---- the list ---- */

struct listing {
    struct arena arena;
    const char **paths;
    size_t count, room;
};

static enum walk_next list_entry(void *user, const struct walk_entry *entry)
{
    struct listing *l = user;
    if (entry->type == DT_DIR)
        return WALK_CONTINUE;
    GROW(l->paths, l->count, l->room);
    l->paths[l->count++] = arena_memdup0(&l->arena, entry->path, entry->path_len);
    return WALK_CONTINUE;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- filling ---- */

/* The piece is full: it is hashed, here or by the other thread, and the next one is to be filled. */
static struct piece *next_piece(struct stream *s)
{
    struct piece *piece = &s->pieces[s->filling % PIECES];
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

static void add_bytes(struct stream *s, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    struct piece *piece = &s->pieces[s->filling % PIECES];
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

/* Up to the end of the file. A read that fills less than it could is the end: one call saved for each of many files. */
static int add_content(struct stream *s, int fd)
{
    for (;;) {
        struct piece *piece = &s->pieces[s->filling % PIECES];
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

/* Takes a link that is not read through. */
static bool take_link(struct stream *s, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(s->folder, path, target, sizeof(target) - 1);
    if (len < 0)
        return false;
    bool out = copy_leads_out(s->folder, path);
    struct stat st;
    if (!out && fstatat(s->folder, path, &st, 0) == 0 && S_ISREG(st.st_mode))
        return false;
    if (!out) {
        add_bytes(s, path, strlen(path) + 1);
        add_bytes(s, target, (size_t)len);
        add_bytes(s, "", 1);
    }
    return true;
}

static int add_file(struct stream *s, const char *path, struct err *err)
{
    if (s->own_links && take_link(s, path))
        return 0;
    CLEANUP(fd) int fd = openat(s->folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, errno, "cannot read %.200s", path);
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "cannot read %.200s: it is not a file", path);
        if (err)
            err->code = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    add_bytes(s, path, strlen(path) + 1);
    if (add_content(s, fd) < 0)
        return err_set_errno(err, errno, "cannot read %.200s", path);
    add_bytes(s, "", 1);
    return 0;
}

static int add_files(struct stream *s, struct err *err)
{
    for (size_t i = 0; i < s->count; i++)
        if (add_file(s, s->paths[i], err) < 0)
            return -1;
    return 0;
}

/* ---- hashing ---- */

static void *hash_pieces(void *user)
{
    struct stream *s = user;
    pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (s->hashed == s->filled && !s->done)
            pthread_cond_wait(&s->changed, &s->mutex);
        if (s->hashed == s->filled)
            break;
        const struct piece *piece = &s->pieces[s->hashed % PIECES];
        pthread_mutex_unlock(&s->mutex);
        sha256_add(&s->sha, piece->bytes, piece->len);
        pthread_mutex_lock(&s->mutex);
        s->hashed++;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static int run_stream(struct stream *s, struct err *err)
{
    pthread_t hasher;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->threaded = s->count >= THREAD_FILES && pthread_create(&hasher, NULL, hash_pieces, s) == 0;
    int status = add_files(s, err);
    if (s->threaded) {
        pthread_mutex_lock(&s->mutex);
        s->done = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(hasher, NULL);
    }
    const struct piece *last = &s->pieces[s->filling % PIECES]; /* what did not fill a piece any more */
    sha256_add(&s->sha, last->bytes, last->len);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    return status;
}

int digest_folder(int folder, bool own_links, int64_t bytes_max, char out[HASH_SHA256_HEX], struct err *err)
{
    struct listing list = {.arena = ARENA_INIT};
    static const struct walk_visitor visitor = {.entry = list_entry};
    struct walk_options options = {.order = WALK_ANY};
    int status = walk_tree(folder, "", &options, &visitor, &list, err);
    if (status == 0) {
        if (list.count)
            qsort(list.paths, list.count, sizeof(*list.paths), by_bytes);
        struct stream s = {.folder = folder,
                           .own_links = own_links,
                           .left = bytes_max > 0 ? bytes_max : -1,
                           .paths = list.paths,
                           .count = list.count};
        unsigned char *bytes = xmalloc((size_t)PIECES * PIECE_BYTES);
        for (size_t i = 0; i < PIECES; i++)
            s.pieces[i].bytes = bytes + i * PIECE_BYTES;
        sha256_init(&s.sha);
        status = run_stream(&s, err);
        sha256_hex(&s.sha, out);
        free(bytes);
    }
    free(list.paths);
    arena_release(&list.arena);
    return status;
}

int digest_path(const char *folder, char out[HASH_SHA256_HEX], struct err *err)
{
    CLEANUP(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot read the folder %.200s", folder);
    return digest_folder(fd, false, 0, out, err);
}
