/* Reads and replaces the program's own files (file.h). Whole trees are in tree.c.
 *
 * Every error names the attempt and the path, because its reader did not ask for this file in particular. */

#include "file.h"
#include "mem.h"
#include "strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *text_or(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

/* The folder a path is in, for opening: "." when it names none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return xmemdup0(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Syncs the folder so that a rename survives a crash. Some file systems return EINVAL for folders; ignored. */
static int sync_folder(const char *folder)
{
    CLEANUP(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return fsync(fd) && errno != EINVAL ? -1 : 0;
}

static int write_and_sync(int fd, const void *bytes, size_t len, mode_t mode)
{
    if (file_write_all(fd, bytes, len) || fchmod(fd, mode) || fsync(fd))
        return -1;
    return 0;
}

static int check_is_folder(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return -1;
    if (S_ISDIR(st.st_mode))
        return 0;
    errno = ENOTDIR;
    return -1;
}

int file_read(const char *path, struct strbuf *out, size_t limit, struct err *err)
{
    /* Without waiting, so that a pipe in the way is refused below instead of hanging the program here. */
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_set_errno(err, errno, "cannot read %s", path);
    if (S_ISDIR(st.st_mode))
        return err_set_errno(err, EISDIR, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, "cannot read %s: it is not a regular file", path);
    size_t before = out->len;
    if (st.st_size > 0 && (!limit || (size_t)st.st_size <= limit))
        strbuf_grow(out, (size_t)st.st_size + 1);
    if (strbuf_read(out, fd, limit) == 0)
        return 0;
    int code = errno;
    strbuf_set_len(out, before);
    if (code != EFBIG)
        return err_set_errno(err, code, "cannot read %s", path);
    err_set(err, "cannot read %s: it is larger than %zu bytes", path, limit);
    if (err)
        err->code = code;
    return -1;
}

int file_write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        ssize_t done = write(fd, at, len);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        at += done;
        len -= (size_t)done;
    }
    return 0;
}

int file_replace(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    CLEANUP(free) char *folder = folder_of(path);
    CLEANUP(free) char *temp = xasprintf("%s/.keyturn-XXXXXX", folder);
    int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write %s", path);
    int failed = write_and_sync(fd, bytes, len, mode);
    int code = errno;
    /* A full disk on a server may be reported only by close. */
    if (close(fd) && !failed) {
        failed = -1;
        code = errno;
    }
    if (!failed && rename(temp, path)) {
        failed = -1;
        code = errno;
    }
    if (failed) {
        unlink(temp);
        return err_set_errno(err, code, "cannot write %s", path);
    }
    if (sync_folder(folder))
        return err_set_errno(err, errno, "cannot sync %s", path);
    return 0;
}

int file_mkdirs(const char *path, mode_t mode, struct err *err)
{
    CLEANUP(free) char *part = xstrdup(path);
    for (char *at = part; *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char end = *at;
        *at = '\0';
        if (mkdir(part, mode) && (errno != EEXIST || check_is_folder(part))) {
            /* An existing folder is fine, even if we could not have created it. */
            int code = errno;
            if (check_is_folder(part))
                return err_set_errno(err, code, "cannot create the folder %s", part);
        }
        *at = end;
    }
    return 0;
}

char *file_make_temp_dir(const char *base, const char *prefix, struct err *err)
{
    if (!base)
        base = text_or(getenv("TMPDIR"), "/tmp");
    CLEANUP(free) char *path = xasprintf("%s/%sXXXXXX", base, prefix);
    if (!mkdtemp(path)) {
        err_set_errno(err, errno, "cannot create a folder in %s", base);
        return NULL;
    }
    return steal(&path);
}

char *file_xdg_path(enum file_xdg kind, const char *name)
{
    static const struct {
        const char *variable;
        const char *below_home;
    } places[] = {
        [FILE_CONFIG] = {"XDG_CONFIG_HOME", ".config"},
        [FILE_DATA] = {"XDG_DATA_HOME", ".local/share"},
        [FILE_STATE] = {"XDG_STATE_HOME", ".local/state"},
        [FILE_CACHE] = {"XDG_CACHE_HOME", ".cache"},
    };
    const char *slash = *name ? "/" : "";
    const char *folder = getenv(places[kind].variable);
    /* The specification: a relative path there is invalid and to be ignored. */
    if (folder && folder[0] == '/')
        return xasprintf("%s/keyturn%s%s", folder, slash, name);
    const char *home = text_or(getenv("HOME"), NULL);
    if (!home) {
        const struct passwd *user = getpwuid(getuid());
        home = user ? user->pw_dir : "/";
    }
    return xasprintf("%s/%s/keyturn%s%s", home, places[kind].below_home, slash, name);
}

char *file_program_dir(void)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len <= 0)
        return xstrdup(".");
    path[len] = '\0';
    return folder_of(path);
}
