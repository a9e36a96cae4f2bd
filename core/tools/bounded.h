#pragma once
/* The bounded executor: runs one call to exactly one outcome, whatever happens.
 *
 *   expired turn → Denied(deadline), nothing is started
 *   running, with a hard limit of max(5 s, min(turn, cap)) on the hold clock
 *   timeout → token canceled, call settled as timed_out, Timeout; later results of the tool are dropped
 *   proposal → host->propose: turn/write.c owns the call from there on. It ends the call with bounded_finish,
 *      bounded_deny or bounded_fail, or runs the tool again
 *   output → compacted; ≤ 12,000 characters inline, else an artifact that holds the full text
 *
 * The executor keeps nothing between calls. All functions run on the loop thread. bounded_execute returns no error.
 * host->done delivers its outcome exactly once, never from within the call. */

#include "base/hash.h"
#include "change.h"
#include "event/emitter.h"
#include "outcome.h"
#include "output_limit.h"
#include "tool.h"
#include <stdbool.h>
#include <stdint.h>

/* The turn's record of its calls, and the late-write gate.
 *
 * A call is settled once. A tool that returns after the executor gave up, after the gate was closed, or a second
 * time, gets false from call_states_complete. It must leave no trace: no event, no result, no artifact, no error
 * count. Loop thread only, so no lock is needed. */

enum tool_state {
    TOOL_STATE_NONE,
    TOOL_STATE_RUNNING,
    TOOL_STATE_COMPLETED,
    TOOL_STATE_FAILED,
    TOOL_STATE_DENIED,
    TOOL_STATE_TIMED_OUT
};

struct call_states {
    struct hash_map states; /* call id → enum tool_state */
    bool closed;
};

void call_states_init(struct call_states *trace);
void call_states_release(struct call_states *trace);
void call_states_running(struct call_states *trace, const char *call);
/* Only a running call becomes timed_out; completed stays completed. */
void call_states_time_out(struct call_states *trace, const char *call);
/* Settles a running call as completed, failed or denied. Returns false and changes nothing if the call is unknown or
 * settled, or the gate is closed. */
bool call_states_complete(struct call_states *trace, const char *call, enum tool_state as);
enum tool_state tool_state(const struct call_states *trace, const char *call);
void call_states_close_writes(struct call_states *trace);
bool call_states_accepting_writes(const struct call_states *trace);

struct bounded_call;

enum web_mode { WEB_OFF, WEB_AUTO, WEB_ON };
int web_mode_from_name(const char *name); /* -1 if unknown */

/* The executor's interface to the turn. The executor emits tool.output, script.event, write.applied and
 * late.suppressed. The callbacks are for events that the turn must act on; all run on the loop thread. */
struct bounded_host {
    const struct tool_env *env;
    struct emitter *emitter; /* of the turn; NULL: no events */
    struct call_states *trace;
    const struct hold_clock *clock;
    enum web_mode web;
    bool clock_runs_while_asking; /* the clocks are NOT held while asking; only to demonstrate the effect */

    /* A tool proposes a write. `take_changes` is empty for a foreign tool that does not list them. `tool_writes`:
     * after approval the tool runs again and writes itself. The host must call bounded_pause first. */
    void (*propose)(struct bounded_host *host, struct bounded_call *call, struct change_set *take_changes,
                    bool tool_writes);
    void (*stop_turn)(struct bounded_host *host); /* the recorded turn was stopped here */
    /* Delivers the outcome of the call with this `data`, and passes ownership. The call stays valid until this
     * returns. */
    void (*done)(struct bounded_host *host, void *data, struct outcome *take_outcome);
    /* The last tool that outlived its call (timed out or canceled) has returned: nothing is pending. The host must
     * live until then. */
    void (*quiet)(struct bounded_host *host);
    size_t pending; /* calls not done, or done with a tool still running; kept by the executor */
};

struct bounded_request {
    const char *call; /* id */
    const struct tool *tool;
    const struct json *arguments; /* valid; copied */
    int64_t turn_due_us;          /* on the hold clock */
    double cap_s;                 /* of this call */
    void *data;                   /* for the host */
};

struct bounded_call *bounded_execute(struct bounded_host *host, const struct bounded_request *request);
void *bounded_call_data(const struct bounded_call *call);
/* The citations of a call that is done; the call owns them. */
const struct citation *bounded_call_citations(const struct bounded_call *call, size_t *count);
/* Cancels the token and settles the call as Failure("canceled…"). A commit is not canceled: its end is awaited. */
void bounded_cancel(struct bounded_call *call);
/* The host must call this when the hold clock stopped or started, to reset the timers. */
void bounded_clock_changed(struct bounded_call *call);

/* A call whose proposal is being decided. */

/* False once the call was settled without a decision: it timed out or was canceled, and `done` follows. */
bool bounded_waits(const struct bounded_call *call);
void bounded_pause(struct bounded_call *call);  /* the call waits for a decision; its time stops */
void bounded_resume(struct bounded_call *call); /* decided: its time runs */
/* The host calls these when a job for the call goes to the pool and when it returns. bounded_job_back returns false
 * if the call was settled meanwhile: the call may be freed, and the job's result is dropped. */
void bounded_job_out(struct bounded_call *call);
bool bounded_job_back(struct bounded_call *call);
/* Runs the tool again within the time left, because the files have changed. */
void bounded_run_again(struct bounded_call *call);
/* From here on the call can neither time out nor be canceled, because bytes may already be written. */
void bounded_commit(struct bounded_call *call);
/* Lets the tool write: it runs with confirm_write, and then the call ends. Both sets are borrowed until then.
 * `approved` NULL: a foreign tool that showed no files; it gets a new hard limit and can be canceled. `note`: a text
 * for the model about a decision other than a plain approval; may be NULL. */
void bounded_run_confirmed(struct bounded_call *call, const struct change_set *proposed,
                           const struct change_set *approved, const char *note);
/* Ends the call after the write: emits write.applied and settles with the outcome. */
void bounded_finish(struct bounded_call *call, const struct change_set *written, struct output_shape *take_shape);
void bounded_deny(struct bounded_call *call, enum denial reason, const char *details);
void bounded_fail(struct bounded_call *call, bool retryable, const char *error);
