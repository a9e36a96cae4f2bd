#pragma once
/* The engine of a session: intents in, events out.
 *
 * Every event takes the same route: append to the journal, fold into the session, notify the sinks. The engine does
 * not act on what it could not record. If the journal fails, the turn ends and engine_failed returns the reason.
 *
 * `struct engine_config` holds a session's collaborators. It is set up once and never changes. State of a single turn
 * is in a struct turn, created at its start and freed after its last late thread. */

#include "budget.h"
#include "event/emitter.h"
#include "event/event.h"
#include "event/journal.h"
#include "event/session.h"
#include "finalize.h"
#include "gates.h"
#include "intent.h"
#include "model/provider.h"
#include "model_step.h"
#include "prepare.h"
#include "rules.h"
#include "tools/registry.h"
#include "write.h"

/* The models of a session: the current one and earlier ones. An earlier model may still be answering, so all of them
 * live as long as the session. */

struct strbuf;

/* Creates models by the names the user gave them. */
struct model_source {
    struct provider *(*open)(struct model_source *source, const char *name, struct err *err);
};

struct models {
    struct provider *now;
    struct provider **opened; /* opened here; freed with the session */
    size_t count, room;
    char *name; /* the user's name for the current model; NULL: it has none */
};

/* The undos and redos of a recording, in their order, for a run that repeats it. */
struct undo_source {
    /* The row of the next one, if it belongs before request `step` of turn `turn` (both count from 1), else
     * SESSION_NONE. */
    uint32_t (*next)(struct undo_source *source, const struct session *session, int64_t turn, int64_t step, bool *redo);
};
#define UNDO_AFTER_TURN INT64_MAX /* as a step: after the turn's end */

struct engine;
struct http;
struct runtime;
struct pool;
struct program_control;
struct tool_source;

#define SESSION_NAME_MAX 60 /* bytes of a name given with INTENT_NAME: a column of a list */

struct engine_config {
    struct loop *loop;
    struct registry *registry;
    struct tool_source *tools;   /* tools that come and go; NULL: none */
    struct undo_source *undos;   /* undos to repeat; NULL: none */
    struct provider *provider;   /* the model at the start of the session */
    const char *model_name;      /* the user's name for it; NULL: none */
    struct model_source *models; /* other models; NULL: none */
    bool same_session;           /* engine_resume continues the recorded session itself, not a fork of it */
    bool model_chosen;           /* the user chose the model: a resumed session does not return to its recorded one */
    struct beneath *root;
    struct rules *rules;              /* decide about writes */
    struct artifact_store *artifacts; /* NULL: long outputs are cut */
    struct checkpoints *checkpoints;  /* NULL: no undo */
    struct store *store;              /* NULL: no memory */
    struct http *http;                /* NULL: no web */
    struct pool *pool;                /* of sandboxes; NULL: no scripts */
    struct runtime *runtime;          /* for tools that run programs; NULL: none */
    struct program_control *programs; /* the interface for keys that go to programs; NULL: no programs */
    struct finalize_hooks hooks;

    const char *session;       /* id */
    const char *project;       /* project_root of the root: whose memory and artifacts are used */
    enum memory_scope memory;  /* whose notes the model gets */
    const char *engine_name;   /* of the sandbox, for session.started */
    const char *system_prompt; /* NULL: the default */
    const char *web_endpoint;  /* NULL: none */
    struct budget_limits limits;
    enum web_mode web;
    enum thinking_level thinking;
    bool reflect_on_tool_error;
    int64_t reflect_every;
    bool parallel;
    bool select_tools;
    bool show_citations;
    bool validate;             /* check arguments against their schema */
    bool project_instructions; /* send AGENTS.md of the workspace to the model */
    bool compact;              /* leave out old messages near the context ceiling */
    bool interactive; /* a user answers gates, questions and ended budgets; otherwise gates are passed, questions
                       * denied, budgets final */
    bool clock_runs_while_asking; /* see bounded.h */
    int64_t ask_timeout_ms;       /* 0: a question waits forever */
    int model_attempts;           /* default 3 */
    double model_jitter;          /* largest random share added to the delay before a retry; default 0 */
};
/* The defaults; collaborators are NULL. */
struct engine_config engine_config_defaults(void);

struct sink {
    void (*event)(struct sink *sink, const struct event *event, const struct session *session);
    struct sink *next;
};

/* Starts a session and emits session.started. Takes over the journal. The config must outlive the engine and must not
 * change. */
struct engine *engine_new(const struct engine_config *config, struct journal *take_journal, struct sink *sinks,
                          struct err *err) CHECKED;
/* Resumes a recorded session: folds `reader` and rebuilds the conversation. An unfinished turn is rebuilt too;
 * INTENT_RESUME_TURN continues it. Emits session.resumed if config->same_session, else nothing. */
struct engine *engine_resume(const struct engine_config *config, struct journal *take_journal,
                             const struct journal_reader *reader, struct sink *sinks, struct err *err) CHECKED;
/* Cancels running work. Run the loop until engine_idle first, unless the process is about to exit. */
void engine_free(struct engine *engine);

/* The prompt of the turn that INTENT_EXTEND starts after a turn that ended at a limit. */
#define ENGINE_CONTINUE_PROMPT "Continue. The last turn stopped at a limit."
/* Returns 0, or -1 and the reason; a refused intent changes nothing. */
int engine_submit(struct engine *engine, const struct intent *intent, struct err *err) CHECKED;
/* The session's own emitter, for events beside or between turns. */
struct emitter *engine_emitter(struct engine *engine);
const struct session *engine_session(const struct engine *engine);
/* True if no turn, no undo and no late thread is running. */
bool engine_idle(const struct engine *engine);
bool engine_turn_running(const struct engine *engine);
/* True if a recorded turn waits for INTENT_RESUME_TURN. */
bool engine_turn_left(const struct engine *engine);
/* `ended` is called on the loop each time a turn ends, after turn.finished. */
void engine_on_turn_end(struct engine *engine, void (*ended)(void *data), void *data);
/* `revised` is called on the loop when the open question gets another version from the user (INTENT_REVISE). */
void engine_on_revised(struct engine *engine, void (*revised)(void *data), void *data);
/* Why the journal could not be written; NULL: it works. */
const char *engine_failed(const struct engine *engine);
/* True if a write was denied because no user could answer. */
bool engine_nobody_asked(const struct engine *engine);
/* Such writes: tool, path and reason, one per line, the first 20; NULL: none. `more` gets the number of the others. */
const char *engine_refused(const struct engine *engine, size_t *more);

/* The open question, for the screen; NULL: none. */
const struct question *engine_question(const struct engine *engine);
/* The object at the gate where the turn is paused. */
struct held_view {
    enum gate gate;
    const char *why;  /* "step", "pause", a breakpoint, "limit: steps"; for display */
    int limit;        /* the enum budget_key that is used up; -1: none */
    double adds;      /* what INTENT_EXTEND with a share of 1 adds to that limit */
    int breakpoint;   /* id of the breakpoint that paused here; 0: none */
    const char *call; /* NULL: the gate is not about a call */
    const struct tool *tool;
    enum effect effect;                  /* of this call */
    const char *arguments;               /* JSON text */
    const char *result;                  /* the tool message about to be sent */
    const struct message_list *messages; /* at GATE_MODEL */
};
bool engine_held(const struct engine *engine, struct held_view *out);
const struct gates *engine_gates(const struct engine *engine);
