#pragma once
/* What is left of a program where nothing is around it and keyturn-launch could not see to it: the program killed or
 * stopped it. Found by its control group, by the launcher it hangs from, and by the name that every program has in its
 * environment (PROGRAM_NAME). */

#include "program.h"

struct cgroup;
struct loop;

#define PROGRAM_NAME "KEYTURN_PROGRAM"

struct program_rest {
    int launcher; /* 0: it is gone */
    const char *name;
    const struct cgroup *cgroup; /* NULL: there is none */
};

/* Kills it, the launcher too, on a thread: it looks at every process of this machine, more than once, and waits
 * between. `killed` is called on the loop with what was found. */
struct rest_hunt;
struct rest_hunt *rest_hunt_start(struct loop *loop, const struct program_rest *rest,
                                  void (*killed)(void *user, const struct program_left *left, size_t count),
                                  void *user);
/* Calls nobody; what is left is still killed. NULL-safe. The control group is freed when that is done. */
void rest_hunt_leave(struct rest_hunt *hunt, struct cgroup *take_cgroup);
