#pragma once
/* The environment of a program, in layers; each takes what the one above leaves:
 *
 *     the variables of the call  >  those of a provider  >  WORKSPACE_DIR and its kin  >  what is there already
 *
 * A provider is whoever adds variables to every program of a workspace, tokens for instance. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define ENV_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" /* where nobody names another */

struct env_var {
    const char *name, *value;
};

struct env_vars {
    const struct env_var *items;
    size_t count;
};

struct env_provider {
    /* Gives the variables for a program that is about to start; borrowed until the next call. NULL: there is no
     * provider. */
    struct env_vars (*variables)(void *user);
    void *user;
};

struct env_layers {
    const char *const *below; /* "NAME=value", NULL-terminated; NULL: nothing */
    bool clean;               /* take nothing from below, and of the provider nothing that steers a shell or a loader */
    const char *root;         /* the workspace as the program sees it; NULL: no variables of it */
    const char *run;          /* folder of this run, relative to the root */
    struct env_vars provider, call;
};

/* "NAME=value", NULL-terminated, each name once; to be freed with argv_free. A name in the call that cannot be one is
 * an error; the provider's are left out. */
char **env_merge(const struct env_layers *layers, struct err *err) CHECKED;
/* Whether a variable decides what a shell or a loader runs (PATH, BASH_ENV, LD_PRELOAD…), or has a name that no shell
 * would take: nothing that an untrusted text may set where commands are checked. */
bool env_steers(const char *name);
/* The value in a list of "NAME=value"; NULL: it is not there. */
const char *env_value(const char *const *env, const char *name);
