#pragma once
/* Calls in a turn that no model runs, for what concerns writes: the executor, the machine of write.c and the engine are
 * the real ones, and the test starts the calls. It answers questions as it is told to and remembers what it heard, in
 * order, as one line of words:
 *
 *     "ask c1, checkpoint c1, applied c1, result c1"                 "timeout c1, late c1 (8000 ms)"
 *
 * write_rig_release frees the loop, which aborts when a timer, a task or a job is left. */

#include "support/fake_tools.h"
#include "support/turn_rig.h"
#include "turn/turn.h"

#define SECONDS(s) ((int64_t)((s)*1000000))

struct write_rig {
    struct turn_rig rig; /* "work" is the workspace; without tools of its own */
    struct turn *turn;
    struct emitter recorder; /* of the turn, as the engine made it */
    bool cannot_record;      /* events of the turn are refused from now on */
    size_t refuses;          /* or the n-th from the start, from 1; 0: none */
    bool refuses_more;       /* and all after it */
    size_t emitted;          /* so far */

    /* What it does. */
    bool never_answers;
    int64_t answer_after_ms;
    struct decision decision; /* the answer, borrowed; approved at first */
    const char *meanwhile;    /* what somebody else writes into f.txt while the question is open, once */
    void (*on_ask)(struct write_rig *test);
    void (*on_decided)(struct write_rig *test);
    void (*on_checkpoint)(struct write_rig *test);
    void (*on_done)(struct write_rig *test);
    void *data;

    /* What it heard. */
    struct strbuf log;
    struct outcome outcomes[16];
    size_t outcome_count;
    int questions, decisions, checkpoints;
    char asking[24];          /* id of the open question, "" when there is none */
    char asked_call[24];      /* whose it is */
    struct err refusal;       /* of the last answer, "" when it was taken */
    bool answered;            /* it was taken */
    struct change_set *shown; /* with the last question */
    char shown_digest[HASH_SHA256_HEX];
    const struct event_write_applied *applied; /* the last that was */
    struct arena applied_arena;
    char *checkpoint;                                                                    /* id of the last */
    struct strbuf output;                                                                /* what tools said */
    void (*settle)(struct bounded_host *host, void *data, struct outcome *take_outcome); /* the turn's own */
    struct loop_timer answer;
};

void write_rig_init(struct write_rig *test);
/* On another clock: see turn_rig_init_on. */
void write_rig_init_on(struct write_rig *test, struct clock *clock);
void write_rig_release(struct write_rig *test);

/* Starts a call in a turn with `turn_s` left; arguments NULL: {"path": "x"}. */
struct bounded_call *write_rig_start(struct write_rig *test, const struct tool *tool, const char *call,
                                     const char *arguments, double turn_s, double cap_s);
/* Answers the open question with test->decision. */
void write_rig_answer(struct write_rig *test);
/* Submits an answer to the last question with this decision; the refusal, or "" when it was taken. */
const char *write_rig_say(struct write_rig *test, const struct decision *decision);
/* Cancels the turn; the calls that run, that is. */
int write_rig_cancel(struct write_rig *test);
/* Runs until nothing can happen any more, or for so long on the loop's clock. */
void write_rig_run(struct write_rig *test);
void write_rig_run_for(struct write_rig *test, int64_t ms);
