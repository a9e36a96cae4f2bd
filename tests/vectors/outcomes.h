#pragma once
/* Outcomes by the names that vectors use, and tools of the real registry, for all areas with turns. */

#include "support/fake_tools.h"
#include "support/turn_rig.h"
#include "tools/bounded.h"
#include "vector.h"

/* "result" → "ToolExecutionResult" … */
const char *vector_outcome_name(const char *outcome);
/* "ToolDenied", or with its reason "ToolDenied:blocked"; in the arena. NULL event (no outcome): NULL. */
const char *vector_outcome(struct vector *v, const struct event *finished, bool with_reason);
/* The object of the outcome in tool.finished: output, error, reason … */
const struct json *vector_outcome_details(struct vector *v, const struct event *finished);
/* Compares outcome, reason, error, error_prefix, retryable and details of one call. */
void got_outcome(struct vector *v, const struct event *finished);
/* Compares the state of the call in the session: trace_status. */
void got_trace(struct vector *v, const struct turn_rig *rig, const char *call);
/* "running", "completed", "failed", "denied", "timed_out"; "" for a call that did not start. */
const char *vector_state_name(enum tool_state state);
/* Compares the list of outcomes, each with its reason if the case gives one, without the call `leave_out` (or NULL). */
void got_outcomes(struct vector *v, const char *name, const struct turn_rig *rig, const char *leave_out);
/* The calls that have tool messages, in the order of the messages, turn after turn, as the model saw them last;
 * JSON. */
const char *vector_message_order(struct vector *v, const struct turn_rig *rig);
size_t vector_tool_messages(struct vector *v, const struct turn_rig *rig, const char *call); /* NULL: of all calls */
