#pragma once
/* Where a command that a model wrote may start: in one of the folders of the workspace, or in its root. */

#include "base/err.h"

/* The folder relative to the root ("." for the root itself): blank is the root, a path that begins with a variable of
 * the workspace is expanded, an absolute path counts from the root, backslashes are slashes. Patterns, ways out and
 * other folders are errors. The caller's. */
char *cwd_normalize(const char *raw, struct err *err) CHECKED;
