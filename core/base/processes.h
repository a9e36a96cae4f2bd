#pragma once
/* The processes of this machine, or of the sandbox one is in, as /proc tells them, and those of them that are
 * somebody's. Nothing but libc: keyturn-launch has it too. */

#include <stdbool.h>
#include <stddef.h>

struct process_entry {
    int pid, parent;
    char name[17]; /* nothing in it but what can be shown */
    bool ours;     /* for whoever looks */
    bool stopped;  /* by a signal or a debugger */
    bool waits;    /* in the kernel, and no signal but a kill gets it out: for a disk, or for a child of vfork */
};

struct processes {
    struct process_entry *items;
    size_t count, room;
};

/* All that live, by their number. Without memory for more, those that are found are a beginning. */
void processes_read(struct processes *all);
/* Marks whatever hangs from one that is ours. */
void processes_mark_below(struct processes *all);
/* Leaves none but ours. */
void processes_keep_ours(struct processes *all);
bool processes_have(const struct processes *all, int pid);
void processes_release(struct processes *all);
