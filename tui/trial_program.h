#pragma once
/* The sandbox for programs, tried: one that does nothing is run in it. */

#include "workspace/program.h"

struct program_trial {
    const struct sandbox_engine *engine; /* runs programs */
    struct network_rules network;
    struct program_limits limits;
    /* What comes of it. */
    char *says;   /* by the engine although it works, on one line; NULL: nothing */
    bool ignores; /* its limits, as it says */
};

/* Runs it and takes everything down: 0, or -1 and why not, in the engine's own words. Blocks, for a while at most. */
int program_trial_run(struct program_trial *trial, struct err *err) CHECKED;
void program_trial_release(struct program_trial *trial);
