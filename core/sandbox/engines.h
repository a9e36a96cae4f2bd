#pragma once
/* Sandbox engines as data. An engine is an argument vector that joins our stdin and stdout to a keyturn-harness
 * somewhere: in a bubblewrap, in a container, on another machine. Built in are bwrap, podman, docker, none, ssh,
 * kubectl and srun (engines_builtin.c); the user's engines.json (beside config.json) adds others or replaces these by
 * name:
 *
 *   { "mybox": { "about": "…", "argv": ["podman", "run", "-i", "--name", "{name}", "{tools...}", "{image}"],
 *                "tools": ["--volume", "{tools}:/tools:ro"], "stop": ["podman", "kill", "{name}"] } }
 *
 * Places in an argument: {harness} {image} {tools} {workspace} {memory_mb} {pids} {name} {host}; {tools:quoted} is
 * quoted for a shell, as every other place can be. An argument that is just "{secrets...}" becomes what the engine's
 * `secret` says for each secret, e.g. ["--env","{secret}"]; one that is just "{tools...}" or "{host...}" what its
 * `tools` or `host` says, or nothing where there is none; "{degraded...}" becomes --allow-degraded where somebody wants
 * that. Literal braces are doubled. A place that nobody knows is an
 * error with its name when the file is read.
 *
 * With "as_user": true, root starts the command as the sandbox's user (user.h), by way of keyturn-launch, which makes
 * that user see every path of this machine that the vector is filled with. {uid} and {gid} are that user's, for engines
 * that have a service of root's start it.
 *
 * Values of secrets never stand in a vector, which every user of the machine can read: they are in the environment of
 * the engine's process, and nothing else of ours is, but for the names in `env`. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct sandbox_engine {
    char *name;
    char *about;   /* one line for people */
    char **argv;   /* NULL-terminated, with places */
    char **stop;   /* how a box is ended from outside, by {name}; NULL: killing our end is enough */
    char **secret; /* arguments per secret; NULL: the environment of argv is enough */
    char **tools;  /* arguments for a folder of tools; NULL: none */
    char **host;   /* arguments for a host; NULL: none */
    char **env;    /* variables of ours that its process gets, "DOCKER_*" for all that begin so; NULL: the usual ones */
    char *retry_on;                  /* when it fails with this text on stderr, it is tried once more … */
    char **retry;                    /* … with these arguments behind argv[0]; both or neither are NULL */
    bool no_secrets;                 /* there is no way to hand one in */
    bool unsafe;                     /* isolates nothing: never chosen by itself */
    bool ends_with_us;               /* whatever it starts ends when its input does: no signal is needed for that */
    bool as_user;                    /* root starts it as the sandbox's user (user.h), it needs no privilege */
    bool remote;                     /* paths of this machine mean nothing there; the workspace is the harness's own */
    bool from_user;                  /* of engines.json */
    struct sandbox_program *program; /* how it runs programs (engines_program.h); NULL: it cannot */
};

struct sandbox_engines {
    struct sandbox_engine *items;
    size_t count, room;
};

#define BOX_IMAGE     "localhost/keyturn-harness"
#define BOX_MEMORY_MB 512u
#define BOX_PIDS      32u

/* What a box is made of; also the key of a pool. Strings are borrowed. */
struct box_spec {
    const struct sandbox_engine *engine;
    const char *harness;        /* the program; NULL: sandbox_harness_path() */
    const char *image;          /* NULL: BOX_IMAGE */
    const char *host;           /* for ssh: where; NULL: the engine's own */
    const char *tools;          /* folder; NULL: none */
    const char *workspace;      /* folder; NULL: one of its own, made and wiped by the pool */
    const char *folder;         /* where the engine's process is started: some leave files there; NULL: here */
    unsigned memory_mb;         /* 0: BOX_MEMORY_MB */
    unsigned pids;              /* 0: BOX_PIDS */
    const char *const *secrets; /* names in our environment that may be handed in; NULL-terminated, NULL: none */
    bool allow_degraded;        /* the harness may go on without a layer that its machine lacks */
};

/* With strings of its own; the engine stays the same one. */
struct box_spec *box_spec_copy(const struct box_spec *spec);
void box_spec_free(struct box_spec *spec);

/* The built-in ones and those of `path` (NULL or absent file: only the built-in ones). */
int sandbox_engines_load(struct sandbox_engines *engines, const char *path, struct err *err) CHECKED;
/* Adds what a text says; engines of the same name are replaced. */
int sandbox_engines_read(struct sandbox_engines *engines, const char *text, size_t len, bool from_user,
                         struct err *err) CHECKED;
void sandbox_engines_release(struct sandbox_engines *engines);
const struct sandbox_engine *sandbox_engines_find(const struct sandbox_engines *engines, const char *name);
/* The first that isolates, is on this machine and is installed; NULL: none is. */
const struct sandbox_engine *sandbox_engines_choose(const struct sandbox_engines *engines);
/* "$XDG_CONFIG_HOME/keyturn/engines.json" */
char *sandbox_engines_default_path(void);
/* $KEYTURN_HARNESS, or keyturn-harness beside the program or where an installation puts it. Need not exist. */
char *sandbox_harness_path(void);

/* Whether the vector has the place: an engine without {workspace} gives the harness one that we cannot see. */
bool sandbox_engine_uses(const struct sandbox_engine *engine, const char *place);
/* Whether root's scripts run in it as the sandbox's user (user.h). */
bool sandbox_engine_is_other_user(const struct sandbox_engine *engine);
/* The vector for one box, NULL-terminated; to be freed with argv_free. `again`: with the engine's `retry`. */
char **sandbox_engine_argv(const struct sandbox_engine *engine, const struct box_spec *spec, const char *name,
                           bool again, struct err *err);
char **sandbox_engine_stop(const struct sandbox_engine *engine, const struct box_spec *spec, const char *name);
/* The environment of both: "NAME=value", NULL-terminated. */
char **sandbox_engine_env(const struct sandbox_engine *engine, const struct box_spec *spec);

/* What is wrong with an argument, for whoever reads one: 0, or -1 and a sentence. */
int sandbox_check_argument(const char *argument, struct err *err) CHECKED;
extern const char sandbox_engines_builtin[];
