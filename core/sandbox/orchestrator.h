#pragma once
/* From a wish to a result, with several scripts if need be.
 *
 * PLAN: one script; when it fails, its author is asked for another with the error before it, up to `attempts` in all.
 * Each has a clean box. INTERACTIVE: step after step until the author says it is done, a step gives a final result,
 * `attempts` are used up, or the same result came REPEATS_MAX times running; a step that says nothing repeats another
 * only when its script does too. The steps have one box, so that what they leave in the workspace is there for the
 * next; after one that spoils it they get another. Every attempt is kept.
 *
 * Without a sandbox it ends at once: another script would change nothing. */

#include "executor.h"

struct orchestration;
struct pool;

#define ORCHESTRATOR_ATTEMPTS    3
#define ORCHESTRATOR_STEPS       20
#define ORCHESTRATOR_REPEATS_MAX 2 /* the first is counted */

struct attempt {
    char *script;
    struct script_result result;
};

struct run_record {
    bool success;
    char *why; /* it ended: one sentence, also for a success */
    struct attempt *attempts;
    size_t count, room;
};
void run_record_release(struct run_record *record);
void run_record_write(struct strbuf *out, const struct run_record *record); /* JSON */

struct orchestrator_author {
    /* The next script, given what came so far (`record->count` 0: the first). Answer with orchestrator_script, at once
     * or later. */
    void (*next)(void *user, struct orchestration *run, const struct run_record *record);
    void (*events)(void *user, size_t attempt, const char *lines, size_t len); /* as the executor tells them; may be NULL */
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
};

/* Asks the author for the first script, from the loop. */
struct orchestration *orchestrator_start(const struct orchestrator_options *options,
                                         const struct orchestrator_author *author);
/* The author's answer, one for each time it is asked; NULL: there is nothing more to do. */
void orchestrator_script(struct orchestration *run, const char *script);
/* Ends it as failed; nobody waits for the author's answer any more. */
void orchestrator_cancel(struct orchestration *run);
