#pragma once
/* What beneath.c and beneath_resolve.c share. */

#include "err.h"
#include <stdint.h>
#include <sys/types.h>

/* openat2 beneath the folder `dir` with these RESOLVE_ flags besides ours. The descriptor, or -1 with errno. */
int beneath_open_raw(int dir, const char *path, int flags, mode_t mode, uint64_t resolve);
/* Says in a sentence why `path` could not be opened. Always -1. */
int beneath_refuse(struct err *err, int code, const char *path);
