#pragma once
/* A log of the calls of a test, in order, as one line of words, with their outcomes and what their tools printed:
 *
 *     "ask c1, checkpoint c1, applied c1, result c1"                 "timeout c1, late c1 (8000 ms)"
 *
 * Shared by the rigs that start calls without a model: bounded_rig.h (the executor alone) and write_rig.h (a whole
 * turn). */

#include "base/strbuf.h"
#include "event/event.h"
#include "test.h"
#include "tools/outcome.h"

struct call_log {
    struct strbuf words;
    struct strbuf output; /* what tools printed */
    struct outcome outcomes[16];
    size_t outcome_count;
};

void call_log_init(struct call_log *log);
void call_log_release(struct call_log *log);
void call_log_add(struct call_log *log, const char *word, const char *call);
/* Logs an event of the executor; returns false if the event is of another kind. */
bool call_log_event(struct call_log *log, const struct event *event);
/* Logs the outcome of a call and keeps it. Aborts if there are too many calls. */
void call_log_outcome(struct call_log *log, const char *call, struct outcome outcome);

static inline void assert_denied(const struct outcome *outcome, enum denial reason, const char *details)
{
    assert_int_equal(outcome->type, OUTCOME_DENIED);
    assert_string_equal(denial_name(outcome->denied.reason), denial_name(reason));
    assert_non_null(strstr(outcome->denied.details, details));
}

static inline void assert_failed(const struct outcome *outcome, bool retryable, const char *error)
{
    assert_int_equal(outcome->type, OUTCOME_FAILURE);
    assert_non_null(strstr(outcome->failure.error, error));
    assert_int_equal(outcome->failure.retryable, retryable);
}
