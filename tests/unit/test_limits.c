/* Tests of control groups, if this machine lets us make any: the kernel has the limits that were set, and no group is
 * left. */

#include "base/mem.h"
#include "sandbox/limits.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Returns the number that a child finds in a file of its group after joining; -1: none. */
static long limit_inside(const struct cgroup *group, const char *controller, const char *v1, const char *v2)
{
    CLEANUP(free)
    char *command = xasprintf(
        "p=$(grep -E ':([a-z,]*,)?%s(,[a-z,]*)?:' /proc/self/cgroup | cut -d: -f3); "
        "if [ -n \"$p\" ]; then cat /sys/fs/cgroup/%s$p/%s; else cat /sys/fs/cgroup$(grep ^0: /proc/self/cgroup | "
        "cut -d: -f3)/%s; fi | cut -d' ' -f1; exit",
        controller, controller, v1, v2);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (const int *join = cgroup_join(group); *join >= 0; join++)
            if (write(*join, "0", 1) < 0)
                _exit(1);
        dup2(ends[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(1);
    }
    char text[64] = "";
    close(ends[1]);
    ssize_t got = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return got > 0 ? strtol(text, NULL, 10) : -1;
}

/* Returns where to make groups of a controller that has its own tree; NULL if it has none or we may not. */
static char *tree_of(const char *controller)
{
    CLEANUP(free)
    char *command = xasprintf("p=$(grep ':%s:' /proc/self/cgroup | cut -d: -f3) && printf %%s "
                              "/sys/fs/cgroup/%s$p || printf %%s /sys/fs/cgroup$(grep ^0: /proc/self/cgroup | cut -d: "
                              "-f3)",
                              controller, controller);
    char path[512] = "";
    FILE *pipe_ = popen(command, "re");
    size_t got = fread(path, 1, sizeof(path) - 1, pipe_);
    pclose(pipe_);
    path[got] = '\0';
    return xstrdup(path);
}

/* A new keyturn removes what a killed one left, and an existing group still limits. This test must be the first,
 * because leftovers are searched only once. */
TEST(leftover_groups_are_removed)
{
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    CLEANUP(free) char *tree = tree_of("memory");
    CLEANUP(free) char *stale = xasprintf("%s/" CGROUP_PROGRAM "%d-1", tree, (int)gone);
    CLEANUP(free) char *name = xasprintf(CGROUP_PROGRAM "%d-77", (int)getpid());
    CLEANUP(free) char *same = xasprintf("%s/%s", tree, name);
    bool made = mkdir(stale, 0755) == 0 && mkdir(same, 0755) == 0;
    if (!cgroup_works())
        skip();
    assert_true(made);
    assert_int_equal(access(stale, F_OK), -1);
    struct cgroup *group = cgroup_new(name, &(struct cgroup_limits){.memory_mb = 48, .pids = 17});
    assert_non_null(group);
    assert_int_equal(limit_inside(group, "memory", "memory.limit_in_bytes", "memory.max"), 48 << 20);
    assert_int_equal(limit_inside(group, "pids", "pids.max", "pids.max"), 17);
    cgroup_free(group);
    assert_int_equal(access(same, F_OK), -1);
}

TEST(limits_are_set_and_reported)
{
    if (!cgroup_works())
        skip();
    CLEANUP(free) char *name = xasprintf("keyturn-cgroup-%d", (int)getpid());
    struct cgroup *group = cgroup_new(name, &(struct cgroup_limits){.memory_mb = 48, .pids = 17, .cpu_percent = 30});
    assert_non_null(group);
    assert_int_equal(limit_inside(group, "memory", "memory.limit_in_bytes", "memory.max"), 48 << 20);
    assert_int_equal(limit_inside(group, "cpu", "cpu.cfs_quota_us", "cpu.max"), 30000);
    assert_int_equal(limit_inside(group, "pids", "pids.max", "pids.max"), 17);
    assert_false(cgroup_ran_out(group));
    cgroup_free(group);
}

TEST(without_limits_no_group_is_made)
{
    assert_null(cgroup_new("keyturn-cgroup-none", &(struct cgroup_limits){0}));
    assert_null(cgroup_join(NULL));
    assert_false(cgroup_ran_out(NULL));
    cgroup_free(NULL);
}
