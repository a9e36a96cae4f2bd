#pragma once
/* Builds everything a run needs from the options and the config file, and takes it down again. */

#include "config/config.h"
#include "keymap.h"
#include "mcp/mcp.h"
#include "options.h"
#include "sandbox.h"
#include "turn/engine.h"
#include "turn/replay.h"

struct setup_plan {
    const struct options *options;
    const struct config *config;
    const char *workspace;       /* a folder that is there */
    struct recording *recording; /* whose model, budget and decisions are used; NULL: none */
    const char *temp;            /* for checkpoints and artifacts, instead of the user's folders; NULL: the user's */
    bool keep;                   /* the journal among the sessions, unless --record names a file; and in the list */
    bool memory;                 /* the user's */
    bool virtual_time;
    bool interactive;                    /* somebody sits in front of it: gates hold, questions are asked */
    bool user_decides;                   /* about writes, whatever was decided in the recording */
    const char *journal;                 /* its file, instead of one among the sessions */
    const struct journal_reader *resume; /* the lines that are in that file already; NULL: it is a new one */
    const struct journal_reader *script; /* whose answers are the model's when none is named; NULL: the recording's */
    double speed;                        /* of a recorded model */
    /* Waits for tool servers, running the loop: 0, or the exit status. NULL: setup_open does it without a screen. */
    int (*wait)(void *user, struct mcp *mcp, struct loop *loop, double limit_s);
    void *waiter; /* its user */
    struct sink *sinks;
};

struct setup {
    struct fake_clock fake;
    struct loop *loop;
    struct harness harness;
    struct sandbox sandbox;
    struct mcp *mcp; /* tool servers; NULL: none */
    struct engine *engine;
    struct journal_reader *script; /* of a model that is a file */
    char *system_prompt;           /* of --system; NULL: none */
    struct model_source models;    /* those of the config file */
    const struct config *config;
    bool screen;                     /* somebody looks at one */
    struct journal_reader **scripts; /* of models that were changed to */
    size_t script_count, script_room;
    double speed;
    struct http *model_http; /* of one that is not; NULL: none */
    char *id;
    char *journal;     /* its file; NULL: none */
    char *checkpoints; /* their folder */
    int64_t created_us;
    bool keep;
    bool store_failed;
};

/* 0, or the exit status after the error was said. In both cases setup_close takes down what is there. */
int setup_open(struct setup *setup, const struct setup_plan *plan);
void setup_close(struct setup *setup);
/* Puts the session in the list of sessions, as it is now. */
void setup_list_session(struct setup *setup);

/* What the options name is there: theme, sandbox, folder of tools. 0, or the exit status after the error was said. */
int setup_check(const struct options *options);
/* Checks the options, and reads the config file that they name, or the usual one. NULL after the error was said. */
struct config *setup_config(const struct options *options);
/* The keys as the config file has them. NULL after the error was said. */
struct keymap *setup_keymap(const struct config *config);

/* setup_model.c */
/* Whether a file is a recording by its name. */
bool setup_is_recording(const char *name);
/* That no model is named, and the page on how to name one, where no screen can show it. Returns the exit status. */
int setup_say_no_model(const struct options *options);
struct model_choice {
    const struct config_model *live; /* to be asked over HTTP; NULL: its answers are in a file */
    char *file;                      /* that one; NULL: none */
};
/* Which model is meant, by --model or by the config file: 0, or the exit status after the error was said. */
int setup_choose_model(const struct options *options, const struct config *config, struct model_choice *choice);
/* Makes the provider of the harness. 0, or the exit status after the error was said. */
int setup_open_model(struct setup *setup, const struct setup_plan *plan);

/* setup_place.c */
/* Makes the place for programs of the harness, after the sandbox. 0, or the exit status after the error was said. */
int setup_open_place(struct setup *setup, const struct setup_plan *plan);
/* What the config file lets each program use. */
struct program_limits setup_program_limits(const struct config_workspace *said);
/* Tells of folders that the config file names for programs and that are not there. */
void setup_check_folders(const struct config *config, void (*warn)(void *user, const char *text), void *user);
/* Tells of names of commands in the config file that no command can have. */
void setup_check_commands(const struct config *config, void (*warn)(void *user, const char *text), void *user);
/* Tells of skills that others of their name hide, or that are links to elsewhere, for a session in that folder. */
void setup_check_skills(const struct config *config, const char *workspace, void (*warn)(void *user, const char *text),
                        void *user);
