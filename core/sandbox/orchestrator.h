#pragma once
/* The orchestrator: turns a task into a result, with several scripts if necessary.
 *
 * PLAN: one script. If it fails, the author gets the error and writes another, up to `attempts` in all. Each script
 * gets a clean box.
 *
 * INTERACTIVE: step after step. It ends when the author says so, a step gives a final result, `attempts` are used
 * up, or the same result came REPEATS_MAX times in a row. A step without output repeats another only if its script
 * is the same too. The steps share one box, so that each finds the files of the steps before. If the harness of the
 * box fails, the next step gets another box.
 *
 * The record keeps every attempt. Without a sandbox the run ends at once, because another script would change
 * nothing. */

#include "script.h"

struct orchestration;
struct pool;

#define ORCHESTRATOR_ATTEMPTS    3
#define ORCHESTRATOR_STEPS       20
#define ORCHESTRATOR_REPEATS_MAX 2 /* counts the first result too */

/* The cost of one answer of the author; -1: unknown. */
struct authoring {
    int64_t tokens_in, tokens_out, latency_ms;
};

struct attempt {
    char *script;
    struct authoring authoring;
    struct script_result result;
};

struct run_record {
    bool success;
    char *why;     /* why the run ended: one sentence, also after a success */
    char *closing; /* the author's answer in place of another script; NULL: none */
    struct attempt *attempts;
    size_t count, room;
};
void run_record_release(struct run_record *record);
/* Writes {"type":"run_record","success":…,"why":…,"closing":…,"attempts":[{"script","tokens_in","tokens_out",
 * "latency_ms","result"}…]} on one line. */
void run_record_write(struct strbuf *out, const struct run_record *record);

/* The author's answer; borrowed. */
struct authored {
    const char *script; /* NULL: the author has nothing more to do */
    const char *word;   /* the author's answer without a script; NULL: none */
    bool unable;        /* the author cannot write: `word` says why, and becomes the end of the run */
    struct authoring authoring;
};

struct orchestrator_author {
    /* Asks the author for the next script. `record` holds the attempts so far; `record->count` is 0 for the first.
     * The author calls orchestrator_script, at once or later. */
    void (*next)(void *user, struct orchestration *run, const struct run_record *record);
    /* Reports that the author's script runs next. May be NULL. */
    void (*begins)(void *user, const struct run_record *record);
    /* Called once, from the loop. The orchestration is freed when this returns. */
    void (*done)(void *user, struct run_record *take_record);
    void *user;
};

struct orchestrator_options {
    struct loop *loop;
    struct pool *pool;
    enum script_mode mode;
    size_t attempts; /* 0: ORCHESTRATOR_ATTEMPTS, or _STEPS if INTERACTIVE */
    double timeout_s;
    size_t max_output_bytes;
    const char *const *secrets; /* borrowed until the run is done */
    struct emitter *emitter;    /* for the script.event of every attempt; NULL: not recorded */
};

/* Starts a run. The loop then asks the author for the first script. */
struct orchestration *orchestrator_start(const struct orchestrator_options *options,
                                         const struct orchestrator_author *author);
/* Call this once for each call of `next`. */
void orchestrator_script(struct orchestration *run, const struct authored *authored);
/* Ends the run as failed, without waiting for the author's answer. */
void orchestrator_cancel(struct orchestration *run);
