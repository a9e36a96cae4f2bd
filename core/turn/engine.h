#pragma once
/* The engine: intents in, events out.
 *
 * Every emission goes the same way: append to the journal, fold into the session, tell the sinks. What could not be
 * recorded is not acted upon: when the journal fails, the turn ends and engine_failed says why.
 *
 * `struct harness` is the façade of a session's collaborators. It is set up once and never changes; everything that
 * belongs to one turn lives in a struct turn that is made at its start and freed after its last late thread. */

#include "budget.h"
#include "event/emitter.h"
#include "event/journal.h"
#include "event/session.h"
#include "finalize.h"
#include "gate.h"
#include "intent.h"
#include "models.h"
#include "rules.h"
#include "thinking.h"
#include "tools/registry.h"
#include "write.h"

struct engine;
struct http;
struct place;
struct pool;
struct program_control;
struct tool_source;

struct harness {
    struct loop *loop;
    struct registry *registry;
    struct tool_source *tools;   /* tools that come and go; NULL: there are none */
    struct provider *provider;   /* the model that the session begins with */
    const char *model_name;      /* by which people know it; NULL: by none */
    struct model_source *models; /* others; NULL: there are none */
    bool model_chosen;           /* by the user: a session that is gone on with does not go back to the one it had */
    struct beneath *root;
    struct rules *rules;              /* who decides about writes */
    struct artifact_store *artifacts; /* NULL: long outputs are cut */
    struct checkpoints *checkpoints;  /* NULL: no undo */
    struct store *store;              /* NULL: no memory */
    struct http *http;                /* NULL: no web */
    struct pool *pool;                /* of sandboxes; NULL: no scripts */
    struct place *place;              /* of the tools that run programs; NULL: none */
    struct program_control *programs; /* how keys reach programs; NULL: there are none */
    struct finalize_hooks hooks;

    const char *session;       /* id */
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
    bool validate;             /* arguments against their schema */
    bool project_instructions; /* AGENTS.md of the workspace is told to the model */
    bool compact;              /* leave out what is old when the context ceiling nears */
    bool interactive;    /* somebody answers gates, questions and ended budgets; else they are passed, refused, final */
    bool ask_runs_clock; /* see bounded.h */
    int64_t ask_timeout_ms; /* 0: a question waits for ever */
    int model_attempts;     /* 3 */
    double model_jitter;    /* share by which the wait before another attempt may be longer, by chance; 0 */
};
/* The defaults of the specification; collaborators are NULL. */
struct harness harness_defaults(void);

struct sink {
    void (*event)(struct sink *sink, const struct event *event, const struct session *session);
    struct sink *next;
};

/* Starts a session: emits session.started. The harness must outlive the engine and stay as it is; the journal is taken
 * over. */
struct engine *engine_new(const struct harness *harness, struct journal *take_journal, struct sink *sinks,
                          struct err *err) CHECKED;
/* Goes on with a recorded session: folds `reader`, rebuilds the conversation, emits nothing. A turn that the recording
 * leaves in the middle is rebuilt too, and goes on when it is told to (INTENT_GO_ON). */
struct engine *engine_resume(const struct harness *harness, struct journal *take_journal,
                             const struct journal_reader *reader, struct sink *sinks, struct err *err) CHECKED;
/* Cancels what runs. The loop must be run until engine_idle before, unless the program is about to end. */
void engine_free(struct engine *engine);

/* 0, or -1 and why not; a refused intent changes nothing. */
int engine_submit(struct engine *engine, const struct intent *intent, struct err *err) CHECKED;
/* The session's own emitter, for what happens beside or between turns. */
struct emitter *engine_emitter(struct engine *engine);
const struct session *engine_session(const struct engine *engine);
/* No turn, no undo, no late thread is under way. */
bool engine_idle(const struct engine *engine);
bool engine_turn_running(const struct engine *engine);
/* A turn waits to be gone on with. */
bool engine_turn_left(const struct engine *engine);
/* Called on the loop each time a turn ended (after turn.finished). */
void engine_on_turn_end(struct engine *engine, void (*ended)(void *data), void *data);
/* Called on the loop when the open question got another version of the user's (INTENT_REVISE). */
void engine_on_revised(struct engine *engine, void (*revised)(void *data), void *data);
/* Why the journal could not be written; NULL while all is well. */
const char *engine_failed(const struct engine *engine);
/* A write was refused because nobody could be asked. */
bool engine_nobody_asked(const struct engine *engine);
/* Of such writes to protected places: which and why, a line each, the first 20; NULL: there was none. */
const char *engine_protected(const struct engine *engine);

/* The open question, for whoever shows it; NULL when there is none. */
const struct question *engine_question(const struct engine *engine);
/* What stands at the gate where the turn is held. */
struct held_view {
    enum gate gate;
    const char *why;  /* "step", "pause", a breakpoint, "limit: steps"; for people */
    int limit;        /* enum budget_key that is used up; -1: none */
    int breakpoint;   /* id of the one that holds here; 0: none */
    const char *call; /* NULL when it is none */
    const struct tool *tool;
    enum effect effect;                  /* of this call */
    const char *arguments;               /* JSON text */
    const char *result;                  /* the tool message about to be sent */
    const struct message_list *messages; /* at GATE_MODEL */
};
bool engine_held(const struct engine *engine, struct held_view *out);
const struct gates *engine_gates(const struct engine *engine);
