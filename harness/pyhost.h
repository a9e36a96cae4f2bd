#pragma once
/* The interpreter: the one file that knows Python. The zygote starts it and loads the tools; a forked child runs one
 * script in it. What it has to say it writes to a descriptor as records (record.h). */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pyhost_options {
    const char *tools;           /* NULL: there are none */
    const char *const *left_out; /* paths of files of tools that are not loaded, NULL-terminated; NULL: none */
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

struct pyhost_script {
    const char *text, *secrets; /* NAME=VALUE, each with its NUL */
    const char *tools;          /* names of those that it may see, each with its NUL */
    size_t text_len, secrets_len, tools_len;
    bool all_tools;    /* whatever `tools` says */
    const char *limit; /* the timeout as told */
    bool files;        /* some were put into the working folder, which is looked through for modules then */
};

/* In the child: whether Python was refused memory at some time. From a signal handler too. */
bool pyhost_starved(void);
/* In the child: runs the script; events go to `descriptor`, and its end. -1 when that could not be told. */
int pyhost_run(const struct pyhost_script *script, int descriptor);
