#pragma once
/* The parts of keyturn-launch. launch.c has the command line and the life of one program; the parts below do the rest.
 * No part may need more than libc. */

#include "base/processes.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- launch_guard.c: instead of a program ---- */

/* Waits for the end of the control line. If the word that all is done did not come before it, runs the command until it
 * succeeds. Returns the exit code. */
int launch_guard(char *const *command);
/* Replaces our standard files with /dev/null. A reader of the program's output waits until every copy is closed. */
void launch_close_standard(void);

/* ---- launch_as.c: as root, before the engine makes the sandbox ---- */

/* Makes `path` (absolute) reachable for the other user, so that the engine can bind it into the sandbox. A lent path is
 * read-only, and that user may read there what root may read. */
void launch_as_show(const char *path, bool lent);
/* Changes to that user and group, drops other groups and all capabilities, and executes the command. On failure prints
 * the reason on stderr and exits with LAUNCH_FAILED. */
_Noreturn void launch_as(uid_t uid, gid_t gid, char *const *command);

/* ---- launch_proc.c: for engines that leave parts of /proc writable ---- */

/* Forbids opening anything in /proc and /sys for writing. Returns false if the kernel cannot (Linux 5.19 can). */
bool launch_proc_close(void);

/* ---- launch_memory.c: for engines without a control group ---- */

#define MEMORY_WATCH_MS 100
#define MEMORY_UNSEEN   ULONG_MAX /* /proc can no longer be read */

struct memory_watch {
    unsigned long limit_mb;                /* 0: do not watch */
    const struct processes *(*find)(void); /* returns the program's living processes */
    long (*newest)(void); /* returns the number of the newest process; NULL if other programs start processes too */
    bool own_tmpfs;       /* /tmp, /dev/shm and /dev belong to the program if they are empty now */
};

/* Call before the program begins. */
void launch_memory_begin(const struct memory_watch *watch);
/* Checks the memory of all processes, every MEMORY_WATCH_MS and more often near the limit. Returns the MB they hold if
 * that is above the limit, MEMORY_UNSEEN if /proc can no longer be read, else 0. Lowers `wait_ms` to the time until the
 * next check (below 0: never). */
unsigned long launch_memory_over(int *wait_ms);
/* Parse /proc/PID/status and /proc/PID/smaps_rollup. Return false if the text does not mention memory. */
bool launch_memory_status(const char *text, unsigned long *kb);
bool launch_memory_rollup(const char *text, unsigned long *kb);

/* ---- launch_network.c: the connection to the host's proxy ---- */

/* Listens on a loopback port of this network namespace and sends the listening socket to the host, which accepts on it.
 * Sends it over `control`, or, if `path` is not NULL, over a new connection to the host's Unix socket at `path`. Then
 * sets HTTP_PROXY and the like in the program's variables to that port. Returns 0, or -1 with errno. On failure the
 * program must not start: without its proxy it would fail for no visible reason. */
int launch_network(char ***environment, int control, const char *path);

/* ---- launch_filter.c: for engines that take no filter ---- */

/* Loads the system call filter from the descriptor, for us and for the program, and closes it. Returns -1 with errno on
 * failure. */
int launch_filter_load(int fd);
/* The same from hexadecimal text; NULL is an error. */
int launch_filter_load_text(const char *text);
