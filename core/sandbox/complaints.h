#pragma once
/* What an engine wrote to stderr before it failed, for people. */

#include <stddef.h>

/* The last of it on one line; NULL: there is nothing. */
char *complaints_line(const char *said, size_t len);
/* What some that never begin say, and what it means: nobody should have to guess. `image` NULL: the engine has none.
 * NULL: nothing is known. */
char *complaints_cause(const char *said, const char *image);
