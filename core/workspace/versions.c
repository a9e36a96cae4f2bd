/* Versioned artifacts: the rules for every store, then the store on disk (versions.h). */

#include "versions.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "mime.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\n\v\f\r")];
}

static int check(const struct versions *versions, const char *name, struct err *err)
{
    if (!versions)
        return err_set(err, "artifacts are off");
    if (is_blank(name))
        return err_set(err, "the artifact has no name");
    return 0;
}

int versions_save(struct versions *versions, const char *name, const void *bytes, size_t len, const char *mime,
                  int64_t *version, struct err *err)
{
    int64_t own;
    if (check(versions, name, err) < 0)
        return -1;
    return versions->ops->save(versions, name, bytes, len, is_blank(mime) ? MIME_BYTES : mime, version ? version : &own,
                               err);
}

int versions_load(struct versions *versions, const char *name, int64_t version, struct strbuf *out, char **mime,
                  int64_t *actual, struct err *err)
{
    if (check(versions, name, err) < 0)
        return -1;
    char *own_mime = NULL;
    int64_t own_actual;
    int status = versions->ops->load(versions, name, version, out, &own_mime, actual ? actual : &own_actual, err);
    if (mime)
        *mime = status < 0 ? NULL : own_mime;
    else
        free(own_mime);
    return status;
}

int versions_list(struct versions *versions, const char *name, int64_t **list, size_t *count, struct err *err)
{
    *list = NULL;
    *count = 0;
    return check(versions, name, err) < 0 ? -1 : versions->ops->list(versions, name, list, count, err);
}

int versions_remove(struct versions *versions, const char *name, struct err *err)
{
    return check(versions, name, err) < 0 ? -1 : versions->ops->remove(versions, name, err);
}

void versions_free(struct versions *versions)
{
    if (versions)
        versions->ops->free(versions);
}

int versions_parse_ref(const char *ref, char **name, int64_t *version, struct err *err)
{
    const char *at = strrchr(ref, '@');
    const char *digits = at ? at + 1 : "";
    *name = NULL;
    *version = VERSIONS_NEWEST;
    if (!*digits || digits[strspn(digits, "0123456789")]) {
        *name = xstrdup(ref);
        return 0;
    }
    int64_t number = 0;
    for (; *digits; digits++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *digits - '0', &number))
            return err_set(err, "invalid artifact ref: %.200s: invalid version", ref);
    CLEANUP(free) char *before = xmemdup0(ref, (size_t)(at - ref));
    if (is_blank(before))
        return err_set(err, "invalid artifact ref: %.200s: it has no name", ref);
    *name = steal(&before);
    *version = number;
    return 0;
}

/* ---- on disk ---- */

/* Artifacts on disk: projects/<project>/<name>/<number>. Project and name are digests, because both may contain
 * anything; the files `project` and `name` beside them have the plain texts. Before there were projects, the folder of
 * a name was directly in the base. A version is the file `<number>`: the type, a NUL, the content. It is written to a
 * temporary file and then linked to the first free number. So a version is complete or absent, and two programs that
 * save at once get two versions. */

#define FOLDER_MODE 0700
#define FILE_MODE   0600

#define DIGEST_CHARS 32

struct disk {
    struct versions base;
    char *folder; /* of the project */
    char *project;
};

static char *folder_named(const char *in, const char *name)
{
    char digest[HASH_SHA256_HEX];
    hash_sha256(name, strlen(name), digest);
    return xasprintf("%s/%.*s", in, DIGEST_CHARS, digest);
}

static char *folder_of(const struct versions *self, const char *name)
{
    return folder_named(CONTAINER_OF(self, struct disk, base)->folder, name);
}

/* Writes the plain text of a folder's name, once. */
static int label(const char *folder, const char *file, const char *text, struct err *err)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", folder, file);
    struct stat st;
    return stat(path, &st) < 0 ? file_replace(path, text, strlen(text), FILE_MODE, err) : 0;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A number as we write them, or -1. */
static int64_t version_of(const char *name)
{
    char back[24], *end;
    errno = 0;
    int64_t number = strtoll(name, &end, 10);
    snprintf(back, sizeof(back), "%" PRId64, number);
    return errno == 0 && strcmp(back, name) == 0 ? number : -1;
}

static int disk_list(struct versions *self, const char *name, int64_t **list, size_t *count, struct err *err)
{
    CLEANUP(free) char *folder = folder_of(self, name);
    size_t room = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT ? 0 : err_set_errno(err, errno, "cannot list the versions of %.200s", name);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        int64_t version = version_of(entry->d_name);
        if (version < 0)
            continue;
        GROW(*list, *count, room);
        (*list)[(*count)++] = version;
    }
    closedir(dir);
    if (*count)
        qsort(*list, *count, sizeof(**list), by_number);
    return 0;
}

static int newest(struct versions *self, const char *name, int64_t *version, struct err *err)
{
    CLEANUP(free) int64_t *list = NULL;
    size_t count = 0;
    if (disk_list(self, name, &list, &count, err) < 0)
        return -1;
    *version = count ? list[count - 1] : VERSIONS_NEWEST;
    return 0;
}

/* Gives the temporary the first free number from `version` on. 0, or -1 with errno. */
static int place(int dir, const char *temp, int64_t *version)
{
    for (;; ++*version) {
        char number[24];
        snprintf(number, sizeof(number), "%" PRId64, *version);
        if (linkat(dir, temp, dir, number, 0) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
}

static int write_version(int dir, const void *bytes, size_t len, const char *mime, int64_t *version)
{
    static _Atomic unsigned counter;
    char temp[64];
    snprintf(temp, sizeof(temp), ".%ld-%u.tmp", (long)getpid(), counter++);
    CLEANUP(fd) int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return -1;
    int status = file_write_all(fd, mime, strlen(mime) + 1) < 0 || file_write_all(fd, bytes, len) < 0 || fsync(fd) < 0
                     ? -1
                     : place(dir, temp, version);
    int code = errno;
    unlinkat(dir, temp, 0);
    errno = code;
    return status;
}

static int disk_save(struct versions *self, const char *name, const void *bytes, size_t len, const char *mime,
                     int64_t *version, struct err *err)
{
    const struct disk *d = CONTAINER_OF(self, struct disk, base);
    CLEANUP(free) char *folder = folder_of(self, name);
    if (file_mkdirs(folder, FOLDER_MODE, err) < 0 || newest(self, name, version, err) < 0)
        return -1;
    if (label(d->folder, "project", d->project, err) < 0 || label(folder, "name", name, err) < 0)
        return -1;
    ++*version;
    CLEANUP(fd) int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || write_version(dir, bytes, len, mime, version) < 0 || fsync(dir) < 0)
        return err_set_errno(err, errno, "cannot save the artifact %.200s", name);
    return 0;
}

static int disk_load(struct versions *self, const char *name, int64_t version, struct strbuf *out, char **mime,
                     int64_t *actual, struct err *err)
{
    CLEANUP(free) char *folder = folder_of(self, name);
    CLEANUP(strbuf) struct strbuf file = STRBUF_INIT;
    struct err own = ERR_INIT;
    bool any = version == VERSIONS_NEWEST;
    if (any && newest(self, name, &version, err) < 0)
        return -1;
    if (version == VERSIONS_NEWEST)
        return err_set(err, "artifact not found: %.200s", name);
    CLEANUP(free) char *path = xasprintf("%s/%" PRId64, folder, version);
    if (file_read(path, &file, 0, &own) < 0) {
        if (own.code == ENOENT)
            return err_set(err, "artifact not found: %.200s has no version %" PRId64, name, version);
        if (err)
            *err = own;
        return -1;
    }
    const char *end = memchr(file.buf, '\0', file.len);
    if (!end)
        return err_set(err, "the artifact %.200s is damaged: %.200s has no type", name, path);
    *mime = xstrdup(file.buf);
    *actual = version;
    strbuf_add(out, end + 1, file.len - (size_t)(end + 1 - file.buf));
    return 0;
}

static int disk_remove(struct versions *self, const char *name, struct err *err)
{
    CLEANUP(free) char *folder = folder_of(self, name);
    return file_remove_tree(folder, err);
}

static void disk_free(struct versions *self)
{
    struct disk *d = CONTAINER_OF(self, struct disk, base);
    free(d->folder);
    free(d->project);
    free(d);
}

static const struct versions_ops disk_ops = {disk_save, disk_load, disk_list, disk_remove, disk_free};

struct versions *versions_on_disk(const char *folder, const char *project)
{
    struct disk *d = xcalloc(1, sizeof(*d));
    CLEANUP(free) char *projects = xasprintf("%s/projects", folder);
    d->base.ops = &disk_ops;
    d->folder = folder_named(projects, project);
    d->project = xstrdup(project);
    return &d->base;
}

/* ---- older than projects ---- */

/* The newest change in the folder of a name; INT64_MAX if it is no such folder. */
static int64_t changed_us(const char *folder)
{
    CLEANUP(free) char *name = xasprintf("%s/name", folder);
    struct stat st;
    int64_t newest_us = 0;
    DIR *dir = lstat(name, &st) == 0 && S_ISREG(st.st_mode) ? opendir(folder) : NULL;
    if (!dir)
        return INT64_MAX;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_mtim.tv_sec * INT64_C(1000000) > newest_us)
            newest_us = st.st_mtim.tv_sec * INT64_C(1000000);
    closedir(dir);
    return newest_us;
}

void versions_remove_old(const char *folder, int64_t now_us)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, entry->d_name);
        struct err err = ERR_INIT;
        if (strlen(entry->d_name) != DIGEST_CHARS || strspn(entry->d_name, "0123456789abcdef") != DIGEST_CHARS)
            continue;
        int64_t kept_us = changed_us(path);
        if (kept_us < now_us - VERSIONS_OLD_DAYS * INT64_C(86400000000) && file_remove_tree(path, &err) < 0)
            log_warn("cannot remove the old artifact %s: %s", path, err.text);
    }
    closedir(dir);
}
