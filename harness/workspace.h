#pragma once
/* Bounds how much a script can put into its workspace. If the workspace is its own file system, as bubblewrap and
 * containers make it, the kernel bounds its bytes. The supervisor counts its files, which cost kernel memory too. */

#include <stdint.h>

/* Files and folders that a script may create. The supervisor notices more within WORKSPACE_LOOK_MS. */
#define WORKSPACE_FILES_MAX 20000u
#define WORKSPACE_LOOK_MS   100

/* Returns the size in MiB; 0 if the workspace shares a file system with others and is unbounded. */
uint64_t workspace_bound_mb(const char *path);
/* Returns how many files it holds; 0 if that is unknown without visiting each. */
uint64_t workspace_files(const char *path);
