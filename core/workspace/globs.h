#pragma once
/* Patterns as people and models write them: they may begin with a variable of the workspace ("$OUTPUT_DIR/…"), hold
 * blanks around them, or be empty. */

#include <stddef.h>

struct beneath;

/* The pattern relative to the root, or NULL when nothing but blanks is in it. "$NAME" and "${NAME}" count only at the
 * start and only for the folders of the layout and the root; one '/' or '\' behind them is theirs. */
char *globs_normalize(const char *pattern);
/* The same, and an absolute path that programs print of something in the workspace is relative to its root. */
char *globs_within(const struct beneath *root, const char *pattern);
/* The path as a pattern that fits nothing else. The caller's. */
char *globs_escape(const char *path);
/* The pattern as a path would be cleaned: no empty or "." parts, ".." resolved. NULL when it climbs out of the root. */
char *globs_clean(const char *pattern);
