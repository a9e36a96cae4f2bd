#pragma once
/* A tool: what it is (its spec), and how one execution of it runs.
 *
 * A tool never changes anything by itself. One that wants to write answers its first execution with a proposal (or, a
 * foreign one, with "Write confirmation required"); only after a decision and a checkpoint is it executed a second time
 * with `confirm_write`, and a built-in one then commits exactly the changes that were approved.
 *
 * Two ways to implement one: `work` runs on a pool thread and fills the reply; it may block but must look at
 * tool_run_cancelled now and then. `start` runs on the loop and calls tool_run_finish later, exactly once. */

#include "change.h"
#include "deadline.h"
#include <stdbool.h>
#include <stddef.h>

struct emitter;
struct json;
struct loop;
struct tool_run;
struct artifact_store;
struct outcome;
struct beneath;
struct http;
struct place;
struct pool;
struct waiter;

enum effect { EFFECT_UNKNOWN, EFFECT_READ_ONLY, EFFECT_LOCAL_WRITE, EFFECT_NETWORK, EFFECT_DESTRUCTIVE };
const char *effect_name(enum effect effect);               /* "READ_ONLY"…; "UNKNOWN" */
enum effect effect_from_name(const char *name);            /* any case; NULL or unknown: EFFECT_UNKNOWN */
enum effect effect_stronger(enum effect a, enum effect b); /* an unknown one may be anything, so it is the strongest */

struct tool_spec {
    const char *name;
    const char *description;
    enum effect effect;
    bool idempotent;
    const char *const *resource_keys; /* NULL-terminated, `{arg}` is replaced by that argument; NULL: the tool's name */
    const char *parameters;           /* JSON schema of the arguments, compact */
    double timeout_s;                 /* cap of this tool; 0: the default */
    bool no_retry_on_timeout;         /* a timeout blocks the tool for the rest of the turn */
    bool real_time; /* it needs programs or what the user has for them: where a recording is only repeated,
                     * in no time, its outcome is the recorded one */
};

/* What a turn lends to its tools. */
struct tool_env {
    struct loop *loop;
    struct beneath *root;             /* the workspace */
    struct artifact_store *artifacts; /* may be NULL */
    const char *session;              /* id, for artifacts */
    void *context;                    /* struct context_source for get_context_pack, may be NULL */
    const char *web_endpoint;         /* for web_search, may be NULL */
    struct http *http;                /* likewise */
    struct pool *pool;                /* of sandboxes, for run_script; may be NULL */
    struct place *place;              /* for tools that run programs; may be NULL */
};

enum reply_type {
    REPLY_ERROR = 0, /* so that a forgotten reply is an error */
    REPLY_OUTPUT,
    REPLY_PROPOSAL, /* wants to write `changes`; needs a decision */
    REPLY_RECORDED, /* a recording says what came of the call: that is told as it is */
};

struct citation {
    char *ref; /* path or address */
    bool web;
};

struct tool_reply {
    enum reply_type type;
    char *output; /* JSON text */
    bool page;    /* made by page.h: compact, short enough for the model, nothing in it asks for anything */
    char *error;  /* one sentence */
    bool final;   /* an error that no repetition can mend: the tool is blocked for this turn */
    struct change_set *changes; /* of a proposal */
    bool tool_writes;           /* the tool itself writes them when it is run again; else Keyturn does */
    struct outcome *recorded;
    struct citation *citations;
    size_t citation_count, citation_room;
};
void tool_reply_release(struct tool_reply *reply);
/* Each of them sets the type; texts are copied, `take_` ones taken over. */
void tool_reply_error(struct tool_reply *reply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_reply_output(struct tool_reply *reply, char *take_json);
void tool_reply_page(struct tool_reply *reply, char *take_json); /* see `page`; for built-in tools */
void tool_reply_recorded(struct tool_reply *reply, const struct outcome *take_outcome);
void tool_reply_propose(struct tool_reply *reply, struct change_set *take_changes);
/* The same of a tool that runs again, with confirm_write, to write what was approved. */
void tool_reply_propose_own(struct tool_reply *reply, struct change_set *take_changes);
void tool_reply_ask(
    struct tool_reply *reply); /* the arguments are to be shown and decided about; see tool_run_must_ask */
void tool_reply_cite(struct tool_reply *reply, const char *ref, bool web);

struct tool {
    struct tool_spec spec;
    void (*work)(struct tool_run *run, struct tool_reply *reply); /* on a pool thread */
    void (*start)(struct tool_run *run);                          /* on the loop */
    /* What this call may do, where its arguments (any object, not yet checked) tell; NULL: as the spec says. On the
     * loop. */
    enum effect (*effect)(const struct tool *tool, const struct tool_env *env, const char *call,
                          const struct json *arguments);
    /* True when what this call may do cannot be told yet: `waiter` is woken when it can, unless it is forgotten before.
     * NULL: it can always. On the loop. */
    bool (*await)(const struct tool_env *env, const struct json *arguments, struct waiter *waiter);
    void (*forget)(const struct tool_env *env, struct waiter *waiter);
    /* On the loop: stop early if you can; finish must still be called. May be NULL. */
    void (*cancel)(struct tool_run *run);
    void *data;
};

/* What a call may do: whoever schedules, stops or records it asks this and not the spec. */
enum effect tool_call_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                             const struct json *arguments);

/* One execution. The executor owns it and keeps it alive until tool_run_finish, however late. */
struct tool_run {
    const struct tool *tool;
    const struct tool_env *env;
    const char *call;                  /* id */
    const struct json *arguments;      /* valid by the tool's schema; never changed */
    bool confirm_write;                /* the second execution, of a tool that writes itself */
    const struct change_set *proposed; /* what was decided about then; NULL for a foreign tool, as the next */
    const struct change_set *approved; /* what to commit, counted */
    struct deadline deadline;
    void *state;             /* the tool's own, for `start` tools */
    struct emitter *emitter; /* for tool.output and script.event; NULL: nobody records them */
    /* The user stopped the turn here, as a recording has it; loop thread only. */
    void (*stop_turn)(struct tool_run *run);
};

/* Whether the call destroys, by its effect, and nobody has decided about it yet: then it is not run but answered with
 * tool_reply_ask, and the second execution runs it. Every tool that carries out what its arguments say asks this first.
 */
bool tool_run_must_ask(const struct tool_run *run);
/* Text for people to watch while it runs: emits tool.output ("stdout", "stderr", "progress"). Loop thread only. */
void tool_run_say(struct tool_run *run, const char *stream, const char *text);
/* Ends the execution; takes the reply over. Loop thread only. */
void tool_run_finish(struct tool_run *run, struct tool_reply *take_reply);
static inline bool tool_run_cancelled(const struct tool_run *run)
{
    return deadline_cancelled(&run->deadline);
}

/* The built-in tools; each file has one table. NULL-terminated list. */
extern const struct tool *const builtin_tools[];
extern const struct tool tool_list_dir, tool_read_file, tool_search_files, tool_write_file, tool_edit_file,
    tool_delete_file, tool_move_file, tool_get_context_pack, tool_web_search, tool_run_script, tool_workspace_exec,
    tool_workspace_write_stdin, tool_workspace_kill, tool_run_code, tool_stage_input, tool_collect_outputs,
    tool_bring_back, tool_save_artifact, tool_load_artifact, tool_skill_list, tool_skill_load, tool_skill_run;
