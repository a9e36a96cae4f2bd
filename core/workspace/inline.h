#pragma once
/* Blocks of code, run one after the other in a workspace that is made for them and removed afterwards. What is wrong
 * with one block stops none of the others.
 *
 *     inline_run(&(struct inline_options){.programs = programs, .workspace = &options}, blocks, count, done, user,
 * &err);
 *
 * Each block becomes src/code_<i>.<py|sh> and runs in src. `combined` is how an executor of code answers a model: both
 * streams in one text, and a line about each block that failed, to be handed to code_result_text. */

#include "base/err.h"
#include "base/strbuf.h"
#include "codeblock.h"
#include <stdbool.h>
#include <stdint.h>

struct programs;
struct workspace_options;
struct workspace_policy;

#define INLINE_TIMEOUT_MS  10000 /* for a block, when none is said */
#define INLINE_COMBINED_MS 1000  /* the same, combined */

struct inline_options {
    struct programs *programs;
    const struct workspace_options *workspace;
    const struct workspace_policy *policy; /* NULL: all zero */
    const char *exec_id;                   /* NULL: "inline" */
    int64_t timeout_ms;                    /* of each block; 0 or less: see above */
    bool combined;
};

struct inline_result {
    struct strbuf out, err; /* of all blocks, in their order; combined: everything is in `out` */
    int exit_code;          /* 0: that blocks fail is no failure of the run */
    int *codes;             /* of each block; -1: it was killed, or could not be run */
    size_t count;
    bool timed_out; /* one of them was */
    int64_t duration_ms;
};
void inline_result_release(struct inline_result *result);

/* Copies the blocks. `done` is called once, from the loop, and the result is its own to release. An error when the
 * workspace cannot be made. There is no way to stop it but programs_free after the blocks' own limits; they are short.
 */
int inline_run(const struct inline_options *options, const struct code_block *blocks, size_t count,
               void (*done)(void *user, struct inline_result *take_result), void *user, struct err *err) CHECKED;
