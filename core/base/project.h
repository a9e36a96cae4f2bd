#pragma once
/* The project that a folder belongs to. Memory and artifacts are kept per project. */

/* The top level of the git repository around the folder, else the folder itself, without symbolic links. A folder that
 * cannot be resolved is its own project. The caller frees it. */
char *project_root(const char *folder);
