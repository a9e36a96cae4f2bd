#pragma once
/* A control group for one program, where we may make one: its limits hold for all processes of the program together.
 * The limits that every process can be given (RLIMIT_*) hold for each by itself, do not count shared memory, and of
 * root's processes not even the number. */

#include <stdbool.h>
#include <stddef.h>

struct cgroup;

#define CGROUP_PROGRAM "keyturn-program-" /* before the number of who made it, in the names of those that are swept */

/* Zero is no limit. */
struct cgroup_limits {
    unsigned memory_mb, pids;
    unsigned cpu_percent; /* of one processor */
};

/* NULL: it cannot be had here, or nothing is to be limited. A limit that cannot be had is left out. */
struct cgroup *cgroup_new(const char *name, const struct cgroup_limits *limits);
/* For process_spec.join. */
const int *cgroup_join(const struct cgroup *group);
/* Whether it limits memory: that may have been left out. */
bool cgroup_holds_memory(const struct cgroup *group);
/* Whether the kernel killed in it for want of memory. */
bool cgroup_ran_out(const struct cgroup *group);
/* The file with the processes in it, for process_spec.group; the caller's. NULL: there is no group. */
char *cgroup_procs(const struct cgroup *group);
/* Removes it; whoever was in it is gone. */
void cgroup_free(struct cgroup *group);
/* Whether memory and processor can be limited that way on this machine: tries it. */
bool cgroup_works(void);
