/* The way of a write: question, answer, comparison with what is on disk, checkpoint, second execution. The picture and
 * the rules are at the top of bounded.c.
 *
 * Differences are made on the pool, and once: whoever shows the proposal hands its counts over (bounded_counted), and
 * what an answer makes of it is worked out and counted in the job of CHECKING. So the loop never compares two files,
 * and `applied` is told the moment the files are in place. */

#include "bounded.h"
#include "bounded_private.h"
#include "checkpoint.h"
#include <errno.h>

/* The turn still accepts writes and nobody has settled this call. */
static bool gate_is_open(const struct bounded_call *call)
{
    const struct trace *trace = call->host->trace;
    return trace_accepting_writes(trace) && trace_state(trace, call->id) == TRACE_RUNNING;
}

static void settle_gate_closed(struct bounded_call *call)
{
    bounded_settle_denied(call, DENIAL_DEADLINE,
                          "the turn closed its writes before this one was made; nothing was written");
}

/* The answer is no */

static const char *who_refused(const struct verdict *verdict)
{
    if (verdict->decision == DECISION_EXPIRED || verdict->by == BY_TIMEOUT)
        return "nobody answered in time, so the write was not made; the user did not refuse it";
    switch (verdict->by) {
    case BY_POLICY:
        return "the write was refused without asking";
    case BY_RECORDING:
        return "the write was refused in the recording";
    default:
        return verdict->reason ? "the user refused the write" : "the user refused the write and gave no reason";
    }
}

static void refuse(struct bounded_call *call, const char *why)
{
    const char *reason = call->verdict.reason;
    CLEANUP(free) char *details = xasprintf("%s%s%s", why, reason ? ": " : "", reason ? reason : "");
    bounded_settle_denied(call, DENIAL_WRITE_DENIED, details);
}

/* The answer is yes */

static void commit(struct bounded_call *call)
{
    if (!gate_is_open(call)) {
        settle_gate_closed(call);
        return;
    }
    if (call->foreign)
        call->due_us = bounded_hold_now(call) + bounded_hard_wait_us(call);
    bounded_run_tool(call, COMMITTING, call->cap_s);
}

static void ask(struct bounded_call *call)
{
    call->asked_us = bounded_hold_now(call);
    bounded_enter(call, ASKING);
    call->host->ask(call->host, call, call->proposed, call->again);
}

static void run_save(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    change_set_note_folders(call->written, call->host->env->root);
    call->checkpoint = checkpoint_save(call->host->checkpoints, call->id, call->written, &call->err);
}

static int emit_checkpoint(struct bounded_call *call)
{
    const char **paths = xcalloc(call->written->count + 1, sizeof(*paths));
    for (size_t i = 0; i < call->written->count; i++)
        paths[i] = call->written->items[i].path;
    int recorded = bounded_emit(call, &(struct event){.type = EVENT_CHECKPOINT_SAVED,
                                                      .checkpoint_saved = {.checkpoint = call->checkpoint,
                                                                           .call = call->id,
                                                                           .paths = {paths, call->written->count}}});
    free(paths);
    return recorded;
}

void bounded_saved(struct bounded_call *call)
{
    struct bounded_host *host = call->host;
    if (!call->checkpoint && host->may_waive_undo && host->ask && gate_is_open(call)) {
        free(call->no_undo);
        call->no_undo = xstrdup(call->err.text);
        ask(call);
        return;
    }
    if (!call->checkpoint) { /* no undo, no write: D43 */
        CLEANUP(strbuf) struct strbuf error = STRBUF_INIT;
        strbuf_addf(&error, "nothing was written, because the old content could not be kept: %s", call->err.text);
        bounded_settle_failed(call, true, error.buf);
        return;
    }
    /* Without it in the journal nobody could find the way back: the write is not made. */
    if (emit_checkpoint(call) < 0)
        bounded_cancel(call);
    else if (call->phase == SAVING)
        commit(call);
}

/* A yes to something that is no longer so counts for nothing: the tool proposes anew and the user is asked anew. */
static void propose_again(struct bounded_call *call)
{
    double left_s = (double)(call->due_us - bounded_hold_now(call)) / 1e6;
    call->again = true;
    call->moved = call->err.code == ESTALE;
    bounded_run_tool(call, RUNNING, left_s < call->cap_s ? left_s : call->cap_s);
}

void bounded_checked(struct bounded_call *call)
{
    if (!call->written) {
        CLEANUP(strbuf) struct strbuf why = STRBUF_INIT;
        strbuf_addf(&why, "the answer does not fit what was proposed: %s", call->err.text);
        bounded_settle_denied(call, DENIAL_WRITE_DENIED, why.buf);
    } else if (call->proposed->count && !call->written->count)
        refuse(call, "the user kept no part of what was proposed");
    else if (call->failed)
        propose_again(call);
    else if (!gate_is_open(call))
        settle_gate_closed(call);
    else if (call->host->checkpoints && call->written->count && !(call->no_undo && call->verdict.without_undo))
        bounded_start_job(call, SAVING, run_save);
    else
        commit(call);
}

static void run_check(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    call->written = verdict_changes(&call->verdict, call->proposed, &call->err);
    if (!call->written || !call->written->count)
        return;
    change_set_count(call->written);
    if (call->verdict.decision == DECISION_PARTIAL || call->verdict.decision == DECISION_EDITED)
        verdict_note(&call->note, &call->verdict, call->proposed, call->written);
    call->failed = change_set_check(call->written, call->host->env->root, &call->err);
}

static void checked_nothing(struct loop_task *task)
{
    bounded_checked(CALL_OF(task, task));
}

static void accept(struct bounded_call *call)
{
    change_set_free(call->written);
    call->written = NULL;
    strbuf_reset(&call->note);
    call->failed = 0;
    if (call->proposed->count) {
        bounded_start_job(call, CHECKING, run_check);
    } else {
        /* There is nothing to compare, but it goes on later all the same: the host may still be inside its `ask`. */
        call->written = change_set_new();
        loop_post(call->loop, &call->task, checked_nothing);
    }
}

void bounded_ask(struct bounded_call *call, struct change_set *take_proposed, bool foreign)
{
    change_set_free(call->proposed);
    call->proposed = take_proposed ? take_proposed : change_set_new();
    call->foreign = foreign;
    free(call->no_undo); /* of another proposal */
    call->no_undo = NULL;
    if (call->host->ask)
        ask(call);
    else
        bounded_settle_denied(call, DENIAL_WRITE_DENIED, "the write was refused, because nobody can be asked");
}

bool bounded_moved(const struct bounded_call *call)
{
    return call->moved;
}

const char *bounded_no_undo(const struct bounded_call *call)
{
    return call->no_undo;
}

void bounded_counted(struct bounded_call *call, const struct change_set *counted)
{
    if (call->phase == ASKING)
        change_set_take_counts(call->proposed, counted);
}

bool bounded_asks(const struct bounded_call *call)
{
    return call->phase == ASKING;
}

bool bounded_decide(struct bounded_call *call, const struct verdict *verdict)
{
    if (call->phase != ASKING || verdict->decision == DECISION_NONE)
        return false;
    if (!call->host->ask_runs_clock) {
        int64_t pause_us = bounded_hold_now(call) - call->asked_us;
        call->paused_us += pause_us;
        call->due_us += pause_us;
    }
    bounded_enter(call, CHECKING);
    verdict_release(&call->verdict);
    call->verdict = verdict_copy(verdict);
    if (verdict->decision == DECISION_DENIED || verdict->decision == DECISION_EXPIRED)
        refuse(call, who_refused(&call->verdict));
    else
        accept(call);
    return true;
}
