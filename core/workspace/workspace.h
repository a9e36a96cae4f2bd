#pragma once
/* A workspace: a separate folder for the files and programs of one execution (layout.h lists its contents).
 *
 * A workspace is created with a policy and cleaned up once. stage.h puts files in, and collect.h takes files out.
 * All operations use the descriptor of the root, so a program that changes the path cannot redirect them. Any number
 * of threads may work on a workspace at a time. */

#include "base/err.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "sandbox/disk_limit.h"
#include "sandbox/engines_program.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct beneath;
struct bind_mount;
struct changes;
struct clock;
struct event_queue;
struct workspace_look;
struct versions;
struct workspace;
struct workspace_registry;

struct workspace_policy {
    bool isolated;          /* programs run in a sandbox; the code that starts programs checks this */
    bool persist;           /* cleanup keeps the folder */
    int64_t max_disk_bytes; /* of all files in the workspace; 0: no limit */
};

/* What the system behind workspaces can do, so that a caller can choose. All zero: no promises. */
struct workspace_capabilities {
    const char *isolation; /* "" or NULL: none */
    bool network_allowed, read_only_mount, streaming, clean_env;
    bool whole_limits; /* limits of memory and processor apply to all processes of a program together; else only the
                          processor's, to each process */
    int64_t max_disk_bytes;
};

/* Common options of a kind of workspace. Strings are borrowed for the call; the other pointers for the workspace's
 * lifetime. */
struct workspace_options {
    const char *base;          /* folder that holds the workspaces; NULL or blank: $TMPDIR or /tmp */
    bool trusted;              /* `base` itself is the workspace and is never removed */
    const char *inputs;        /* a host folder that each workspace shows as work/inputs; NULL: none */
    bool lends;                /* the workspace can show folders of this machine to programs, read-only */
    bool other_user;           /* programs run as the sandbox's user, who owns the workspace (sandbox/user.h) */
    bool local;                /* programs run on this machine: the kernel reports what they change (changes.h) */
    const char *seen_at;       /* path of the workspace inside the sandbox; NULL: the same as outside */
    struct clock *clock;       /* NULL: the system clock */
    struct versions *versions; /* where artifacts are loaded from and saved to; NULL: no artifacts */
    struct event_queue *ops;   /* gets every operation as workspace.op; NULL: not recorded */
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
    /* Bind mounts (below). */
    bool lends;
    pthread_mutex_t mutex; /* guards this and what follows */
    struct bind_mount *bind_mounts;
    size_t bind_mount_count, lent_room;
    /* Looks (look.h). */
    pthread_mutex_t looking; /* held while one is made; taken before `mutex` */
    struct changes *changes; /* NULL: the kernel does not report changes */
    struct workspace_look *last;
    unsigned programs_running, programs_begun, looks, samples;
    unsigned refs;
};

/* Creates "<base>/ws_<id, cleaned>_<nanoseconds>", 0777, with its layout. `policy` NULL: all zero. */
struct workspace *workspace_create(const struct workspace_options *options, const char *exec_id,
                                   const struct workspace_policy *policy, struct err *err) CHECKED;
/* Recreates folders of the layout that a program removed, closed or replaced by links. In a trusted workspace links
 * stay, because the user owns that folder. */
int workspace_mend(struct workspace *ws, struct err *err) CHECKED;
/* Removes the tree, unless the workspace is persistent or trusted. The struct stays for workspace_free. A second
 * call, or a call without a path, does nothing. */
int workspace_cleanup(struct workspace *ws, struct err *err) CHECKED;
void workspace_free(struct workspace *ws); /* keeps the files, and the struct while anybody holds it */
/* For a thread that may outlive the owner. Free it with workspace_free. */
struct workspace *workspace_hold(struct workspace *ws);
/* What a workspace of this policy can do on this machine. For an isolated workspace it promises nothing about
 * isolation and network, because only the sandbox of the programs knows. */
struct workspace_capabilities workspace_describe(const struct workspace_policy *policy);

int64_t workspace_disk_used(struct workspace *ws); /* opens folders that a program closed */
/* Fails if `more` bytes would exceed the policy. Call it before staging, and after a program has run. */
int workspace_check_disk(struct workspace *ws, int64_t more, struct err *err) CHECKED;
/* Returns true with a warning if the workspace held too much at that count, or cannot be counted completely. */
bool workspace_warn_disk(const struct workspace *ws, const struct disk_count *count, struct err *err);

/* ---- operations ---- */

/* Names of the operations (spans). */
#define SPAN_CREATE      "workspace.create"
#define SPAN_CLEANUP     "workspace.cleanup"
#define SPAN_STAGE_FILES "workspace.stage.files"
#define SPAN_STAGE_DIR   "workspace.stage.dir"
#define SPAN_RUN         "workspace.run"
#define SPAN_COLLECT     "workspace.collect"
#define SPAN_INLINE      "workspace.inline"

/* Keys of their attributes. */
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

/* An operation in progress. When it ends, its thread pushes one workspace.op:
 *
 *   struct span span;
 *   struct err own = ERR_INIT;
 *   span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_FILES);
 *   json_add_int(&span.attrs, SPAN_COUNT, count);
 *   return span_end(&span, put_all(ws, …, &own), &own, err); */
struct span {
    struct event_queue *ops;
    struct clock *clock;
    const char *op;
    int64_t began_us;
    struct strbuf text;
    struct json_writer attrs;
};
void span_begin(struct span *span, struct event_queue *ops, struct clock *clock, const char *op);
/* Copies `own` to `err` if `status` is an error. Returns `status`. */
int span_end(struct span *span, int status, const struct err *own, struct err *err);

/* ---- bind mounts ---- */

/* Folders of this machine that programs see in their workspace instead of a copy, read-only, if their engine
 * supports it. The copy stays underneath, for readers outside the sandbox. Only Keyturn's memory holds this list. A
 * program may write to metadata.json, so that file must not decide which folders of this machine are shown. */

/* Shows the folder `path` at `place`, relative to the root. Returns false if bind mounts are not possible here. Any
 * thread. */
bool workspace_bind(struct workspace *ws, const char *path, const char *place);
/* The bind mounts for a program that starts now: those that still exist and have a folder to mount on. The caller
 * frees them. */
struct bind_mount *workspace_bind_mounts(struct workspace *ws, size_t *count);
void bind_mounts_free(struct bind_mount *bind_mounts, size_t count);

/* ---- workspaces by name ---- */

/* Workspaces by a name that the caller chooses, so that related calls share one.
 *
 * The first caller starts the creation, on a separate thread. Later callers wait for the same workspace. If all
 * waiting callers give up, the creation still finishes, and the next caller gets its result. Failures are not
 * cached. */

/* Creates the workspace for an id, on a thread of the registry. */
typedef struct workspace *workspace_maker(void *user, const char *id, struct err *err);

/* One waiting call, which can be canceled. Zero it first. */
struct registry_call {
    atomic_bool cancelled;
};

struct workspace_registry *workspace_registry_new(void);
/* Waits for creations in progress. Frees the workspaces; their files stay, unless `cleanup`. */
void workspace_registry_free(struct workspace_registry *registry, bool cleanup);

/* Returns the workspace of this id, owned by the registry. Returns NULL and the error if it cannot be created or the
 * call was canceled. A canceled call still gets a workspace that already exists. `call` may be NULL. */
struct workspace *workspace_registry_acquire(struct workspace_registry *registry, const char *id, workspace_maker *make,
                                             void *user, struct registry_call *call, struct err *err) CHECKED;
/* Makes that call return. Any thread. */
void workspace_registry_cancel(struct workspace_registry *registry, struct registry_call *call);
