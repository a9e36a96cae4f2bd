#pragma once
/* Patterns for relative paths with '/': `*` and `?` and `[…]` stay within a component, `**` as a whole component is any
 * number of them, `{a,b}` is a choice (nested, may hold '/' and be empty), `\` takes the next character as it is.
 * A folder followed by `**` matches the folder itself too. Dot files are not special; upper and lower case differ. */

#include "base/err.h"
#include <stdbool.h>

struct glob;

/* NULL when the pattern is malformed: a class or a choice that does not end, an empty class, a lone `}` or a backslash at
 * the end, more than GLOB_CHOICES_MAX ways to read it. */
struct glob *glob_new(const char *pattern, struct err *err) CHECKED;
void glob_free(struct glob *glob);
bool glob_match(const struct glob *glob, const char *name);
/* Whether anything below this folder could match: what a search need not look at. */
bool glob_may_lead(const struct glob *glob, const char *folder);
/* The folder that everything that matches is in, as far as the pattern says it in plain text ("" when it does not). When
 * there is nothing but plain text, `whole` is set and it is the path itself. The caller's. */
char *glob_base(const struct glob *glob, bool *whole);

#define GLOB_CHOICES_MAX 1024
