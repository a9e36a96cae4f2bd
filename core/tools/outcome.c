/* Outcomes, and the two texts made of one: the message for the model, and the details for the journal.
 *
 * The message always states which of the five things happened, and why, in unmistakable words. A model that mistakes
 * a time limit for a denial, or a lost sibling for the user's Ctrl-C, continues wrongly. */

#include "outcome.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include <stdarg.h>

void outcome_release(struct outcome *outcome)
{
    free(outcome->call);
    free(outcome->tool);
    switch (outcome->type) {
    case OUTCOME_RESULT:
        free(outcome->result.output);
        break;
    case OUTCOME_TIMEOUT:
        break;
    case OUTCOME_FAILURE:
        free(outcome->failure.error);
        break;
    case OUTCOME_DENIED:
        free(outcome->denied.details);
        break;
    case OUTCOME_ARTIFACT:
        free(outcome->artifact.id);
        free(outcome->artifact.path);
        free(outcome->artifact.summary);
        break;
    }
    *outcome = (struct outcome){0};
}

static struct outcome of_call(enum outcome_type type, const char *call, const char *tool)
{
    return (struct outcome){.type = type, .call = xstrdup(call), .tool = xstrdup(tool)};
}

static char *format(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
static char *format(const char *fmt, va_list args)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_vaddf(&text, fmt, args);
    return strbuf_detach(&text, NULL);
}

struct outcome outcome_result(const char *call, const char *tool, char *take_output)
{
    struct outcome outcome = of_call(OUTCOME_RESULT, call, tool);
    outcome.result.output = take_output;
    return outcome;
}

struct outcome outcome_failure(const char *call, const char *tool, bool retryable, const char *fmt, ...)
{
    struct outcome outcome = of_call(OUTCOME_FAILURE, call, tool);
    va_list args;
    va_start(args, fmt);
    outcome.failure.error = format(fmt, args);
    va_end(args);
    outcome.failure.retryable = retryable;
    return outcome;
}

struct outcome outcome_denied(const char *call, const char *tool, enum denial reason, const char *fmt, ...)
{
    struct outcome outcome = of_call(OUTCOME_DENIED, call, tool);
    va_list args;
    va_start(args, fmt);
    outcome.denied.details = format(fmt, args);
    va_end(args);
    outcome.denied.reason = reason;
    return outcome;
}

struct outcome outcome_timeout(const char *call, const char *tool, double deadline_s, bool retryable)
{
    struct outcome outcome = of_call(OUTCOME_TIMEOUT, call, tool);
    outcome.timeout.deadline_s = deadline_s;
    outcome.timeout.retryable = retryable;
    return outcome;
}

struct outcome outcome_never_began(const char *call, const char *tool, double deadline_s)
{
    struct outcome outcome = outcome_timeout(call, tool, deadline_s, true);
    outcome.timeout.queued = true;
    return outcome;
}

const char *outcome_type_name(enum outcome_type type)
{
    static const char *const names[] = {
        [OUTCOME_RESULT] = "result", [OUTCOME_TIMEOUT] = "timeout",   [OUTCOME_FAILURE] = "failure",
        [OUTCOME_DENIED] = "denied", [OUTCOME_ARTIFACT] = "artifact",
    };
    return (size_t)type < COUNT_OF(names) ? names[type] : "";
}

static const char *const denial_names[] = {
    [DENIAL_DUPLICATE] = "duplicate",   [DENIAL_BLOCKED] = "blocked",   [DENIAL_PRE_HOOK] = "pre_hook",
    [DENIAL_VALIDATION] = "validation", [DENIAL_DEADLINE] = "deadline", [DENIAL_WRITE_DENIED] = "write_denied",
};

const char *denial_name(enum denial reason)
{
    return (size_t)reason < COUNT_OF(denial_names) ? denial_names[reason] : "";
}

int denial_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(denial_names); i++)
        if (strcmp(name, denial_names[i]) == 0)
            return (int)i;
    return -1;
}

bool outcome_blocks_tool(const struct outcome *outcome)
{
    return (outcome->type == OUTCOME_TIMEOUT && !outcome->timeout.retryable) ||
           (outcome->type == OUTCOME_FAILURE && !outcome->failure.retryable);
}

/* Advice for the model. */
static const char *denial_hint(enum denial reason)
{
    switch (reason) {
    case DENIAL_DUPLICATE:
        return "the same call succeeded earlier in this turn; use that result";
    case DENIAL_BLOCKED:
        return "this tool is unavailable for the rest of the turn; continue without it";
    case DENIAL_PRE_HOOK:
        return "a rule of this session denied the call before it ran";
    case DENIAL_VALIDATION:
        return "the tool was not run; correct the arguments and call it again";
    case DENIAL_DEADLINE:
        return "the turn is out of time and the call was not run; answer with what you have";
    case DENIAL_WRITE_DENIED:
        return "nothing was written; do not repeat this write, and consider the reason";
    }
    return NULL;
}

#define BLOCKED_HINT "this tool is blocked for the rest of the turn; continue without it"

static void add_hint(struct json_writer *w, const char *hint)
{
    if (hint)
        json_add_str(w, "hint", hint);
}

void outcome_message(struct strbuf *out, const struct outcome *outcome)
{
    if (outcome->type == OUTCOME_RESULT) {
        strbuf_addstr(out, outcome->result.output ? outcome->result.output : "null");
        return;
    }
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    switch (outcome->type) {
    case OUTCOME_RESULT:
        break;
    case OUTCOME_TIMEOUT:
        json_add_str(&w, "status", "timeout");
        strbuf_addf(&text,
                    outcome->timeout.queued
                        ? "%s did not start within its time limit of %.6g s; other calls kept all threads busy"
                        : "%s timed out after %.6g s; a late result is ignored",
                    outcome->tool, outcome->timeout.deadline_s);
        json_add_str(&w, "error", text.buf);
        json_add_bool(&w, "retryable", outcome->timeout.retryable);
        add_hint(&w, outcome->timeout.retryable ? "try something smaller, or continue without it" : BLOCKED_HINT);
        break;
    case OUTCOME_FAILURE:
        json_add_str(&w, "status", "error");
        json_add_str(&w, "error", outcome->failure.error);
        json_add_bool(&w, "retryable", outcome->failure.retryable);
        add_hint(&w, outcome->failure.retryable ? NULL : BLOCKED_HINT);
        break;
    case OUTCOME_DENIED:
        json_add_str(&w, "status", "denied");
        json_add_str(&w, "reason", denial_name(outcome->denied.reason));
        if (outcome->denied.details)
            json_add_str(&w, "details", outcome->denied.details);
        add_hint(&w, denial_hint(outcome->denied.reason));
        break;
    case OUTCOME_ARTIFACT:
        json_add_str(&w, "status", "stored");
        json_add_str(&w, "id", outcome->artifact.id);
        json_add_int(&w, "size", (int64_t)outcome->artifact.size);
        json_add_str(&w, "summary", outcome->artifact.summary);
        strbuf_addf(&text, "the output is too long to show and was stored; read it with read_file path=%s",
                    outcome->artifact.id);
        json_add_str(&w, "hint", text.buf);
        break;
    }
    json_close(&w, '}');
}

void outcome_to_event(struct event_tool_finished *finished, struct outcome_record *record,
                      const struct outcome *outcome)
{
    finished->outcome = outcome_type_name(outcome->type);
    switch (outcome->type) {
    case OUTCOME_RESULT:
        record->result = (struct event_result_info){.output = outcome->result.output ? outcome->result.output : "null",
                                                    .coerced = outcome->result.coerced,
                                                    .truncated = outcome->result.truncated};
        finished->result = &record->result;
        break;
    case OUTCOME_TIMEOUT:
        record->timeout = (struct event_timeout_info){.deadline_s = outcome->timeout.deadline_s,
                                                      .retryable = outcome->timeout.retryable,
                                                      .queued = outcome->timeout.queued};
        finished->timeout = &record->timeout;
        break;
    case OUTCOME_FAILURE:
        record->failure =
            (struct event_failure_info){.error = outcome->failure.error, .retryable = outcome->failure.retryable};
        finished->failure = &record->failure;
        break;
    case OUTCOME_DENIED:
        record->denied = (struct event_denied_info){.reason = denial_name(outcome->denied.reason),
                                                    .details = outcome->denied.details};
        finished->denied = &record->denied;
        break;
    case OUTCOME_ARTIFACT:
        record->artifact = (struct event_artifact_info){.id = outcome->artifact.id,
                                                        .path = outcome->artifact.path,
                                                        .size = (int64_t)outcome->artifact.size,
                                                        .summary = outcome->artifact.summary};
        finished->artifact = &record->artifact;
        break;
    }
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_outcome(const struct event_tool_finished *finished, enum outcome_type type)
{
    return finished->outcome && strcmp(finished->outcome, outcome_type_name(type)) == 0;
}

struct outcome outcome_from_event(const char *call, const char *tool, const struct event_tool_finished *finished)
{
    if (is_outcome(finished, OUTCOME_RESULT)) {
        const struct event_result_info *result = finished->result;
        struct outcome outcome =
            outcome_result(call, tool, xstrdup(result && result->output ? result->output : "null"));
        outcome.result.truncated = result && result->truncated;
        return outcome;
    }
    if (is_outcome(finished, OUTCOME_TIMEOUT)) {
        const struct event_timeout_info *timeout = finished->timeout;
        struct outcome outcome =
            outcome_timeout(call, tool, timeout ? timeout->deadline_s : 0, !timeout || timeout->retryable);
        outcome.timeout.queued = timeout && timeout->queued;
        return outcome;
    }
    if (is_outcome(finished, OUTCOME_DENIED)) {
        const struct event_denied_info *denied = finished->denied;
        int reason = denial_from_name(denied ? denied->reason : NULL);
        return outcome_denied(call, tool, reason < 0 ? DENIAL_BLOCKED : (enum denial)reason, "%s",
                              or_empty(denied ? denied->details : NULL));
    }
    if (is_outcome(finished, OUTCOME_ARTIFACT)) {
        static const struct event_artifact_info nothing;
        const struct event_artifact_info *artifact = finished->artifact ? finished->artifact : &nothing;
        return (struct outcome){.type = OUTCOME_ARTIFACT,
                                .call = xstrdup(call),
                                .tool = xstrdup(tool),
                                .artifact = {.id = xstrdup(or_empty(artifact->id)),
                                             .path = xstrdup(or_empty(artifact->path)),
                                             .summary = xstrdup(or_empty(artifact->summary)),
                                             .size = (uint64_t)artifact->size}};
    }
    const struct event_failure_info *failure = finished->failure;
    return outcome_failure(call, tool, !failure || failure->retryable, "%s",
                           failure && failure->error ? failure->error
                                                     : "the recording does not say how the call ended");
}
