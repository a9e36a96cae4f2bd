/* Files and folders. Inputs, which come from elsewhere by name, are in stage_inputs.c. */

#include "stage.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/tree.h"
#include "layout.h"
#include "lend.h"
#include "sandbox/user.h"
#include "stage_inside.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\n\v\f\r")];
}

int64_t stage_room(const struct workspace *ws)
{
    if (ws->policy.max_disk_bytes <= 0)
        return -1;
    int64_t used = workspace_disk_used(ws);
    return used < ws->policy.max_disk_bytes ? ws->policy.max_disk_bytes - used : 0;
}

/* ---- the way ---- */

/* Makes what is missing of the path, each folder beneath its parent's descriptor, and opens the last. Not synced,
 * unlike what beneath_parent makes: a workspace does not outlive a power cut. */
static int make_folders(const struct beneath *root, char *path, struct err *err)
{
    int above = beneath_openat(root, ".", O_RDONLY | O_DIRECTORY, 0, err);
    for (char *part = path; above >= 0;) {
        char *end = part + strcspn(part, "/"), kept = *end;
        struct err own = ERR_INIT;
        *end = '\0';
        /* From the root each time: a link to a sibling is fine from there, but would escape from `above`. */
        int fd = beneath_openat(root, path, O_RDONLY | O_DIRECTORY, 0, &own);
        if (fd < 0 && own.code == ENOENT && (mkdirat(above, part, LAYOUT_DIR_MODE) == 0 || errno == EEXIST)) {
            fd = beneath_openat(root, path, O_RDONLY | O_DIRECTORY, 0, &own);
            if (fd >= 0)
                sandbox_user_give(above, fd); /* else programs find it read-only, and say so */
        }
        *end = kept;
        close(above);
        above = fd;
        if (fd < 0)
            *err = own;
        if (!kept)
            break;
        part = end + 1;
    }
    return above;
}

int stage_open_folder(const struct workspace *ws, const char *to, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(ws->root, is_blank(to) ? "." : to, err);
    struct err own = ERR_INIT;
    if (!clean)
        return -1;
    int fd = beneath_openat(ws->root, clean, O_RDONLY | O_DIRECTORY, 0, &own);
    if (fd < 0 && own.code == ENOENT)
        fd = make_folders(ws->root, clean, &own);
    if (fd < 0 && err)
        *err = own;
    return fd;
}

int stage_open_parent(const struct workspace *ws, const char *path, char **name, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(ws->root, path, err);
    if (!clean)
        return -1;
    if (strcmp(clean, ".") == 0)
        return err_set(err, "%.300s is the workspace itself", path);
    char *slash = strrchr(clean, '/');
    if (slash)
        *slash = '\0';
    int fd = stage_open_folder(ws, slash ? clean : ".", err);
    if (fd >= 0)
        *name = xstrdup(slash ? slash + 1 : clean);
    return fd;
}

/* ---- files ---- */

static int write_beside(int folder, const char *name, const struct stage_file *file)
{
    static atomic_uint counter;
    char temp[64];
    snprintf(temp, sizeof(temp), ".keyturn-stage-%ld-%u.tmp", (long)getpid(), atomic_fetch_add(&counter, 1));
    CLEANUP(fd) int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (!sandbox_user_give(folder, fd) || file_write_all(fd, file->bytes, file->len) < 0 ||
        fchmod(fd, file->mode ? file->mode & 0777 : STAGE_FILE_MODE) < 0 || renameat(folder, temp, folder, name) < 0) {
        int code = errno;
        unlinkat(folder, temp, 0);
        errno = code;
        return -1;
    }
    return 0;
}

int stage_put(struct workspace *ws, const struct stage_file *file, int64_t *left, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    if (is_blank(file->path))
        return err_set(err, "empty file path");
    if (*left >= 0 && file->len > (size_t)*left) {
        err_set(err, "cannot write %.300s: it has %zu bytes, and the workspace has room for %jd", file->path, file->len,
                (intmax_t)*left);
        if (err)
            err->code = EDQUOT;
        return -1;
    }
    CLEANUP(fd) int folder = stage_open_parent(ws, file->path, &name, err);
    if (folder < 0)
        return -1;
    if (write_beside(folder, name, file) < 0)
        return err_set_errno(err, errno, "cannot write %.300s", file->path);
    if (*left >= 0)
        *left -= (int64_t)file->len;
    return 0;
}

static int put_all(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err)
{
    int64_t left = stage_room(ws);
    for (size_t i = 0; i < count; i++)
        if (stage_put(ws, &files[i], &left, err) < 0)
            return -1;
    return 0;
}

int stage_files(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err)
{
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_FILES);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)count);
    return span_end(&span, put_all(ws, files, count, &own), &own, err);
}

/* ---- folders ---- */

static int copy_host_folder(struct workspace *ws, const char *src, const struct beneath *opened, const char *to,
                            struct tree_copy *copying, struct err *err)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    CLEANUP(fd) int from = opened ? openat(beneath_fd(opened), ".", flags) : open(src, flags);
    if (from < 0)
        return err_set_errno(err, errno, "cannot stage %.300s", src);
    CLEANUP(fd) int folder = stage_open_folder(ws, to, err);
    if (folder < 0)
        return -1;
    return tree_copy(copying, from, folder, src, err);
}

static int stage_one(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                     bool *mounted, struct err *err)
{
    if (is_blank(src))
        return err_set(err, "the folder to stage has no path");
    CLEANUP(free) char *clean = beneath_clean(ws->root, is_blank(to) ? "." : to, err);
    if (!clean)
        return -1;
    struct tree_copy copying = {.read_only = options->read_only,
                                .follow = !options->strict,
                                .left_out = options->left_out,
                                .left = stage_room(ws),
                                .give = sandbox_user_give};
    const struct beneath *opened = options->opened;
    if (copy_host_folder(ws, src, opened, clean, &copying, err) < 0)
        return -1;
    *mounted = options->allow_mount && workspace_lend(ws, opened ? beneath_path(opened) : src, clean);
    return 0;
}

int stage_directory(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                    bool *mounted, struct err *err)
{
    static const struct stage_options plain = {0};
    struct err own = ERR_INIT;
    struct span span;
    bool by_mount = false;
    span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_DIR);
    json_add_str(&span.attrs, SPAN_HOST_PATH, src);
    json_add_str(&span.attrs, SPAN_TO, to);
    int status = stage_one(ws, src, to, options ? options : &plain, &by_mount, &own);
    json_add_bool(&span.attrs, SPAN_MOUNT_USED, by_mount);
    if (mounted)
        *mounted = by_mount;
    return span_end(&span, status, &own, err);
}
