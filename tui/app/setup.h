#pragma once
/* Builds everything a run needs from the options and the config file, and takes it down again. */

#include "config/config.h"
#include "keymap.h"
#include "mcp/mcp.h"
#include "options.h"
#include "sandbox/pool.h"
#include "turn/engine.h"
#include "turn/replay.h"

struct setup_plan {
    const struct options *options;
    const struct config *config;
    const char *workspace;       /* an existing folder */
    struct recording *recording; /* provides model, budget and decisions; NULL: none */
    const char *temp;            /* folder for checkpoints and artifacts; NULL: the user's data folders */
    bool keep;   /* store the journal among the sessions, unless --record names a file, and list the session */
    bool memory; /* use the user's memory */
    bool virtual_time;
    bool interactive;                    /* a user is present: gates hold and questions are shown */
    bool user_decides;                   /* the user decides about writes, whatever the recording says */
    const char *journal;                 /* journal file; NULL: a new one among the sessions */
    const struct journal_reader *resume; /* the lines already in that file; NULL: the file is new */
    const char *session; /* id of the session that continues in its own journal; NULL: it gets a new one */
    const struct journal_reader *script; /* answers for the model if none is named; NULL: those of the recording */
    double speed;                        /* of a recorded model */
    /* Waits for MCP servers while running the loop. Returns 0 or the exit status. NULL: setup_open waits without a
     * screen. */
    int (*wait)(void *user, struct mcp *mcp, struct loop *loop, double limit_s);
    void *waiter; /* passed to wait as user */
    struct sink *sinks;
};

/* The sandbox chosen on the command line: engines.json, --engine NAME[:HOST], --tools DIR, --secret NAME. */
struct sandbox_choice {
    struct sandbox_engines engines;
    struct box_options spec; /* engine is NULL if the user named none and none is installed */
    char *name, *host, *tools, **secrets;
};

struct setup {
    struct fake_clock fake;
    struct loop *loop;
    struct engine_config engine_config;
    struct sandbox_choice sandbox;
    struct mcp *mcp; /* MCP servers; NULL: none */
    struct engine *engine;
    struct journal_reader *script; /* answers of a model that is a file */
    char *system_prompt;           /* from --system; NULL: none */
    struct model_source models;    /* the models of the config file */
    const struct config *config;
    bool screen;                     /* the workbench is on the screen */
    struct journal_reader **scripts; /* answers of models that the user switched to */
    size_t script_count, script_room;
    double speed;
    struct http *model_http; /* connection of a model asked over HTTP; NULL: none */
    char *id;
    char *project;     /* project_root of the workspace */
    char *journal;     /* journal file; NULL: none */
    char *checkpoints; /* folder of the checkpoints */
    bool foreign;      /* a session to resume whose journal is not locked yet: its folder may be in use */
    int64_t created_us;
    bool keep;
    bool store_failed;
};

/* Returns 0, or the exit status after printing the error. The caller calls setup_close in both cases. */
int setup_open(struct setup *setup, const struct setup_plan *plan);
void setup_close(struct setup *setup);
/* Adds the session to the session list, or updates its entry. */
void setup_list_session(struct setup *setup);

/* Checks that the theme, sandbox and tools folder named by the options exist. Returns 0, or the exit status after
 * printing the error. */
int setup_check(const struct options *options);
/* Checks the options and reads the config file they name, or the default one. NULL after printing the error. */
struct config *setup_config(const struct options *options);
/* The keymap with the bindings of the config file. NULL after printing the error. */
struct keymap *setup_keymap(const struct config *config);

/* Secrets: values that must not be recorded or shown. Fills the program's set of secrets (base/redact.h). */
/* Declares the values named by --secret, by "secrets" in the config file, and by the keys of its models. Warns once
 * about values that are too short to search for. `config` may be NULL. */
void secrets_declare(const struct options *options, const struct config *config);

/* setup_model.c */
/* True if the file name is that of a recording. */
bool setup_is_recording(const char *name);
/* Prints that no model is configured and how to configure one, for runs without a screen. Returns the exit status. */
int setup_say_no_model(const struct options *options);
struct model_choice {
    const struct config_model *live; /* model asked over HTTP; NULL: the answers are in a file */
    char *file;                      /* that file; NULL: none */
};
/* Finds the model named by --model or by the config file. Returns 0, or the exit status after printing the error. */
int setup_choose_model(const struct options *options, const struct config *config, struct model_choice *choice);
/* Creates the provider of the engine. Returns 0, or the exit status after printing the error. */
int setup_open_model(struct setup *setup, const struct setup_plan *plan);

/* setup_runtime.c */

/* Returns 0, or the exit status after printing the error. The caller calls sandbox_close in both cases. */
int sandbox_choice_open(struct sandbox_choice *sandbox, const struct options *options);
void sandbox_choice_close(struct sandbox_choice *sandbox);
/* A pool of these sandboxes. From the first request on it keeps `size` of them warm. NULL: no engine. */
struct pool *sandbox_choice_pool(const struct sandbox_choice *sandbox, struct loop *loop, size_t size, size_t overflow);

/* Creates the runtime of the engine; call it after the sandbox is open. Returns 0, or the exit status after printing
 * the error. */
int setup_open_runtime(struct setup *setup, const struct setup_plan *plan);
/* The limits that the config file sets for each program. */
struct program_limits setup_program_limits(const struct config_workspace *said);
/* Warns about folders that the config file lists for programs and that do not exist. */
void setup_check_folders(const struct config *config, void (*warn)(void *user, const char *text), void *user);
/* Warns about command names in the config file that no command can have. */
void setup_check_commands(const struct config *config, void (*warn)(void *user, const char *text), void *user);
/* Warns about skills that are hidden by another skill of the same name, or that link outside, for a session in
 * `workspace`. */
void setup_check_skills(const struct config *config, const char *workspace, void (*warn)(void *user, const char *text),
                        void *user);

/* The example config file: for the dialog that shows it, for the page that `keyturn run` prints without a model, and
 * for the file that `:config` creates. */

/* An example config file, one line each, ending with NULL. No line is longer than CONFIG_EXAMPLE_COLUMNS. */
extern const char *const config_model_lines[];
#define CONFIG_EXAMPLE_COLUMNS 72
/* Explains where the models get their keys. */
extern const char config_key_note[];
/* Writes a config file that sets nothing: the example lines as comments. */
void config_example_write(struct strbuf *out);
/* Writes the whole page as text, for runs without the workbench. `path` is the config file, `there` whether it
 * exists. */
void config_page_write(struct strbuf *out, const char *path, bool there);
