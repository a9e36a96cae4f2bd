#pragma once
/* Sandbox engines as data: the argument vectors that start a harness.
 *
 * An engine connects our stdin and stdout to a keyturn-harness somewhere: in a bubblewrap, in a container, on another
 * machine. Built in are bwrap, podman, docker, none, ssh, kubectl and srun (bwrap.c, containers.c). The user's
 * engines.json (beside config.json) adds others or replaces these by name:
 *
 *   { "mybox": { "about": "…", "argv": ["podman", "run", "-i", "--name", "{name}", "{tools...}", "{image}"],
 *                "tools": ["--volume", "{tools}:/tools:ro"], "stop": ["podman", "kill", "{name}"] } }
 *
 * Placeholders in an argument: {harness} {image} {tools} {workspace} {memory_mb} {pids} {name} {host}. {tools:quoted}
 * is quoted for a shell; every other placeholder can be quoted the same way. Double literal braces. An unknown
 * placeholder is an error that names it when the file is read.
 *
 * Some arguments become a list:
 *   "{secrets...}"            the engine's `secret` for each secret, e.g. ["--env","{secret}"]
 *   "{tools...}", "{host...}" the engine's `tools` or `host`; nothing without a tools folder or a host
 *   "{degraded...}"           --allow-degraded, if the options allow that
 *
 * With "as_user": true, root starts the command as the sandbox's user (user.h) through keyturn-launch. keyturn-launch
 * makes every path of this machine in the vector visible to that user. {uid} and {gid} are that user's ids, for engines
 * whose service of root starts the harness.
 *
 * Values of secrets are never in a vector, because every user of the machine can read it. They are in the environment
 * of the engine's process. Of our environment, that process gets only the names in `env`. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct sandbox_engine {
    char *name;
    char *about;   /* one line for people */
    char **argv;   /* NULL-terminated, with places */
    char **stop;   /* ends a box from outside, by {name}; NULL: killing our end is enough */
    char **secret; /* arguments per secret; NULL: the environment of argv is enough */
    char **tools;  /* arguments for a folder of tools; NULL: none */
    char **host;   /* arguments for a host; NULL: none */
    char **env; /* variables of our environment that its process gets, "DOCKER_*" for a prefix; NULL: the usual ones */
    char *retry_on;                  /* if it fails with this text on stderr, Keyturn starts it once more … */
    char **retry;                    /* … with these arguments behind argv[0]; both or neither are NULL */
    bool no_secrets;                 /* the engine cannot receive secrets */
    bool unsafe;                     /* isolates nothing: used only if the user names it */
    bool ends_with_us;               /* all it starts ends with its input: no signal is needed */
    bool as_user;                    /* root starts it as the sandbox's user (user.h); it needs no privilege */
    bool remote;                     /* paths of this machine mean nothing there; the harness has its own workspace */
    bool from_user;                  /* from engines.json */
    struct sandbox_program *program; /* how the engine runs programs (engines_program.h); NULL: it cannot */
};

struct sandbox_engines {
    struct sandbox_engine *items;
    size_t count, room;
};

#define BOX_IMAGE     "localhost/keyturn-harness"
#define BOX_MEMORY_MB 512u
#define BOX_PIDS      32u

/* The options of a box; also the key of a pool. Strings are borrowed. */
struct box_options {
    const struct sandbox_engine *engine;
    const char *harness;   /* the harness program; NULL: sandbox_harness_path() */
    const char *image;     /* NULL: BOX_IMAGE */
    const char *host;      /* for ssh: the machine; NULL: the engine's own */
    const char *tools;     /* folder; NULL: none */
    const char *workspace; /* folder; NULL: the pool makes and wipes one */
    const char
        *folder; /* where the engine's process starts, because some leave files there; NULL: the current folder */
    unsigned memory_mb;         /* 0: BOX_MEMORY_MB */
    unsigned pids;              /* 0: BOX_PIDS */
    const char *const *secrets; /* names in our environment that scripts may receive; NULL-terminated, NULL: none */
    bool allow_degraded;        /* the harness may continue without a layer that its machine lacks */
};

/* Copies the options with their strings; the engine is shared. */
struct box_options *box_options_copy(const struct box_options *spec);
void box_options_free(struct box_options *spec);

/* Loads the built-in engines and those of `path`. If `path` is NULL or absent, only the built-in ones. */
int sandbox_engines_load(struct sandbox_engines *engines, const char *path, struct err *err) CHECKED;
/* Adds the engines of a text; they replace engines of the same name. */
int sandbox_engines_read(struct sandbox_engines *engines, const char *text, size_t len, bool from_user,
                         struct err *err) CHECKED;
void sandbox_engines_release(struct sandbox_engines *engines);
const struct sandbox_engine *sandbox_engines_find(const struct sandbox_engines *engines, const char *name);
/* The first engine that isolates, runs on this machine and is installed; NULL: none. */
const struct sandbox_engine *sandbox_engines_choose(const struct sandbox_engines *engines);
/* "$XDG_CONFIG_HOME/keyturn/engines.json" */
char *sandbox_engines_default_path(void);
/* $KEYTURN_HARNESS, or keyturn-harness beside the program or where an installation puts it. The file may be missing. */
char *sandbox_harness_path(void);

/* True if the vector has the placeholder. An engine without {workspace} gives the harness one that Keyturn cannot
 * see. */
bool sandbox_engine_uses(const struct sandbox_engine *engine, const char *place);
/* True if root's scripts run in it as the sandbox's user (user.h). */
bool sandbox_engine_is_other_user(const struct sandbox_engine *engine);
/* The argument vector for one box, NULL-terminated; free it with argv_free. `again`: with the engine's `retry`. */
char **sandbox_engine_argv(const struct sandbox_engine *engine, const struct box_options *spec, const char *name,
                           bool again, struct err *err);
char **sandbox_engine_stop(const struct sandbox_engine *engine, const struct box_options *spec, const char *name);
/* The environment of the argument and stop vectors: "NAME=value", NULL-terminated. */
char **sandbox_engine_env(const struct sandbox_engine *engine, const struct box_options *spec);

/* Checks an argument: returns 0, or -1 and a sentence. */
int sandbox_check_argument(const char *argument, struct err *err) CHECKED;
/* The built-in engines, as the text of an engines.json: bwrap.c and containers.c. */
extern const char sandbox_engine_bwrap[], sandbox_engines_other[];
