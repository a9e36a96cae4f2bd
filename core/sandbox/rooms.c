/* <folder>/<six letters>/lock is held with flock, which ends with the process however it ends, and which works between
 * programs that cannot see each other's process numbers. Between making the folder and locking it another program may
 * take it for a leftover: then we make another. */

#include "rooms.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PREFIX "boxes-"
#define TRIES  5

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

static void remove_leftovers(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        struct err err = ERR_INIT;
        CLEANUP(free) char *path = xasprintf("%s/%s", folder, entry->d_name);
        CLEANUP(fd) int lock = take_lock(path, 0);
        if (lock >= 0 && file_remove_tree(path, &err))
            log_warn("rooms: %s", err.text);
    }
    closedir(dir);
}

struct rooms *rooms_open(const char *folder, struct err *err)
{
    if (file_mkdirs(folder, 0700, err))
        return NULL;
    remove_leftovers(folder);
    for (int i = 0; i < TRIES; i++) {
        CLEANUP(free) char *path = file_make_temp_dir(folder, PREFIX, err);
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
