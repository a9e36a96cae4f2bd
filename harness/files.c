/* Checks, packs and places the files of a request. A packed file is struct packed, its path with its NUL, and its
 * bytes. */

#include "files.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct packed {
    uint32_t path_len, len;
    uint32_t executable;
};

/* ---- reading ---- */

static bool is_below(const char *path)
{
    for (const char *part = path;; part++) {
        size_t len = strcspn(part, "/");
        if (len == 0 || (len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += len;
        if (!*part)
            return true;
    }
}

static int parse_file(struct request_file *file, struct arena *arena, const struct json *item, struct err *err)
{
    const struct json *path = json_get(item, "path"), *text = json_get(item, "base64");
    if (!path || path->type != JSON_STRING || !text || text->type != JSON_STRING)
        return err_set(err, "files must be a list of objects with path and base64");
    if (path->len >= PATH_MAX || !is_below(path->text))
        return err_set(err, "files: %.200s does not lie below the workspace", path->text);
    char *bytes = arena_alloc(arena, BASE64_ROOM(text->len));
    if (!base64_read(bytes, &file->len, text->text, text->len))
        return err_set(err, "files: the content of %.200s is not base64", path->text);
    file->path = path->text;
    file->bytes = bytes;
    file->executable = json_bool(json_get(item, "executable"), false);
    return 0;
}

int files_parse(const struct request_file **files, size_t *count, struct arena *arena, const struct json *list,
                struct err *err)
{
    struct request_file *parsed;
    if (!list || list->type == JSON_NULL)
        return 0;
    if (list->type != JSON_ARRAY)
        return err_set(err, "files must be a list, not %s", json_type_name(list->type));
    if (list->count > FILES_MAX)
        return err_set(err, "files: %u are too many (at most %d)", list->count, FILES_MAX);
    parsed = arena_calloc(arena, list->count ? list->count : 1, sizeof(*parsed));
    json_each (item, list) {
        if (parse_file(&parsed[*count], arena, item, err) < 0)
            return -1;
        ++*count;
    }
    *files = parsed;
    return 0;
}

void files_pack(struct strbuf *out, const struct request_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct packed head = {(uint32_t)strlen(files[i].path), (uint32_t)files[i].len, files[i].executable};
        strbuf_add(out, &head, sizeof(head));
        strbuf_add(out, files[i].path, (size_t)head.path_len + 1);
        strbuf_add(out, files[i].bytes, files[i].len);
    }
}

/* ---- placing ---- */

/* Creates the parent folders of the file. */
static int make_folders(const char *path)
{
    CLEANUP(free) char *folder = xstrdup(path);
    for (char *slash = folder; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(folder, 0755) < 0 && errno != EEXIST)
            return -1;
    }
    return 0;
}

static int write_file(const char *path, const char *bytes, size_t len, bool executable)
{
    CLEANUP(fd) int fd = -1;
    if (make_folders(path) < 0)
        return -1;
    /* The file is read-only from the start. This descriptor can write all the same, because open checks only existing
     * files. */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, executable ? 0555 : 0444);
    if (fd < 0)
        return -1;
    while (len) {
        ssize_t count = write(fd, bytes, len);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        bytes += count;
        len -= (size_t)count;
    }
    return 0;
}

int files_place(const char *packed, size_t len, struct err *err)
{
    for (const char *at = packed, *end = packed + len; at < end;) {
        struct packed head;
        const char *path = at + sizeof(head);
        memcpy(&head, at, sizeof(head)); /* the head may be unaligned: paths and contents have any length */
        at = path + head.path_len + 1 + head.len;
        if (write_file(path, path + head.path_len + 1, head.len, head.executable) < 0)
            return err_set_errno(err, errno, "Cannot write the file %.200s into the workspace", path);
    }
    return 0;
}

/* Returns true if a file system in memory belongs to the workspace alone; fills in `size`. */
static bool is_own(const char *path, struct statfs *size)
{
    CLEANUP(free) char *above = xasprintf("%s/..", path);
    struct stat here, there;
    return stat(path, &here) == 0 && stat(above, &there) == 0 && here.st_dev != there.st_dev &&
           statfs(path, size) == 0 && (unsigned long)size->f_type == TMPFS_MAGIC && size->f_blocks > 0;
}

uint64_t workspace_bound_mb(const char *path)
{
    struct statfs size;
    return is_own(path, &size) ? (uint64_t)size.f_blocks * (uint64_t)size.f_bsize >> 20 : 0;
}

uint64_t workspace_files(const char *path)
{
    struct statfs size;
    return is_own(path, &size) && size.f_files >= size.f_ffree ? size.f_files - size.f_ffree : 0;
}
