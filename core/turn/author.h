#pragma once
/* A model that writes scripts for a wish: the author of an orchestration (sandbox/orchestrator.h).
 *
 * The model is told what a script is and what is wished for, and after each one what came of it: the error with the end
 * of its traceback, of a step also what it said. Its script is the first fenced block of Python of its answer; one
 * that is not closed goes to the end. Without one the steps of INTERACTIVE are over, and the answer is the closing
 * word; PLAN takes a block without a language or a text without a fence for a script where something is emitted in it,
 * and else tells the model what is wrong where it has other blocks, which uses up an attempt, or ends as failed with
 * what it said.
 *
 * A model that fails for a while is asked again as a turn does it (model/retry.h). */

#include "sandbox/orchestrator.h"

struct author;
struct provider;
struct toolset;

#define AUTHOR_PATIENCE_S 300 /* for one answer, and the longest wait that a server may wish for */

struct author_listener {
    /* The model is asked for the next script. */
    void (*asks)(void *user);
    /* A script was written and is run next: the last attempt of the record. */
    void (*begins)(void *user, const struct run_record *record);
    /* The model could not answer and is asked again after this while. */
    void (*waits)(void *user, const char *error, int64_t wait_ms);
    /* Once, from the loop. The author is gone when this returns. */
    void (*done)(void *user, struct run_record *take_record);
    void *user;
};

struct author_options {
    struct orchestrator_options run;
    struct provider *provider; /* borrowed until it is done, as the rest is */
    const char *wish;
    const struct toolset *tools; /* that the scripts have */
    int model_attempts;          /* for each answer */
    double model_jitter;
};

struct author *author_start(const struct author_options *options, const struct author_listener *listener);
/* Ends it as failed, whatever is under way; `done` follows. */
void author_cancel(struct author *author);
