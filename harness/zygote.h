#pragma once
/* The zygote: an interpreter with the tools loaded. It never runs a script; each script runs in a fork of it. */

#include "sandbox.h"
#include <stdbool.h>

struct zygote_options {
    struct sandbox_options sandbox;
    const char *tools;           /* NULL: no tools */
    const char *const *left_out; /* as in pyhost_options */
    bool no_readonly;            /* do not try to remount read-only */
    bool allow_degraded;
};

/* Runs until the supervisor is gone. Returns the exit status of the process. */
int zygote_main(const struct zygote_options *options);
