#pragma once
/* How a call ended: a closed union, made once, sent to the model as exactly one tool message. */

#include "base/err.h"
#include "base/strbuf.h"
#include "event/event.h"
#include <stdbool.h>
#include <stdint.h>

enum outcome_type { OUTCOME_RESULT, OUTCOME_TIMEOUT, OUTCOME_FAILURE, OUTCOME_DENIED, OUTCOME_ARTIFACT };

enum denial {
    DENIAL_DUPLICATE,
    DENIAL_BLOCKED,
    DENIAL_PRE_HOOK,
    DENIAL_VALIDATION,
    DENIAL_DEADLINE,
    DENIAL_WRITE_DENIED
};

/* How the error of a call begins that the user stopped; a replay knows it by that. */
#define OUTCOME_STOPPED "cancelled by the user"

struct outcome {
    enum outcome_type type;
    char *call;
    char *tool;
    int64_t elapsed_ms;
    union {
        struct {
            char *output;   /* JSON text, compacted */
            bool coerced;   /* arguments were brought into shape first */
            bool truncated; /* too long and the artifact store failed: cut (D39) */
        } result;
        struct {
            double deadline_s;
            bool retryable;
            bool queued; /* all that time it waited for a free thread and never began */
        } timeout;
        struct {
            char *error;
            bool retryable;
        } failure;
        struct {
            enum denial reason;
            char *details; /* a sentence for the model and the user; may be NULL */
        } denied;
        struct {
            char *id, *path, *summary;
            uint64_t size;
        } artifact;
    };
};

void outcome_release(struct outcome *outcome);
static inline void outcome_cleanup(struct outcome *outcome)
{
    outcome_release(outcome);
}
struct outcome outcome_result(const char *call, const char *tool, char *take_output);
struct outcome outcome_failure(const char *call, const char *tool, bool retryable, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct outcome outcome_denied(const char *call, const char *tool, enum denial reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
struct outcome outcome_timeout(const char *call, const char *tool, double deadline_s, bool retryable);
/* One that waited for a free thread all its time and never began; always worth another try. */
struct outcome outcome_never_began(const char *call, const char *tool, double deadline_s);

/* The call brought nothing: it failed, was refused or ran out of time. */
static inline bool outcome_failed(const struct outcome *outcome)
{
    return outcome->type != OUTCOME_RESULT && outcome->type != OUTCOME_ARTIFACT;
}

const char *
outcome_type_name(enum outcome_type type);   /* "result" "timeout" "failure" "denied" "artifact": as in events */
const char *denial_name(enum denial reason); /* "duplicate" … */
int denial_from_name(const char *name);      /* -1 when unknown */
/* A non-retryable timeout or failure blocks the tool for the rest of the turn. */
bool outcome_blocks_tool(const struct outcome *outcome);
/* The tool message the model reads: JSON text that says what happened and, where it did not, why. */
void outcome_message(struct strbuf *out, const struct outcome *outcome);
/* The outcome as tool.finished holds it. The record borrows the texts of the outcome. */
struct outcome_record {
    union {
        struct event_result_info result;
        struct event_timeout_info timeout;
        struct event_failure_info failure;
        struct event_denied_info denied;
        struct event_artifact_info artifact;
    };
};
void outcome_to_event(struct event_tool_finished *finished, struct outcome_record *record,
                      const struct outcome *outcome);
/* The way back. An outcome of an unknown kind is a failure that says so. */
struct outcome outcome_from_event(const char *call, const char *tool, const struct event_tool_finished *finished);
