#pragma once
/* A host for the bounded executor, with everything a turn would lend it: a workspace, a store, clocks and a loop in
 * virtual time. It refuses every write (write_rig.h decides about them) and remembers what it heard, in order, as one
 * line of words:
 *
 *     "output c1, result c1"                 "timeout c1, late c1 (8000 ms)"
 *
 * test_host_release frees the loop, which aborts when a timer, a task or a job is left. */

#include "base/arena.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "support/fake_tools.h"
#include "support/scratch.h"
#include "tools/bounded.h"

#define SECONDS(s) ((int64_t)((s)*1000000))

struct test_host {
    struct bounded_host host;
    struct emitter emitter; /* remembers what the executor emits */
    struct scratch scratch; /* "ws" is the workspace, "artifacts" the artifacts */
    struct fake_clock fake; /* begins at 100 s */
    struct hold_clock hold;
    struct loop *loop;
    struct trace trace;
    struct tool_env env;
    struct arena arena;

    /* What it does. */
    void (*on_propose)(struct test_host *test, struct bounded_call *call); /* it waits for a decision; NULL: a no */
    void (*on_done)(struct test_host *test, struct bounded_call *call);
    void *data;

    /* What it heard. */
    struct strbuf log;
    struct outcome outcomes[16];
    size_t outcome_count;
    int proposals;
    struct strbuf cited;  /* "a.txt, https://… (web)" */
    struct strbuf output; /* what tools said */
};

void test_host_init(struct test_host *test);
void test_host_release(struct test_host *test);

/* Starts a call with {"path": "x"} in a turn with `turn_s` left. */
struct bounded_call *test_host_start(struct test_host *test, const struct tool *tool, const char *call, double turn_s,
                                     double cap_s);
/* Runs until nothing can happen any more. */
void test_host_run(struct test_host *test);
/* Runs for so long on the loop's clock. */
void test_host_run_for(struct test_host *test, int64_t ms);
