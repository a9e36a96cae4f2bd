/* <folder>/<prefix><six letters>/lock is held with flock, which ends with the process however it ends, and which works
 * between programs that cannot see each other's process numbers. Between making the folder and locking it another
 * program may take it for a leftover: then we make another. */

#include "rooms.h"
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

#define UNLOCKED_S 60 /* a folder without a lock is left alone for so long */

struct rooms {
    char *path;
    int lock;
};

/* The lock of a folder, held; -1: somebody else holds it, or there is no such folder. */
static int take_lock(const char *path, int flags)
{
    CLEANUP(free) char *file = xasprintf("%s/lock", path);
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    struct stat st;
    if (fd < 0)
        return -1;
    /* Whoever removed it in between has left us a lock on nothing. */
    if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st) || st.st_nlink == 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Where everybody may write, a name says nothing about whose it is. */
static bool is_own_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Its program was killed between making the folder and locking it. One that was just made may still be locked. What is
 * not empty is not removed: it was never ours to lock. */
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
            log_warn("rooms: %s", err.text);
    }
    closedir(dir);
}

static struct rooms *open_below(const char *folder, const char *prefix, struct err *err)
{
    remove_leftovers(folder, prefix);
    for (int i = 0; i < TRIES; i++) {
        CLEANUP(free) char *path = file_make_temp_dir(folder, prefix, err);
        if (!path)
            return NULL;
        int lock = take_lock(path, O_CREAT);
        if (lock < 0)
            continue;
        struct rooms *rooms = xcalloc(1, sizeof(*rooms));
        rooms->path = steal(&path);
        rooms->lock = lock;
        return rooms;
    }
    err_set(err, "cannot lock a folder in %s", folder);
    return NULL;
}

struct rooms *rooms_open(const char *folder, struct err *err)
{
    return file_mkdirs(folder, 0700, err) ? NULL : open_below(folder, BOXES, err);
}

struct rooms *rooms_open_scratch(struct err *err)
{
    const char *folder = getenv("TMPDIR");
    return open_below(folder && *folder ? folder : "/tmp", SCRATCH, err);
}

const char *rooms_path(const struct rooms *rooms)
{
    return rooms->path;
}

char *rooms_make(struct rooms *rooms, const char *name, struct err *err)
{
    CLEANUP(free) char *path = xasprintf("%s/%s", rooms->path, name);
    if (mkdir(path, 0700) == 0)
        return steal(&path);
    err_set_errno(err, errno, "cannot make the workspace %s", path);
    return NULL;
}

void rooms_close(struct rooms *rooms)
{
    struct err err = ERR_INIT;
    if (!rooms)
        return;
    /* A process that has just been killed may still be writing. */
    if (file_remove_tree(rooms->path, &err) && file_remove_tree(rooms->path, &err))
        log_warn("rooms: %s", err.text);
    close(rooms->lock);
    free(rooms->path);
    free(rooms);
}
