/* Reads outcomes, under the names of the vectors, from the events of a turn. */

#include "outcomes.h"
#include "base/mem.h"
#include "support/event_json.h"
#include "tools/bounded.h"

const char *vector_state_name(enum tool_state state)
{
    static const char *const names[] = {
        [TOOL_STATE_NONE] = "",         [TOOL_STATE_RUNNING] = "running", [TOOL_STATE_COMPLETED] = "completed",
        [TOOL_STATE_FAILED] = "failed", [TOOL_STATE_DENIED] = "denied",   [TOOL_STATE_TIMED_OUT] = "timed_out",
    };
    return names[state];
}

const char *vector_outcome_name(const char *outcome)
{
    static const char *const names[][2] = {
        {"result", "ToolExecutionResult"},
        {"timeout", "ToolTimeout"},
        {"failure", "ToolFailure"},
        {"denied", "ToolDenied"},
        {"artifact", "ToolArtifactReference"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(outcome, names[i][0]) == 0)
            return names[i][1];
    return outcome;
}

const struct json *vector_outcome_details(struct vector *v, const struct event *finished)
{
    static const char *const fields[] = {"result", "timeout", "failure", "denied", "artifact"};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *details = event_json(finished, fields[i]);
        if (details)
            return vector_parse(v, details);
    }
    return vector_parse(v, "{}");
}

const char *vector_outcome(struct vector *v, const struct event *finished, bool with_reason)
{
    if (!finished)
        return NULL;
    const char *name = vector_outcome_name(finished->tool_finished.outcome);
    const char *reason = json_str(json_get(vector_outcome_details(v, finished), "reason"), NULL);
    return with_reason && reason ? arena_printf(&v->arena, "%s:%s", name, reason) : name;
}

/* Vectors write the reason after a colon, or leave it out. */
static bool gives_reason(const struct json *want)
{
    return strchr(json_str(want, ""), ':') != NULL;
}

void got_outcome(struct vector *v, const struct event *finished)
{
    const struct json *details = finished ? vector_outcome_details(v, finished) : NULL;
    const char *error = json_str(json_get(details, "error"), NULL);
    got_text(v, "outcome", vector_outcome(v, finished, gives_reason(wants(v, "outcome"))));
    got_text(v, "reason", json_str(json_get(details, "reason"), NULL));
    got_text(v, "details", json_str(json_get(details, "details"), NULL));
    got_text(v, "error", error);
    got_prefix(v, "error_prefix", error);
    got_has(v, "error_has", error);
    if (json_get(details, "retryable"))
        got_bool(v, "retryable", json_bool(json_get(details, "retryable"), false));
}

/* The status in the words of the trace, from the fold of the events. */
void got_trace(struct vector *v, const struct turn_rig *rig, const char *call)
{
    static const enum tool_state states[] = {
        [CALL_QUEUED] = TOOL_STATE_NONE,     [CALL_RUNNING] = TOOL_STATE_RUNNING,
        [CALL_WAITING] = TOOL_STATE_RUNNING, [CALL_DONE] = TOOL_STATE_COMPLETED,
        [CALL_FAILED] = TOOL_STATE_FAILED,   [CALL_DENIED] = TOOL_STATE_DENIED,
        [CALL_SKIPPED] = TOOL_STATE_DENIED,  [CALL_TIMED_OUT] = TOOL_STATE_TIMED_OUT,
    };
    const struct session *session = engine_session(rig->engine);
    uint32_t index = session_find_call(session, call);
    got_text(v, "trace_status", index == SESSION_NONE ? NULL : vector_state_name(states[session->calls[index].state]));
}

void got_outcomes(struct vector *v, const char *name, const struct turn_rig *rig, const char *leave_out)
{
    const struct json *want = wants(v, name);
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    struct json_writer w = json_begin(&list);
    const struct event *answer;
    size_t count = 0;
    if (!want)
        return;
    /* In the order of the calls in the answers, not of their ends. */
    json_open(&w, NULL, '[');
    for (size_t n = 0; (answer = turn_rig_event(rig, EVENT_MODEL_RESPONDED, n)); n++) {
        json_each (call, vector_parse(v, event_json(answer, "tool_calls"))) {
            const char *id = json_str(json_get(call, "id"), "");
            if (leave_out && strcmp(id, leave_out) == 0)
                continue;
            json_add_str(&w, NULL, vector_outcome(v, turn_rig_finished(rig, id), gives_reason(json_at(want, count++))));
        }
    }
    json_close(&w, ']');
    got_json(v, name, list.buf);
}

/* The messages of the n-th turn as the model saw them last: those of the request before the next turn's first step. */
static const struct message_list *last_messages(const struct turn_rig *rig, size_t *at)
{
    const struct message_list *last = NULL;
    for (; *at < rig->model->request_count; (*at)++) {
        const struct fake_request *request = &rig->model->requests[*at];
        if (request->reflection)
            continue;
        if (request->step == 1 && last)
            break;
        last = &request->messages;
    }
    return last;
}

const char *vector_message_order(struct vector *v, const struct turn_rig *rig)
{
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    struct json_writer w = json_begin(&list);
    const struct message_list *messages;
    size_t at = 0;
    json_open(&w, NULL, '[');
    while ((messages = last_messages(rig, &at)))
        for (size_t i = 0; i < messages->count; i++)
            if (messages->items[i].role == ROLE_TOOL && !message_is_earlier(&messages->items[i]))
                json_add_str(&w, NULL, messages->items[i].call_id);
    json_close(&w, ']');
    return arena_memdup0(&v->arena, list.buf, list.len);
}

size_t vector_tool_messages(struct vector *v, const struct turn_rig *rig, const char *call)
{
    size_t count = 0;
    json_each (id, vector_parse(v, vector_message_order(v, rig))) {
        count += !call || strcmp(json_str(id, ""), call) == 0;
    }
    return count;
}
