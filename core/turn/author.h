#pragma once
/* The author of an orchestration (sandbox/orchestrator.h): a model that writes scripts for a user's task.
 *
 * The model gets the rules for scripts and the task, and after each script its result: the error with the end of its
 * traceback, for a step also its output. The script is the first fenced block of Python in the answer; an open block
 * extends to the end.
 *
 * Without a block, INTERACTIVE is done, and the answer is the closing text. PLAN also accepts a block without a
 * language, or a text without a fence, if it emits something. Otherwise, if the answer has other blocks, the model
 * gets a correction, which uses up an attempt; if not, PLAN fails with the answer as the error.
 *
 * If the model fails temporarily, the request is repeated as in a turn (retry_delay_ms). */

#include "sandbox/orchestrator.h"

struct author;
struct provider;
struct toolset;

#define AUTHOR_PATIENCE_S 300 /* for one answer; also the longest delay a server may ask for */

struct author_listener {
    /* A request for the next script starts. */
    void (*asks)(void *user);
    /* A script is about to run: the last attempt of the record. */
    void (*begins)(void *user, const struct run_record *record);
    /* The request failed and is repeated after this delay. */
    void (*waits)(void *user, const char *error, int64_t wait_ms);
    /* Called once, from the loop. The author is freed when this returns. */
    void (*done)(void *user, struct run_record *take_record);
    void *user;
};

struct author_options {
    struct orchestrator_options run;
    struct provider *provider; /* borrowed until `done`, like the rest */
    const char *wish;
    const struct toolset *tools; /* available to the scripts */
    int model_attempts;          /* for each answer */
    double model_jitter;
};

struct author *author_start(const struct author_options *options, const struct author_listener *listener);
/* Ends the orchestration as failed, whatever is running; `done` follows. */
void author_cancel(struct author *author);
