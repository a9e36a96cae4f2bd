#pragma once
/* The session: the state that results from folding its events, and nothing else.
 *
 * session_apply has no I/O, no clock and no randomness, and accepts any sequence of events. An event that makes no
 * sense becomes an entry in `faults`. A live run, a replay, a test and a recorded file all use it.
 *
 * The session owns what lists show. Rows hold numbers, interned names and short texts, and the seq of the event that
 * holds the rest. For a long text, read that line of the journal. So the session stays small, whatever was recorded.
 * Rows refer to each other by index, never by pointer. Short texts are in a text_pool, cut to SESSION_TEXT
 * characters, never NULL and not sanitized. */

#include "base/hash.h"
#include "event.h"
#include "text_pool.h"
#include "workspace_state.h"

#define SESSION_NONE UINT32_MAX
#define SESSION_ARGS 120 /* characters of the arguments of a call … */
#define SESSION_TEXT 160 /* … and of any other text of a row */

enum call_state {
    CALL_QUEUED,
    CALL_RUNNING,
    CALL_WAITING, /* for approval */
    CALL_DONE,
    CALL_FAILED,
    CALL_DENIED,  /* a person or a rule said no */
    CALL_SKIPPED, /* not run: a duplicate, bad arguments, canceled, or over a limit */
    CALL_TIMED_OUT
};
const char *call_state_name(enum call_state state); /* "queued", "running", "waiting", "done", …, "timed out" */

/* How a call's program ended. 0: with success, or no program ran. Above 0: its exit code. Below 0: minus the signal
 * that killed it, or one of these. */
#define CALL_END_STOPPED   (-1000) /* it could not continue or start; the result may say why */
#define CALL_END_TIMED_OUT (-1001)
/* The same from the `result` of a tool.finished; of several programs, the first that failed. Uses the arena only if
 * there was a program. */
int16_t call_result_end(const struct event_result_info *result, struct arena *arena);
/* The same from its output; 0 for NULL. */
struct json;
int16_t call_output_end(const struct json *output);

struct session_turn {
    uint32_t number;      /* as in the events */
    uint32_t started_seq; /* turn.started; 0: missing */
    uint32_t prepared_seq;
    uint32_t edited_seq;    /* the newest edit of the prompt; 0: as typed */
    uint32_t finalized_seq; /* holds the sources that Keyturn lists */
    uint32_t finished_seq;  /* 0 while it runs */
    uint32_t first_call;    /* index into calls; the calls of a turn are contiguous */
    uint32_t call_count;
    uint32_t first_step, step_count;
    uint32_t first_wave, wave_count;
    uint32_t status; /* name: done, failed, canceled, budget; 0 while it runs */
    bool writes_closed;
    int64_t started_t, finished_t;
    int64_t held_us;    /* part of it spent at gates and questions that ended */
    int64_t elapsed_ms; /* as turn.finished reports it; 0: it does not */
    const char *prompt; /* as edited */
};

struct session_step {
    uint32_t turn; /* index */
    uint32_t number;
    uint32_t requested_seq, responded_seq;
    uint32_t reflection_seq;
    uint32_t compacted_seq;                   /* the compaction before this step; 0: none */
    uint32_t first_delta_seq, last_delta_seq; /* of an answer that is arriving or was interrupted; 0: none */
    int64_t requested_t, responded_t;
    int64_t input_tokens, output_tokens;
    double cost_usd;  /* NaN: unknown */
    const char *text; /* of the answer; of an interrupted one, what had arrived */
};

/* Users see its number, "#3": its index + 1. Its last question holds the diff. */
struct session_call {
    uint32_t id;            /* name */
    uint32_t tool;          /* name */
    uint32_t turn;          /* index */
    uint32_t step;          /* index */
    uint32_t wave;          /* index, SESSION_NONE before it was planned */
    uint32_t effect;        /* name, 0 when unknown */
    uint32_t responded_seq; /* the answer that requested it: it holds the arguments, … */
    uint32_t edited_seq;    /* … unless the user edited them, … */
    uint32_t started_seq;   /* … or the call has started: then they are here */
    uint32_t finished_seq, proposed_seq;
    uint32_t outputs;     /* number of tool.output and script.event */
    uint32_t output_seq;  /* the newest of them, 0 when none */
    uint32_t printed_seq; /* the newest that is not an error, … */
    uint32_t error_seq;   /* … and the newest error of a script */
    uint32_t ask;         /* index of its last ask, SESSION_NONE */
    uint8_t state;        /* enum call_state */
    bool late;            /* came back after its timeout and was suppressed */
    bool undone;          /* its write was undone and not redone since */
    int16_t program_end;  /* as call_result_end returns it; the call is done in any case */
    int64_t started_t, finished_t;
    int64_t elapsed_ms;
    int64_t bytes;       /* of the result; -1: none */
    const char *args;    /* from words_arguments */
    const char *outcome; /* from words_outcome */
};

struct session_wave {
    uint32_t turn, step;             /* indexes */
    uint32_t number;                 /* within the step, from 1 */
    uint32_t first_call, call_count; /* calls of a wave are contiguous */
    uint32_t planned_seq;
    bool parallel;
    const char *why;    /* why the wave ends where it does */
    const char *effect; /* of its calls; "" in older recordings */
};

struct session_question {
    uint32_t id;     /* name */
    uint32_t call;   /* index, SESSION_NONE when unknown */
    uint32_t before; /* the earlier question of the same call, SESSION_NONE */
    uint32_t proposed_seq, decided_seq, checkpoint_seq, applied_seq;
    uint32_t undone_seq;   /* 0 while the write stands */
    uint32_t restored_seq; /* the newest undo or redo */
    uint32_t checkpoint;   /* name: undoes the write */
    uint32_t redo;         /* name: the checkpoint that redoes it, 0 unless it is undone */
    uint32_t decision;     /* name, 0 while open */
    int64_t proposed_t, decided_t, waited_ms;
    uint32_t added, removed, files; /* proposed; after it is applied: written */
    const char *paths;              /* of the files, separated by commas */
    const char *by, *reason;        /* of the decision */
};

/* A program that outlives its call. */
struct session_program {
    uint32_t id;                     /* name */
    uint32_t call;                   /* index of the call that started it, SESSION_NONE when unknown */
    uint32_t started_seq, ended_seq; /* ended_seq: 0 again once it is resumed */
    uint32_t first_output_seq, last_output_seq;
    uint32_t lines;  /* newlines printed so far */
    uint32_t inputs; /* number of inputs typed into it */
    uint32_t newest; /* index of the newest of its pieces, SESSION_NONE */
    uint32_t why;    /* name: why it ended, from program.ended */
    bool tty;
    bool asks; /* its last output looks like a question without an answer */
    bool left; /* the session ended before the program */
    int64_t started_t, ended_t;
    int64_t exit_code; /* EVENT_NULL_INT: none */
    const char *cmd, *cwd;
};

/* Output of a program, or input typed into it. */
struct session_output {
    uint32_t seq;
    uint32_t before; /* index of the previous piece of the same program, SESSION_NONE */
};

/* A workspace of programs. Its newest full state lists its files, and the deltas after it change that list
 * (workspace_state.h). */
struct session_workspace {
    uint32_t id, path; /* names */
    uint32_t state_seq, newest_seq;
    uint32_t delta_count, deltas[WORKSPACE_DELTAS_MAX]; /* of state_seq; newest last */
    bool kept;                                          /* kept when its session ends */
    bool gone;                                          /* it was removed */
};

enum budget_key {
    BUDGET_WALL_MS,
    BUDGET_STEPS,
    BUDGET_TOOL_CALLS,
    BUDGET_REFLECTIONS,
    BUDGET_CONTEXT_TOKENS,
    BUDGET_INPUT_TOKENS,
    BUDGET_OUTPUT_TOKENS,
    BUDGET_COST_USD,
    BUDGET_KEY_COUNT
};
const char *budget_key_name(enum budget_key key); /* "wall_ms" … */
int budget_key_from_name(const char *name);       /* -1 when unknown */

struct session_budget {
    double limit[BUDGET_KEY_COUNT]; /* NaN: none */
    double used[BUDGET_KEY_COUNT];
    bool warned[BUDGET_KEY_COUNT];
    uint32_t charged_seq;    /* the event that opened the budget or charged it last, … */
    int64_t charged_t;       /* … its time … */
    int64_t charged_held_us; /* … and the held time of the turn at that point */
};

struct session_fault {
    uint32_t seq;
    char text[116];
};
#define SESSION_FAULTS_KEPT 64

struct session {
    uint32_t names_count; /* interned texts: names 1…names_count, 0 is "" */
    struct session_names *names;
    struct text_pool *texts;
    uint32_t id, created, app, workspace, provider, model, engine; /* names */
    uint32_t title;                                                /* name: what the user called it, 0: nothing */
    uint32_t started_seq, ended_seq;
    uint32_t tools_seq; /* the newest event that lists the tools */
    uint32_t event_count;
    int64_t last_seq, last_t;
    uint32_t counts[EVENT_TYPE_COUNT]; /* events by type */

    struct session_turn *turns;
    struct session_step *steps;
    struct session_call *calls;
    struct session_wave *waves;
    struct session_question *asks;
    uint32_t turn_count, step_count, call_count, wave_count, ask_count;
    uint32_t turn_room, step_room, call_room, wave_room, ask_room;
    struct session_program *programs;
    struct session_output *pieces;
    struct session_workspace *workspaces;
    uint32_t program_count, piece_count, workspace_count;
    uint32_t program_room, piece_room, workspace_room;
    bool turn_left;            /* resumed, and nothing has happened since: the newest turn is cut off, not running */
    uint32_t left_programs;    /* number of programs that existed when the session last ended */
    uint32_t newest_workspace; /* index of the one with the newest state, SESSION_NONE */

    struct session_budget budget; /* of the newest turn */
    struct strbuf partial_text;   /* deltas of the newest attempt at a step; empty after the model responded */
    struct strbuf partial_thinking;
    uint32_t held_gate, held_call; /* names, 0: nothing is held */
    uint32_t held_seq;
    int64_t held_t;                  /* since when */
    uint32_t open_question;          /* index, SESSION_NONE */
    uint32_t last_model_failure_seq; /* 0 after the model answered */
    int64_t model_retry_t;           /* time of the next try; 0: tried already, or given up */

    struct session_fault faults[SESSION_FAULTS_KEPT]; /* the first faults */
    uint32_t fault_count;                             /* number of all faults */
};

void session_init(struct session *session);
/* The same for another fold of the journal that `like` folds: they share their texts. */
void session_init_like(struct session *session, const struct session *like);
void session_release(struct session *session);
/* Makes `to`, which is initialized, an independent copy; both own the texts. Reuses the memory of `to`. */
void session_assign(struct session *to, const struct session *from);
/* Applies one event. It must have seq and turn. The session keeps only copies of it. */
void session_apply(struct session *session, const struct event *event);
/* The text of an interned name; "" for 0. */
const char *session_name(const struct session *session, uint32_t name);
/* Index of the call with this id in the newest turn that has it, SESSION_NONE. */
uint32_t session_find_call(const struct session *session, const char *id);
/* The same as seen from turn `turn`. Ids repeat, so the call is of that turn or an older one; 0: of any. */
uint32_t session_find_call_in(const struct session *session, const char *id, int64_t turn);
uint32_t session_find_ask(const struct session *session, const char *id);
/* Index of the ask whose write this checkpoint undoes, or redoes if an undo saved it; SESSION_NONE. */
uint32_t session_find_checkpoint(const struct session *session, const char *id);
/* Index of the ask with the newest write, undo or redo, if it can be undone or redone: the one that `u` toggles.
 * SESSION_NONE. */
uint32_t session_last_write(const struct session *session);
/* Writes that were applied, and how many of them are undone now. */
struct session_writes {
    uint32_t applied, undone;
} session_count_writes(const struct session *session);
/* Index of the newest program with this id, SESSION_NONE. */
uint32_t session_find_program(const struct session *session, const char *id);
/* Index of the newest program that a call started, SESSION_NONE. */
uint32_t session_program_of_call(const struct session *session, uint32_t call);
bool session_program_running(const struct session *session, uint32_t row);
const struct session_turn *session_turn(const struct session *session); /* the newest, NULL before the first */
bool session_turn_running(const struct session *session);
/* True if a process was killed in the newest turn, and the session was resumed since: the turn waits to be continued.
 */
bool session_turn_left(const struct session *session);

static inline void session_cleanup(struct session *session)
{
    session_release(session);
}
