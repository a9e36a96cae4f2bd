#pragma once
/* Blocks of code, run one after the other in a workspace. What is wrong with one block stops none of the others.
 *
 *     inline_run(&(struct inline_options){.programs = programs, .workspace = &options}, blocks, count, done, user,
 * &err);
 *
 * Each block becomes src/code_<i>.<py|sh> and runs in src. `combined` is how an executor of code answers a model: both
 * streams in one text, and a line about each block that failed, to be handed to code_result_text. All of it is one
 * `workspace.inline` record. */

#include "base/err.h"
#include "base/strbuf.h"
#include "codeblock.h"
#include "program.h"
#include <stdbool.h>
#include <stdint.h>

struct inline_work;
struct workspace_options;
struct workspace_policy;

#define INLINE_TIMEOUT_MS  10000 /* for a block, when none is said */
#define INLINE_COMBINED_MS 1000  /* the same, combined */

struct inline_options {
    struct programs *programs;
    struct workspace *ws; /* where inline_put has put the blocks; NULL: one is made for them, and removed afterwards: */
    const struct workspace_options *workspace;
    const struct workspace_policy *policy; /* NULL: all zero */
    const char *exec_id;                   /* NULL: "inline" */
    int64_t timeout_ms;                    /* of each block; 0 or less: see above */
    int64_t (*time_ms)(void *user);        /* instead, asked before each; 0: there is none left. NULL: nobody */
    bool clean_env;                        /* as in a program_spec */
    bool combined;
    const char *call;             /* as in a program_spec; lives until it is done */
    struct program_prints prints; /* with a `watch` nothing is collected */
};

struct inline_result {
    struct strbuf out, err; /* of all blocks, in their order; combined: everything is in `out` */
    int exit_code;          /* 0: that blocks fail is no failure of the run */
    struct inline_end {
        int exit_code; /* -1: it was killed, or could not be run */
        int signum;    /* what killed it, else 0 */
        bool timed_out;
        bool engine_failed; /* these as in a program_end */
        struct left_process left[PROCESS_LEFT_MAX];
        size_t left_count;
        char *why; /* it could not be run, or was stopped; else NULL */
    } * ends;      /* of each block */
    size_t count;
    bool timed_out; /* one of them was */
    int64_t duration_ms;
};
void inline_result_release(struct inline_result *result);

/* Puts a block where it will run. One in a language that is not known is left out; that is told when its turn comes.
 * Blocks the thread. */
int inline_put(struct workspace *ws, size_t index, const struct code_block *block, struct err *err) CHECKED;
/* Copies the blocks. `done` is called once, from the loop, and the result is its own to release. An error when the
 * workspace cannot be made. What comes back is there until `done`, to be cancelled. */
struct inline_work *inline_run(const struct inline_options *options, const struct code_block *blocks, size_t count,
                               void (*done)(void *user, struct inline_result *take_result), void *user,
                               struct err *err) CHECKED;
/* Ends the block that runs, and all of it; nobody is called any more. NULL: nothing. */
void inline_cancel(struct inline_work *work);
