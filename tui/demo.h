#pragma once
/* The demo turn: a recording with its files, found near the program. */

#include "options.h"
#include "turn/replay.h"

/* Where the environment says, as built, or as installed. NULL after the error was said. */
char *demo_find(void);
/* The folder of all fixtures; NULL when there is none. */
char *demo_folder(void);
/* The folder it plays in, with its files: the one that --workspace names, else one below `temp`. 0 and the path
 * (yours), or the exit status after the error was said. */
int demo_workspace(const struct options *options, const struct recording *recording, const char *temp, char **path);
