#pragma once
/* The outcome of a call: a closed union, made once, sent to the model as exactly one tool message. */

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

/* The beginning of the error of a call that the user stopped; a replay recognizes it by this. */
#define OUTCOME_STOPPED "canceled by the user"

struct outcome {
    enum outcome_type type;
    char *call;
    char *tool;
    int64_t elapsed_ms;
    union {
        struct {
            char *output;   /* JSON text, compacted */
            bool coerced;   /* the arguments were converted first */
            bool truncated; /* too long and the artifact store failed: cut */
        } result;
        struct {
            double deadline_s;
            bool retryable;
            bool queued; /* it waited for a free thread all the time and never started */
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
/* A call that waited for a free thread all its time and never started; always retryable. */
struct outcome outcome_never_began(const char *call, const char *tool, double deadline_s);

/* True if the call has no result: it failed, was denied or timed out. */
static inline bool outcome_failed(const struct outcome *outcome)
{
    return outcome->type != OUTCOME_RESULT && outcome->type != OUTCOME_ARTIFACT;
}

const char *
outcome_type_name(enum outcome_type type);   /* "result" "timeout" "failure" "denied" "artifact": as in events */
const char *denial_name(enum denial reason); /* "duplicate" … */
int denial_from_name(const char *name);      /* -1 if unknown */
/* A non-retryable timeout or failure blocks the tool for the rest of the turn. */
bool outcome_blocks_tool(const struct outcome *outcome);
/* The tool message for the model: JSON text with the result, or with the reason why there is none. */
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
/* The reverse. An outcome of an unknown kind becomes a failure that says so. */
struct outcome outcome_from_event(const char *call, const char *tool, const struct event_tool_finished *finished);
