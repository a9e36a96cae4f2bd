#pragma once
/* The limits of the shell that Keyturn was started from: what it needs of them, checked before anything is done. */

#include "base/err.h"

/* Makes the program's own limits usable: raises what is too low as far as the hard limit allows, and ignores SIGXFSZ,
 * so that a file that may not grow is an error of the write. -1 and `err` when a limit is too low to work with. */
int limits_prepare(struct err *err) CHECKED;
