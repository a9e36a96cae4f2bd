#pragma once
/* The supervisor: the only process that communicates with the host. It never starts Python. */

#include "zygote.h"

struct supervisor_options {
    const char *program;    /* path of this program; NULL: unknown */
    char *const *arguments; /* of the zygote, its name first */
    const char *workspace;
    const char *missing_tools; /* why there are no tools; NULL: there are */
    bool limit_cpu;
    bool end_with_input; /* end at the end of input, even before all requests are answered: another process, which
                            stays, holds the other end of our output */
};

/* Runs until the host closes its end or a signal ends it. Returns the exit status of the process. */
int supervisor_main(const struct supervisor_options *options);
