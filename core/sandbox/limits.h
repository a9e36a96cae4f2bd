#pragma once
/* Limits for all processes of a program together.
 *
 * RLIMIT_* limits hold for each process by itself, do not count shared memory, and do not limit the number of root's
 * processes. So each program gets a control group where Keyturn may create one (cgroup_new), else a systemd user scope
 * (scope_argv). The functions may be called on any thread. */

#include <stdbool.h>
#include <stddef.h>

struct cgroup;

/* ---- control groups ---- */

#define CGROUP_PROGRAM "keyturn-program-" /* prefix of swept names, followed by the pid of the creator */

/* 0: no limit. */
struct cgroup_limits {
    unsigned memory_mb, pids;
    unsigned cpu_percent; /* of one processor */
};

/* NULL: Keyturn cannot create a group here, or no limit is set. A limit that the group cannot enforce is left out. */
struct cgroup *cgroup_new(const char *name, const struct cgroup_limits *limits);
/* For process_spec.join. */
const int *cgroup_join(const struct cgroup *group);
/* True if the group limits memory. cgroup_new may have left that limit out. */
bool cgroup_holds_memory(const struct cgroup *group);
/* True if the kernel killed a process of the group for lack of memory. */
bool cgroup_ran_out(const struct cgroup *group);
/* The file that lists the group's processes, for process_spec.group. The caller frees it. NULL: no group. */
char *cgroup_procs(const struct cgroup *group);
/* Removes the group once its processes have died. The caller must have killed them. */
void cgroup_free(struct cgroup *group);
/* Tests whether groups can limit memory and processor on this machine. */
bool cgroup_works(void);

/* ---- systemd user scopes ---- */

/* A systemd user scope for one program: a control group that the user's systemd creates where Keyturn may not create
 * one. The first call tests once that its limits take effect. */

enum scope_state {
    SCOPE_NO_SYSTEMD, /* this user has no running systemd, so scopes are untested */
    SCOPE_NO_LIMITS,  /* systemd runs, but its scope does not limit memory */
    SCOPE_WORKS,
};

/* The first call runs the test, for at most SCOPE_TRIAL_S. */
#define SCOPE_TRIAL_S 2
enum scope_state scope_state(void);
/* Returns the same command in a scope of its own. systemd-run execs the command, so the pid stays the one we
 * started. */
char **scope_argv(const struct cgroup_limits *limits, char **take_argv);
/* Variables that systemd-run needs to find its systemd, NULL-terminated. */
extern const char *const scope_variables[];
