/* Watches the folders of a workspace with inotify (changes.h). One report answers the question, so their content
 * matters only for the folders of runs, which we make and remove ourselves. */

#include "changes.h"
#include "base/mem.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FOLDERS_MAX 8192 /* watches are shared by all programs of a user */
#define REPORTED    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR)

struct changes {
    pthread_mutex_t mutex;
    int fd;           /* inotify; -1: not begun */
    int runs;         /* the watch of the folder of runs; -1: none */
    unsigned folders; /* watched in the last walk, and since */
    bool refused;     /* this folder cannot be watched */
    bool sure;        /* the last walk saw everything */
    bool changed;     /* since then */
};

struct changes *changes_new(void)
{
    struct changes *changes = xcalloc(1, sizeof(*changes));
    *changes = (struct changes){.fd = -1, .runs = -1};
    pthread_mutex_init(&changes->mutex, NULL);
    return changes;
}

void changes_free(struct changes *changes)
{
    if (!changes)
        return;
    if (changes->fd >= 0)
        close(changes->fd);
    pthread_mutex_destroy(&changes->mutex);
    free(changes);
}

/* ---- reports ---- */

/* Reads what was reported. One report `own` about `name` among the runs, and the end of the watch `gone`, are our own
 * doing. A second one is not: a program removed the folder and made another. */
static void read_reports(struct changes *changes, const char *name, uint32_t own, int gone)
{
    union {
        struct inotify_event first;
        char bytes[8192];
    } buf;
    for (ssize_t len; changes->fd >= 0 && (len = read(changes->fd, &buf, sizeof(buf))) > 0;)
        for (ssize_t at = 0; at < len;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)(buf.bytes + at);
            bool ours = name && event->len && event->wd == changes->runs && (event->mask & IN_ISDIR) &&
                        (event->mask & own) && strcmp(event->name, name) == 0;
            bool ended = gone >= 0 && event->wd == gone && (event->mask & IN_IGNORED);
            changes->changed |= !ours && !ended;
            own = ours ? 0 : own;
            gone = ended ? -1 : gone;
            at += (ssize_t)sizeof(*event) + event->len;
        }
}

bool changes_none(struct changes *changes)
{
    pthread_mutex_lock(&changes->mutex);
    read_reports(changes, NULL, 0, -1);
    bool none = changes->sure && !changes->refused && !changes->changed;
    pthread_mutex_unlock(&changes->mutex);
    return none;
}

void changes_note(struct changes *changes)
{
    pthread_mutex_lock(&changes->mutex);
    changes->changed = true;
    pthread_mutex_unlock(&changes->mutex);
}

/* ---- a walk ---- */

/* File systems that only this kernel changes. */
static bool is_local(int root)
{
    struct statfs st;
    if (fstatfs(root, &st) < 0)
        return false;
    switch ((unsigned long)st.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return true;
    }
    return false;
}

static void refuse(struct changes *changes)
{
    changes->refused = true;
    if (changes->fd >= 0)
        close(changes->fd);
    changes->fd = -1;
}

/* The number of a folder that is watched already is the same again. */
static int watch(struct changes *changes, int folder)
{
    char path[40];
    if (changes->fd < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
    int number = inotify_add_watch(changes->fd, path, REPORTED);
    if (number < 0 || ++changes->folders > FOLDERS_MAX)
        refuse(changes);
    return number;
}

void changes_begin(struct changes *changes, int root)
{
    pthread_mutex_lock(&changes->mutex);
    if (changes->fd < 0 && !changes->refused) {
        changes->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        changes->refused = changes->fd < 0 || !is_local(root);
    }
    read_reports(changes, NULL, 0, -1);
    changes->sure = changes->changed = false;
    changes->runs = -1;
    changes->folders = 0;
    pthread_mutex_unlock(&changes->mutex);
    changes_watch(changes, root, false);
}

void changes_watch(struct changes *changes, int folder, bool runs)
{
    pthread_mutex_lock(&changes->mutex);
    int number = watch(changes, folder);
    if (runs)
        changes->runs = number;
    pthread_mutex_unlock(&changes->mutex);
}

void changes_end(struct changes *changes, bool sure)
{
    pthread_mutex_lock(&changes->mutex);
    changes->sure = sure;
    pthread_mutex_unlock(&changes->mutex);
}

/* ---- folders of runs ---- */

int changes_made(struct changes *changes, const char *name, int folder)
{
    pthread_mutex_lock(&changes->mutex);
    read_reports(changes, name, IN_CREATE, -1);
    int number = changes->sure ? watch(changes, folder) : -1;
    pthread_mutex_unlock(&changes->mutex);
    return number;
}

void changes_removed(struct changes *changes, const char *name, int number)
{
    pthread_mutex_lock(&changes->mutex);
    read_reports(changes, name, IN_DELETE, number);
    changes->folders -= number >= 0 && changes->folders > 0;
    pthread_mutex_unlock(&changes->mutex);
}
