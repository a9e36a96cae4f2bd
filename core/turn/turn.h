#pragma once
/* One turn, inside. Shared by the files that run it and by nobody else:
 *
 *   turn.c        start, load, prepare, the loop from step to step, the end
 *   turn_model.c  asking the model, its deltas and failures, reflection
 *   turn_calls.c  waves and calls: what may run, what came of it, the messages
 *   write.c       the question about a write, from the proposal to the bytes on disk
 *   turn_edit.c   what a person changes at a gate
 *   turn_compact.c  what is left out when the context ceiling nears
 *   turn_left.c   a turn that a recording left in the middle, and how it goes on
 *   hold.c        standing at a gate
 *
 * Everything is a chain of continuations on the loop: each function does its part, starts what takes time, and returns;
 * what comes back calls the next. */

#include "base/arena.h"
#include "base/loop.h"
#include "base/waiter.h"
#include "context.h"
#include "engine.h"
#include "memory.h"
#include "prepare.h"
#include "reflect.h"
#include "state.h"
#include "tools/context_pack.h"
#include "waves.h"

struct turn;
struct turn_call;

/* A stop at a gate; `go` is called when it is released. */
struct hold {
    enum gate gate;
    char *why;
    int limit;              /* enum budget_key that is used up; -1: none */
    int breakpoint;         /* id of the one that holds here; 0: none */
    struct turn_call *call; /* may be NULL */
    void (*go)(struct turn *turn, struct turn_call *call);
    struct hold *next;
};

struct turn_call {
    struct turn *turn;
    char *id, *name;
    char *arguments;           /* JSON text, as the model gave it or the user edited it */
    const struct json *parsed; /* NULL when it is no JSON object; in the step's arena */
    bool incomplete;           /* the answer ended before they did, and nobody has edited them since */
    const struct tool *tool;   /* NULL: unknown */
    enum effect effect;        /* of this call */
    const struct wave *wave;
    size_t wave_number; /* from 1 within the step */
    char key[HASH_MD5_HEX];
    struct bounded_call *running;
    bool gated; /* has stood at its gate */
    bool settled;
    char *message;              /* what the model will read */
    bool failed;                /* it tells why there is no result */
    struct citation *citations; /* counted after the wave, in the order of the answer (D32) */
    size_t citation_count, citation_room;
};

struct turn {
    struct engine *engine;
    const struct harness *harness;
    int64_t number;
    struct emitter emitter; /* its events have this turn's number */
    char *prompt;
    struct hold_clock clock;
    int64_t started_us; /* on the hold clock */
    struct budget budget;
    struct turn_state state;
    struct preparation preparation;
    struct message_list messages;
    const struct tool **tools; /* offered */
    size_t tool_count;

    struct loop_work memory_work, context_work;
    struct memory memory;
    struct context_pack context;
    char *instructions; /* of the project; NULL: none */
    atomic_bool context_cancelled;
    int loading;

    int step;
    int attempt;
    int shortened; /* the step that was asked again with less, since it was too much */
    bool shown;    /* a part of the answer to this attempt */
    struct model_listener listener;
    struct provider *asked; /* whose answer is under way, or came last */
    bool asking;            /* the model, a reflection included */
    bool reflecting;
    int64_t asked_us;
    struct strbuf delta_text, delta_thinking;
    size_t delta_bytes;            /* of this attempt, told so far */
    struct loop_timer delta_timer; /* coalesces */
    struct loop_timer wait_timer;  /* a retry, or the patience with a reflection */
    struct loop_timer deadline_timer;
    struct model_reply reply; /* of this step, between answer and messages; also parked while held at the budget */
    bool reply_parked, retry_parked;

    struct arena arena; /* of the step */
    struct turn_call *calls;
    size_t call_count;
    const struct wave *waves;
    size_t wave_count, wave_index;
    size_t next_launch; /* index into calls */
    size_t unsettled;   /* of the wave */
    bool launching;
    const struct tool *awaited; /* it cannot tell yet what a call of it may do; NULL: all can */
    struct waiter waiter;

    struct bounded_host host;
    struct question *question; /* about the write of a call; NULL: none */
    int64_t comparing_us;      /* time the clocks stood still for diffs, for which nobody waited */
    size_t works;              /* of our own on the pool */

    struct hold *holds; /* the first one is the one we stand at */
    bool cancelled;
    bool ending;
    const char *status;    /* why it ends */
    struct loop_task next; /* continues from the loop instead of from deep inside a callback */
    struct loop_work final_work;
    struct finalize_input final_input;
    struct finalize_tool *final_tools;
    struct finalization final;
    bool finished;
    struct turn_left {
        bool prepared;   /* the messages of its first request are there */
        bool answered;   /* the newest thing the model had a part in is its answer … */
        bool final;      /* … which asked for no call */
        int64_t wall_us; /* used so far */
    } left;              /* of a recorded turn: where it stood */
    struct turn *older;  /* finished ones that wait for late threads */
};

/* engine.c */
/* Where all emitters of a session end: redaction, journal, fold, sinks. 0, or -1 when nothing was recorded. */
int engine_record(struct engine *engine, int64_t turn, struct event *events, size_t count);
/* The model to be asked next. */
struct provider *engine_provider(const struct engine *engine);
struct gates *engine_gates_mutable(struct engine *engine);
struct thinking *engine_thinking(struct engine *engine);
const struct tool_env *engine_tool_env(const struct engine *engine);
const struct message_list *engine_history(const struct engine *engine);
uint64_t engine_next_ask(struct engine *engine);
/* `protected`: the reason, of a write to a protected place; NULL: of any other. */
void engine_set_nobody_asked(struct engine *engine, const char *protected);
void engine_question_revised(struct engine *engine);
void engine_turn_finished(struct engine *engine, struct turn *turn);
void engine_turn_freed(struct engine *engine, struct turn *turn);

/* turn.c */
struct turn *turn_start(struct engine *engine, const struct harness *harness, int64_t number, const char *prompt);
/* The parts of it: a turn of which nothing happened yet, and what comes after turn.started. */
struct turn *turn_make(struct engine *engine, const struct harness *harness, int64_t number, const char *prompt);
void turn_load(struct turn *turn);
void turn_watch_deadline(struct turn *turn);
void turn_free(struct turn *turn);
void turn_next_step(struct turn *turn);
/* Ends the loop with this status; from here the way is close_writes, finalize, finished. */
void turn_end(struct turn *turn, const char *status);
void turn_cancel(struct turn *turn);
/* Frees the turn when it is finished and nothing of it is under way any more. */
void turn_maybe_free(struct turn *turn);
/* budget.charged and, where a share was passed, budget.warned. */
void turn_charge(struct turn *turn);
/* Timers follow the hold clock. */
void turn_clock_changed(struct turn *turn);
/* Continues with `run` from the loop. */
void turn_soon(struct turn *turn, void (*run)(struct loop_task *task));

/* turn_model.c */
void turn_ask_model(struct turn *turn, struct turn_call *none);
void turn_reflect(struct turn *turn);
void turn_stop_asking(struct turn *turn);
void turn_take_reply(struct turn *turn);
void turn_retry(struct turn *turn);

/* turn_calls.c */
/* Runs the calls of the answer; without any the turn ends, or asks again when the model only paused. */
void turn_run_calls(struct turn *turn, struct turn_call *none);
/* Does not wait any longer for what the plan of the calls depends on. */
void turn_plan_now(struct turn *turn);
void turn_calls_release(struct turn *turn);
/* What an outcome means for the rest of the turn. */
void turn_note_outcome(struct turn *turn, struct turn_call *call, const struct outcome *outcome);
/* tool.finished. */
int turn_emit_outcome(struct turn *turn, const struct turn_call *call, const struct outcome *outcome);
/* The messages of all calls, in the order of the answer; then they are gone. */
void turn_calls_told(struct turn *turn);
void turn_host_init(struct turn *turn);
int turn_edit_arguments(struct turn *turn, struct turn_call *call, const char *text, struct err *err) CHECKED;

/* turn_compact.c */
/* Makes the messages smaller when they are near the ceiling; before each request. */
void turn_compact(struct turn *turn);
/* The model says that it was asked too much: to about half. False when nothing can be left out; else it is to be told.
 */
struct compacted {
    int64_t before, after;
    char *how;
};
bool turn_make_smaller(struct turn *turn, struct compacted *done);
void turn_tell_compacted(struct turn *turn, int step, struct compacted *take_done);
void turn_recall_compacted(struct turn *turn, const struct event_context_compacted *compacted);

/* turn_left.c */
/* What a recorded event of this turn leaves in it. */
void turn_recall(struct turn *turn, const struct event *event);
/* Goes on from there: what the recording left open is told as not run, and the model is asked. */
void turn_go_on(struct turn *turn);

/* turn_edit.c */
/* What stands at the gate; `turn` may be NULL. */
int turn_edit(struct turn *turn, const struct intent *intent, struct err *err) CHECKED;

/* hold.c */
/* True when the turn stands here now: `go` will be called when it is released. False: go on. */
bool turn_hold_at(struct turn *turn, const struct gate_view *view, struct turn_call *call,
                  void (*go)(struct turn *, struct turn_call *));
/* `hold` says where and why and is copied; its `why` too. */
void turn_hold(struct turn *turn, const struct hold *hold);
void turn_release(struct turn *turn, const char *by);
/* Goes on everywhere: the turn was cancelled, and whoever goes on looks at that first. */
void turn_release_all(struct turn *turn, const char *by);

/* undo.c */
struct undo;
/* Brings a checkpoint back, as a write with a checkpoint of its own. Ends with write.undone, or with a workspace.op
 * event that says why not; then `ended` is called. */
struct undo *undo_start(struct engine *engine, const struct harness *harness, int64_t turn, const char *checkpoint,
                        void (*ended)(struct engine *engine));
/* The paths of a change set, borrowed from it. */
struct event_strs turn_list_paths(struct arena *arena, const struct change_set *set);
