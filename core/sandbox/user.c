/* The user that sandboxed code runs as when Keyturn runs as root (user.h). */

#include "user.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sandbox_user chosen = {SANDBOX_UID, SANDBOX_UID};
static bool becomes_other;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* True if a user namespace maps this id. `map` is the text of its uid_map or gid_map. */
static bool sandbox_user_is_mapped(const char *map, unsigned id)
{
    unsigned inside, outside, count;
    int len;
    for (; sscanf(map, "%u %u %u%n", &inside, &outside, &count, &len) == 3; map += len)
        if (id >= inside && id - inside < count)
            return true;
    return false;
}

static bool is_mapped_in(const char *path, unsigned id)
{
    CLEANUP(strbuf) struct strbuf map = STRBUF_INIT;
    if (file_read(path, &map, 0, NULL))
        return access(path, F_OK) != 0; /* a kernel without user namespaces */
    return sandbox_user_is_mapped(map.buf, id);
}

/* Root of a user namespace can become only users that the namespace maps. Namespaces of ordinary users may map only
 * root. */
static bool can_become(const struct sandbox_user *user)
{
    CLEANUP(strbuf) struct strbuf groups = STRBUF_INIT;
    if (!file_read("/proc/self/setgroups", &groups, 0, NULL) && strncmp(groups.buf, "deny", 4) == 0)
        return false;
    return is_mapped_in("/proc/self/uid_map", user->uid) && is_mapped_in("/proc/self/gid_map", user->gid);
}

/* Chosen once: every vector needs it, and it never changes. */
static void choose(void)
{
    char text[1024];
    struct passwd entry, *found = NULL;
    if (getpwnam_r(SANDBOX_USER_NAME, &entry, text, sizeof(text), &found) == 0 && found && found->pw_uid &&
        found->pw_gid)
        chosen = (struct sandbox_user){found->pw_uid, found->pw_gid};
    becomes_other = can_become(&chosen);
}

const struct sandbox_user *sandbox_user_always(void)
{
    pthread_once(&once, choose);
    return &chosen;
}

const struct sandbox_user *sandbox_user(void)
{
    const struct sandbox_user *user = sandbox_user_always();
    return geteuid() == 0 && becomes_other ? user : NULL;
}

bool sandbox_user_give(int folder, int made)
{
    const struct sandbox_user *user = geteuid() == 0 ? sandbox_user_always() : NULL;
    struct stat st;
    if (!user || fstat(folder, &st) < 0 || st.st_uid != user->uid)
        return true;
    return fchownat(made, "", user->uid, user->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0;
}
