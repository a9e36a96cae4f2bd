#pragma once
/* A systemd user scope for one program: a control group that the user's systemd makes for us, where we may make none
 * ourselves. What it promises is tried once, by its effect. */

#include "cgroup.h"

enum scope_state {
    SCOPE_NO_SYSTEMD, /* no systemd of this user runs here, so it is untested */
    SCOPE_NO_LIMITS,  /* one runs, and a scope of it limits no memory */
    SCOPE_WORKS,
};

/* Tried the first time that somebody asks, for SCOPE_TRIAL_S at most. */
#define SCOPE_TRIAL_S 2
enum scope_state scope_state(void);
/* The same command in a scope of its own; systemd-run becomes the command, so its process stays the one we started. */
char **scope_argv(const struct cgroup_limits *limits, char **take_argv);
/* Variables that systemd-run needs to find its systemd: NULL-terminated. */
extern const char *const scope_variables[];
