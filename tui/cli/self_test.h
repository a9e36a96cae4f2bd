#pragma once
/* Tests one sandbox engine: starts a sandbox and runs a script in it that tries what must not work. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "sandbox/box.h"
#include "sandbox/script.h"
#include "workspace/program.h"

struct scratch_dirs;

enum self_test_result {
    SELF_TEST_FAILED, /* no sandbox starts */
    SELF_TEST_WORKS,
    SELF_TEST_WEAK,    /* a sandbox starts, but does not block everything */
    SELF_TEST_UNTRIED, /* not tested, because the user did not name it */
};

struct self_test {
    const struct sandbox_engine *engine;
    enum self_test_result result;
    bool over;
    struct strbuf text; /* the result on one line, for the user */
    char *layers;       /* JSON; set once a sandbox was ready */

    struct loop *loop;
    struct scratch_dirs *scratch;
    struct box_options spec;
    struct box *box;
    struct script_run *run;
    struct loop_timer limit;
    struct loop_task telling;
    void (*tried)(void *user);
    void *user;
    bool outer; /* second sandbox: only the engine's own limits */
    bool ended;
    int64_t started_us, ready_ms;
    char *room;
};

/* Starts the test. `tried` is called from the loop when it is over. `named`: the user named this engine, so it is
 * tested even if it is on another machine. */
void self_test_start(struct self_test *test, struct loop *loop, struct scratch_dirs *scratch,
                     const struct box_options *spec, bool named, void (*tried)(void *user), void *user);
/* Takes everything down, finished or not. */
void self_test_end(struct self_test *test);

/* A test of the sandbox for programs: runs a program that does nothing. */
struct program_self_test {
    const struct sandbox_engine *engine; /* the engine that runs programs */
    struct network_rules network;
    struct program_limits limits;
    /* The results. */
    char *says;   /* warnings of the engine although it works, on one line; NULL: none */
    bool ignores; /* the engine says that it ignores its limits */
};

/* Runs the test and takes everything down. Returns 0, or -1 and the reason in the engine's words. Blocks for a bounded
 * time. */
int program_self_test_run(struct program_self_test *test, struct err *err) CHECKED;
void program_self_test_release(struct program_self_test *test);
