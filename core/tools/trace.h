#pragma once
/* The turn's record of its calls, and the late-write gate.
 *
 * A call is settled once. Whoever comes back after the executor gave up, after the gate was closed, or a second time,
 * gets false from trace_complete and must leave no trace: no event, no result, no artifact, no error count. Loop thread
 * only; that is the lock. */

#include "base/hash.h"
#include <stdbool.h>
#include <stdint.h>

enum trace_state { TRACE_NONE, TRACE_RUNNING, TRACE_COMPLETED, TRACE_FAILED, TRACE_DENIED, TRACE_TIMED_OUT };
const char *trace_state_name(enum trace_state state); /* "running" "completed" "failed" "denied" "timed_out"; "" */

struct trace {
    struct hash_map states; /* call id → enum trace_state */
    bool closed;
};

void trace_init(struct trace *trace);
void trace_release(struct trace *trace);
void trace_running(struct trace *trace, const char *call);
/* Only a running one becomes timed_out; completed stays completed (D34). */
void trace_time_out(struct trace *trace, const char *call);
/* Settles a running call as completed, failed or denied. False, and nothing changes, when it is unknown, settled
 * already or the gate is closed. */
bool trace_complete(struct trace *trace, const char *call, enum trace_state as);
enum trace_state trace_state(const struct trace *trace, const char *call);
void trace_close_writes(struct trace *trace);
bool trace_accepting_writes(const struct trace *trace);
