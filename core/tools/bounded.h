#pragma once
/* The bounded executor: one call, one outcome, whatever happens.
 *
 *   expired turn → Denied(deadline), nothing is started
 *   running, with a hard wait of max(5 s, min(turn, cap)) on the hold clock
 *   timeout → token cancelled, call settled as timed_out, Timeout; what the tool does later is dropped
 *   proposal → host->ask; the answer comes through bounded_decide
 *      no → Denied(write_denied)
 *      yes → is the gate still open, are the files still what was shown? (else: proposed anew, asked again, D31b)
 *            → checkpoint (when it cannot be made: asked again, whether to write without undo, D43) → second execution
 * with confirm_write; from there on the call cannot time out: the commit is ours, short, and its result must be known.
 * (A foreign tool's is neither: it gets a new hard wait.) output → compacted; ≤ 12,000 characters inline, else an
 * artifact that holds the full text
 *
 * The executor keeps nothing between calls. Everything is called on the loop thread. bounded_execute returns no error
 * and its outcome is delivered exactly once, through host->done, never from within the call. */

#include "approval.h"
#include "event/emitter.h"
#include "outcome.h"
#include "tool.h"
#include "trace.h"

struct bounded_call;
struct checkpoints;

enum web_mode { WEB_OFF, WEB_AUTO, WEB_ON };
int web_mode_from_name(const char *name); /* -1 when unknown */

/* What the turn gives. The executor emits what it knows: tool.output, script.event, checkpoint.saved, write.applied,
 * late.suppressed. The callbacks are for what the turn must act on; all are called on the loop thread. */
struct bounded_host {
    const struct tool_env *env;
    struct emitter *emitter; /* of the turn; NULL: nobody listens */
    struct trace *trace;
    const struct hold_clock *clock;
    struct checkpoints *checkpoints; /* NULL: no undo */
    enum web_mode web;
    bool may_waive_undo;             /* somebody can be asked whether to write although the old bytes cannot be kept */
    bool ask_runs_clock;             /* the clocks are NOT held while asking: only to show what that would do */

    /* A write waits for an answer. `again` is set when files changed under an earlier answer; bounded_no_undo tells
     * whether it is asked because the old bytes could not be kept. */
    void (*ask)(struct bounded_host *host, struct bounded_call *call, const struct change_set *changes, bool again);
    void (*stop_turn)(struct bounded_host *host); /* a recorded one was stopped here */
    /* The outcome; taken over by the host. The call stays valid until this returns. */
    void (*done)(struct bounded_host *host, struct bounded_call *call, struct outcome *take_outcome);
    /* The last tool that was still out when its call was settled (it timed out, or was cancelled) has come back:
     * nothing is pending any more. The host must live until then. */
    void (*quiet)(struct bounded_host *host);
    size_t pending;                  /* calls not yet done, or done and still awaited; kept by the executor */
};

struct bounded_request {
    const char *call;             /* id */
    const struct tool *tool;
    const struct json *arguments; /* valid; copied */
    int64_t turn_due_us;          /* on the hold clock */
    double cap_s;                 /* of the turn; the tool's own timeout_s wins */
};

struct bounded_call *bounded_execute(struct bounded_host *host, const struct bounded_request *request);
const char *bounded_call_id(const struct bounded_call *call);
const struct tool *bounded_call_tool(const struct bounded_call *call);
/* What a call that is done has cited; the call owns it. */
const struct citation *bounded_call_citations(const struct bounded_call *call, size_t *count);
void *bounded_call_data(const struct bounded_call *call);
void bounded_call_set_data(struct bounded_call *call, void *data);
int64_t bounded_call_elapsed_us(const struct bounded_call *call);
double bounded_call_deadline_s(const struct bounded_call *call); /* the hard wait */

/* Whether it waits for an answer. One that has just timed out does not, although its host has not heard of that yet. */
bool bounded_asks(const struct bounded_call *call);
/* Of a question that is asked again: it is the folder that was moved or replaced, not the file that was changed. */
bool bounded_moved(const struct bounded_call *call);
/* Why the old bytes could not be kept after the last yes, so that it is asked again: a yes that is `without_undo` then
 * writes all the same, any other tries again. NULL: that did not happen. */
const char *bounded_no_undo(const struct bounded_call *call);
/* The counts of the proposal it asks about, from whoever compared it to show it. */
void bounded_counted(struct bounded_call *call, const struct change_set *counted);
/* Answers the question; the verdict is copied. A call that no longer asks (it timed out meanwhile) ignores it and false
 * is returned: an answer that comes too late never writes. */
bool bounded_decide(struct bounded_call *call, const struct verdict *verdict);
/* Cancels the token and settles the call as Failure("cancelled…"), unless it is committing, which is waited for. */
void bounded_cancel(struct bounded_call *call);
/* To be called when the hold clock stopped or went on: timers follow it. */
void bounded_clock_changed(struct bounded_call *call);
