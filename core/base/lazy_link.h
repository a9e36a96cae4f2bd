#pragma once
/* Libraries that are linked when they are first needed.
 *
 * libcurl and libgit2 bring some thirty libraries of their own, and most runs call neither. `keyturn --version`
 * takes 1.5 ms of CPU time without them and 7.3 ms with them (start-cpu in ./dev bench launch), and a hook starts
 * Keyturn once for each tool call of another agent. So the files that know these libraries list the functions they call
 * and fill a struct of pointers on first use. The headers are the ordinary ones, so types are checked as usual. Other
 * libraries are linked as usual: libseccomp, for one, costs less than 0.3 ms. */

#include "err.h"
#include <stddef.h>

struct lazy_symbol {
    const char *name;
    void **into;
};

/* Fills all pointers or none. The library stays for as long as the program runs. Safe on any thread. */
int lazy_link(const char *library, const struct lazy_symbol *symbols, size_t count, struct err *err) CHECKED;
