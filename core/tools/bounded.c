/* Runs one call to exactly one outcome.
 *
 *   bounded_execute
 *      │ (posted)    ┌──────────────────── bounded_run_again: a file changed meanwhile
 *      ▼             ▼                        │
 *   STARTING ───► RUNNING ── proposal ──► WRITING (see turn/write.c) ── yes ──► COMMITTING
 *      │             │                        │                                   │
 *      │             ├─ output, long ──► STORING ◄────────────────────────────────┤
 *      ▼             ▼                        ▼                                   ▼
 *   SETTLED: the outcome is made and posted to host->done; nothing changes it any more
 *
 *   timer: runs     runs       stopped until the decision, then runs         off (see below)
 *   out:   nothing  the tool   a job of write.c, or nothing                  a job, or the tool
 *
 * STORING has a short time limit of its own. When it expires, the beginning of the output is the result.
 *
 * Three rules:
 *
 * 1. Everything that is out (an execution of the tool, a job on the pool) returns exactly once and through one of
 *    tool_ran, job_done and bounded_job_back. Each checks the phase first. If it is SETTLED, the call has its outcome
 *    already: the result is dropped, late.suppressed is emitted, and only then is the call freed. So a late thread
 *    has nothing to write to and keeps nothing alive.
 * 2. settle_bounded() is the only way to an outcome, and it posts: `done` never runs before the caller's own call
 * returns.
 * 3. Writing cannot be interrupted. From COMMITTING on the timer is off and cancel waits, because bytes may already
 *    be written and the journal must record the result. The exception is a foreign tool (one that replied "Write
 *    confirmation required" and proposes nothing that Keyturn could commit). Its second execution may be long, so it
 *    gets a new hard limit and can be canceled.
 *
 * Times are on the hold clock. The timer runs on the loop's clock for the time left on the hold clock. It is reset
 * when the host reports that the hold clock stopped or started. While a question is open, the call's own time stops
 * too, even if the host's clock runs; only clock_runs_while_asking changes that. A tool's time starts when a pool
 * thread takes it, not when it is queued, because the wait is not its fault. The wait is bounded: a call without a
 * thread within its time is a Timeout that says so, and never starts. */

#include "bounded.h"
#include "artifact.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "output_limit.h"
#include <stddef.h>

/* ---- call states ---- */

void call_states_init(struct call_states *trace)
{
    *trace = (struct call_states){0};
}

void call_states_release(struct call_states *trace)
{
    hash_map_release(&trace->states);
}

/* Some recordings reuse an id in a later step of the turn. That is a new call; the old one is settled. */
void call_states_running(struct call_states *trace, const char *call)
{
    hash_map_put(&trace->states, call, TOOL_STATE_RUNNING);
}

void call_states_time_out(struct call_states *trace, const char *call)
{
    if (tool_state(trace, call) == TOOL_STATE_RUNNING)
        hash_map_put(&trace->states, call, TOOL_STATE_TIMED_OUT);
}

bool call_states_complete(struct call_states *trace, const char *call, enum tool_state as)
{
    if (trace->closed || tool_state(trace, call) != TOOL_STATE_RUNNING)
        return false;
    hash_map_put(&trace->states, call, as);
    return true;
}

enum tool_state tool_state(const struct call_states *trace, const char *call)
{
    return (enum tool_state)hash_map_get(&trace->states, call, TOOL_STATE_NONE);
}

void call_states_close_writes(struct call_states *trace)
{
    trace->closed = true;
}

bool call_states_accepting_writes(const struct call_states *trace)
{
    return !trace->closed;
}

#define LONGEST_WAIT_US ((int64_t)1000000000000000) /* thirty years */
#define SHAPE_MAX       ((size_t)64 << 10)          /* longer outputs are processed on the pool, not on the loop */

enum phase { STARTING, RUNNING, WRITING, COMMITTING, STORING, SETTLED };
enum out { OUT_NOTHING, OUT_TOOL, OUT_JOB };

struct bounded_call {
    struct bounded_host *host;
    struct loop *loop;
    const struct tool *tool;
    char *id;
    struct arena arena; /* of the arguments */
    const struct json *arguments;
    void *data;

    enum phase phase;
    enum out out;
    bool paused;            /* WRITING: its time is stopped */
    bool foreign;           /* COMMITTING: the tool writes by its own means, unseen */
    bool delivered;         /* host->done has returned */
    bool back;              /* settled, and everything that was out has returned */
    struct emitter emitter; /* what the tool emits through */
    struct tool_run run;
    struct tool_reply reply;   /* of the tool */
    struct output_shape shape; /* of its output; made on the pool if possible */
    struct loop_task task;
    struct loop_work work;

    struct loop_timer timer;
    double cap_s, deadline_s;
    int64_t turn_due_us, due_us, started_us; /* on the hold clock, as are the next two */
    int64_t asked_us;
    int64_t paused_us;  /* sum of the questions during which the hold clock ran */
    int64_t elapsed_us; /* when settled */
    int64_t queued_us;  /* when the pool got the execution, on the loop's clock */
    bool counted;       /* the time in the queue has been subtracted */

    char *note;                 /* for the model, if the bytes written differ from the proposal */
    struct citation *citations; /* of a call that is done */
    size_t citation_count;
    char *full; /* the output, to be stored */
    size_t full_len;
    char *cut; /* used instead if it cannot be stored */
    struct artifact *stored;

    struct outcome outcome;
};

#define CALL_OF(pointer, member) CONTAINER_OF(pointer, struct bounded_call, member)

static void free_call(struct bounded_call *call)
{
    free(call->id);
    arena_release(&call->arena);
    tool_reply_release(&call->reply);
    output_shape_release(&call->shape);
    for (size_t i = 0; i < call->citation_count; i++)
        free(call->citations[i].ref);
    free(call->citations);
    free(call->note);
    free(call->full);
    free(call->cut);
    artifact_free(call->stored);
    outcome_release(&call->outcome);
    free(call);
}

/* ---- time ---- */

static int64_t hold_now(const struct bounded_call *call)
{
    return hold_clock_now(call->host->clock);
}

static int64_t hard_wait_us(const struct bounded_call *call)
{
    double us = call->deadline_s * 1e6;
    return us < (double)LONGEST_WAIT_US ? (int64_t)us : LONGEST_WAIT_US;
}

/* Whether the call's own time runs; the hold clock may be stopped all the same. */
static bool time_runs(const struct bounded_call *call)
{
    switch (call->phase) {
    case STARTING:
    case RUNNING:
    case STORING:
        return true;
    case WRITING:
        return !call->paused || call->host->clock_runs_while_asking;
    case COMMITTING:
        return call->foreign;
    case SETTLED:
        return false;
    }
    return false;
}

static void on_bounded_timer(struct loop_timer *timer);

static void set_timer(struct bounded_call *call)
{
    if (!time_runs(call) || call->host->clock->depth > 0) {
        loop_timer_stop(call->loop, &call->timer);
        return;
    }
    int64_t left_us = call->due_us - hold_now(call);
    loop_timer_start(call->loop, &call->timer, loop_now_us(call->loop) + (left_us > 0 ? left_us : 0), on_bounded_timer);
}

static void enter(struct bounded_call *call, enum phase phase)
{
    call->phase = phase;
    set_timer(call);
}

static int64_t elapsed_us(const struct bounded_call *call)
{
    bool stands = call->phase == WRITING && call->paused && !call->host->clock_runs_while_asking;
    int64_t now_us = stands ? call->asked_us : hold_now(call);
    return now_us - call->started_us - call->paused_us;
}

/* ---- the end ---- */

/* Emits late.suppressed for a call that was settled before its execution or job returned. */
static void report_late(struct bounded_call *call)
{
    struct bounded_host *host = call->host;
    emit(call->host->emitter,
         &(struct event){.type = EVENT_LATE_SUPPRESSED,
                         .late_suppressed = {.call = call->id, .elapsed_ms = elapsed_us(call) / 1000}});
    free_call(call);
    if (--host->pending == 0 && host->quiet)
        host->quiet(host);
}

/* An execution or job returned to a settled call. */
static void come_back(struct bounded_call *call)
{
    call->back = true;
    if (call->delivered)
        report_late(call);
}

static void deliver(struct loop_task *task)
{
    struct bounded_call *call = CALL_OF(task, task);
    struct bounded_host *host = call->host;
    bool last_word = call->out == OUT_NOTHING && !call->back;
    if (last_word)
        host->pending--;
    struct outcome outcome = call->outcome;
    call->outcome = (struct outcome){0};
    host->done(host, call->data, &outcome); /* may free the host if nothing is pending */
    call->delivered = true;
    if (last_word)
        free_call(call);
    else if (call->back)
        report_late(call);
}

static void settle_bounded(struct bounded_call *call, struct outcome take_outcome)
{
    if (call->phase == SETTLED)
        BUG("a second outcome for the call %s", call->id);
    call->elapsed_us = elapsed_us(call);
    call->outcome = take_outcome;
    call->outcome.elapsed_ms = call->elapsed_us / 1000;
    enter(call, SETTLED);
    loop_unpost(call->loop, &call->task);
    loop_post(call->loop, &call->task, deliver);
}

/* Settles with the tool's result. If the turn stopped accepting results meanwhile, the outcome is a timeout instead. A
 * commit is always reported as it went, because it was allowed earlier. */
static void settle_answer(struct bounded_call *call, enum tool_state as, struct outcome take_outcome)
{
    if (!call_states_complete(call->host->trace, call->id, as) && call->phase != COMMITTING) {
        outcome_release(&take_outcome);
        take_outcome = outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, false);
    }
    settle_bounded(call, take_outcome);
}

void bounded_deny(struct bounded_call *call, enum denial reason, const char *details)
{
    call_states_complete(call->host->trace, call->id, TOOL_STATE_DENIED);
    settle_bounded(call, outcome_denied(call->id, call->tool->spec.name, reason, "%s", details));
}

void bounded_fail(struct bounded_call *call, bool retryable, const char *error)
{
    settle_answer(call, TOOL_STATE_FAILED, outcome_failure(call->id, call->tool->spec.name, retryable, "%s", error));
}

/* The artifact store failed or was too slow: settle with the beginning of the output, marked as truncated. */
static void settle_cut(struct bounded_call *call)
{
    struct outcome outcome = outcome_result(call->id, call->tool->spec.name, steal(&call->cut));
    outcome.result.truncated = true;
    settle_bounded(call, outcome);
}

/* Asks the tool to stop. It need not obey, and it may finish from within this call. */
static void stop_tool(struct bounded_call *call)
{
    deadline_cancel(&call->run.deadline);
    if (call->out == OUT_TOOL && call->tool->cancel)
        call->tool->cancel(&call->run);
}

/* Subtracts the time that the execution waited for a thread. Returns false if it still waits. The turn's end and the
 * minimum of every hard limit stay the same. */
static bool has_begun(struct bounded_call *call)
{
    int64_t began_us = atomic_load(&call->work.began_us);
    if (call->counted || call->phase != RUNNING || !call->tool->work)
        return true;
    if (began_us < 0)
        return false;
    int64_t waited_us = began_us - call->queued_us, ran_us = hold_now(call) - call->started_us;
    call->counted = true;
    if (waited_us > ran_us) /* the clock was stopped for a part of it */
        waited_us = ran_us;
    if (waited_us <= 0)
        return true;
    call->started_us += waited_us;
    int64_t latest_us = call->started_us + (int64_t)(DEADLINE_FLOOR_S * 1e6);
    if (latest_us < call->turn_due_us)
        latest_us = call->turn_due_us;
    call->due_us = call->due_us + waited_us < latest_us ? call->due_us + waited_us : latest_us;
    call->deadline_s = (double)(call->due_us - call->started_us) / 1e6;
    return true;
}

static void on_bounded_timer(struct loop_timer *timer)
{
    struct bounded_call *call = CALL_OF(timer, timer);
    bool begun = has_begun(call);
    if (call->host->clock->depth > 0 || hold_now(call) < call->due_us) { /* the clock was held without a report */
        set_timer(call);
        return;
    }
    if (call->phase == STORING) {
        settle_cut(call);
        return;
    }
    /* A foreign tool may have written before it stopped responding, so a repetition is not safe. */
    bool retryable = !call->tool->spec.no_retry_on_timeout && call->phase != COMMITTING;
    call_states_time_out(call->host->trace, call->id);
    settle_bounded(call, begun ? outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, retryable)
                               : outcome_never_began(call->id, call->tool->spec.name, call->deadline_s));
    stop_tool(call);
}

/* ---- executions and jobs ---- */

/* Events that a tool emits after its call has an outcome are not recorded. */
static int emit_until_settled(struct emitter *emitter, struct event *events, size_t count)
{
    struct bounded_call *call = CALL_OF(emitter, emitter);
    struct emitter *turn = call->host->emitter;
    return call->phase == SETTLED ? -1 : turn ? turn->emit(turn, events, count) : 0;
}

static void pass_stop(struct tool_run *run)
{
    struct bounded_call *call = CALL_OF(run, run);
    if (call->phase != SETTLED && call->host->stop_turn)
        call->host->stop_turn(call->host);
}

/* ---- outputs ---- */

static void job_done(struct loop_work *work);

static void start_job(struct bounded_call *call, void (*run)(struct loop_work *))
{
    call->out = OUT_JOB;
    loop_work_start(call->loop, &call->work, run, job_done);
}

static void run_store(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    const struct tool_env *env = call->host->env;
    call->stored = artifact_store_put(env->artifacts, env->session, call->tool->spec.name, call->full, call->full_len);
}

static void settle_stored(struct bounded_call *call)
{
    if (!call->stored) {
        settle_cut(call);
        return;
    }
    struct outcome outcome = {
        .type = OUTCOME_ARTIFACT,
        .call = xstrdup(call->id),
        .tool = xstrdup(call->tool->spec.name),
        .artifact = {.id = steal(&call->stored->id),
                     .path = steal(&call->stored->path),
                     .summary = steal(&call->stored->summary),
                     .size = call->stored->size},
    };
    settle_bounded(call, outcome);
}

/* Settles with the output, or with the name of the artifact that keeps all of it if it is too long for the model. */
static void settle_output(struct bounded_call *call)
{
    if (call->shape.text) {
        settle_bounded(call, outcome_result(call->id, call->tool->spec.name, steal(&call->shape.text)));
        return;
    }
    call->cut = steal(&call->shape.cut);
    call->full = steal(&call->shape.whole);
    call->full_len = call->shape.whole_len;
    if (!call->host->env->artifacts) {
        settle_cut(call);
        return;
    }
    call->due_us = hold_now(call) + (int64_t)(DEADLINE_FLOOR_S * 1e6);
    enter(call, STORING);
    start_job(call, run_store);
}

static void emit_applied(struct bounded_call *call, const struct change_set *written)
{
    size_t count = written ? written->count : 0;
    struct event_applied_file *files = xcalloc(count + 1, sizeof(*files));
    for (size_t i = 0; i < count; i++) {
        const struct change *change = &written->items[i];
        files[i] = (struct event_applied_file){.path = change->path,
                                               .digest = change->new.digest,
                                               .added = (int64_t)change->counts.added,
                                               .removed = (int64_t)change->counts.removed};
    }
    emit(call->host->emitter,
         &(struct event){.type = EVENT_WRITE_APPLIED, .write_applied = {.call = call->id, .files = {files, count}}});
    free(files);
}

void bounded_finish(struct bounded_call *call, const struct change_set *written, struct output_shape *take_shape)
{
    call->shape = *take_shape;
    *take_shape = (struct output_shape){0};
    emit_applied(call, written);
    call_states_complete(call->host->trace, call->id, TOOL_STATE_COMPLETED);
    settle_output(call);
}

static void take_output(struct bounded_call *call)
{
    struct tool_reply *reply = &call->reply;
    bool committed = call->phase == COMMITTING;
    if (call->shape.error) {
        bounded_fail(call, !reply->final, call->shape.error);
        return;
    }
    if (committed)
        emit_applied(call, call->run.approved);
    if (call->phase == SETTLED) /* if recording fails, the host may cancel even a foreign call */
        return;
    if (!call_states_complete(call->host->trace, call->id, TOOL_STATE_COMPLETED) && !committed) {
        settle_bounded(call, outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, false));
        return;
    }
    call->citations = steal(&reply->citations);
    call->citation_count = reply->citation_count;
    reply->citation_count = 0;
    if (reply->recorded) {
        settle_bounded(call, *reply->recorded);
        *reply->recorded = (struct outcome){0};
    } else {
        settle_output(call);
    }
}

static void fail_asked_again(struct bounded_call *call)
{
    bounded_fail(call, false, "the tool asked for confirmation twice");
}

static void read_output(struct bounded_call *call)
{
    if (call->shape.fault) {
        bounded_fail(call, true, call->shape.fault);
    } else if (call->shape.wants_confirmation) {
        if (call->phase == COMMITTING)
            fail_asked_again(call);
        else
            call->host->propose(call->host, call, change_set_new(), true);
    } else {
        if (call->note)
            output_shape_approve(&call->shape, &call->reply.output, call->note);
        take_output(call);
    }
}

static void job_done(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    call->out = OUT_NOTHING;
    if (call->phase == SETTLED)
        come_back(call);
    else if (call->phase == STORING)
        settle_stored(call);
    else
        read_output(call);
}

/* ---- executions ---- */

static void run_tool(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    if (tool_run_cancelled(&call->run)) /* canceled while it waited for this thread */
        return;
    call->tool->work(&call->run, &call->reply);
    if (call->reply.type == REPLY_OUTPUT && !call->reply.page)
        output_shape_make(&call->shape, &call->reply.output);
}

/* Shapes a long output on a pool thread, for tools that replied from the loop. */
static void run_shape(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    output_shape_make(&call->shape, &call->reply.output);
    if (call->note) {
        output_shape_approve(&call->shape, &call->reply.output, call->note);
        free(steal(&call->note));
    }
}

/* Every execution returns through here, with its reply in the call. */
static void tool_ran(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    struct tool_reply *reply = &call->reply;
    if (call->out != OUT_TOOL)
        BUG("the tool %s finished a run that is not running", call->tool->spec.name);
    has_begun(call);
    call->out = OUT_NOTHING;
    if (call->phase == SETTLED) {
        come_back(call);
    } else if (reply->type == REPLY_PROPOSAL && call->phase == COMMITTING) {
        fail_asked_again(call);
    } else if (reply->type == REPLY_PROPOSAL) {
        call->host->propose(call->host, call, steal(&reply->changes), reply->tool_writes);
    } else if (reply->type == REPLY_RECORDED) {
        take_output(call);
    } else if (reply->type == REPLY_OUTPUT) {
        if (reply->page && !call->shape.made)
            call->shape = (struct output_shape){.made = true, .text = steal(&reply->output)};
        if (call->shape.made || !reply->output || strlen(reply->output) <= SHAPE_MAX) {
            if (!call->shape.made)
                output_shape_make(&call->shape, &reply->output);
            read_output(call);
        } else {
            start_job(call, run_shape);
        }
    } else {
        CLEANUP(free) char *error = output_sentence(reply->error);
        bounded_fail(call, !reply->final, error);
    }
}

void tool_run_finish(struct tool_run *run, struct tool_reply *take_reply)
{
    struct bounded_call *call = CALL_OF(run, run);
    tool_reply_release(&call->reply);
    call->reply = *take_reply;
    *take_reply = (struct tool_reply){0};
    tool_ran(&call->work);
}

/* Starts an execution that may take `cap_s`; the turn's end limits it too. */
static void start_tool(struct bounded_call *call, enum phase phase, double cap_s)
{
    tool_reply_release(&call->reply);
    output_shape_release(&call->shape);
    call->run.confirm_write = phase == COMMITTING;
    call->run.state = NULL;
    deadline_init(&call->run.deadline, call->host->clock, call->turn_due_us, cap_s);
    enter(call, phase);
    call->out = OUT_TOOL;
    call->queued_us = loop_now_us(call->loop);
    if (call->tool->work)
        loop_work_start(call->loop, &call->work, run_tool, tool_ran);
    else
        call->tool->start(&call->run);
}

static void begin_call(struct loop_task *task)
{
    struct bounded_call *call = CALL_OF(task, task);
    start_tool(call, RUNNING, call->cap_s);
}

/* ---- a proposal that is being decided ---- */

bool bounded_waits(const struct bounded_call *call)
{
    return call->phase == WRITING;
}

void bounded_pause(struct bounded_call *call)
{
    call->asked_us = hold_now(call);
    call->paused = true;
    enter(call, WRITING);
}

void bounded_resume(struct bounded_call *call)
{
    if (!call->host->clock_runs_while_asking) {
        int64_t pause_us = hold_now(call) - call->asked_us;
        call->paused_us += pause_us;
        call->due_us += pause_us;
    }
    call->paused = false;
    enter(call, WRITING);
}

void bounded_job_out(struct bounded_call *call)
{
    call->out = OUT_JOB;
}

bool bounded_job_back(struct bounded_call *call)
{
    call->out = OUT_NOTHING;
    if (call->phase != SETTLED)
        return true;
    come_back(call);
    return false;
}

void bounded_run_again(struct bounded_call *call)
{
    double left_s = (double)(call->due_us - hold_now(call)) / 1e6;
    start_tool(call, RUNNING, left_s < call->cap_s ? left_s : call->cap_s);
}

void bounded_commit(struct bounded_call *call)
{
    enter(call, COMMITTING);
}

void bounded_run_confirmed(struct bounded_call *call, const struct change_set *proposed,
                           const struct change_set *approved, const char *note)
{
    call->run.proposed = approved ? proposed : NULL;
    call->run.approved = approved;
    call->foreign = !approved;
    call->note = note && *note ? xstrdup(note) : NULL;
    if (call->foreign)
        call->due_us = hold_now(call) + hard_wait_us(call);
    start_tool(call, COMMITTING, call->cap_s);
}

/* ---- the public functions ---- */

struct bounded_call *bounded_execute(struct bounded_host *host, const struct bounded_request *request)
{
    struct bounded_call *call = xcalloc(1, sizeof(*call));
    const struct tool_spec *spec = &request->tool->spec;
    call->host = host;
    call->loop = host->env->loop;
    call->tool = request->tool;
    call->id = xstrdup(request->call);
    call->data = request->data;

    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, request->arguments, JSON_COMPACT);
    char *copy = arena_memdup0(&call->arena, text.buf, text.len);
    call->arguments = json_parse(&call->arena, copy, text.len, NULL);
    call->emitter = (struct emitter){.emit = emit_until_settled};
    call->run = (struct tool_run){.tool = call->tool,
                                  .env = host->env,
                                  .call = call->id,
                                  .arguments = call->arguments,
                                  .emitter = &call->emitter,
                                  .stop_turn = pass_stop};

    call->cap_s = request->cap_s > 0 ? request->cap_s : DEADLINE_CAP_S;
    call->turn_due_us = request->turn_due_us;
    call->started_us = hold_now(call);
    int64_t left_us = call->turn_due_us - call->started_us;
    call->deadline_s = deadline_per_tool_s((double)left_us / 1e6, call->cap_s);
    call->due_us = call->started_us + hard_wait_us(call);

    host->pending++;
    call_states_running(host->trace, call->id);
    if (left_us <= 0) {
        bounded_deny(call, DENIAL_DEADLINE, "the turn ran out of time before the call started");
    } else if (host->web == WEB_OFF && strcmp(spec->name, "web_search") == 0) {
        bounded_fail(call, true, "web_search is disabled (the web mode of this turn is off)");
    } else {
        enter(call, STARTING);
        if (call->tool->work) /* at once, so that the pool starts while the rest of the wave is being started */
            start_tool(call, RUNNING, call->cap_s);
        else
            loop_post(call->loop, &call->task, begin_call);
    }
    return call;
}

const struct citation *bounded_call_citations(const struct bounded_call *call, size_t *count)
{
    *count = call->citation_count;
    return call->citations;
}

void *bounded_call_data(const struct bounded_call *call)
{
    return call->data;
}

void bounded_cancel(struct bounded_call *call)
{
    if (call->phase == SETTLED || (call->phase == COMMITTING && !call->foreign))
        return;
    if (call->phase == STORING) { /* the tool is done */
        settle_cut(call);
        return;
    }
    const char *error = call->phase == COMMITTING ? OUTCOME_STOPPED " while the tool was writing; the result is unknown"
                                                  : OUTCOME_STOPPED;
    call_states_complete(call->host->trace, call->id, TOOL_STATE_FAILED);
    settle_bounded(call, outcome_failure(call->id, call->tool->spec.name, true, "%s", error));
    stop_tool(call);
}

void bounded_clock_changed(struct bounded_call *call)
{
    set_timer(call);
}
