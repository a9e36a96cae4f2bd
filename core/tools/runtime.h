#pragma once
/* The runtime of a session's tools: one workspace, the programs in it, and what outlives both (artifacts, skills). It
 * creates nothing before a call needs it, so a session that runs no program pays nothing.
 *
 *     struct runtime *runtime = runtime_new(&options);     copies the options, touches nothing
 *     runtime_emit_to(runtime, emitter);                   the engine receives its events
 *     …tools, with env->runtime…
 *     runtime_end(runtime);                                end of session: kills programs, removes the folder
 *     runtime_free(runtime);
 *
 * All functions run on the loop unless marked. Blocking work is a runtime_job (runtime_job.h). If Keyturn is killed,
 * the next session that needs a workspace removes the leftovers (sandbox/scratch_dirs.h). */

#include "base/err.h"
#include "sandbox/environment.h"
#include "workspace/program.h"
#include "workspace/workspace.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emitter;
struct exec;
struct loop;
struct runtime;
struct program_control;
struct sandbox_engine;
struct tool_env;
struct versions;

#define RUNTIME_PROGRAMS_MAX 8 /* at a time, unless the options set another limit */

struct runtime_options {
    struct loop *loop;
    const char *id;                      /* of the session */
    const struct sandbox_engine *engine; /* must outlive the runtime; NULL: no engine, and `why_none` says why */
    const char *why_none;
    const char *folder;           /* for workspaces removed with the session */
    const char *kept;             /* for workspaces that are kept */
    const char *artifacts;        /* folder of all projects' artifacts; NULL: none */
    const char *artifact_project; /* whose artifacts are used: project_root of the session's folder */
    const char *project;          /* folder with skills of its own, which take precedence; NULL: none */
    const char *const *skills;    /* folders of skills, earlier ones take precedence; NULL-terminated, or NULL */
    const char *const *host;      /* folders that inputs may come from, besides the session's own; likewise */
    struct workspace_policy policy;
    struct network_rules network; /* hosts that programs may reach; none: no network */
    struct program_limits limits;
    struct command_policy commands;
    const char *const *env;  /* "NAME=value", for every program; variables of a call take precedence; NULL: none */
    const char *env_missing; /* an unset variable, without which no program runs; NULL: all are set */
    int64_t timeout_ms;      /* longest run time of a program; 0: as long as the call asks for */
    size_t programs_max;     /* 0: RUNTIME_PROGRAMS_MAX */
};

struct runtime *runtime_new(const struct runtime_options *options); /* copies the options */
/* Calls runtime_end first if the caller did not. */
void runtime_free(struct runtime *runtime);
void runtime_emit_to(struct runtime *runtime, struct emitter *emitter); /* NULL: emit nothing from now on */
/* For a resumed session: new programs get numbers above this one, because the recording uses those up to it. */
void runtime_number_from(struct runtime *runtime, unsigned number);
/* Kills every program, removes the workspace unless it is kept, and emits both. Later calls are refused. */
void runtime_end(struct runtime *runtime);

/* Whether programs may use the network, and whether a sandbox isolates them. `runtime` may be NULL: no programs. */
bool runtime_network(const struct runtime *runtime);
bool runtime_isolates(const struct runtime *runtime);
const struct runtime_options *runtime_said(const struct runtime *runtime);
/* The interface for keys that go to programs. */
struct program_control *runtime_control(struct runtime *runtime);

/* ---- for tools ---- */

/* Opens the workspace; the first call creates it. Blocks; from any thread. */
struct workspace *runtime_workspace(struct runtime *runtime, struct err *err) CHECKED;
/* The store of artifacts. From any thread. */
struct versions *runtime_versions(struct runtime *runtime);
/* The programs, and commands by name. Fails if no engine can run programs. */
struct programs *runtime_programs(struct runtime *runtime, struct err *err) CHECKED;
struct exec *runtime_exec(struct runtime *runtime, struct err *err) CHECKED;
/* Fails if no further background program may start; the error lists the running ones. */
int runtime_room(const struct runtime *runtime, struct err *err) CHECKED;
/* Limits a requested time to the allowed maximum, in milliseconds. */
int64_t runtime_timeout_ms(const struct runtime *runtime, int64_t said_ms);

/* Notes a collected output for the workspace state. From any thread. */
struct runtime_output {
    const char *name, *saved_as; /* NULL: not saved */
    int64_t size, version;
    bool truncated;
};
void runtime_collected(struct runtime *runtime, const struct runtime_output *output);
/* Lists the workspace, if it exists, and emits its state some time later. */
void runtime_look(struct runtime *runtime);
