#pragma once
/* The Python interpreter, which no other file uses. The zygote starts it and loads the tools; a forked child runs one
 * script in it. It writes its output to a descriptor as records (record.h). */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pyhost_options {
    const char *tools;           /* NULL: no tools */
    const char *const *left_out; /* paths of tool files to skip, NULL-terminated; NULL: none */
};

/* Starts the interpreter and loads the tools. Reports the tools and their errors on `descriptor`. */
int pyhost_start(const struct pyhost_options *options, int descriptor, struct err *err) CHECKED;
/* Loads everything needed before a filter forbids executable memory, and prepares memory for forking. Takes several
 * times as long as the start, so the host learns of the tools before this. */
int pyhost_preload(struct err *err) CHECKED;
/* Forks so that the interpreter stays usable on both sides. Returns the same as fork(). */
pid_t pyhost_fork(void);
/* Call in the child: goes through a run without output, so that the memory pages it needs are the child's own
 * already. */
void pyhost_rehearse(void);

struct pyhost_script {
    const char *text, *secrets; /* NAME=VALUE, each with its NUL */
    const char *tools;          /* names of the tools it may see, each with its NUL */
    size_t text_len, secrets_len, tools_len;
    bool all_tools;    /* overrides `tools` */
    const char *limit; /* the timeout as error messages name it */
    bool files;        /* the request placed files in the working folder, so modules are also searched there */
};

/* Call in the child: returns whether an allocation of Python has failed at some time. Safe in a signal handler. */
bool pyhost_starved(void);
/* Call in the child: runs the script and writes its events and its end to `descriptor`. Returns -1 if it could not
 * report the end. */
int pyhost_run(const struct pyhost_script *script, int descriptor);
