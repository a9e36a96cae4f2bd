#pragma once
/* The interpreter: the one file that knows Python. The zygote starts it and loads the tools; a forked child runs one
 * script in it. What it has to say it writes to a descriptor as records (record.h). */

#include "base/err.h"
#include <stddef.h>
#include <sys/types.h>

struct pyhost_options {
    const char *tools; /* NULL: there are none */
};

/* Starts the interpreter and loads the tools; tells them, and what went wrong with them, on `descriptor`. */
int pyhost_start(const struct pyhost_options *options, int descriptor, struct err *err) CHECKED;
/* Loads all that must be there before a filter forbids executable memory, and makes the memory fit for forking. Takes
 * several times as long as the start, so a host is told that the tools are there before it. */
int pyhost_settle(struct err *err) CHECKED;
/* A fork that leaves the interpreter usable on both sides. As fork(). */
pid_t pyhost_fork(void);
/* In the child: goes through a run without telling anybody, so that the memory it needs is the child's own already. */
void pyhost_rehearse(void);
/* In the child: runs the script; events go to `descriptor`, and its end. -1 when that could not be told. `secrets` are
 * NAME=VALUE, each with its NUL; `limit` is the timeout as told. */
int pyhost_run(const char *script, size_t script_len, const char *secrets, size_t secrets_len, const char *limit,
               int descriptor);
