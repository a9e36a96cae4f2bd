#pragma once
/* Points in a write at which a test can stop a pool thread: in the comparison of the files, while it makes the
 * checkpoint's folder, and just before the new file replaces the old one.
 *
 *     door_shut(&rig, AT_SAVING, cancel);       from now on; `held` is called on the loop once a thread waits there
 *     … door_open(NULL) …                       lets it continue, and later ones pass
 *     assert_int_equal(door.passed, 1);
 *
 * For tests that include it: it replaces functions of the product and of the C library. */

#include "comparing.h"
#include "turn_rig.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum where { NOWHERE, AT_COMPARING, AT_SAVING, AT_COMMITTING };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    enum where where;
    bool open;
    struct turn_rig *rig;
    void (*held)(void *rig);
    atomic_int passed; /* threads that were stopped and released */
} door = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void pass(enum where where)
{
    pthread_mutex_lock(&door.lock);
    if (door.where == where && !door.open) {
        loop_post_from_thread(door.rig->loop, door.held, door.rig);
        while (!door.open)
            pthread_cond_wait(&door.change, &door.lock);
        atomic_fetch_add(&door.passed, 1);
    }
    pthread_mutex_unlock(&door.lock);
}

static void door_shut(struct turn_rig *rig, enum where where, void (*held)(void *rig))
{
    pthread_mutex_lock(&door.lock);
    door.where = where;
    door.open = false;
    door.rig = rig;
    door.held = held;
    door.passed = 0;
    pthread_mutex_unlock(&door.lock);
}

static void door_open(void *none)
{
    (void)none;
    pthread_mutex_lock(&door.lock);
    door.open = true;
    pthread_cond_broadcast(&door.change);
    pthread_mutex_unlock(&door.lock);
}

static void before_comparing(void)
{
    pass(AT_COMPARING);
}

int mkdir(const char *path, mode_t mode)
{
    if (strstr(path, "/cp_"))
        pass(AT_SAVING);
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    pass(AT_COMMITTING);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
