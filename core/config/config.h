#pragma once
/* What a person set up once: config.json (JSON with // comments). Read before anything runs, never changed after.
 *
 * A file that says something this version does not understand is refused with the line and the key that was probably
 * meant: a setting that is silently ignored is worse than none. What the command line says wins over all of it.
 *
 * Stands above turn/: it names the types of its collaborators, and only programs use it. */

#include "base/arena.h"
#include "base/err.h"
#include "mcp/spec.h"
#include "model/pricing.h"
#include "sandbox/forwarder_rules.h"
#include "tools/bounded.h"
#include "turn/budget.h"
#include "turn/thinking.h"

#define CONFIG_BYTES_MAX (1u << 20)

#define CONFIG_SCRIPTED "scripted" /* the provider whose answers are in a file */

struct config_model {
    const char *name;
    const char *provider;
    const char *file; /* of a scripted one; relative to the folder of the config file */
    const char *base_url;
    const char *model;       /* what the provider calls it */
    const char *key_env;     /* the environment variable that holds the key; the key itself is never in the file */
    const char *key_command; /* or a command that prints it */
    const char *options;     /* JSON object of what goes into every request; NULL: nothing */
    struct prices prices;
    double idle_s;    /* the longest silence; 0: the usual one */
    bool allow_http;  /* its key may go over plain http to another machine */
    double answer_mb; /* of an answer's stream; 0: the usual */
    bool keep_reasoning;
    long line;
};

struct config_binding {
    const char *action, *keys;
    long line;
};

/* Where programs run, and what they may do there. 0, false and NULL: it was not said. */
/* A variable of ours that a text names and that is not set. */
struct config_lack {
    const char *key, *name;
    long line;
};

struct config_workspace {
    const char *engine;
    long engine_line;
    struct network_rules network; /* `true` is "*" */
    bool persist;
    int64_t max_disk_mb, memory_mb, pids, cpu_percent, timeout_s, programs;
    const char *const *inputs; /* folders of this machine that an agent may copy from, besides the project's */
    const char *const *allow, *const *deny; /* commands */
    const long *allow_lines, *deny_lines;   /* where each stands */
    const char *const *env;                 /* for every program: "NAME=value" */
    const char *env_missing;                /* a variable of ours that it names and that is not set; NULL: all are */
    struct config_lack *env_lacking;        /* all such */
    size_t env_lacking_count, env_lacking_room;
};

#define CONFIG_GRACE_MS_MAX 60000

/* What is -1 or NULL was not said. */
struct config {
    struct arena arena; /* everything below lives here */
    const char *path;   /* NULL: there is no file */
    const char *model;
    struct config_model *models;
    size_t model_count, model_room;
    struct budget_limits limits; /* the defaults, with what the file says */
    int approve;                 /* enum rule_mode; -1: not said */
    int web;                     /* enum web_mode */
    const char *web_endpoint;
    int thinking; /* enum thinking_level */
    int reflect_on_tool_error;
    int64_t reflect_every;
    int parallel, select_tools, citations;
    const char *theme;
    long theme_line;
    int64_t question_grace_ms; /* for so long a question is only read */
    struct config_binding
        *bindings; /* of "keys": what an action is on instead of its own; whoever has the keys reads them */
    size_t binding_count, binding_room;
    const char *system_prompt;
    int project_instructions; /* does AGENTS.md of a workspace count? */
    int compact;              /* is what is old left out when the context ceiling nears? */
    const char **secrets;     /* environment variables whose values are left out of every record */
    size_t secret_count, secret_room;
    const char **breakpoints;
    size_t breakpoint_count, breakpoint_room;
    struct mcp_specs mcp; /* tool servers */
    double mcp_wait_s;    /* how long a session waits for them; -1: as usual */
    struct config_workspace workspace;
    const char *const *skills; /* more folders of skills; NULL: none */
};

/* NULL and err, with err->line where a line is to blame. `path` NULL is the default file, which may be missing. */
struct config *config_load(const char *path, struct err *err) CHECKED;
struct config *config_parse(const char *text, size_t len, struct err *err) CHECKED;
/* Adds the tool servers of a file in the form that other programs keep: an object with "mcpServers". */
int config_add_mcp(struct config *config, const char *path, struct err *err) CHECKED;
void config_free(struct config *config);
/* The file that config_load(NULL) reads. */
char *config_default_path(void);
const struct config_model *config_model(const struct config *config, const char *name); /* NULL when unknown */
const char *config_nearest_model(const struct config *config, const char *name);
/* The key of a live model, out of its variable or its command; *key is NULL when it needs none. It is a secret: whoever
 * asks declares it (base/redact.h) before anything else happens. */
int config_model_key(const struct config_model *model, char **key, struct err *err) CHECKED;

static inline void config_cleanup(struct config **config)
{
    config_free(*config);
}
