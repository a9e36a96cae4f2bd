#pragma once
/* A child process that waits for one script, runs it, and exits. */

struct sandbox;

/* Call in the process just forked from the zygote `parent`. The descriptors are those that the zygote made for it. */
_Noreturn void child_main(struct sandbox *sandbox, int parent, int script, int events, int out, int err);

/* "Script ran out of memory (512 MB)"; without the number if memory is not limited. */
const char *crash_report_memory(void);
