#pragma once
/* The supervisor: speaks with the host, and is the only one who does. It never starts Python. */

#include "zygote.h"

struct supervisor_options {
    const char *program;    /* where this program lies; NULL: not known */
    char *const *arguments; /* of the zygote, its name first */
    const char *workspace;
    const char *missing_tools; /* why there are no tools; NULL: there are */
    bool limit_cpu;
    bool end_with_input; /* end at the end of input, not when all requests are answered: somebody else, who stays, holds
                            the other end of our output */
};

/* Runs until the host closes its end or a signal ends it; gives the process's exit status. */
int supervisor_main(const struct supervisor_options *options);
