#pragma once
/* The demo turn: a recording with its files, found near the program. */

#include "options.h"
#include "turn/replay.h"

/* Finds it in the folder that the environment names, in the build tree, or where it is installed. NULL after printing
 * the error. */
char *demo_find(void);
/* The folder of all fixtures; NULL if there is none. */
char *demo_folder(void);
/* Prepares the folder of the demo with its files: the one that --workspace names, else one below `temp`. Returns 0 and
 * the path, which the caller frees, or the exit status after printing the error. */
int demo_workspace(const struct options *options, const struct recording *recording, const char *temp, char **path);

struct keymap;
struct strbuf;
struct view;

/* Adds what the demo suggests to try next, or nothing. `staged`: the result of ui_hunks_kept. */
void demo_hint(struct strbuf *out, const struct view *view, const struct keymap *keymap, size_t staged);
