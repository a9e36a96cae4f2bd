#pragma once
/* The parts of keyturn-launch. launch.c has the command line and the life of one program; these are what it is told to
 * do besides. Nothing here may need more than libc. */

#include "base/processes.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- launch_guard.c: instead of a program ---- */

/* Waits for the end of the control line. Without the word that all is done before it, the command is run until it
 * succeeds. Returns the exit code. */
int launch_guard(char *const *command);
/* Puts /dev/null in the place of our standard files: whoever reads the program's output waits for its end. */
void launch_close_standard(void);

/* ---- launch_as.c: before the sandbox is made, as root ---- */

/* `path` will be bound into the sandbox and must be reachable for the other user, wherever it is. Absolute. What is
 * lent is read-only, and what root may read there that user may read, too. */
void launch_as_show(const char *path, bool lent);
/* Becomes that user, with that group, no other groups and no capabilities, and then the command. Says on stderr what is
 * in the way and exits with LAUNCH_FAILED when it cannot. */
_Noreturn void launch_as(uid_t uid, gid_t gid, char *const *command);

/* ---- launch_proc.c: where the engine leaves parts of /proc writable ---- */

/* Nothing in /proc and /sys can be opened for writing from now on. False: this kernel cannot (Linux 5.19 can). */
bool launch_proc_close(void);

/* ---- launch_memory.c: where no control group counts ---- */

#define MEMORY_WATCH_MS 100
#define MEMORY_UNSEEN   ULONG_MAX /* /proc tells us nothing any more */

struct memory_watch {
    unsigned long limit_mb;                /* 0: nothing is watched */
    const struct processes *(*find)(void); /* the program's processes that live */
    long (*newest)(void);                  /* the number of the newest process there; NULL: others make some too */
    bool own_tmpfs;                        /* /tmp, /dev/shm and /dev are the program's where they are empty now */
};

/* Before the program begins. */
void launch_memory_begin(const struct memory_watch *watch);
/* Looks at the memory of all processes, every MEMORY_WATCH_MS and more often near the limit. Returns what they hold in
 * MB when that is above the limit, MEMORY_UNSEEN when that cannot be told any more, else 0; `wait_ms` is lowered to
 * when it wants to look again (below 0: never). */
unsigned long launch_memory_over(int *wait_ms);
/* What /proc/PID/status and /proc/PID/smaps_rollup say. False: nothing of memory. */
bool launch_memory_status(const char *text, unsigned long *kb);
bool launch_memory_rollup(const char *text, unsigned long *kb);

/* ---- launch_network.c: one way out ---- */

/* Listens on a port of this network namespace's loopback and sends the listening socket to the host, who accepts there:
 * over `control`, or where there is no such line over one to the host's Unix socket at `path` (NULL: there is). The
 * program's variables then name the port as its proxy: HTTP_PROXY and so on. 0, or -1 with errno: the program must not
 * begin without its way out, for nobody would know why it fails. */
int launch_network(char ***environment, int control, const char *path);

/* ---- launch_filter.c: where the engine takes no filter ---- */

/* Loads the system call filter that the descriptor holds, for us and for the program, and closes it. -1 with errno. */
int launch_filter_load(int fd);
/* The same from text in hexadecimal; NULL is an error. */
int launch_filter_load_text(const char *text);
