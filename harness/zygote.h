#pragma once
/* The zygote: an interpreter with the tools loaded that never runs a script and is forked for each. */

#include "sandbox.h"
#include <stdbool.h>

struct zygote_options {
    struct sandbox_options sandbox;
    const char *tools;           /* NULL: there are none */
    const char *const *left_out; /* as pyhost_options has it */
    bool no_readonly;            /* do not even try */
    bool allow_degraded;
};

/* Runs until the supervisor is gone; gives the process's exit status. */
int zygote_main(const struct zygote_options *options);
