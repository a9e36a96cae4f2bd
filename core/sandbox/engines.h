#pragma once
/* Sandbox engines as data. An engine is an argument vector that joins our stdin and stdout to a keyturn-harness
 * somewhere: in a bubblewrap, in a container, on another machine. Built in are bwrap, podman, docker, none, ssh,
 * kubectl and srun; the user's engines.json (beside config.json) adds others or replaces these by name:
 *
 *   { "mybox": { "about": "…", "argv": ["podman", "run", "-i", "{image}", "--tools", "{tools}"],
 *                "stop": ["podman", "kill", "{name}"] } }
 *
 * Places in an argument: {harness} {image} {tools} {workspace} {memory_mb} {pids} {name} {host}. An argument that is
 * just
 * "{secrets...}" becomes what the engine's `secret` says for each secret, e.g. ["--env","{secret}"]. Literal braces are
 * doubled. The names of places that an engine does not know are an error with the name. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct json;

struct sandbox_engine {
    char *name;
    char *about;    /* one line for people */
    char **argv;    /* NULL-terminated, with places */
    char **stop;    /* how a box is ended from outside, by {name}; NULL: killing our end is enough */
    char **secret;  /* arguments per secret; NULL: the environment of argv is enough */
    bool unsafe;    /* isolates nothing: never chosen by itself */
    bool remote;    /* paths of this machine mean nothing there; the workspace is the harness's own */
    bool from_user; /* of engines.json */
};

struct sandbox_engines {
    struct sandbox_engine *items;
    size_t count;
};

/* What a box is made of; also the key of a pool. Strings are borrowed. */
struct box_spec {
    const struct sandbox_engine *engine;
    const char *image;          /* NULL: "localhost/keyturn-harness" */
    const char *host;           /* for ssh: where; NULL: the engine's own */
    const char *tools;          /* folder; NULL: none */
    const char *workspace;      /* folder; NULL: one of its own, made and wiped by the pool */
    unsigned memory_mb;         /* 0: 512 */
    unsigned pids;              /* 0: 32 */
    const char *const *secrets; /* names in our environment that may be handed in; NULL-terminated, NULL: none */
    bool allow_degraded;
};

/* The built-in ones and those of `path` (NULL or absent file: only the built-in ones). */
int sandbox_engines_load(struct sandbox_engines *engines, const char *path, struct err *err) CHECKED;
void sandbox_engines_release(struct sandbox_engines *engines);
const struct sandbox_engine *sandbox_engines_find(const struct sandbox_engines *engines, const char *name);
/* The vector for one box, NULL-terminated; to be freed with argv_free. */
char **sandbox_engine_argv(const struct sandbox_engine *engine, const struct box_spec *spec, const char *name,
                           struct err *err);
char **sandbox_engine_stop(const struct sandbox_engine *engine, const struct box_spec *spec, const char *name);
void argv_free(char **argv);
