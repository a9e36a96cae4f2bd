#pragma once
/* Libraries loaded when they are first needed.
 *
 * libcurl and libgit2 bring some thirty libraries of their own. Linking them at every start costs more than all the
 * rest of starting, and most runs call neither; nor libseccomp. So the files that know them list the functions they
 * call and fill a struct of pointers on first use; the headers are the ordinary ones, so types are checked as ever. */

#include "err.h"
#include <stddef.h>

struct late_symbol {
    const char *name;
    void **into;
};

/* Fills all or nothing. The library stays for as long as the program runs. Safe on any thread. */
int late_load(const char *library, const struct late_symbol *symbols, size_t count, struct err *err) CHECKED;
