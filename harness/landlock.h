#pragma once
/* Landlock: kernel rules about paths that a process puts on itself and can never remove.
 *
 * A ruleset handles every right that the running kernel knows, so it refuses every path that no rule names. The rules
 * give a few rights back, but never the right to execute. As far as the kernel's version allows, Landlock also refuses
 * TCP, abstract sockets and signals to processes outside. Older kernels do less; landlock_abi returns the version. */

#include "base/err.h"
#include <stddef.h>

enum landlock_use {
    LANDLOCK_READ,       /* read files and folders beneath */
    LANDLOCK_WORK,       /* also write, create, remove, rename files and folders; no links, FIFOs, sockets, devices */
    LANDLOCK_READ_WRITE, /* a single file, such as /dev/null */
};

struct landlock_path {
    const char *path; /* skipped if NULL, or if missing and not `needed` */
    enum landlock_use use;
    int needed;
};

/* Returns the kernel's Landlock version; 0 with errno if it has none or Landlock is off. */
int landlock_abi(void);
/* Returns a close-on-exec descriptor that holds the rules, for landlock_enter in any number of children; -1 on
 * failure. */
int landlock_rules(int abi, const struct landlock_path *paths, size_t count, struct err *err) CHECKED;
/* Applies the rules to this thread and all it starts from now on. Needs no_new_privs. Closes the descriptor. */
int landlock_enter(int rules, struct err *err) CHECKED;
