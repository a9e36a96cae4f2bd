#pragma once
/* Runs blocks of code one after the other in a workspace. A failure of one block does not stop the others.
 *
 *   inline_run(&(struct inline_options){.programs = programs, .workspace = &options}, blocks, count, done, user, &err);
 *
 * Each block becomes src/code_<i>.<py|sh> and runs in src. With `combined` the result is an answer for a model, to
 * be passed to code_result_text: both streams in one text, and a line about each failed block. All blocks together
 * are one `workspace.inline` record. */

#include "base/err.h"
#include "base/strbuf.h"
#include "codeblock.h"
#include "program.h"
#include <stdbool.h>
#include <stdint.h>

struct inline_work;
struct workspace_options;
struct workspace_policy;

#define INLINE_TIMEOUT_MS  10000 /* default for a block */
#define INLINE_COMBINED_MS 1000  /* default with `combined` */

struct inline_options {
    struct programs *programs;
    struct workspace *ws; /* holds the blocks (inline_put); NULL: inline_run creates one, and removes it, with: */
    const struct workspace_options *workspace;
    const struct workspace_policy *policy; /* NULL: all zero */
    const char *exec_id;                   /* NULL: "inline" */
    int64_t timeout_ms;                    /* of each block; 0 or less: the defaults above */
    int64_t (*time_ms)(void *user);        /* called before each block instead; 0: no time is left. May be NULL */
    bool clean_env;                        /* as in a program_spec */
    bool combined;
    const char *call;             /* as in a program_spec; must live until the run is done */
    struct program_prints prints; /* with a `watch`, no output is collected */
};

struct inline_result {
    struct strbuf out, err; /* of all blocks, in order; combined: all of it in `out` */
    int exit_code;          /* 0: a failed block does not fail the run */
    struct inline_end {
        int exit_code; /* -1: killed, or could not run */
        int signum;    /* the signal that killed it, else 0 */
        bool timed_out;
        bool engine_failed; /* the following as in a program_end */
        struct left_process left[PROCESS_LEFT_MAX];
        size_t left_count;
        char *why; /* why it could not run or was stopped; else NULL */
    } * ends;      /* of each block */
    size_t count;
    bool timed_out; /* one of the blocks timed out */
    int64_t duration_ms;
};
void inline_result_release(struct inline_result *result);

/* Writes a block to its file. Skips a block in an unknown language; the run reports it in its turn. Blocks the
 * thread. */
int inline_put(struct workspace *ws, size_t index, const struct code_block *block, struct err *err) CHECKED;
/* Copies the blocks. The loop calls `done` once, and `done` releases the result. Fails if the workspace cannot be
 * created. The returned work is valid until `done`, so that the caller can cancel it. */
struct inline_work *inline_run(const struct inline_options *options, const struct code_block *blocks, size_t count,
                               void (*done)(void *user, struct inline_result *take_result), void *user,
                               struct err *err) CHECKED;
/* Kills the running block and ends the run. No callback runs after this. NULL is fine. */
void inline_cancel(struct inline_work *work);
