#pragma once
/* A tool: its specification, and how one execution of it runs.
 *
 * A tool never changes files without a decision. To write, it answers its first execution with a proposal (a foreign
 * tool: with "Write confirmation required"). After a decision and a checkpoint it is executed a second time with
 * `confirm_write`; a built-in tool then commits exactly the approved changes.
 *
 * A tool has one of two functions. `work` runs on a pool thread and fills the reply; it may block but must poll
 * tool_run_cancelled. `start` runs on the loop and calls tool_run_finish later, exactly once. */

#include "base/clock.h"
#include "change.h"
#include <stdatomic.h>
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
struct runtime;
struct pool;
struct waiter;

enum effect { EFFECT_UNKNOWN, EFFECT_READ_ONLY, EFFECT_LOCAL_WRITE, EFFECT_NETWORK, EFFECT_DESTRUCTIVE };
const char *effect_name(enum effect effect);               /* "READ_ONLY"…; "UNKNOWN" */
enum effect effect_from_name(const char *name);            /* any case; NULL or unknown: EFFECT_UNKNOWN */
enum effect effect_stronger(enum effect a, enum effect b); /* unknown is the strongest, because it may be anything */

struct tool_spec {
    const char *name;
    const char *description;
    enum effect effect;
    bool idempotent;
    const char *const *resource_keys; /* NULL-terminated, `{arg}` is replaced by that argument; NULL: the tool's name */
    const char *parameters;           /* JSON schema of the arguments, compact */
    double timeout_s;                 /* cap of this tool; 0: the default */
    bool no_retry_on_timeout;         /* a timeout blocks the tool for the rest of the turn */
    bool real_time; /* it runs programs or uses what the user set up for them: a replay that skips the waiting uses
                     * the recorded outcome */
};

/* Ranks passages of the project for get_context_pack. The turn implements it, because a tool must not include the
 * turn. */
struct context_source {
    /* Returns a JSON array of {path, excerpt, score} for the question, best first, at most `limit` items; the caller
     * frees it. NULL: nothing to search. Runs on a pool thread, may block, and polls `cancelled`. */
    char *(*pack)(struct context_source *source, const char *query, size_t limit, const atomic_bool *cancelled);
};

/* The services that a turn offers to its tools. */
struct tool_env {
    struct loop *loop;
    struct beneath *root;             /* the workspace */
    struct artifact_store *artifacts; /* may be NULL */
    const char *session;              /* id, for artifacts */
    struct context_source *context;   /* for get_context_pack; may be NULL */
    const char *web_endpoint;         /* for web_search, may be NULL */
    struct http *http;                /* likewise */
    struct pool *pool;                /* of sandboxes, for run_script; may be NULL */
    struct runtime *runtime;          /* for tools that run programs; may be NULL */
};

enum reply_type {
    REPLY_ERROR = 0, /* so that a forgotten reply is an error */
    REPLY_OUTPUT,
    REPLY_PROPOSAL, /* proposes to write `changes`; needs a decision */
    REPLY_RECORDED, /* the recorded outcome of the call, passed on unchanged */
};

struct citation {
    char *ref; /* path or address */
    bool web;
};

struct tool_reply {
    enum reply_type type;
    char *output; /* JSON text */
    bool page;    /* made by output_limit.h: compact, short enough for the model, and no request for confirmation */
    char *error;  /* one sentence */
    bool final;   /* an error that a repetition cannot fix: blocks the tool for this turn */
    struct change_set *changes; /* of a proposal */
    bool tool_writes;           /* the tool writes them itself in its second execution; otherwise Keyturn does */
    struct outcome *recorded;
    struct citation *citations;
    size_t citation_count, citation_room;
};
void tool_reply_release(struct tool_reply *reply);
/* Each function sets the type. Texts are copied; `take_` ones are taken over. */
void tool_reply_error(struct tool_reply *reply, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tool_reply_output(struct tool_reply *reply, char *take_json);
void tool_reply_page(struct tool_reply *reply, char *take_json); /* see `page`; for built-in tools */
void tool_reply_recorded(struct tool_reply *reply, const struct outcome *take_outcome);
void tool_reply_propose(struct tool_reply *reply, struct change_set *take_changes);
/* The same for a tool that runs again, with confirm_write, to write the approved changes. */
void tool_reply_propose_own(struct tool_reply *reply, struct change_set *take_changes);
void tool_reply_ask(struct tool_reply *reply); /* asks for a decision about the arguments; see tool_run_must_ask */
void tool_reply_cite(struct tool_reply *reply, const char *ref, bool web);

struct tool {
    struct tool_spec spec;
    void (*work)(struct tool_run *run, struct tool_reply *reply); /* on a pool thread */
    void (*start)(struct tool_run *run);                          /* on the loop */
    /* The effect of this call, if it depends on the arguments (any object, not validated yet); NULL: the spec's. On
     * the loop. */
    enum effect (*effect)(const struct tool *tool, const struct tool_env *env, const char *call,
                          const struct json *arguments);
    /* True if the effect of this call is not known yet: then `waiter` is woken once it is, unless the caller removes
     * it first. NULL: always known. On the loop. */
    bool (*await)(const struct tool_env *env, const struct json *arguments, struct waiter *waiter);
    void (*forget)(const struct tool_env *env, struct waiter *waiter);
    /* On the loop: stop early if you can; finish must still be called. May be NULL. */
    void (*cancel)(struct tool_run *run);
    void *data;
};

/* The effect of a call. Code that schedules, stops or records a call must use this instead of the spec. */
enum effect tool_call_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                             const struct json *arguments);

/* One execution. The executor owns it and keeps it alive until tool_run_finish, however late. */
struct tool_run {
    const struct tool *tool;
    const struct tool_env *env;
    const char *call;                  /* id */
    const struct json *arguments;      /* match the tool's schema; never changed */
    bool confirm_write;                /* this is the second execution, of a tool that writes itself */
    const struct change_set *proposed; /* the changes the decision was about; NULL for a foreign tool, as is
                                        * `approved` */
    const struct change_set *approved; /* the changes to commit, counted */
    struct deadline deadline;
    void *state;             /* the tool's own, for `start` tools */
    struct emitter *emitter; /* for tool.output and script.event; NULL: not recorded */
    /* Stops the turn here, because the recorded user did. Loop thread only. */
    void (*stop_turn)(struct tool_run *run);
};

/* True if the call's effect is DESTRUCTIVE and it has no decision yet. Then reply with tool_reply_ask instead of
 * running it; the second execution runs it. Every tool that executes what its arguments say must check this first. */
bool tool_run_must_ask(const struct tool_run *run);
/* Emits tool.output ("stdout", "stderr", "progress") for the user to watch while the tool runs. Loop thread only. */
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
