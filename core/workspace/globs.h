#pragma once
/* Patterns as users and models write them: with a leading variable of the workspace ("$OUTPUT_DIR/…"), surrounding
 * blanks, or empty. */

#include <stddef.h>

struct beneath;

/* The pattern relative to the root, or NULL if it is blank. "$NAME" and "${NAME}" count only at the start and only
 * for the root and the folders of the layout. They absorb one '/' or '\' after them. */
char *globs_normalize(const char *pattern);
/* The same, and makes an absolute path into the workspace, as programs print it, relative to its root. */
char *globs_within(const struct beneath *root, const char *pattern);
/* The path as a pattern that matches only this path. The caller frees it. */
char *globs_escape(const char *path);
/* Cleans the pattern like a path: no empty or "." parts, ".." resolved. NULL if it leaves the root. */
char *globs_clean(const char *pattern);
