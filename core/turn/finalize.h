#pragma once
/* The turn finalizer: seven steps after the write gate is closed. They are citations, usage, log, decision, memory,
 * learner, judges. No step can fail the turn; a failed step is a status in turn.finalized. */

#include "event/event.h"
#include "event/store.h"
#include "model/message.h"
#include "tools/tool.h"

#define FINALIZE_CITATIONS_MAX 8 /* of each kind */

enum finalize_step {
    FINALIZE_CITATIONS,
    FINALIZE_USAGE,
    FINALIZE_LOG,
    FINALIZE_DECISION,
    FINALIZE_MEMORY,
    FINALIZE_LEARNER,
    FINALIZE_JUDGES,
    FINALIZE_STEP_COUNT
};

struct finalize_input {
    const char *session;
    const char *project; /* that its memory belongs to */
    int64_t turn;
    const char *prompt, *text, *status;
    bool show_citations;
    const struct citation *citations;
    size_t citation_count;
    struct usage usage;
    int64_t wall_us;
};

/* The collaborators; each may be NULL, then its step is "skipped". They return 0, or -1 with err. */
struct finalize_hooks {
    void *data;
    int (*citations)(void *data, struct err *err);
    int (*usage)(void *data, const struct usage *usage, struct err *err); /* only if a token was counted */
    int (*log)(void *data, const char *role, const char *text, struct err *err);
    int (*decision)(void *data, const struct finalize_input *input, struct err *err);
    int (*memory)(void *data, const struct finalize_input *input, struct err *err);
    int (*learner)(void *data, const struct finalize_input *input, struct err *err);
    int (*judges)(void *data, const struct finalize_input *input, struct err *err);
};
/* The real ones, on a store (NULL: all skipped). Without `memory` the turn leaves no note. Decisions need no hook: they
 * are in the journal, and history.c and the list of sessions take them from there. */
struct finalize_hooks finalize_store_hooks(struct store *store, bool memory);

struct finalization {
    char *text;                 /* the model's own final text */
    struct citation *citations; /* the list that Keyturn shows below it, if requested */
    size_t citation_count;
    const char *status[FINALIZE_STEP_COUNT]; /* "done", "skipped", "failed" */
    char *reason[FINALIZE_STEP_COUNT];       /* of a failure, else NULL */
};
/* Has no err, because it cannot fail. */
struct finalization finalize_turn(const struct finalize_input *input, const struct finalize_hooks *hooks);
void finalization_release(struct finalization *finalization);
/* turn.finalized, with texts borrowed from the finalization. */
void finalization_to_event(struct event_turn_finalized *event, struct arena *arena,
                           const struct finalization *finalization);
