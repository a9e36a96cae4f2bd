#pragma once
/* A host for the bounded executor, with everything a turn would lend it: a workspace, stores, clocks and a loop in virtual
 * time. It answers questions as it is told to and remembers what it heard, in order, as one line of words:
 *
 *     "ask c1, checkpoint c1, applied c1, result c1"                 "timeout c1, late c1 (8000 ms)"
 *
 * test_host_release frees the loop, which aborts when a timer, a task or a job is left. */

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "support/fake_tools.h"
#include "support/scratch.h"
#include "tools/bounded.h"

#define SECONDS(s) ((int64_t)((s) * 1000000))

struct test_host {
    struct bounded_host host;
    struct emitter emitter; /* remembers what the executor emits */
    bool cannot_record;     /* it refuses every event */
    struct scratch scratch; /* "ws" is the workspace, "undo" the checkpoints, "artifacts" the artifacts */
    struct fake_clock fake; /* begins at 100 s */
    struct hold_clock hold;
    struct loop *loop;
    struct trace trace;
    struct tool_env env;
    struct arena arena;

    /* What it does. */
    bool holds_clock;         /* stops the hold clock while a question is open, as the engine does; true at first */
    bool never_answers;
    int64_t answer_after_ms;  /* 0: from within `ask` */
    struct verdict verdict;   /* the answer, borrowed texts; approved at first */
    const char *meanwhile;    /* what somebody else writes into f.txt while the question is open, once */
    void (*on_ask)(struct test_host *test, struct bounded_call *call);
    void (*on_checkpoint)(struct test_host *test);
    void (*on_done)(struct test_host *test, struct bounded_call *call);
    void *data;

    /* What it heard. */
    struct strbuf log;
    struct outcome outcomes[16];
    size_t outcome_count;
    int questions, checkpoints;
    struct bounded_call *asking;   /* the open question */
    bool answered;                 /* what bounded_decide said to the last answer */
    struct change_set *shown;      /* with the last question */
    const struct event_write_applied *applied; /* the last that was */
    struct arena applied_arena;
    char *checkpoint;              /* id of the last */
    struct strbuf cited;           /* "a.txt, https://… (web)" */
    struct strbuf output;          /* what tools said */
    struct loop_timer answer;
};

void test_host_init(struct test_host *test);
void test_host_release(struct test_host *test);

/* Starts a call with {"path": "x"} in a turn with `turn_s` left. */
struct bounded_call *test_host_start(struct test_host *test, const struct tool *tool, const char *call, double turn_s,
                                     double cap_s);
/* Answers the open question with test->verdict. */
void test_host_answer(struct test_host *test);
/* Runs until nothing can happen any more. */
void test_host_run(struct test_host *test);
/* Runs for so long on the loop's clock. */
void test_host_run_for(struct test_host *test, int64_t ms);
