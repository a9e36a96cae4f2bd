#pragma once
/* The layers that a child enters before it runs an untrusted script: no new privileges, resource limits, Landlock and a
 * system call filter. They need no privilege and work inside bubblewrap and inside containers.
 *
 * The zygote calls sandbox_prepare once for the slow part: it opens the paths, builds the filter and exports it. The
 * child calls sandbox_enter: no allocation, a few system calls, no way back. sandbox_try forks a child that enters and
 * then tries one forbidden action per layer. So `ready` reports the layers that took effect, not those that were
 * requested. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sandbox;
struct strbuf;

struct sandbox_options {
    const char *tools;     /* readable; may be missing */
    const char *workspace; /* readable and writable; must exist */
    unsigned memory_mb;    /* address space; 0: 512 */
    unsigned file_mb;      /* largest file; 0: 16 */
    unsigned files;        /* open at once; 0: 64 */
    /* Switches layers off, for tests that show that a layer is needed, and for machines that lack one. */
    bool no_seccomp, no_landlock, no_rlimits;
    /* Everything that a script can open, except the workspace, is on read-only mounts (readonly_mounts.h). Then other
     * operations on an open file are allowed, because they cannot change it. */
    bool readonly;
    bool no_devices; /* allow neither /dev/null nor /dev/urandom */
};

/* Succeeds on a machine that lacks a layer; sandbox_try reports that. Holds one descriptor open, which sandbox_enter
 * needs and closes. So a child closes inherited descriptors after sandbox_enter, which allows close_range. With limits,
 * threads created from now on have small stacks and share one heap. Otherwise twelve threads would fill the address
 * space. */
struct sandbox *sandbox_prepare(const struct sandbox_options *options, struct err *err);
void sandbox_free(struct sandbox *sandbox);

/* Tests the layers. Returns 0 if every layer that is not switched off works, else -1, and err names the others and why.
 * After that sandbox_enter enters only the working layers, for a caller that may continue without the rest. */
int sandbox_try(struct sandbox *sandbox, struct err *err) CHECKED;

/* Call in the child, single-threaded. On failure the child must run nothing. `cpu_s` is the limit on processor time; 0:
 * not yet known. The filter refuses every change of a limit. So a child that enters before it knows its script gets the
 * limit from outside, with sandbox_limit_cpu. */
int sandbox_enter(struct sandbox *sandbox, unsigned cpu_s, struct err *err) CHECKED;
/* Limits the processor time of another process of the same user, or with pid 0 of this one. SIGXCPU, which can be
 * caught, comes after `cpu_s` seconds, SIGKILL one second later. Does nothing if limits are off. Needs no privilege and
 * works on a process that is not dumpable. */
int sandbox_limit_cpu(const struct sandbox *sandbox, pid_t pid, unsigned cpu_s, struct err *err) CHECKED;

/* Writes what took effect as a JSON object, e.g. {"no_new_privs":true,"rlimits":true,"landlock":7,"seccomp":true,
 * "readonly":true,"workspace_mb":16}. A value is false or 0 if a layer is off or the workspace is unbounded.
 * "degraded":"why" names layers that do not work. Call after sandbox_try. */
void sandbox_describe(struct strbuf *out, const struct sandbox *sandbox);
