/* The file of the metadata, and the lock.
 *
 * The lock has two halves. Threads of this program wait for each other in a table by device and inode, because a lock
 * on a file belongs to whoever opened it. Other programs are kept out by a lock on the root folder itself, which leaves
 * no file behind. A program in the workspace could take that one and keep it, so we wait for it only so long.
 *
 * The file is not synced: after a power cut it may be old or empty, which reads as a workspace that is not known, and
 * nothing else hangs on it. */

#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "layout.h"
#include "metadata.h"
#include "sandbox/user.h"
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_PATIENCE_MS 2000
#define LOCK_PAUSE_MS    2

/* ---- temporaries: .metadata.<pid>.<ns>.<counter>.<16 hex or norand>.tmp ---- */

#define TEMP_PREFIX    ".metadata."
#define TEMP_SUFFIX    ".tmp"
#define TEMP_LEGACY    ".metadata.tmp"
#define TEMP_NO_RANDOM "norand"
#define TEMP_HEX       16
#define TEMP_NAME_MAX  128

static void name_temp(struct clock *clock, char out[TEMP_NAME_MAX])
{
    static atomic_uint_fast64_t counter;
    uint64_t random;
    char suffix[TEMP_HEX + 1] = TEMP_NO_RANDOM;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random))
        snprintf(suffix, sizeof(suffix), "%016" PRIx64, random);
    snprintf(out, TEMP_NAME_MAX, TEMP_PREFIX "%ld.%" PRId64 "000.%" PRIuFAST64 ".%s" TEMP_SUFFIX, (long)getpid(),
             clock->wall_us(clock), atomic_fetch_add(&counter, 1) + 1, suffix);
}

/* A number above 0 that fits 64 bits, and the dot behind it. */
static const char *skip_number(const char *at)
{
    uint64_t number = 0;
    const char *begin = at;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return NULL;
    return at > begin && number > 0 && *at == '.' ? at + 1 : NULL;
}

bool metadata_is_temp(const char *path)
{
    if (strcmp(path, TEMP_LEGACY) == 0)
        return true;
    if (strncmp(path, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0)
        return false;
    const char *at = path + strlen(TEMP_PREFIX);
    for (int i = 0; i < 3; i++)
        if (!(at = skip_number(at)))
            return false;
    if (strncmp(at, TEMP_NO_RANDOM, strlen(TEMP_NO_RANDOM)) == 0)
        return strcmp(at + strlen(TEMP_NO_RANDOM), TEMP_SUFFIX) == 0;
    return strspn(at, "0123456789abcdef") == TEMP_HEX && strcmp(at + TEMP_HEX, TEMP_SUFFIX) == 0;
}

/* ---- the lock ---- */

struct lock {
    dev_t dev;
    ino_t ino;
    int refs;
    bool held;
    struct lock *next;
};
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t locks_freed = PTHREAD_COND_INITIALIZER;
static struct lock *locks;

static struct lock *lock_threads(const struct stat *st)
{
    pthread_mutex_lock(&locks_mutex);
    struct lock *lock = locks;
    while (lock && (lock->dev != st->st_dev || lock->ino != st->st_ino))
        lock = lock->next;
    if (!lock) {
        lock = xcalloc(1, sizeof(*lock));
        *lock = (struct lock){.dev = st->st_dev, .ino = st->st_ino, .next = locks};
        locks = lock;
    }
    lock->refs++;
    while (lock->held)
        pthread_cond_wait(&locks_freed, &locks_mutex);
    lock->held = true;
    pthread_mutex_unlock(&locks_mutex);
    return lock;
}

static void unlock_threads(struct lock *lock)
{
    pthread_mutex_lock(&locks_mutex);
    lock->held = false;
    if (--lock->refs == 0) {
        struct lock **at = &locks;
        while (*at != lock)
            at = &(*at)->next;
        *at = lock->next;
        free(lock);
    }
    pthread_cond_broadcast(&locks_freed);
    pthread_mutex_unlock(&locks_mutex);
}

static int lock_programs(const struct beneath *root, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    for (int waited = 0; flock(beneath_fd(root), LOCK_EX | LOCK_NB) < 0; waited += LOCK_PAUSE_MS) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return err_set_errno(err, errno, "cannot lock %s", beneath_path(root));
        if (waited >= LOCK_PATIENCE_MS)
            return err_set(err,
                           "a program holds a lock on its workspace (flock); it has to end before this can be done");
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* ---- the file ---- */

/* What a program shuts, leads elsewhere or replaces by something that is no file is as good as spoilt. */
static bool is_spoilt(int code)
{
    return code == EACCES || code == EISDIR || code == EINVAL || code == ENXIO || code == EXDEV || code == ELOOP ||
           code == ENOTDIR;
}

int metadata_load(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err own = ERR_INIT;
    int status = beneath_read(root, LAYOUT_METADATA, &text, METADATA_BYTES_MAX, NULL, &own);
    if (status == 0) {
        status = metadata_parse(md, text.buf, text.len, &own);
        if (status == 0)
            return 0;
        metadata_release(md);
    } else if (own.code == EFBIG) {
        err_set(&own, LAYOUT_METADATA " is corrupt: more than %d bytes", METADATA_BYTES_MAX);
        own.code = METADATA_CORRUPT;
    } else if (is_spoilt(own.code)) {
        own.code = METADATA_CORRUPT;
    }
    metadata_init(md, clock);
    if (status < 0 && own.code == ENOENT)
        return 0;
    if (err)
        *err = own;
    return -1;
}

int metadata_save(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    char now[METADATA_STAMP_MAX], temp[TEMP_NAME_MAX];
    int dir = beneath_fd(root);
    metadata_stamp(clock, now);
    md->updated_at = arena_strdup(&md->arena, now);
    metadata_write(md, &text);
    json_make_printable(&text, 0);
    name_temp(clock, temp);
    CLEANUP(fd) int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, METADATA_MODE);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write " LAYOUT_METADATA);
    if (!sandbox_user_give(dir, fd) || fchmod(fd, METADATA_MODE) < 0 || file_write_all(fd, text.buf, text.len) < 0 ||
        renameat(dir, temp, dir, LAYOUT_METADATA) < 0) {
        err_set_errno(err, errno, "cannot write " LAYOUT_METADATA);
        unlinkat(dir, temp, 0);
        return -1;
    }
    return 0;
}

int metadata_ensure(const struct beneath *root, struct clock *clock, struct err *err)
{
    struct stat st;
    struct err own = ERR_INIT;
    if (beneath_lstat(root, LAYOUT_METADATA, &st, &own) == 0)
        return 0;
    if (own.code != ENOENT) {
        if (err)
            *err = own;
        return -1;
    }
    CLEANUP(metadata) struct metadata md;
    metadata_init(&md, clock);
    return metadata_save(root, clock, &md, err);
}

/* Under both halves of the lock. */
static int update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                  void *user, struct err *err)
{
    CLEANUP(metadata) struct metadata md;
    struct err own = ERR_INIT;
    char now[METADATA_STAMP_MAX];
    if (metadata_load(root, clock, &md, &own) < 0 && own.code != METADATA_CORRUPT) {
        if (err)
            *err = own;
        return -1;
    }
    metadata_stamp(clock, now);
    md.last_access = arena_strdup(&md.arena, now);
    change(&md, user);
    return metadata_save(root, clock, &md, err);
}

int metadata_update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                    void *user, struct err *err)
{
    struct stat st;
    if (fstat(beneath_fd(root), &st) < 0)
        return err_set_errno(err, errno, "%s", beneath_path(root));
    struct lock *lock = lock_threads(&st);
    int status = lock_programs(root, err);
    if (status == 0) {
        status = update(root, clock, change, user, err);
        flock(beneath_fd(root), LOCK_UN);
    }
    unlock_threads(lock);
    return status;
}
