#pragma once
/* How much a script can put into its workspace. Where the workspace is a file system of its own, as bubblewrap and
 * containers make it, the kernel bounds its bytes; its files, which cost the kernel memory too, are counted by us. */

#include <stdint.h>

/* What a script may make, folders too. More are noticed within WORKSPACE_LOOK_MS. */
#define WORKSPACE_FILES_MAX 20000u
#define WORKSPACE_LOOK_MS   100

/* What fits in, in MiB; 0: it shares a file system with others, and nothing bounds it. */
uint64_t workspace_bound_mb(const char *path);
/* How many files it holds; 0 where that is not known without looking at each. */
uint64_t workspace_files(const char *path);
