#pragma once
/* The state of one turn, and the functions its files share. Only files of core/turn (and tests that look inside)
 * include it.
 *
 *    turn.c         start, load, prepare, the loop from step to step, the end
 *    model_step.c   ask the model: requests, deltas, failures, reflection
 *    calls.c        waves and calls: checks, starts, outcomes, messages; edits at a gate
 *    write.c        the question about a write, from the proposal to the bytes on disk
 *    compaction.c   shorten the conversation near the context ceiling
 *    resume.c       rebuild and continue a turn that a recording left unfinished
 *    history.c      what a turn leaves to the requests of later turns
 *    gates.c        pause at a gate, and what the screen may see there
 *    undo.c         undo and redo writes
 *    process_input.c  keys for programs
 *
 * A turn is a chain of continuations on the loop: each function does its part, starts what takes time, and returns;
 * the result calls the next function. */

#include "base/arena.h"
#include "base/loop.h"
#include "base/waiter.h"
#include "compaction.h"
#include "context_pack.h"
#include "engine.h"
#include "event/redact_events.h"
#include "model_step.h"
#include "prepare.h"
#include "tally.h"
#include "tools/tool.h"
#include "undo.h"
#include "waves.h"

struct turn;
struct turn_call;

/* A pause at a gate. The turn calls `go` when the user releases it. */
struct hold {
    enum gate gate;
    char *why;
    int limit;              /* the enum budget_key that is used up; -1: none */
    int breakpoint;         /* id of the breakpoint that paused here; 0: none */
    struct turn_call *call; /* may be NULL */
    /* Continues the turn. `call`: the one that the gate held; NULL at gates that hold none. */
    void (*go)(struct turn *turn, struct turn_call *call);
    struct hold *next;
};

struct turn_call {
    struct turn *turn;
    char *id, *name;
    char *arguments;           /* JSON text, as the model gave it or the user edited it */
    const struct json *parsed; /* NULL if the text is no JSON object; lives in the step's arena */
    bool incomplete;           /* the answer ended before its arguments did, and the user has not edited them since */
    const struct tool *tool;   /* NULL: unknown */
    enum effect effect;        /* of this call */
    const struct wave *wave;
    size_t wave_number; /* from 1 within the step */
    char key[HASH_MD5_HEX];
    struct bounded_call *running;
    bool gated; /* the call has already passed its gate */
    bool settled;
    char *message;              /* text the model will read */
    bool failed;                /* the message says why there is no result */
    struct citation *citations; /* added to the tally after the wave, in the order of the answer */
    size_t citation_count, citation_room;
};

struct turn {
    struct engine *engine;
    const struct engine_config *config;
    int64_t number;
    struct emitter emitter; /* adds this turn's number to its events */
    char *prompt;
    struct hold_clock clock;
    int64_t started_us; /* on the hold clock */
    struct budget budget;
    struct tally tally;
    struct preparation preparation;
    struct message_list messages;
    bool noted;                /* the last message is about undone writes, and was not sent yet */
    const struct tool **tools; /* offered to the model */
    size_t tool_count;

    struct loop_work memory_work, context_work;
    struct memory memory;
    struct context_pack context;
    char *instructions; /* the project's; NULL: none */
    atomic_bool context_cancelled;
    int loading;

    int step;
    int attempt;
    int shortened; /* the step that was asked again with a shorter conversation, because the model refused the first
                    * as too long */
    bool shown;    /* a part of the answer to this attempt was shown */
    struct model_listener listener;
    struct provider *asked; /* the model that is answering, or that answered last */
    bool asking;            /* a request is running, maybe a reflection */
    bool reflecting;
    int64_t asked_us;
    struct strbuf delta_text, delta_thinking;
    size_t delta_bytes;            /* recorded so far for this attempt */
    struct strbuf partial;         /* recorded text of an answer that is not complete */
    struct loop_timer delta_timer; /* coalesces deltas */
    struct loop_timer wait_timer;  /* the delay before a retry, or the time limit of a reflection */
    struct loop_timer deadline_timer;
    struct model_reply reply; /* of this step, between answer and messages; also kept here while the turn is held at a
                               * budget */

    int reached;    /* the enum budget_key whose limit was reached and has not been raised; -1: none */
    bool stopping;  /* the turn ends at that limit: what still waits is skipped */
    size_t skipped; /* calls that a limit stopped */
    void (*parked)(struct turn *turn); /* continues when the user raised the limit; NULL: it runs meanwhile */

    struct arena arena; /* of the step */
    struct turn_call *calls;
    size_t call_count;
    const struct wave *waves;
    size_t wave_count, wave_index;
    size_t next_launch; /* index into calls */
    size_t unsettled;   /* calls of the wave without an outcome */
    bool launching;
    const struct tool *awaited; /* its effects are not known yet; NULL: all effects are known */
    struct waiter waiter;

    struct bounded_host host;
    struct question *question; /* about the write of a call; NULL: none */
    int64_t comparing_us;      /* time the clocks were stopped for diffs, without waiting for the user */
    size_t works;              /* the turn's own jobs on the pool */

    struct hold *holds; /* the first is the one in effect */
    bool cancelled;
    bool ending;
    const char *status;    /* why the turn ends */
    struct loop_task next; /* continues from the loop instead of from deep inside a callback */
    struct loop_work final_work;
    struct finalize_input final_input;
    struct finalization final;
    bool finished;
    struct turn_left {
        bool prepared;   /* the messages of its first request exist */
        bool answered;   /* the newest recorded event of the model is its answer … */
        bool final;      /* … and the answer has no calls */
        int64_t wall_us; /* used so far */
    } left;              /* where a recorded turn stopped */
    struct turn *older;  /* finished turns that wait for late threads */
};

struct engine {
    const struct engine_config *config;
    struct journal *journal;
    struct session session;
    struct sink *sinks;
    struct gates gates;
    struct thinking thinking;
    struct tool_env env;
    struct context_source context;
    struct message_list history; /* of the conversation so far; see history.c */
    int64_t turns;
    uint64_t asks;
    struct turn *turn; /* the running turn */
    struct turn *left; /* the turn that the recording left unfinished */
    struct turn *late; /* finished turns with threads that have not returned */
    struct undo *undo;
    struct undo_notes untold; /* for the next request to the model */
    struct undo_repeat {
        int64_t turn, step;
        void (*then)(struct engine *engine);
    } repeat; /* where a run that repeats a recording is, and how it continues after the undos of that place */
    uint32_t left_programs;          /* in a resumed recording: how many programs had started */
    struct gate_redaction *redacted; /* the hold as the screen may show it, without secrets */
    struct models models;
    struct emitter emitter; /* of the session: programs, workspace, servers, intents */
    struct redact_events redact;
    struct emitter recorder; /* behind redaction: journal, fold, sinks */
    struct loop_task broke;  /* the journal failed: cancel from the loop */
    char *failure;
    char *refused; /* writes that were denied because no user could answer, with the reason, one per line */
    size_t refused_count;
    bool ended;
    void (*turn_ended)(void *data);
    void *turn_ended_data;
    void (*revised)(void *data);
    void *revised_data;
};

/* engine.c */
/* Receives the events of all emitters of a session: redaction, journal, fold, sinks. Returns 0, or -1 if nothing was
 * recorded. */
int engine_record(struct engine *engine, int64_t turn, struct event *events, size_t count);
/* The model that gets the next request. */
struct provider *engine_provider(const struct engine *engine);
struct gates *engine_gates_mutable(struct engine *engine);
struct thinking *engine_thinking(struct engine *engine);
const struct tool_env *engine_tool_env(const struct engine *engine);
const struct message_list *engine_history(const struct engine *engine);
uint64_t engine_next_ask(struct engine *engine);
/* Notes that a write was denied because no user can answer: which one, and the reason. */
void engine_note_refused(struct engine *engine, const char *write);
void engine_question_revised(struct engine *engine);
/* Remembers a write.undone or write.redone for the next request, and lets the running turn read the files again. */
void engine_restored(struct engine *engine, const struct event *event);
/* Repeats the undos and redos that the recording has up to this place, then calls `then`. False: there are none. */
bool engine_repeat_undos(struct engine *engine, int64_t turn, int64_t step, void (*then)(struct engine *engine));
void engine_turn_finished(struct engine *engine, struct turn *turn);
void engine_turn_freed(struct engine *engine, struct turn *turn);

/* turn.c */
struct turn *turn_start(struct engine *engine, const struct engine_config *config, int64_t number, const char *prompt);
/* The two halves of turn_start: make an empty turn, then do what follows turn.started. */
struct turn *turn_make(struct engine *engine, const struct engine_config *config, int64_t number, const char *prompt);
void turn_load(struct turn *turn);
void turn_watch_deadline(struct turn *turn);
void turn_free(struct turn *turn);
void turn_next_step(struct turn *turn);
/* Ends the loop with this status. close_writes, finalize and finished follow. A turn that lost calls to a limit does
 * not end as done. */
void turn_end(struct turn *turn, const char *status);
/* Reports that a limit was reached. Returns true if the turn holds, because a user can raise the limit: then `parked`
 * is called, unless the user ends the turn. `call` is the call that waits; may be NULL. */
bool turn_reach_limit(struct turn *turn, enum budget_key key, struct turn_call *call,
                      void (*parked)(struct turn *turn));
/* True while the turn holds at a limit: what comes next must be parked. */
bool turn_at_limit(const struct turn *turn);
void turn_cancel(struct turn *turn);
/* Frees the turn once it is finished and none of its work is running. */
void turn_maybe_free(struct turn *turn);
/* Emits budget.charged, and budget.warned if a share was passed. */
void turn_charge(struct turn *turn);
/* Resets the timers after the hold clock stopped or started. */
void turn_clock_changed(struct turn *turn);
/* Calls `run` from the loop. */
void turn_soon(struct turn *turn, void (*run)(struct loop_task *task));

/* model_step.c */
/* Continues from the model gate. `held` is NULL: that gate holds no call. */
void turn_ask_model(struct turn *turn, struct turn_call *held);
void turn_reflect(struct turn *turn);
void turn_stop_asking(struct turn *turn);

/* calls.c */
/* Runs the calls of the answer. Without calls the turn ends, or asks again if the model only paused. Continues from the
 * gate after the answer; `held` is NULL, because that gate holds no single call. */
void turn_run_calls(struct turn *turn, struct turn_call *held);
/* Plans the calls now, without waiting longer for tools whose effects are unknown. */
void turn_plan_now(struct turn *turn);
void turn_calls_release(struct turn *turn);
/* Cancels the calls that run. */
void turn_calls_cancel(struct turn *turn);
/* Applies the effects of an outcome on the rest of the turn. */
void turn_note_outcome(struct turn *turn, struct turn_call *call, const struct outcome *outcome);
/* Emits tool.finished. */
int turn_emit_outcome(struct turn *turn, const struct turn_call *call, const struct outcome *outcome);
/* Appends the messages of all calls, in the order of the answer, then frees the calls. */
void turn_calls_reported(struct turn *turn);
void turn_host_init(struct turn *turn);

/* compaction.c */
/* Shortens the messages if they are near the ceiling. Called before each request. */
void turn_compact(struct turn *turn);
/* Shortens the messages to about half, after the model refused a request as too long. Returns false if nothing can be
 * left out; otherwise the caller must emit the result. */
struct compacted {
    struct compaction run;
    int64_t before, after; /* by the model's count */
    char *how;
};
bool turn_make_smaller(struct turn *turn, struct compacted *done);
void turn_tell_compacted(struct turn *turn, int step, struct compacted *take_done);
void resume_compacted(struct turn *turn, const struct event_context_compacted *compacted);

/* resume.c */
/* Applies a recorded event of this turn to its state. */
void resume_apply(struct turn *turn, const struct event *event);
/* Continues the turn: calls that the recording left open get the outcome "not run", then it asks the model. */
void resume_turn(struct turn *turn);
/* Completes the messages of a turn that will not continue. */
void turn_recall_end(struct turn *turn);

/* history.c */
/* Moves the messages of a turn that is over to the conversation, after its earlier ones. `status`: how it ended; NULL:
 * the recording stops in it. */
void history_add_turn(struct message_list *history, struct turn *turn, const char *status);

/* calls.c */
/* Edits the object at the gate where the turn is paused; `turn` may be NULL. */
int turn_edit(struct turn *turn, const struct intent *intent, struct err *err) CHECKED;

/* gates.c */
/* Returns true if the turn pauses here; then `go` is called on release. False: the caller continues. */
bool turn_hold_at(struct turn *turn, const struct gate_view *view, struct turn_call *call,
                  void (*go)(struct turn *, struct turn_call *));
/* Pauses the turn. `hold` gives the gate and the reason; it and its `why` are copied. */
void turn_hold(struct turn *turn, const struct hold *hold);
void turn_release(struct turn *turn, const char *by);
/* Releases all holds, because the turn was canceled. Each continuation must check for that first. */
void turn_release_all(struct turn *turn, const char *by);

/* undo.c; its header is undo.h */
/* The paths of a change set, borrowed from it. */
struct event_strs turn_list_paths(struct arena *arena, const struct change_set *set);
/* Puts the message about undone writes at the end of the turn's messages, or takes it back until the next request. */
void turn_note_undone(struct turn *turn);
void turn_drop_undo_note(struct turn *turn);

/* process_input.c */
/* Types into a program: records the input first, then passes it on. Refused while the turn runs, because input from
 * the user and the model at the same time makes the output useless to both. */
int process_input_write(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                        struct err *err) CHECKED;
/* Kills a program. Works at any time: the user must not have to wait for a runaway program. */
int process_input_kill(struct engine *engine, const struct engine_config *config, const struct intent *intent,
                       struct err *err) CHECKED;
/* Emits program.ended for the first `count` programs of a resumed recording that have no end in it. They died with
 * the process that ran them. */
void process_input_end_left(struct engine *engine, uint32_t count);

/* The object at a gate as the screen may show it: without the values of secrets. The turn itself keeps the
 * originals. */
struct gate_redaction;

struct gate_redaction *gate_redact_new(void);
void gate_redact_free(struct gate_redaction *redacted);
/* Replaces parts of `view` that hold a secret by redacted copies. Texts stay valid until they change, messages until
 * the next call. */
void gate_redact(struct gate_redaction *redacted, struct held_view *view);
