/* The sandbox's user: see user.h. */

#include "user.h"
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sandbox_user chosen = {SANDBOX_UID, SANDBOX_UID};
static bool root_outside = true;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Root of a user namespace that an ordinary user made is that user. */
static bool is_root_outside(void)
{
    unsigned inside, outside, count;
    bool root = true;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (!map)
        return true;
    while (fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
        if (inside == 0)
            root = outside == 0;
    fclose(map);
    return root;
}

/* Asked for with every vector, and always the same. */
static void choose(void)
{
    char text[1024];
    struct passwd entry, *found = NULL;
    if (getpwnam_r(SANDBOX_USER_NAME, &entry, text, sizeof(text), &found) == 0 && found && found->pw_uid &&
        found->pw_gid)
        chosen = (struct sandbox_user){found->pw_uid, found->pw_gid};
    root_outside = is_root_outside();
}

const struct sandbox_user *sandbox_user_always(void)
{
    pthread_once(&once, choose);
    return &chosen;
}

const struct sandbox_user *sandbox_user(void)
{
    const struct sandbox_user *user = sandbox_user_always();
    return geteuid() == 0 && root_outside ? user : NULL;
}

bool sandbox_user_give(int folder, int made)
{
    const struct sandbox_user *user = geteuid() == 0 ? sandbox_user_always() : NULL;
    struct stat st;
    if (!user || fstat(folder, &st) < 0 || st.st_uid != user->uid)
        return true;
    return fchownat(made, "", user->uid, user->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0;
}
