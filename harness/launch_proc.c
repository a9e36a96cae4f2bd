/* Keeps a program from writing to /proc and /sys if its engine leaves parts of them writable (see launch.h).
 *
 * Landlock lists what is allowed, so the rules allow every other entry of the root folder. The ruleset handles only
 * writing. It must also give back the right to move files between folders, because every ruleset takes that away. */

#include "launch.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset /* the same number on every architecture */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum { ASK_VERSION = 1, PATH_BENEATH = 1, ABI_WITH_REFER = 2 };
enum { WRITE_FILE = 1 << 1, REFER = 1 << 13 };

struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t parent;
};

static void allow(int rules, int top, const char *name)
{
    struct stat st;
    int fd = openat(top, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
        struct path_rule rule = {S_ISDIR(st.st_mode) ? WRITE_FILE | REFER : WRITE_FILE, fd};
        syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &rule, 0); /* if this fails, that path is read-only */
    }
    if (fd >= 0)
        close(fd);
}

bool launch_proc_close(void)
{
    uint64_t handled = WRITE_FILE | REFER;
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION) < ABI_WITH_REFER)
        return false;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
    DIR *top = opendir("/");
    if (rules < 0 || !top)
        return false;
    for (struct dirent *entry; (entry = readdir(top));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "proc") != 0 && strcmp(entry->d_name, "sys") != 0)
            allow(rules, dirfd(top), entry->d_name);
    closedir(top);
    bool closed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return closed;
}
