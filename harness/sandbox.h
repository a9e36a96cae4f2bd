#pragma once
/* The layers a child puts on before it runs a stranger's script: no new privileges, resource limits, Landlock, a filter
 * of system calls. They need no privilege and work inside bubblewrap and inside containers alike.
 *
 * sandbox_prepare does what is slow, once, in the zygote: opens the paths, builds the filter and exports it.
 * sandbox_enter is for the child: no allocation, a few system calls, no way back. sandbox_try forks a child that enters
 * and then tries a forbidden thing per layer, so that `ready` tells what took effect and not what was asked for. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sandbox;
struct strbuf;

struct sandbox_options {
    const char *tools;     /* readable; may be missing */
    const char *workspace; /* readable and writable; must be there */
    unsigned memory_mb;    /* address space; 0: 512 */
    unsigned file_mb;      /* largest file; 0: 16 */
    unsigned files;        /* open at once; 0: 64 */
    /* Switched off, for the runs that show that a layer is needed, and for machines that lack one. */
    bool no_seccomp, no_landlock, no_rlimits;
    /* All that a script can open, but for the workspace, is on read-only mounts (mounts.h): what else an open file
     * would let it do may be done then. */
    bool readonly;
    bool no_devices; /* neither /dev/null nor /dev/urandom */
};

/* A machine that lacks a layer is not a failure here: sandbox_try tells. Holds one descriptor open, which
 * sandbox_enter needs and closes: a child that closes what it inherited does so after sandbox_enter, close_range is
 * allowed then. With limits, threads that are made from now on have small stacks and share one heap: else twelve of
 * them would fill the address space. */
struct sandbox *sandbox_prepare(const struct sandbox_options *options, struct err *err);
void sandbox_free(struct sandbox *sandbox);

/* Tries the layers. 0: every layer that was not switched off is in effect; -1: err names those that are not and why.
 * After that sandbox_enter puts on the others, for a caller that was told to go on without. */
int sandbox_try(struct sandbox *sandbox, struct err *err) CHECKED;

/* In the child, single-threaded. On failure nothing may be run. `cpu_s` is the limit on processor time; 0: not yet. The
 * filter refuses every change of a limit, so a child that enters before it knows its script is given the limit from
 * outside, with sandbox_limit_cpu. */
int sandbox_enter(struct sandbox *sandbox, unsigned cpu_s, struct err *err) CHECKED;
/* Limits the processor time of another process of the same user, or with 0 one's own: SIGXCPU after `cpu_s` seconds,
 * which can be caught, SIGKILL one second later. Does nothing when limits are off. Needs no privilege, and works on a
 * process that is not dumpable. */
int sandbox_limit_cpu(const struct sandbox *sandbox, pid_t pid, unsigned cpu_s, struct err *err) CHECKED;

/* What took effect as a JSON object, e.g. {"no_new_privs":true,"rlimits":true,"landlock":7,"seccomp":true,
 * "readonly":true,"workspace_mb":16}; false or 0 where a layer is off or the workspace not bounded, with
 * "degraded":"why" when one could not be put on. After sandbox_try. */
void sandbox_describe(struct strbuf *out, const struct sandbox *sandbox);
