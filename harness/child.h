#pragma once
/* A child: waits for one script, runs it, and is gone. */

struct sandbox;

/* In the process that was just forked from the zygote `parent`. The descriptors are those the zygote made for it. */
_Noreturn void child_main(struct sandbox *sandbox, int parent, int script, int events, int out, int err);
