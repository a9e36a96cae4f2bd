/* Changes to another user before the engine makes a sandbox (see launch.h).
 *
 * Root gives its sandboxes to a user without rights on this machine. That user may be unable to reach the paths that a
 * sandbox shows (/root is 0700). So in its own mount namespace the launcher covers each closed folder on the way. The
 * cover is an empty folder that holds only the way to the shown path. The host's folders keep their modes, and their
 * other contents stay hidden. */

#include "base/launcher.h"
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOWN_MAX  256
#define COVER_SIZE "size=1m,nr_inodes=4096,mode=0755"

struct shown_folder {
    const char *path;
    int tree;  /* the path, opened before any cover is mounted; -1: that user can reach it already */
    bool lent; /* read-only, and root's files appear as the other user's */
    bool file; /* not a folder */
    bool link; /* its path leads through a symbolic link */
};

static struct shown_folder shown[SHOWN_MAX];
static size_t shown_count;
static uid_t other;
static gid_t other_group;

static _Noreturn void fail(const char *what, const char *which)
{
    fprintf(stderr, "keyturn-launch: %s %s: %s\n", what, which, strerror(errno));
    exit(LAUNCH_FAILED);
}

void launch_as_show(const char *path, bool lent)
{
    errno = shown_count == SHOWN_MAX ? E2BIG : path[0] != '/' ? EINVAL : strlen(path) >= PATH_MAX ? ENAMETOOLONG : 0;
    if (errno)
        fail("cannot show", path);
    shown[shown_count++] = (struct shown_folder){.path = path, .lent = lent, .tree = -1};
}

/* ---- what the other user sees ---- */

/* Opens a path as the other user would; returns 0 or the errno. */
static int try_path(const char *path)
{
    int code = 0;
    if (setegid(other_group) || seteuid(other))
        fail("cannot become", "the sandbox's user");
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        code = errno;
    else
        close(fd);
    if (seteuid(0) || setegid(0))
        fail("cannot become", "root again");
    return code;
}

/* Returns 0 if that user may pass through the folder, else the errno. */
static int try_folder(const char *path)
{
    char inside[PATH_MAX + 2];
    snprintf(inside, sizeof(inside), "%s/.", path);
    return try_path(inside);
}

/* ---- lending ---- */

/* Maps every user to itself, except root, which becomes the other user. */
static void write_map(pid_t pid, const char *file, unsigned id)
{
    char path[64], map[128];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int len = snprintf(map, sizeof(map), "0 %u 1\n1 1 %u\n%u %u %u\n", id, id - 1, id + 1, id + 1, UINT_MAX - id - 1);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, map, (size_t)len) < 0)
        errno = EINVAL; /* this namespace lacks some ids: the kernel refuses the mount, and the caller reports that */
    if (fd >= 0)
        close(fd);
}

/* Opens a user namespace that only defines the id map; -1 on failure. */
static int open_users(void)
{
    static int users = -1;
    char path[64];
    if (users >= 0)
        return users;
    pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), NULL, NULL, NULL, NULL);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    if (pid < 0)
        return -1;
    write_map(pid, "uid_map", other);
    write_map(pid, "gid_map", other_group);
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    users = open(path, O_RDONLY | O_CLOEXEC);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return users;
}

static void lend(const struct shown_folder *it)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (syscall(SYS_mount_setattr, it->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)))
        fail("cannot mount read-only", it->path);
    attr = (struct mount_attr){.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)open_users()};
    if (syscall(SYS_mount_setattr, it->tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
        fprintf(stderr,
                "keyturn-launch: %s: its file system does not support idmapped mounts; only world-readable files are "
                "visible\n",
                it->path);
}

/* ---- making paths reachable ---- */

static void cover(const char *folder)
{
    struct stat st;
    if (lstat(folder, &st) == 0 && S_ISLNK(st.st_mode)) { /* a mount here would go to the link's target */
        errno = ELOOP;
        fail("cannot mount over the link", folder);
    }
    if (mount("keyturn", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, COVER_SIZE))
        fail("cannot cover", folder);
}

static void make_way(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int code = try_folder(path);
        if (code == EACCES)
            cover(path);
        else if (code == ENOENT && (mkdir(path, 0755) || chmod(path, 0755)))
            fail("cannot make", path);
        *slash = '/';
    }
}

static void attach(const struct shown_folder *it)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", it->path);
    make_way(path);
    bool there = try_path(path) == 0;
    if (there && it->link)
        return; /* the link leads to a path that is attached already */
    int fd = !there && it->file ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444) : -1;
    if (!there && (it->file ? fd < 0 : mkdir(path, 0755) != 0))
        fail("cannot make", path);
    if (fd >= 0)
        close(fd);
    if (syscall(SYS_move_mount, it->tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH))
        fail("cannot show", path);
}

/* ---- showing ---- */

/* Sorts folders before their contents, which must be mounted on top; and link targets before paths through the
 * links. */
static int in_order(const void *a, const void *b)
{
    const struct shown_folder *first = a, *second = b;
    size_t one = strlen(first->path), two = strlen(second->path);
    if (first->link != second->link)
        return first->link - second->link;
    return one < two ? -1 : one > two;
}

static bool leads_through_link(const char *path)
{
    char *real = realpath(path, NULL);
    bool link = real && strcmp(real, path) != 0;
    free(real);
    return link;
}

static void open_tree_of(struct shown_folder *it)
{
    struct stat st;
    it->link = leads_through_link(it->path);
    it->tree = (int)syscall(SYS_open_tree, AT_FDCWD, it->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (it->tree < 0 || fstat(it->tree, &st))
        fail("cannot open", it->path);
    it->file = !S_ISDIR(st.st_mode);
    if (it->lent)
        lend(it);
}

/* A path inside a lent one needs no mount of its own: it is lent with it. */
static bool is_within_lent(const char *path)
{
    for (size_t i = 0; i < shown_count; i++) {
        size_t len = strlen(shown[i].path);
        if (shown[i].lent && strncmp(shown[i].path, path, len) == 0 && (path[len] == '/' || len == 1))
            return true;
    }
    return false;
}

static void show_all(void)
{
    bool apart = false;
    for (size_t i = 0; i < shown_count; i++) {
        if (!shown[i].lent && try_path(shown[i].path) == 0 && !is_within_lent(shown[i].path))
            continue;
        if (!apart && (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)))
            fail("cannot make", "a mount namespace");
        apart = true;
        open_tree_of(&shown[i]);
    }
    qsort(shown, shown_count, sizeof(*shown), in_order);
    for (size_t i = 0; i < shown_count; i++)
        if (shown[i].tree >= 0) {
            attach(&shown[i]);
            close(shown[i].tree);
        }
}

/* ---- changing the user ---- */

/* Gives the standard files to the user. A program may reopen them as /dev/stderr or /dev/tty. They are pipes and a
 * terminal made for this program alone. */
static void give_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++) {
        struct statfs fs;
        if (fstatfs(fd, &fs) == 0 && (fs.f_type == PIPEFS_MAGIC || (fs.f_type == DEVPTS_SUPER_MAGIC && isatty(fd))) &&
            fchown(fd, other, other_group))
            fail("cannot change the owner of", "a standard file");
    }
}

static void drop_capabilities(void)
{
    for (unsigned long i = 0; prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
        ;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static void become_other(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    drop_capabilities();
    if (setresgid(other_group, other_group, other_group) || setresuid(other, other, other) ||
        syscall(SYS_capset, &head, none))
        fail("cannot become", "the sandbox's user");
}

_Noreturn void launch_as(uid_t uid, gid_t gid, char *const *command)
{
    pid_t parent = getppid();
    int signum = 0;
    other = uid;
    other_group = gid;
    if (!uid || !gid || geteuid() != 0) {
        errno = EPERM;
        fail("--as needs root and another user than root, for", command[0]);
    }
    prctl(PR_GET_PDEATHSIG, &signum);
    if (setgroups(0, NULL))
        fail("cannot leave", "the groups of root");
    give_standard_files();
    show_all();
    if (chdir("/"))
        fail("cannot enter", "/");
    become_other();
    /* The kernel clears the parent death signal when a process changes its user. */
    if (signum && (prctl(PR_SET_PDEATHSIG, signum) || getppid() != parent))
        raise(SIGKILL);
    execvp(command[0], command);
    fail("cannot start", command[0]);
}
