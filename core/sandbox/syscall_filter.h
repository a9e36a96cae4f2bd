#pragma once
/* The system call filter for programs, built from program_syscalls.def. */

#include "base/err.h"
#include <stdbool.h>

/* Opens a descriptor with the filter as BPF instructions, as bubblewrap's --seccomp reads them. It is new, at its
 * beginning, and the caller closes it. `ungrouped`: no control group limits the program's memory, so the filter also
 * refuses calls that create memory which no other limit counts. -1 and a sentence: the program must not run without
 * it. */
int syscall_filter_open(bool ungrouped, struct err *err) CHECKED;
/* The same as hexadecimal text, for an engine that passes no descriptors on. The caller frees it. NULL and a
 * sentence on failure. */
char *syscall_filter_text(bool ungrouped, struct err *err) CHECKED;
