/* Builds and enters Landlock rulesets. It uses raw system calls and its own constants, because a distribution's headers
 * are often older than the running kernel. It asks the kernel at run time which rights it knows. */

#include "landlock.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset /* the same number on every architecture */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

enum {
    ASK_VERSION = 1,       /* flag of landlock_create_ruleset */
    RULE_PATH_BENEATH = 1, /* type of rule */
};

/* Rights, by the Landlock version that introduced them. */
enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_CHAR = 1 << 6,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    MAKE_SOCK = 1 << 9,
    MAKE_FIFO = 1 << 10,
    MAKE_BLOCK = 1 << 11,
    MAKE_SYM = 1 << 12,
    REFER = 1 << 13,     /* 2: rename from one folder to another */
    TRUNCATE = 1 << 14,  /* 3 */
    IOCTL_DEV = 1 << 15, /* 5 */

    BIND_TCP = 1 << 0, /* 4 */
    CONNECT_TCP = 1 << 1,

    SCOPE_ABSTRACT_UNIX = 1 << 0, /* 6 */
    SCOPE_SIGNAL = 1 << 1,
};

/* Layouts that the kernel expects. */
struct ruleset {
    uint64_t fs, net, scoped;
};
struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t parent;
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static uint64_t handled(int abi)
{
    uint64_t rights = REFER - 1; /* the thirteen rights of version 1 */
    if (abi >= 2)
        rights |= REFER;
    if (abi >= 3)
        rights |= TRUNCATE;
    if (abi >= 5)
        rights |= IOCTL_DEV;
    return rights;
}

static uint64_t rights_for(enum landlock_use use, mode_t mode)
{
    uint64_t rights = READ_FILE | READ_DIR;
    if (use == LANDLOCK_READ_WRITE)
        rights |= WRITE_FILE | TRUNCATE;
    if (use == LANDLOCK_WORK)
        rights |= WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER;
    if (!S_ISDIR(mode))
        rights &= (uint64_t)(WRITE_FILE | READ_FILE | TRUNCATE);
    return rights;
}

static int add_path(int rules, int abi, const struct landlock_path *path, struct err *err)
{
    CLEANUP(fd) int fd = open(path->path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0 && errno == ENOENT && !path->needed)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, errno, "%s", path->path);
    struct path_rule rule = {rights_for(path->use, st.st_mode) & handled(abi), fd};
    if (syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_set_errno(err, errno, "a Landlock rule for %s", path->path);
    return 0;
}

int landlock_rules(int abi, const struct landlock_path *paths, size_t count, struct err *err)
{
    struct ruleset set = {.fs = handled(abi)};
    size_t size = abi >= 6 ? sizeof(set) : abi >= 4 ? offsetof(struct ruleset, scoped) : offsetof(struct ruleset, net);
    if (abi >= 4)
        set.net = BIND_TCP | CONNECT_TCP;
    if (abi >= 6)
        set.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;

    int rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0); /* the kernel sets close-on-exec */
    if (rules < 0)
        return err_set_errno(err, errno, "Landlock rules");
    for (size_t i = 0; i < count; i++)
        if (paths[i].path && add_path(rules, abi, &paths[i], err) < 0) {
            close(rules);
            return -1;
        }
    return rules;
}

int landlock_enter(int rules, struct err *err)
{
    int failed = syscall(SYS_landlock_restrict_self, rules, 0) < 0;
    int code = errno;
    close(rules);
    return failed ? err_set_errno(err, code, "Landlock") : 0;
}
