#pragma once
/* A control group for one program, where we may make one. Root needs it: the kernel does not count root's processes
 * against the limit that holds for everybody else. Others are held by limits of their own and get none. */

struct cgroup;

/* NULL: it cannot be had here, or nothing is to be limited. A zero limit is none. */
struct cgroup *cgroup_new(const char *name, unsigned memory_mb, unsigned pids);
/* For proc_options.join. */
const int *cgroup_join(const struct cgroup *group);
/* Removes it; whoever was in it is gone. */
void cgroup_free(struct cgroup *group);
