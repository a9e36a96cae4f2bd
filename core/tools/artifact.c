/* Stores long outputs in files, and finds them again by id.
 *
 * One index is in memory, the contents are in files. The index can be rebuilt from the files: id and session are the
 * path, `created` is the modification time, size and summary come from the content. Only the tool's name is lost.
 *
 * The folders belong to Keyturn alone, and every step below the base uses openat with O_NOFOLLOW from a descriptor, so
 * no link can redirect it. Files are written and read without the lock; it guards the index only. */

#include "artifact.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>

#define ID_HEX        16
#define ID_LEN        (4 + ID_HEX) /* art_… */
#define NAME_LEN      (ID_LEN + 4) /* ….txt */
#define SESSION_CHARS 120
#define SUMMARY_BYTES (4 * ARTIFACT_SUMMARY_CHARS)
#define TRIES         8

struct artifact_store {
    struct clock *clock;
    char *base;
    int base_fd;
    pthread_mutex_t lock; /* guards the fields below */
    struct artifact **items;
    size_t count, room;
    int64_t next_expiry_us; /* no artifact expires before */
};

void artifact_free(struct artifact *artifact)
{
    if (!artifact)
        return;
    free(artifact->id);
    free(artifact->session);
    free(artifact->path);
    free(artifact->tool);
    free(artifact->summary);
    free(artifact);
}

static struct artifact *copy_artifact(const struct artifact *from)
{
    struct artifact *copy = xmalloc(sizeof(*copy));
    *copy = *from;
    copy->id = xstrdup(from->id);
    copy->session = xstrdup(from->session);
    copy->path = xstrdup(from->path);
    copy->tool = xstrdup(from->tool);
    copy->summary = xstrdup(from->summary);
    return copy;
}

/* A folder name that cannot leave the base, whatever the id is. */
static char *clean_session(const char *session)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    char *name =
        xmemdup0(session && *session ? session : "_", session && *session ? strnlen(session, SESSION_CHARS) : 1);
    for (char *at = name + strspn(name, good); *at; at += strspn(at, good))
        *at = '_';
    return name;
}

static bool good_id(const char *id)
{
    return id && strlen(id) == ID_LEN && strncmp(id, "art_", 4) == 0 && strspn(id + 4, "0123456789abcdef") == ID_HEX;
}

static bool make_id(char id[ID_LEN + 1])
{
    unsigned char random[ID_HEX / 2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    memcpy(id, "art_", 4);
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(id + 4 + 2 * i, 3, "%02x", random[i]);
    return true;
}

static char *make_summary(const char *content, size_t len)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    utf8_scrub(&text, content, utf8_prefix(content, len, ARTIFACT_SUMMARY_CHARS));
    for (size_t i = 0; i < text.len; i++)
        if (text.buf[i] == '\n' || text.buf[i] == '\r' || text.buf[i] == '\0')
            text.buf[i] = ' ';
    return strbuf_detach(&text, NULL);
}

static struct artifact *new_artifact(const struct artifact_store *store, const char *id, const char *session,
                                     const char *tool)
{
    struct artifact *artifact = xcalloc(1, sizeof(*artifact));
    artifact->id = xstrdup(id);
    artifact->session = xstrdup(session);
    artifact->path = xasprintf("%s/%s/%s.txt", store->base, session, id);
    artifact->tool = xstrdup(tool ? tool : "");
    artifact->ttl_s = ARTIFACT_TTL_S;
    return artifact;
}

static int64_t expiry_us(const struct artifact *artifact)
{
    return artifact->created_us + artifact->ttl_s * 1000000;
}

static int64_t wall_us(const struct artifact_store *store)
{
    return store->clock->wall_us(store->clock);
}

/* The index; all with the lock held. */

static void add_item(struct artifact_store *store, struct artifact *take_artifact)
{
    GROW(store->items, store->count, store->room);
    store->items[store->count++] = take_artifact;
    if (expiry_us(take_artifact) < store->next_expiry_us)
        store->next_expiry_us = expiry_us(take_artifact);
}

static size_t find_item(const struct artifact_store *store, const char *id)
{
    size_t i = 0;
    while (i < store->count && strcmp(store->items[i]->id, id) != 0)
        i++;
    return i;
}

static void unlink_file(const struct artifact_store *store, const struct artifact *artifact)
{
    char name[SESSION_CHARS + NAME_LEN + 2];
    snprintf(name, sizeof(name), "%s/%s.txt", artifact->session, artifact->id);
    if (unlinkat(store->base_fd, name, 0) && errno != ENOENT)
        log_warn("cannot remove the artifact %s: %s", artifact->path, strerrordesc_np(errno));
}

static void drop_item(struct artifact_store *store, size_t index)
{
    unlink_file(store, store->items[index]);
    artifact_free(store->items[index]);
    store->items[index] = store->items[--store->count];
}

static void drop_expired(struct artifact_store *store)
{
    int64_t now_us = wall_us(store);
    if (now_us < store->next_expiry_us)
        return;
    store->next_expiry_us = INT64_MAX;
    for (size_t i = store->count; i-- > 0;)
        if (expiry_us(store->items[i]) <= now_us)
            drop_item(store, i);
    for (size_t i = 0; i < store->count; i++)
        if (expiry_us(store->items[i]) < store->next_expiry_us)
            store->next_expiry_us = expiry_us(store->items[i]);
}

/* ---- opening ---- */

static bool is_artifact_name(const char *name, char id[ID_LEN + 1])
{
    if (strlen(name) != NAME_LEN || strcmp(name + ID_LEN, ".txt") != 0)
        return false;
    memcpy(id, name, ID_LEN);
    id[ID_LEN] = '\0';
    return good_id(id);
}

/* Adds one file of a session's folder to the index. */
static void scan_file(struct artifact_store *store, int dir_fd, const char *session, const char *name)
{
    char id[ID_LEN + 1];
    struct stat st;
    if (!is_artifact_name(name, id))
        return;
    CLEANUP(fd) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return;
    char head[SUMMARY_BYTES];
    ssize_t len = pread(fd, head, sizeof(head), 0);
    struct artifact *artifact = new_artifact(store, id, session, "");
    artifact->summary = make_summary(head, len > 0 ? (size_t)len : 0);
    artifact->size = (uint64_t)st.st_size;
    artifact->created_us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
    add_item(store, artifact);
}

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (!dir)
        close(fd);
    return dir;
}

/* A folder with nothing but expired artifacts is removed too. Others are not touched: they may not be ours. */
static void scan_session(struct artifact_store *store, const char *session)
{
    CLEANUP(free) char *clean = clean_session(session);
    struct stat st;
    if (strcmp(clean, session) != 0)
        return;
    DIR *dir = open_dir(store->base_fd, session);
    if (!dir)
        return;
    if (fstat(dirfd(dir), &st) == 0 && st.st_uid == geteuid())
        for (struct dirent *entry; (entry = readdir(dir));)
            scan_file(store, dirfd(dir), session, entry->d_name);
    closedir(dir);
    size_t before = store->count;
    drop_expired(store);
    if (store->count < before)
        unlinkat(store->base_fd, session, AT_REMOVEDIR);
}

static void scan_base(struct artifact_store *store)
{
    DIR *dir = open_dir(store->base_fd, ".");
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            scan_session(store, entry->d_name);
    closedir(dir);
}

static int open_base(struct artifact_store *store, const char *base, struct err *err)
{
    struct stat st;
    if (file_mkdirs(base, 0700, err))
        return -1;
    store->base_fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->base_fd < 0 || fstat(store->base_fd, &st)) {
        if (errno == ELOOP || errno == ENOTDIR)
            return err_set(err, "%s is not a private folder", base);
        return err_set_errno(err, errno, "cannot open %s", base);
    }
    if (st.st_uid != geteuid())
        return err_set(err, "%s belongs to another user", base);
    /* Not simply set to 0700: the configuration may name a folder that has other uses. */
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(err, "others can write to %s", base);
    store->base = realpath(base, NULL);
    return store->base ? 0 : err_set_errno(err, errno, "cannot find %s", base);
}

struct artifact_store *artifact_store_open(const char *base, struct clock *clock, struct err *err)
{
    CLEANUP(free) char *cache = base ? NULL : file_xdg_path(FILE_CACHE, "artifacts");
    struct artifact_store *store = xcalloc(1, sizeof(*store));
    store->clock = clock;
    store->base_fd = -1;
    store->next_expiry_us = INT64_MAX;
    pthread_mutex_init(&store->lock, NULL);
    if (open_base(store, base ? base : cache, err)) {
        artifact_store_close(store);
        return NULL;
    }
    scan_base(store);
    return store;
}

const char *artifact_store_folder(const struct artifact_store *store)
{
    return store->base;
}

char *artifact_file(const char *base, const char *id)
{
    CLEANUP(free) char *cache = base ? NULL : file_xdg_path(FILE_CACHE, "artifacts");
    char *found = NULL;
    base = base ? base : cache;
    DIR *dir = good_id(id) ? open_dir(AT_FDCWD, base) : NULL;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        CLEANUP(free) char *path = xasprintf("%s/%s/%s.txt", base, entry->d_name, id);
        struct stat st;
        if (entry->d_name[0] != '.' && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            found = steal(&path);
    }
    if (dir)
        closedir(dir);
    return found;
}

void artifact_store_close(struct artifact_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        artifact_free(store->items[i]);
    free(store->items);
    free(store->base);
    if (store->base_fd >= 0)
        close(store->base_fd);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- storing and reading ---- */

static int open_session(const struct artifact_store *store, const char *session)
{
    if (mkdirat(store->base_fd, session, 0700) && errno != EEXIST)
        return -1;
    return openat(store->base_fd, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Creates a file with a new name in the session's folder. Tries again if another program removed the empty folder
 * between the two steps or, once in 2^64, if the name is taken. */
static int create_file(const struct artifact_store *store, const char *session, char id[ID_LEN + 1], int *dir)
{
    for (int i = 0; i < TRIES; i++) {
        char name[NAME_LEN + 1];
        if (!make_id(id))
            return -1;
        snprintf(name, sizeof(name), "%s.txt", id);
        *dir = open_session(store, session);
        if (*dir >= 0) {
            int fd = openat(*dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            if (fd >= 0)
                return fd;
            int code = errno;
            close(*dir);
            errno = code;
        }
        if (errno != ENOENT && errno != EEXIST)
            return -1;
    }
    return -1;
}

struct artifact_writer {
    struct artifact_store *store;
    struct artifact *artifact; /* in the index, once it is complete */
    int dir, fd;
    struct strbuf head; /* for the summary */
    bool failed;
};

struct artifact_writer *artifact_store_begin(struct artifact_store *store, const char *session, const char *tool)
{
    CLEANUP(free) char *clean = clean_session(session);
    char id[ID_LEN + 1];
    int dir, fd = create_file(store, clean, id, &dir);
    if (fd < 0) {
        log_warn("cannot store the output of %s: %s", clean, strerrordesc_np(errno));
        return NULL;
    }
    struct artifact_writer *writer = xcalloc(1, sizeof(*writer));
    *writer = (struct artifact_writer){
        .store = store, .artifact = new_artifact(store, id, clean, tool), .dir = dir, .fd = fd};
    strbuf_init(&writer->head);
    return writer;
}

void artifact_writer_add(struct artifact_writer *writer, const char *content, size_t len)
{
    size_t room = SUMMARY_BYTES - writer->head.len;
    if (writer->failed)
        return;
    strbuf_add(&writer->head, content, len < room ? len : room);
    writer->artifact->size += len;
    writer->failed = file_write_all(writer->fd, content, len) != 0;
    if (writer->failed)
        log_warn("cannot store the artifact %s: %s", writer->artifact->path, strerrordesc_np(errno));
}

static void free_writer(struct artifact_writer *writer)
{
    close(writer->fd);
    close(writer->dir);
    strbuf_release(&writer->head);
    free(writer);
}

void artifact_writer_drop(struct artifact_writer *take_writer)
{
    struct artifact_writer *writer = take_writer;
    if (!writer)
        return;
    unlink_file(writer->store, writer->artifact);
    artifact_free(writer->artifact);
    free_writer(writer);
}

struct artifact *artifact_writer_end(struct artifact_writer *take_writer)
{
    struct artifact_writer *writer = take_writer;
    struct artifact_store *store = writer->store;
    struct artifact *artifact = writer->artifact;
    int64_t created_us = artifact->created_us = wall_us(store);
    struct timespec created = {created_us / 1000000, created_us % 1000000 * 1000};
    if (writer->failed || futimens(writer->fd, (struct timespec[]){created, created})) {
        artifact_writer_drop(writer);
        return NULL;
    }
    artifact->summary = make_summary(writer->head.buf, writer->head.len);
    struct artifact *copy = copy_artifact(artifact);
    pthread_mutex_lock(&store->lock);
    drop_expired(store);
    add_item(store, artifact);
    pthread_mutex_unlock(&store->lock);
    free_writer(writer);
    return copy;
}

struct artifact *artifact_store_put(struct artifact_store *store, const char *session, const char *tool,
                                    const char *content, size_t len)
{
    struct artifact_writer *writer = artifact_store_begin(store, session, tool);
    if (!writer)
        return NULL;
    artifact_writer_add(writer, content, len);
    return artifact_writer_end(writer);
}

struct artifact *artifact_store_find(struct artifact_store *store, const char *session, const char *id)
{
    CLEANUP(free) char *clean = clean_session(session);
    if (!good_id(id))
        return NULL;
    pthread_mutex_lock(&store->lock);
    drop_expired(store);
    size_t index = find_item(store, id);
    bool own = index < store->count && strcmp(store->items[index]->session, clean) == 0;
    struct artifact *copy = own ? copy_artifact(store->items[index]) : NULL;
    pthread_mutex_unlock(&store->lock);
    return copy;
}

static int open_file(const struct artifact_store *store, const struct artifact *artifact)
{
    CLEANUP(fd) int dir = openat(store->base_fd, artifact->session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 ? -1 : openat(dir, strrchr(artifact->path, '/') + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

bool artifact_store_get(struct artifact_store *store, const char *session, const char *id, struct strbuf *out)
{
    struct artifact *artifact = artifact_store_find(store, session, id);
    if (!artifact)
        return false;
    size_t before = out->len;
    CLEANUP(fd) int fd = open_file(store, artifact);
    bool gone = fd < 0 && errno == ENOENT;
    bool whole = fd >= 0 && strbuf_read(out, fd, 0) == 0;
    artifact_free(artifact);
    if (whole)
        return true;
    strbuf_set_len(out, before);
    pthread_mutex_lock(&store->lock);
    size_t index = find_item(store, id);
    if (gone && index < store->count)
        drop_item(store, index);
    pthread_mutex_unlock(&store->lock);
    return false;
}

size_t artifact_store_count(struct artifact_store *store, const char *session)
{
    CLEANUP(free) char *clean = session ? clean_session(session) : NULL;
    size_t count = 0;
    pthread_mutex_lock(&store->lock);
    drop_expired(store);
    for (size_t i = 0; i < store->count; i++)
        count += !clean || strcmp(store->items[i]->session, clean) == 0;
    pthread_mutex_unlock(&store->lock);
    return count;
}

size_t artifact_store_cleanup(struct artifact_store *store, const char *session)
{
    CLEANUP(free) char *clean = clean_session(session);
    size_t count = 0;
    pthread_mutex_lock(&store->lock);
    for (size_t i = store->count; i-- > 0;)
        if (strcmp(store->items[i]->session, clean) == 0) {
            drop_item(store, i);
            count++;
        }
    unlinkat(store->base_fd, clean, AT_REMOVEDIR);
    pthread_mutex_unlock(&store->lock);
    return count;
}
