#pragma once
/* A workspace: a folder of its own for the files and programs of one execution (layout.h says what is in it).
 *
 * It is made with a policy and cleaned up once; what is put into it and collected from it is in stage.h and collect.h.
 * Everything goes by the descriptor of its root, so whatever a program does to the path, no operation ends elsewhere.
 * Any thread may work on a workspace, several at a time too. */

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct beneath;
struct clock;
struct event_queue;
struct program_lent;
struct versions;

struct workspace_policy {
    bool isolated;          /* programs run in a sandbox; whoever runs them looks at this */
    bool persist;           /* cleanup leaves it where it is */
    int64_t max_disk_bytes; /* of all files in it; 0: no limit */
};

/* What the machinery behind workspaces can do, for whoever chooses one. All zero: nothing is promised. */
struct workspace_capabilities {
    const char *isolation; /* "" or NULL: none */
    bool network_allowed, read_only_mount, streaming, clean_env;
    bool whole_limits; /* of memory and processor, for all processes of a program; else the processor's for each */
    int64_t max_disk_bytes;
};

/* What workspaces of one kind have in common. Texts are borrowed for the call that gets it, the others for as long as
 * the workspace lives. */
struct workspace_options {
    const char *base;          /* folder to make them in; NULL or blank: $TMPDIR or /tmp */
    bool trusted;              /* `base` itself is the workspace, and is never removed */
    const char *inputs;        /* a host folder that each one sees as work/inputs; NULL: none */
    bool lends;                /* programs can be shown folders of this machine in it, read-only */
    bool other_user;           /* programs run as the sandbox's user: it is that user's (sandbox/user.h) */
    const char *seen_at;       /* where programs see the workspace; NULL: where it is */
    struct clock *clock;       /* NULL: the system's */
    struct versions *versions; /* where artifacts are loaded from and saved to; NULL: nowhere */
    struct event_queue *ops;   /* gets every operation on it, as workspace.op; NULL: nobody records them */
};

struct workspace {
    char *id;   /* as given */
    char *path; /* absolute */
    struct beneath *root;
    struct workspace_policy policy;
    bool trusted;
    struct clock *clock;
    struct versions *versions;
    struct event_queue *ops;
    /* Of lend.h. */
    bool lends;
    pthread_mutex_t mutex;
    struct program_lent *lent;
    size_t lent_count, lent_room;
};

/* "<base>/ws_<id, cleaned>_<nanoseconds>", 0777, with its layout. `policy` NULL: all zero. */
struct workspace *workspace_create(const struct workspace_options *options, const char *exec_id,
                                   const struct workspace_policy *policy, struct err *err) CHECKED;
/* Makes its folders anew that a program removed, shut or put links in place of. A trusted one is somebody's own: there
 * links stay. */
int workspace_mend(struct workspace *ws, struct err *err) CHECKED;
/* Removes the tree, unless it is to persist or is trusted. The struct stays for workspace_free. Again, or without a
 * path: nothing to do. */
int workspace_cleanup(struct workspace *ws, struct err *err) CHECKED;
void workspace_free(struct workspace *ws); /* leaves the files alone */
/* What a workspace of this policy can do on this machine. Where it is to be isolated, nothing is promised of isolation
 * and network: the sandbox that its programs run in knows. */
struct workspace_capabilities workspace_describe(const struct workspace_policy *policy);
/* An id as part of a file name: [^A-Za-z0-9_-] becomes _. */
char *workspace_clean_id(const char *id);

/* What there is in a workspace. */
struct disk_count {
    int64_t bytes;   /* of all files, each once however often it is linked; links are not followed */
    int64_t entries; /* files, folders and whatever else */
    size_t missed;   /* folders that could not be counted */
    char why[192];   /* one of them, and why not */
};
/* A program that runs meanwhile finds what it shut as it left it. */
struct disk_count disk_count(int root);
/* The same, and what it shut stays open: when it has ended, and for whoever stages something there. */
struct disk_count disk_count_opening(int root);

#define WORKSPACE_ENTRIES_MAX 200000 /* in a workspace whose bytes are limited, too */

int64_t workspace_disk_used(const struct workspace *ws); /* opening */
/* An error when `more` bytes would not fit the policy. For staging before, and for whoever ran a program after it. */
int workspace_check_disk(const struct workspace *ws, int64_t more, struct err *err) CHECKED;
/* The same of a count, for who counts a workspace that may be gone meanwhile. */
int disk_check(int64_t limit, const struct disk_count *count, int64_t more, struct err *err) CHECKED;
/* Whether there is anything to say: it holds too much, or not all of it can be counted. */
bool workspace_warn_disk(const struct workspace *ws, struct err *err);

/* ---- operations ---- */

/* The operations (span names). */
#define SPAN_CREATE      "workspace.create"
#define SPAN_CLEANUP     "workspace.cleanup"
#define SPAN_STAGE_FILES "workspace.stage.files"
#define SPAN_STAGE_DIR   "workspace.stage.dir"
#define SPAN_RUN         "workspace.run"
#define SPAN_COLLECT     "workspace.collect"
#define SPAN_INLINE      "workspace.inline"

/* What they say (attribute keys). */
#define SPAN_EXEC_ID    "exec_id"
#define SPAN_PATH       "path"
#define SPAN_COUNT      "count"
#define SPAN_PATTERNS   "patterns"
#define SPAN_CMD        "cmd"
#define SPAN_CWD        "cwd"
#define SPAN_EXIT_CODE  "exit_code"
#define SPAN_TIMED_OUT  "timed_out"
#define SPAN_HOST_PATH  "host_path"
#define SPAN_TO         "to"
#define SPAN_MOUNT_USED "mount_used"

/* An operation under way. It becomes one workspace.op when it ends, pushed by the thread that carried it out:
 *
 *     struct span span;
 *     struct err own = ERR_INIT;
 *     span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_FILES);
 *     json_add_int(&span.attrs, SPAN_COUNT, count);
 *     return span_end(&span, put_all(ws, …, &own), &own, err); */
struct span {
    struct event_queue *ops;
    struct clock *clock;
    const char *op;
    int64_t began_us;
    struct strbuf text;
    struct json_writer attrs;
};
void span_begin(struct span *span, struct event_queue *ops, struct clock *clock, const char *op);
/* Hands `own` on to `err` when `status` is an error, and returns `status`. */
int span_end(struct span *span, int status, const struct err *own, struct err *err);
