#pragma once
/* Lists the processes of this machine, or of the sandbox around the caller, from /proc, and marks those of one
 * program.
 *
 * Uses only libc, because keyturn-launch includes it too. */

#include <stdbool.h>
#include <stddef.h>

struct process_entry {
    int pid, parent;
    char name[17]; /* printable characters only */
    bool ours;     /* marked by the caller */
    bool stopped;  /* by a signal or a debugger */
    bool waits;    /* waits in the kernel, and only SIGKILL interrupts it: for a disk, or for a child of vfork */
};

struct processes {
    struct process_entry *items;
    size_t count, room;
};

/* Lists all living processes by pid. If memory runs out, the list is incomplete. */
void processes_read(struct processes *all);
/* Marks all descendants of marked processes. */
void processes_mark_below(struct processes *all);
/* Removes all but the marked processes. */
void processes_keep_ours(struct processes *all);
bool processes_have(const struct processes *all, int pid);
void processes_release(struct processes *all);
