#include "trace.h"
#include "base/mem.h"

const char *trace_state_name(enum trace_state state)
{
    static const char *const names[] = {
        [TRACE_NONE] = "",         [TRACE_RUNNING] = "running", [TRACE_COMPLETED] = "completed",
        [TRACE_FAILED] = "failed", [TRACE_DENIED] = "denied",   [TRACE_TIMED_OUT] = "timed_out",
    };
    return (size_t)state < COUNT_OF(names) ? names[state] : "";
}

void trace_init(struct trace *trace)
{
    *trace = (struct trace){0};
}

void trace_release(struct trace *trace)
{
    hash_map_release(&trace->states);
}

/* Recordings exist that use an id again in a later step of the turn: that is a new call, and the old one is settled. */
void trace_running(struct trace *trace, const char *call)
{
    hash_map_put(&trace->states, call, TRACE_RUNNING);
}

void trace_time_out(struct trace *trace, const char *call)
{
    if (trace_state(trace, call) == TRACE_RUNNING)
        hash_map_put(&trace->states, call, TRACE_TIMED_OUT);
}

bool trace_complete(struct trace *trace, const char *call, enum trace_state as)
{
    if (trace->closed || trace_state(trace, call) != TRACE_RUNNING)
        return false;
    hash_map_put(&trace->states, call, as);
    return true;
}

enum trace_state trace_state(const struct trace *trace, const char *call)
{
    return (enum trace_state)hash_map_get(&trace->states, call, TRACE_NONE);
}

void trace_close_writes(struct trace *trace)
{
    trace->closed = true;
}

bool trace_accepting_writes(const struct trace *trace)
{
    return !trace->closed;
}
