#pragma once
/* Putting things into a workspace. Every operation is one workspace.op, and none writes more than the
 * policy lets the workspace hold. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
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
/* Writes the files, with the folders on their way. What is there is replaced, never written into: it may be a link, or
 * another name of something else. */
int stage_files(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err) CHECKED;

struct stage_options {
    bool read_only;               /* no write bits on what is staged */
    bool strict;                  /* links that lead out of `src` stay links, else a file behind one is copied */
    bool allow_mount;             /* programs may be shown `src` itself instead of the copy, where they can (lend.h) */
    struct strbuf *left_out;      /* with strict: such links are left out, and named here; NULL: they are not */
    const struct beneath *opened; /* `src`, which is its name only; NULL: it is opened by that */
};
/* The content of the host folder `src`, in the folder `to` (blank: the root itself). `mounted`, when given, says
 * whether programs will find it mounted in the place of the copy. */
int stage_directory(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                    bool *mounted, struct err *err) CHECKED;

#define HOST_SCHEME  "host://"
#define SKILL_SCHEME "skill://"

struct stage_input {
    const char *from; /* artifact://name[@version], host:///path, workspace://path or skill://name/path */
    const char *to;   /* relative to the root; NULL or blank: work/inputs/<last part of from> */
    const char *mode; /* "link", or a copy */
    bool pin;         /* an artifact without version: the version that was staged there before */
    bool strict; /* for one that somebody else chose: a host folder goes to `to` itself, links out of it stay links,
                  * and nothing goes where our own record is or where programs see something mounted */
};
/* In order, up to the first that fails; the records are kept when all went well. */
int stage_inputs(struct workspace *ws, const struct stage_input *inputs, size_t count, struct err *err) CHECKED;
/* Where an input goes that does not say. The caller's. */
char *stage_default_to(const char *from);
/* Where one goes that may say so, or name a folder with / behind it to go into. The caller's. */
char *stage_target(const struct workspace *ws, const char *from, const char *to);
