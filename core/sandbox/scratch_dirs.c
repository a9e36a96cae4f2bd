/* Scratch folders that disappear with this process, or with the next one if this one is killed (scratch_dirs.h).
 *
 * <folder>/<prefix><six letters>/lock is held with flock. The lock ends with the process, however it ends, and works
 * between processes that cannot see each other's process ids. Between mkdir and flock another process may mistake the
 * folder for a leftover and remove it; then this process creates another one. */

#include "scratch_dirs.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BOXES   "boxes-"
#define SCRATCH "keyturn-scratch-"
#define TRIES   5

#define UNLOCKED_S 60 /* a folder without a lock is kept for this long */

struct scratch_dirs {
    char *path;
    int lock;
};

/* Takes the lock of a folder; -1: another process holds it, or the folder is missing. */
static int take_lock(const char *path, int flags)
{
    CLEANUP(free) char *file = xasprintf("%s/lock", path);
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    struct stat st;
    if (fd < 0)
        return -1;
    /* Another process may have removed the folder meanwhile; then the lock is on a deleted file. */
    if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st) || st.st_nlink == 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* In a folder where every user may write, a name does not show the owner. */
static bool is_own_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Removes a folder whose process was killed between creating and locking it. A new folder may still get its lock. A
 * folder that is not empty is kept: it was never ours. */
static void remove_unlocked(const char *path)
{
    CLEANUP(free) char *file = xasprintf("%s/lock", path);
    struct stat st;
    if (lstat(file, &st) && errno == ENOENT && lstat(path, &st) == 0 && time(NULL) - st.st_mtime > UNLOCKED_S)
        rmdir(path);
}

static void remove_leftovers(const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        struct err err = ERR_INIT;
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, entry->d_name);
        if (!is_own_folder(path))
            continue;
        CLEANUP(fd) int lock = take_lock(path, 0);
        if (lock < 0)
            remove_unlocked(path);
        else if (file_remove_tree(path, &err))
            log_warn("scratch: %s", err.text);
    }
    closedir(dir);
}

static struct scratch_dirs *open_below(const char *folder, const char *prefix, struct err *err)
{
    remove_leftovers(folder, prefix);
    for (int i = 0; i < TRIES; i++) {
        CLEANUP(free) char *path = file_make_temp_dir(folder, prefix, err);
        if (!path)
            return NULL;
        int lock = take_lock(path, O_CREAT);
        if (lock < 0)
            continue;
        struct scratch_dirs *scratch = xcalloc(1, sizeof(*scratch));
        scratch->path = steal(&path);
        scratch->lock = lock;
        return scratch;
    }
    err_set(err, "cannot lock a folder in %s", folder);
    return NULL;
}

struct scratch_dirs *scratch_dirs_open(const char *folder, struct err *err)
{
    return file_mkdirs(folder, 0700, err) ? NULL : open_below(folder, BOXES, err);
}

struct scratch_dirs *scratch_dirs_open_scratch(struct err *err)
{
    const char *folder = getenv("TMPDIR");
    return open_below(folder && *folder ? folder : "/tmp", SCRATCH, err);
}

const char *scratch_dirs_path(const struct scratch_dirs *scratch)
{
    return scratch->path;
}

char *scratch_dirs_make(struct scratch_dirs *scratch, const char *name, struct err *err)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", scratch->path, name);
    if (mkdir(path, 0700) == 0)
        return steal(&path);
    err_set_errno(err, errno, "cannot create the workspace %s", path);
    return NULL;
}

void scratch_dirs_close(struct scratch_dirs *scratch)
{
    struct err err = ERR_INIT;
    if (!scratch)
        return;
    /* A process that was just killed may still write, so try twice. */
    if (file_remove_tree(scratch->path, &err) && file_remove_tree(scratch->path, &err))
        log_warn("scratch: %s", err.text);
    close(scratch->lock);
    free(scratch->path);
    free(scratch);
}
