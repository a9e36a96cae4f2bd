#pragma once
/* Copies files and folders into a workspace. Every operation is one workspace.op, and none writes more than the
 * policy allows. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct beneath;
struct strbuf;
struct workspace;

#define STAGE_FILE_MODE 0644

struct stage_file {
    const char *path; /* relative to the root */
    const void *bytes;
    size_t len;
    mode_t mode; /* 0: 0644 */
};
/* Writes the files and creates their folders. Existing entries are replaced, never written to: an entry may be a
 * link, or another name of a different file. */
int stage_files(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err) CHECKED;

struct stage_options {
    bool read_only;               /* staged files get no write bits */
    bool strict;                  /* links that lead out of `src` stay links; else a file behind one is copied */
    bool allow_mount;             /* programs may see `src` itself instead of the copy, if possible (workspace_bind) */
    struct strbuf *left_out;      /* with strict: such links are skipped and named here; NULL: not skipped */
    const struct beneath *opened; /* `src`, already open; `src` is then only its name. NULL: opened by name */
};
/* Copies the content of the host folder `src` to the folder `to` (blank: the root). `mounted`, if given, says
 * whether programs will see a mount instead of the copy. */
int stage_directory(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                    bool *mounted, struct err *err) CHECKED;

#define HOST_SCHEME  "host://"
#define SKILL_SCHEME "skill://"

struct stage_input {
    const char *from; /* artifact://name[@version], host:///path, workspace://path or skill://name/path */
    const char *to;   /* relative to the root; NULL or blank: work/inputs/<last part of from> */
    const char *mode; /* "link", or a copy */
    bool pin;         /* an artifact without version: use the version that was staged there before */
    bool strict; /* for an input that the user did not choose: a host folder goes to `to` itself, links out of it stay
                    links, and targets at metadata.json or at mounts are refused */
};
/* Stages in order, up to the first failure. The metadata records them only if all succeed. */
int stage_inputs(struct workspace *ws, const struct stage_input *inputs, size_t count, struct err *err) CHECKED;
/* The target of an input without `to`. The caller frees it. */
char *stage_default_to(const char *from);
/* The target of an input whose `to` may be missing, or name a folder with a final /. The caller frees it. */
char *stage_target(const struct workspace *ws, const char *from, const char *to);

/* Opens the folder that holds `path`, and creates it if missing. `name` gets the last name; the caller frees it. */
int stage_open_parent(const struct workspace *ws, const char *path, char **name, struct err *err) CHECKED;
