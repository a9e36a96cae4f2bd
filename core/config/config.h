#pragma once
/* The user's settings: config.json (JSON with // comments). The program reads it before anything runs and never changes
 * it.
 *
 * It refuses a file with an unknown key or value, and names the line and the key that was probably meant. A setting
 * that is silently ignored is worse than none. The command line overrides the file.
 *
 * This folder is above turn/: it names the types of its collaborators, and only programs use it. */

#include "base/arena.h"
#include "base/err.h"
#include "mcp/mcp.h"
#include "model/provider.h"
#include "sandbox/forwarder_rules.h"
#include "tools/bounded.h"
#include "turn/budget.h"
#include "turn/model_step.h"

struct strbuf;

#define CONFIG_BYTES_MAX (1u << 20)

#define CONFIG_SCRIPTED "scripted" /* the provider whose answers are in a file */

struct config_model {
    const char *name;
    const char *provider;
    const char *file; /* of a scripted one; relative to the folder of the config file */
    const char *base_url;
    const char *model;       /* the provider's name for it */
    const char *key_env;     /* the environment variable that holds the key; the key itself is never in the file */
    const char *key_command; /* or a command that prints the key */
    const char *options;     /* JSON object copied into every request; NULL: nothing */
    struct prices prices;
    double idle_s;    /* the longest silence; 0: the default */
    bool allow_http;  /* its key may be sent over plain http to another machine */
    double answer_mb; /* of an answer's stream; 0: the default */
    bool keep_reasoning;
    long line;
};

struct config_binding {
    const char *action, *keys;
    long line;
};

/* ---- workspace ----
 *
 * Where programs run, and what they may do there. 0, false and NULL: not set. */
/* An environment variable that a text names but that is not set. */
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
    const long *allow_lines, *deny_lines;   /* the line of each */
    const char *const *env;                 /* for every program: "NAME=value" */
    const char *env_missing;         /* an environment variable that it names but that is not set; NULL: all are */
    struct config_lack *env_lacking; /* all of these */
    size_t env_lacking_count, env_lacking_room;
};

#define CONFIG_GRACE_MS_MAX 60000

/* -1 or NULL: not set. */
struct config {
    struct arena arena; /* holds everything below */
    const char *path;   /* NULL: there is no file */
    const char *model;
    struct config_model *models;
    size_t model_count, model_room;
    struct budget_limits limits; /* the defaults, changed by the file */
    int approve;                 /* enum rule_mode; -1: not set */
    int memory;                  /* enum memory_scope; -1: not set */
    int web;                     /* enum web_mode */
    const char *web_endpoint;
    int thinking; /* enum thinking_level */
    int reflect_on_tool_error;
    int64_t reflect_every;
    int parallel, select_tools, citations;
    const char *theme;
    long theme_line;
    int64_t question_grace_ms;       /* for this long a question ignores answers */
    struct config_binding *bindings; /* of "keys": the keys of actions; the key map reads them */
    size_t binding_count, binding_room;
    const char *system_prompt;
    int project_instructions; /* whether AGENTS.md of a workspace counts */
    int compact;              /* whether old messages are left out near the context limit */
    const char **secrets;     /* environment variables whose values are left out of every record */
    size_t secret_count, secret_room;
    const char **breakpoints;
    size_t breakpoint_count, breakpoint_room;
    struct mcp_specs mcp; /* MCP servers */
    double mcp_wait_s;    /* how long a session waits for them; -1: the default */
    struct config_workspace workspace;
    const char *const *skills; /* more folders of skills; NULL: none */
};

/* Returns NULL and err, with err->line if a line is the cause. `path` NULL is the default file, which may be
 * missing. */
struct config *config_load(const char *path, struct err *err) CHECKED;
struct config *config_parse(const char *text, size_t len, struct err *err) CHECKED;
/* Adds the MCP servers of a file in the format of other programs: an object with "mcpServers". */
int config_add_mcp(struct config *config, const char *path, struct err *err) CHECKED;
void config_free(struct config *config);
/* The file that config_load(NULL) reads. */
char *config_default_path(void);
const struct config_model *config_model(const struct config *config, const char *name); /* NULL when unknown */
const char *config_nearest_model(const struct config *config, const char *name);
/* Gets the key of a live model from its variable or its command; *key is NULL if it needs none. The key is a secret:
 * the caller must declare it (base/redact.h) before doing anything else. */
int config_model_key(const struct config_model *model, char **key, struct err *err) CHECKED;

/* A possible entry of the file, in the order of config.def. */
struct config_entry {
    const char *object; /* the object that holds it: "", "budget", "models.NAME" … */
    const char *name;
    const char *type;     /* "a string" … */
    const char *standard; /* the default, "" if there is none */
    const char *help;
};
const struct config_entry *config_entries(size_t *count);
/* Writes the page of `keyturn help config`. */
void config_help_write(struct strbuf *out);

static inline void config_cleanup(struct config **config)
{
    config_free(*config);
}

/* "${NAME}" in a text of the config file is replaced by an environment variable. "${NAME:-instead}" is replaced by
 * `instead` if the variable is unset or empty. So secrets need not be in the file. Every value that comes from the
 * environment this way may be a key, and is kept out of records from then on (redact.h). */

struct arena;

/* Returns the text with the values in place, in the arena. Calls `missing` for each name that is not set; such a name
 * is replaced by nothing. */
const char *config_expand(struct arena *arena, const char *text, void (*missing)(void *user, const char *name),
                          void *user);
