#pragma once
/* How every workspace looks: four folders and metadata.json. The folders have names for programs too, variables that
 * hold their paths; patterns and inputs may begin with them. This table is the one place that knows either. */

#include "base/err.h"
#include <stddef.h>

struct beneath;
struct clock;
struct strbuf;

enum layout_dir {
    LAYOUT_SKILLS, /* skill trees, staged read-only */
    LAYOUT_WORK,   /* intermediates that programs share */
    LAYOUT_RUNS,   /* a folder per run */
    LAYOUT_OUT,    /* what is collected */
    LAYOUT_DIRS,
};

struct layout_row {
    const char *name; /* relative to the root */
    const char *env;  /* the variable with its path; NULL for runs, where RUN_DIR is the folder of one run */
};
extern const struct layout_row layout_rows[LAYOUT_DIRS];

#define LAYOUT_METADATA "metadata.json"
#define LAYOUT_INPUTS   "work/inputs" /* where inputs go that name no place of their own */
#define LAYOUT_DIR_MODE 0755

#define LAYOUT_ENV_ROOT "WORKSPACE_DIR"
#define LAYOUT_ENV_RUN  "RUN_DIR"

/* Makes what is missing, the root and the metadata included, and opens to us what a program shut of it; never touches
 * metadata that is there. Anything but a folder where one must be is an error. `paths`, when given, gets the four
 * absolute paths, which are the caller's. */
int layout_ensure(const char *root, struct clock *clock, char *paths[LAYOUT_DIRS], struct err *err) CHECKED;
/* The same below a root that is open already. */
int layout_ensure_beneath(const struct beneath *root, struct clock *clock, struct err *err) CHECKED;
/* Removes links where the folders should be that lead out of the workspace or nowhere: a program put them there, and
 * they would be in the way of every later one. */
void layout_remove_links(const struct beneath *root);
/* Renames whatever a program put where a folder, the metadata or code (codeblock.h) must be and cannot be that, to
 * NAME.1 and so on; adds to `told` what was renamed, for people. */
void layout_clear(const struct beneath *root, struct strbuf *told);
