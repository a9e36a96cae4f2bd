#pragma once
/* The environment of a program, merged from layers. A layer adds only names that the layers above it lack:
 *
 *     the variables of the call  >  those of a provider  >  WORKSPACE_DIR and the like  >  inherited variables
 *
 * A provider adds variables to every program of a workspace, for example tokens. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* The folders of a workspace. Programs find them by variables; patterns and inputs may begin with these variables. */
enum layout_dir {
    LAYOUT_SKILLS, /* skill trees, staged read-only */
    LAYOUT_WORK,   /* intermediate files that programs share */
    LAYOUT_RUNS,   /* one folder per run */
    LAYOUT_OUT,    /* files to collect */
    LAYOUT_DIRS,
};

struct layout_row {
    const char *name; /* relative to the root */
    const char *env;  /* the variable with its path; NULL for runs, because RUN_DIR is the folder of one run */
};
extern const struct layout_row layout_rows[LAYOUT_DIRS];

#define LAYOUT_ENV_ROOT "WORKSPACE_DIR"
#define LAYOUT_ENV_RUN  "RUN_DIR"

#define ENV_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" /* default */

struct env_var {
    const char *name, *value;
};

struct env_vars {
    const struct env_var *items;
    size_t count;
};

struct env_provider {
    /* Returns the variables for a program that is about to start; borrowed until the next call. NULL: no provider. */
    struct env_vars (*variables)(void *user);
    void *user;
};

struct env_layers {
    const char *const *below; /* "NAME=value", NULL-terminated; NULL: nothing */
    bool clean;       /* take nothing from below, and no variables of the provider that steer a shell or a loader */
    const char *root; /* the workspace as the program sees it; NULL: no workspace variables */
    const char *run;  /* folder of this run, relative to the root */
    struct env_vars provider, call;
};

/* "NAME=value", NULL-terminated, each name once; free with argv_free. An invalid name in the call is an error;
 * invalid names of the provider are dropped. */
char **env_merge(const struct env_layers *layers, struct err *err) CHECKED;
/* True if a variable decides what a shell or a loader runs (PATH, BASH_ENV, LD_PRELOAD…), or has a name that no
 * shell accepts. Untrusted text must not set these if commands are checked. */
bool env_steers(const char *name);
/* The value in a list of "NAME=value"; NULL: missing. */
const char *env_value(const char *const *env, const char *name);

/* ---- the policy of commands ---- */

/* Which commands a model may run in a shell, by name.
 *
 * With a policy only plain shell is accepted: words, quoted or not, in commands joined by | && || and ;. Syntax that
 * could run another command is refused by name: expansions, redirections, subshells, assignments, patterns,
 * background, comments, a second line. So the names that are checked are the names that run. Commands that run
 * others are always refused, because otherwise the lists would mean nothing.
 *
 * This stops unintended commands. It is not a security boundary; the sandbox is. */

#define POLICY_COMMAND_MAX  ((size_t)16 << 10)
#define POLICY_COMMANDS_MAX 32

/* NULL-terminated lists, or NULL. Without both, everything is allowed. A denied name is denied with any path and in
 * any letter case. An allowed name must match exactly, because "./git" is another program than "git". */
struct command_policy {
    const char *const *allow, *const *deny;
};

bool command_policy_active(const struct command_policy *policy);
/* Returns 0 if the command may run, else -1 and a sentence for the model. Checks nothing if the policy is not
 * active. */
int command_policy_check(const struct command_policy *policy, const char *command, struct err *err) CHECKED;
/* Returns 0, or -1 and a sentence for the user if no command can ever match this entry of a list. */
int command_policy_check_entry(const char *name, bool allow, struct err *err) CHECKED;

/* The commands of a line as a policy reads them: the words of each, NULL-terminated; in the arena. */
struct command_line {
    const char *const *commands[POLICY_COMMANDS_MAX];
    size_t count;
};
int command_line_parse(struct arena *arena, const char *command, struct command_line *line, struct err *err) CHECKED;
