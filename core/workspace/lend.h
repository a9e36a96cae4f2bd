#pragma once
/* Folders of this machine that programs see in their workspace in the place of a copy, read-only, where their engine
 * can do that. The copy stays below, for whoever looks from outside. What is lent is known to us alone: metadata.json,
 * which a program may write, has no say in what of this machine is shown. */

#include "sandbox/engines_program.h"
#include <stdbool.h>
#include <stddef.h>

struct workspace;

/* The folder `path` at `place`, relative to the root. False: nothing can be lent here. From any thread. */
bool workspace_lend(struct workspace *ws, const char *path, const char *place);
/* What a program that starts now is to see: what is still there, and has a folder to be put on. The caller's. */
struct program_lent *workspace_lent(struct workspace *ws, size_t *count);
void workspace_lent_free(struct program_lent *lent, size_t count);
