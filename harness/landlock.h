#pragma once
/* Landlock, the kernel's rules about paths that a process puts on itself and never takes off.
 *
 * What is not named is refused: a ruleset handles every right the running kernel knows, the rules give a few back. No
 * rule ever gives the right to execute. Besides paths it refuses TCP, abstract sockets and signals to processes
 * outside, as far as the kernel's version goes. Older kernels do less; landlock_abi says how much. */

#include "base/err.h"
#include <stddef.h>

enum landlock_use {
    LANDLOCK_READ, /* files and folders beneath */
    LANDLOCK_WORK, /* besides: write, create, remove, rename files and folders; no links, FIFOs, sockets, devices */
    LANDLOCK_READ_WRITE, /* of a single file, such as /dev/null */
};

struct landlock_path {
    const char *path; /* a missing one is skipped unless `needed`; NULL is skipped */
    enum landlock_use use;
    int needed;
};

/* The kernel's version of Landlock; 0 with errno when it has none or it is switched off. */
int landlock_abi(void);
/* A descriptor that holds the rules, close-on-exec, for landlock_enter in any number of children; -1 on failure. */
int landlock_rules(int abi, const struct landlock_path *paths, size_t count, struct err *err) CHECKED;
/* From now on the rules hold for this thread and those it starts. Needs no_new_privs. Closes the descriptor. */
int landlock_enter(int rules, struct err *err) CHECKED;
