#pragma once
/* The system call filter for programs, made from program_syscalls.def. */

#include "base/err.h"
#include <stdbool.h>

/* A descriptor with the filter as BPF instructions, as bubblewrap's --seccomp reads them: new, at its beginning, the
 * caller's to close. `ungrouped`: no control group limits the memory of the program, so the calls that make memory
 * which no other limit counts are refused too. -1 and a sentence: a program must not run without it. */
int syscall_filter_open(bool ungrouped, struct err *err) CHECKED;
/* The same as text in hexadecimal, for an engine that hands no descriptors on: the caller's. NULL and a sentence. */
char *syscall_filter_text(bool ungrouped, struct err *err) CHECKED;
