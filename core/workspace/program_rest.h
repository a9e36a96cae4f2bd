#pragma once
/* What is left of a program where nothing is around it and keyturn-launch could not see to it: the program killed or
 * stopped it. Found by its control group, by the launcher it hangs from, and by the name that every program has in its
 * environment (PROGRAM_NAME). */

#include "program.h"

struct cgroup;

#define PROGRAM_NAME "KEYTURN_PROGRAM"

struct program_rest {
    int launcher; /* 0: it is gone */
    const char *name;
    const struct cgroup *cgroup; /* NULL: there is none */
};

/* Kills it, the launcher too. Fills `left` with what was found, PROGRAM_LEFT_MAX at most; returns how many that are. */
size_t program_rest_kill(const struct program_rest *rest, struct program_left *left);
