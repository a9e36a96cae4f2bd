#pragma once
/* The place where a session's tools run programs: one workspace, the programs in it, and what outlives both (artifacts,
 * skills). Nothing of it is made before a call needs it, so a session that runs no program pays nothing.
 *
 *     struct place *place = place_new(&options);            knows what was set up, touches nothing
 *     place_emit_to(place, emitter);                        the engine listens to what happens here
 *     …tools, with env->place…
 *     place_end(place);                                     the session ended: every program is killed, the folder goes
 *     place_free(place);
 *
 * Everything is on the loop but for what is marked. Work that blocks is a place_job (place_job.h). What a program that
 * was killed left behind is removed by the next session that needs a workspace (sandbox/rooms.h). */

#include "base/err.h"
#include "workspace/policy.h"
#include "workspace/program.h"
#include "workspace/workspace.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emitter;
struct exec;
struct loop;
struct place;
struct program_control;
struct sandbox_engine;
struct tool_env;
struct versions;

#define PLACE_PROGRAMS_MAX 8 /* at a time, unless somebody says otherwise */

struct place_options {
    struct loop *loop;
    const char *id;                      /* of the session */
    const struct sandbox_engine *engine; /* lives longer; NULL: there is none, and `why_none` says so */
    const char *why_none;
    const char *folder;        /* for workspaces that go with the session */
    const char *kept;          /* for those that stay */
    const char *artifacts;     /* of all sessions */
    const char *project;       /* folder with skills of its own, which have the first word; NULL: none */
    const char *const *skills; /* folders of skills, the first has the first word; NULL-terminated, or NULL */
    const char *const *host;   /* folders that inputs may come from, besides the session's own; likewise */
    struct workspace_policy policy;
    struct network_rules network; /* that programs may reach; none: no network */
    struct program_limits limits;
    struct command_policy commands;
    const char *const *env;  /* "NAME=value", for every program; a call's own go before; NULL: none */
    const char *env_missing; /* no program runs, because this variable is not set; NULL: all are there */
    int64_t timeout_ms;      /* the longest a program may run; 0: as long as it says */
    size_t programs_max;     /* 0: PLACE_PROGRAMS_MAX */
};

struct place *place_new(const struct place_options *options); /* copies */
/* Ends it when nobody did before. */
void place_free(struct place *place);
void place_emit_to(struct place *place, struct emitter *emitter); /* NULL: nobody, from now on */
/* In a session that is gone on with: programs had names up to this number, which are not given again. */
void place_number_from(struct place *place, unsigned number);
/* Kills every program, removes the workspace unless it is to stay, and tells both. Whatever comes later is refused. */
void place_end(struct place *place);

/* What a call may do that runs a program here. `place` NULL: there is none, so nothing is done. */
bool place_network(const struct place *place);
bool place_isolates(const struct place *place);
const struct place_options *place_said(const struct place *place);
/* How keys reach programs. */
struct program_control *place_control(struct place *place);

/* ---- for tools ---- */

/* The workspace, made when there is none. Blocks; from any thread. */
struct workspace *place_workspace(struct place *place, struct err *err) CHECKED;
/* Where artifacts are. From any thread. */
struct versions *place_versions(struct place *place);
/* The programs, and commands by name; an error when there is no engine that runs any. */
struct programs *place_programs(struct place *place, struct err *err) CHECKED;
struct exec *place_exec(struct place *place, struct err *err) CHECKED;
/* Whether one more may be started that goes on beyond its call; names those that run when not. */
int place_room(const struct place *place, struct err *err) CHECKED;
/* What is allowed of a time that somebody said, in milliseconds. */
int64_t place_timeout_ms(const struct place *place, int64_t said_ms);

/* Something that was collected, for the state. From any thread. */
struct place_output {
    const char *name, *saved_as; /* NULL: it was not saved */
    int64_t size, version;
    bool truncated;
};
void place_collected(struct place *place, const struct place_output *output);
/* Looks at the workspace, when it is there, and tells the state; some time later. */
void place_look(struct place *place);
