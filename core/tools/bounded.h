#pragma once
/* The bounded executor: one call, one outcome, whatever happens.
 *
 *   expired turn → Denied(deadline), nothing is started
 *   running, with a hard wait of max(5 s, min(turn, cap)) on the hold clock
 *   timeout → token cancelled, call settled as timed_out, Timeout; what the tool does later is dropped
 *   proposal → host->propose: whoever decides about writes (turn/write.c) has the call from there on, and ends it with
 *      bounded_finish, bounded_deny or bounded_fail, or has the tool run again
 *   output → compacted; ≤ 12,000 characters inline, else an artifact that holds the full text
 *
 * The executor keeps nothing between calls. Everything is called on the loop thread. bounded_execute returns no error
 * and its outcome is delivered exactly once, through host->done, never from within the call. */

#include "change.h"
#include "event/emitter.h"
#include "outcome.h"
#include "output.h"
#include "tool.h"
#include "trace.h"

struct bounded_call;

enum web_mode { WEB_OFF, WEB_AUTO, WEB_ON };
int web_mode_from_name(const char *name); /* -1 when unknown */

/* What the turn gives. The executor emits what it knows: tool.output, script.event, write.applied, late.suppressed. The
 * callbacks are for what the turn must act on; all are called on the loop thread. */
struct bounded_host {
    const struct tool_env *env;
    struct emitter *emitter; /* of the turn; NULL: nobody listens */
    struct trace *trace;
    const struct hold_clock *clock;
    enum web_mode web;
    bool ask_runs_clock; /* the clocks are NOT held while asking: only to show what that would do */

    /* A tool wants to write. `take_changes` is empty for a foreign tool that only says so. `tool_writes`: once it is
     * approved the tool runs again and writes itself. The host begins with bounded_pause. */
    void (*propose)(struct bounded_host *host, struct bounded_call *call, struct change_set *take_changes,
                    bool tool_writes);
    void (*stop_turn)(struct bounded_host *host); /* a recorded one was stopped here */
    /* The outcome of the call that was requested with this `data`; taken over. The call stays valid until this returns.
     */
    void (*done)(struct bounded_host *host, void *data, struct outcome *take_outcome);
    /* The last tool that was still out when its call was settled (it timed out, or was cancelled) has come back:
     * nothing is pending any more. The host must live until then. */
    void (*quiet)(struct bounded_host *host);
    size_t pending; /* calls not yet done, or done and still awaited; kept by the executor */
};

struct bounded_request {
    const char *call; /* id */
    const struct tool *tool;
    const struct json *arguments; /* valid; copied */
    int64_t turn_due_us;          /* on the hold clock */
    double cap_s;                 /* of the turn; the tool's own timeout_s wins */
    void *data;                   /* the host's own */
};

struct bounded_call *bounded_execute(struct bounded_host *host, const struct bounded_request *request);
const char *bounded_call_id(const struct bounded_call *call);
void *bounded_call_data(const struct bounded_call *call);
/* What a call that is done has cited; the call owns it. */
const struct citation *bounded_call_citations(const struct bounded_call *call, size_t *count);
int64_t bounded_call_elapsed_us(const struct bounded_call *call);
double bounded_call_deadline_s(const struct bounded_call *call); /* the hard wait */
/* Cancels the token and settles the call as Failure("cancelled…"), unless it is committing, which is waited for. */
void bounded_cancel(struct bounded_call *call);
/* To be called when the hold clock stopped or went on: timers follow it. */
void bounded_clock_changed(struct bounded_call *call);

/* A call whose proposal is being decided. */

/* False once it was settled without a decision: it timed out or was cancelled, and its host hears of that next. */
bool bounded_waits(const struct bounded_call *call);
void bounded_pause(struct bounded_call *call);  /* it waits for a decision, and its time stands still */
void bounded_resume(struct bounded_call *call); /* decided: its time goes on */
/* A job for it is on the pool, and has come back. bounded_job_back is false, and the call may be gone, when it was
 * settled meanwhile: what the job brings is dropped. */
void bounded_job_out(struct bounded_call *call);
bool bounded_job_back(struct bounded_call *call);
/* Runs the tool once more, within the time that is left: the files are not what it saw. */
void bounded_run_again(struct bounded_call *call);
/* From here on the call can neither time out nor be cancelled: the bytes may be on their way. */
void bounded_commit(struct bounded_call *call);
/* Lets the tool write: it runs with confirm_write, and then the call ends. Both sets are borrowed until then.
 * `approved` NULL: a foreign tool that showed no files; it gets a new hard wait and can be cancelled. `note`: what the
 * model is told of another decision than a plain yes; may be NULL. */
void bounded_run_confirmed(struct bounded_call *call, const struct change_set *proposed,
                           const struct change_set *approved, const char *note);
/* The write is done: write.applied, and the outcome. */
void bounded_finish(struct bounded_call *call, const struct change_set *written, struct output_shape *take_shape);
void bounded_deny(struct bounded_call *call, enum denial reason, const char *details);
void bounded_fail(struct bounded_call *call, bool retryable, const char *error);
