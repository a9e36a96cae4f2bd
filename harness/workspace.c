/* Bounds the bytes and files that a script can put into its workspace. */

#include "workspace.h"
#include "base/mem.h"
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Returns true if a file system in memory belongs to the workspace alone; fills in `size`. */
static bool is_own(const char *path, struct statfs *size)
{
    CLEANUP(free) char *above = xasprintf("%s/..", path);
    struct stat here, there;

    return stat(path, &here) == 0 && stat(above, &there) == 0 && here.st_dev != there.st_dev &&
           statfs(path, size) == 0 && (unsigned long)size->f_type == TMPFS_MAGIC && size->f_blocks > 0;
}

uint64_t workspace_bound_mb(const char *path)
{
    struct statfs size;

    return is_own(path, &size) ? (uint64_t)size.f_blocks * (uint64_t)size.f_bsize >> 20 : 0;
}

uint64_t workspace_files(const char *path)
{
    struct statfs size;

    return is_own(path, &size) && size.f_files >= size.f_ffree ? size.f_files - size.f_ffree : 0;
}
