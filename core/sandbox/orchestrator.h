#pragma once
/* From a wish to a result, with several scripts if need be.
 *
 * PLAN: one script; when it fails, its author is asked for another with the error before it, up to `attempts` in all.
 * Each has a clean box. INTERACTIVE: step after step until the author says it is done, a step gives a final result,
 * `attempts` are used up, or the same result came REPEATS_MAX times running; a step that says nothing repeats another
 * only when its script does too. The steps have one box, so that what they leave in the workspace is there for the
 * next; after one whose harness is of no use any more they get another. Every attempt is kept.
 *
 * Without a sandbox it ends at once: another script would change nothing. */

#include "executor.h"

struct orchestration;
struct pool;

#define ORCHESTRATOR_ATTEMPTS    3
#define ORCHESTRATOR_STEPS       20
#define ORCHESTRATOR_REPEATS_MAX 2 /* the first is counted */

/* What an answer of the author cost; -1: nobody counted it. */
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
    char *why;     /* it ended: one sentence, also for a success */
    char *closing; /* what the author said in the place of one more script; NULL: nothing */
    struct attempt *attempts;
    size_t count, room;
};
void run_record_release(struct run_record *record);
/* {"type":"run_record","success":…,"why":…,"closing":…,"attempts":[{"script","tokens_in","tokens_out","latency_ms",
 * "result"}…]}, on one line */
void run_record_write(struct strbuf *out, const struct run_record *record);

/* The author's answer; borrowed. */
struct authored {
    const char *script; /* NULL: there is nothing more to do */
    const char *word;   /* without a script: what it said instead. NULL: nothing */
    bool unable;        /* it cannot be asked: `word` is why, and how the run ended */
    struct authoring authoring;
};

struct orchestrator_author {
    /* The next script, given what came so far (`record->count` 0: the first). Answer with orchestrator_script, at once
     * or later. */
    void (*next)(void *user, struct orchestration *run, const struct run_record *record);
    /* A script was handed in and is run next. May be NULL. */
    void (*begins)(void *user, const struct run_record *record);
    /* Once, from the loop. The orchestration is gone when this returns. */
    void (*done)(void *user, struct run_record *take_record);
    void *user;
};

struct orchestrator_options {
    struct loop *loop;
    struct pool *pool;
    enum script_mode mode;
    size_t attempts; /* 0: ORCHESTRATOR_ATTEMPTS, or _STEPS when INTERACTIVE */
    double timeout_s;
    size_t max_output_bytes;
    const char *const *secrets; /* borrowed until it is done */
    struct emitter *emitter;    /* for the script.event of every attempt; NULL: nobody records them */
};

/* Asks the author for the first script, from the loop. */
struct orchestration *orchestrator_start(const struct orchestrator_options *options,
                                         const struct orchestrator_author *author);
/* One for each time the author is asked. */
void orchestrator_script(struct orchestration *run, const struct authored *authored);
/* Ends it as failed; nobody waits for the author's answer any more. */
void orchestrator_cancel(struct orchestration *run);
