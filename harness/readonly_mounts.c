/* Makes every mount but the workspace read-only. */

#include "readonly_mounts.h"
#include "base/mem.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool is_writable(const char *path)
{
    struct statvfs place;
    return statvfs(path, &place) == 0 && !(place.f_flag & ST_RDONLY);
}

static bool is_ours(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && file.st_uid == geteuid();
}

static const char *const devices[] = {"/dev/null", "/dev/urandom"};

bool mounts_devices_open(void)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++)
        if (is_writable(devices[i]) && is_ours(devices[i]))
            return true;
    return false;
}

/* Checks the folders that Landlock lets a script read, besides its workspace (sandbox.c). */
static bool is_closed(const char *tools)
{
    const char *const folders[] = {"/usr", "/lib", "/lib64", tools};
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (folders[i] && is_writable(folders[i]))
            return false;
    return true;
}

static bool write_to(const char *path, const char *text)
{
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Enters namespaces in which we may mount: as root, or as the only user of a new user namespace. */
static bool enter_namespace(void)
{
    const unsigned uid = geteuid(), gid = getegid();
    char users[64], groups[64];
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    snprintf(users, sizeof(users), "%u %u 1", uid, uid);
    snprintf(groups, sizeof(groups), "%u %u 1", gid, gid);
    return write_to("/proc/self/setgroups", "deny") && write_to("/proc/self/gid_map", groups) &&
           write_to("/proc/self/uid_map", users);
}

static bool set_read_only(const char *path, bool on)
{
    struct mount_attr attr = {.attr_set = on ? MOUNT_ATTR_RDONLY : 0, .attr_clr = on ? 0 : MOUNT_ATTR_RDONLY};
    return mount_setattr(AT_FDCWD, path, on ? AT_RECURSIVE : 0, &attr, sizeof(attr)) == 0;
}

bool mounts_make_readonly(const char *workspace, const char *tools)
{
    if (is_closed(tools) && !mounts_devices_open())
        return true;
    if (!enter_namespace() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(workspace, workspace, NULL, MS_BIND, NULL) < 0)
        return is_closed(tools);
    /* The mount covers the current folder: enter the workspace again. */
    if (!set_read_only("/", true) || !set_read_only(workspace, false) || chdir(workspace) < 0) {
        set_read_only(workspace, false);
        return false;
    }
    return is_closed(tools);
}
