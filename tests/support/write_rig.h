#pragma once
/* Runs calls with writes in a turn without a model. The executor, the machine of write.c and the engine are real, and
 * the test starts the calls. The rig answers questions as the test sets, and logs what happens (call_log.h).
 * write_rig_release frees the loop, which aborts if a timer, a task or a job is left. */

#include "call_log.h"
#include "fake_tools.h"
#include "turn/turn.h"
#include "turn_rig.h"

#define SECONDS(s) ((int64_t)((s)*1000000))

struct write_rig {
    struct turn_rig rig; /* "work" is the workspace; without built-in tools */
    struct turn *turn;
    struct emitter recorder; /* of the turn, as the engine made it */
    bool cannot_record;      /* refuses events of the turn from now on */
    size_t refuses;          /* or refuses the n-th from the start, from 1; 0: none */
    bool refuses_more;       /* and all after it */
    size_t emitted;          /* so far */

    /* What the rig does. */
    bool never_answers;
    struct decision decision; /* the answer, borrowed; approves by default */
    void (*on_ask)(struct write_rig *test);
    void (*on_decided)(struct write_rig *test);
    void (*on_checkpoint)(struct write_rig *test);
    void (*on_done)(struct write_rig *test);
    void *data;

    /* What happened. */
    struct call_log heard;
    int questions, decisions, checkpoints;
    char asking[24];          /* id of the open question, "" if there is none */
    char asked_call[24];      /* its call */
    struct err refusal;       /* of the last answer, "" if accepted */
    bool answered;            /* the answer was accepted */
    struct change_set *shown; /* with the last question */
    char shown_digest[HASH_SHA256_HEX];
    char *checkpoint;                                                                    /* id of the last one */
    void (*settle)(struct bounded_host *host, void *data, struct outcome *take_outcome); /* the turn's own */
    struct loop_timer answer;
};

void write_rig_init(struct write_rig *test);
/* Uses another clock: see turn_rig_init_on. */
void write_rig_init_on(struct write_rig *test, struct clock *clock);
void write_rig_release(struct write_rig *test);

/* Starts a call in a turn with `turn_s` left; arguments NULL: {"path": "x"}. */
struct bounded_call *write_rig_start(struct write_rig *test, const struct tool *tool, const char *call,
                                     const char *arguments, double turn_s, double cap_s);
/* Answers the open question with test->decision. */
void write_rig_answer(struct write_rig *test);
/* Answers the last question with this decision. Returns the refusal, or "" if accepted. */
const char *write_rig_say(struct write_rig *test, const struct decision *decision);
/* Cancels the turn and so its running calls. */
int write_rig_cancel(struct write_rig *test);
/* Run until no event is left, or for this long on the loop's clock. */
void write_rig_run(struct write_rig *test);
void write_rig_run_for(struct write_rig *test, int64_t ms);
