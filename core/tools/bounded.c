/* One call, one outcome.
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
 *   timer: runs     runs       stands still until the decision, then runs     off (see below)
 *   out:   nothing  the tool   a job of write.c, or nothing                   a job, or the tool
 *
 * STORING has a short time of its own; when it is over, the beginning of the output is the result.
 *
 * Three rules make it hold together.
 *
 * 1. Whatever is out (an execution of the tool, a job on the pool) comes back exactly once and through one door:
 *    tool_ran, job_done or bounded_job_back. Each looks at the phase first. When it is SETTLED somebody decided without
 *    them: what they bring is dropped, late.suppressed is emitted, and only then is the call freed. So a late thread
 * has nothing to write to and nothing to hold on to.
 * 2. settle() is the only way to an outcome, and it posts: no caller hears `done` before its own call has returned.
 * 3. Writing is one way. From COMMITTING on the timer is off and cancelling waits, because the bytes may be on their
 * way and the journal must say what became of them. A foreign tool (one that asked with "Write confirmation required"
 * and proposes nothing we could commit) is the exception: its second execution is neither ours nor short, so it gets a
 *    new hard wait and can be cancelled.
 *
 * Time is the hold clock's. The timer is set on the loop's clock for what is left on the hold clock, and set anew when
 * the host says that the hold clock stopped or went on. While a question is open the call's own time stands still too,
 * whether or not the host holds its clock, unless the host asks to see what happens otherwise. A tool's time begins
 * when a thread of the pool takes it up, not when it is queued: what others keep it waiting is not its doing. But it
 * does not wait for ever: a call that has found no thread within its time is a Timeout that says so, and is then never
 * begun. */

#include "bounded.h"
#include "artifact.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "compact.h"
#include <stddef.h>

#define LONGEST_WAIT_US ((int64_t)1000000000000000) /* thirty years */
#define SHAPE_MAX       ((size_t)64 << 10)          /* bytes of an output that the loop looks at itself */

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
    bool paused;            /* WRITING: its time stands still */
    bool foreign;           /* COMMITTING: the tool writes we know not what */
    bool delivered;         /* host->done has returned */
    bool back;              /* settled, and what was out has come back */
    struct emitter emitter; /* what the tool emits through */
    struct tool_run run;
    struct tool_reply reply;   /* of the tool */
    struct output_shape shape; /* of its output; made on the pool where it can be */
    struct loop_task task;
    struct loop_work work;

    struct loop_timer timer;
    double cap_s, deadline_s;
    int64_t turn_due_us, due_us, started_us; /* on the hold clock, as are the next two */
    int64_t asked_us;
    int64_t paused_us;  /* sum of questions that the hold clock ran through */
    int64_t elapsed_us; /* when settled */
    int64_t queued_us;  /* when the execution was given to the pool, on the loop's clock */
    bool counted;       /* the time it waited there has been taken off */

    char *note;                 /* for the model, when it is not what was proposed that is written */
    struct citation *citations; /* of a call that is done */
    size_t citation_count;
    char *full; /* the output, to be stored */
    size_t full_len;
    char *cut; /* instead, when it cannot be stored */
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

/* Time */

static int64_t hold_now(const struct bounded_call *call)
{
    return hold_clock_now(call->host->clock);
}

static int64_t hard_wait_us(const struct bounded_call *call)
{
    double us = call->deadline_s * 1e6;
    return us < (double)LONGEST_WAIT_US ? (int64_t)us : LONGEST_WAIT_US;
}

/* Whether the call's time passes; the hold clock may stand still all the same. */
static bool time_runs(const struct bounded_call *call)
{
    switch (call->phase) {
    case STARTING:
    case RUNNING:
    case STORING:
        return true;
    case WRITING:
        return !call->paused || call->host->ask_runs_clock;
    case COMMITTING:
        return call->foreign;
    case SETTLED:
        return false;
    }
    return false;
}

static void on_timer(struct loop_timer *timer);

static void set_timer(struct bounded_call *call)
{
    if (!time_runs(call) || call->host->clock->depth > 0) {
        loop_timer_stop(call->loop, &call->timer);
        return;
    }
    int64_t left_us = call->due_us - hold_now(call);
    loop_timer_start(call->loop, &call->timer, loop_now_us(call->loop) + (left_us > 0 ? left_us : 0), on_timer);
}

static void enter(struct bounded_call *call, enum phase phase)
{
    call->phase = phase;
    set_timer(call);
}

static int64_t elapsed_us(const struct bounded_call *call)
{
    bool stands = call->phase == WRITING && call->paused && !call->host->ask_runs_clock;
    int64_t now_us = stands ? call->asked_us : hold_now(call);
    return now_us - call->started_us - call->paused_us;
}

/* The end */

/* The last word about a call that was settled without what was out. */
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

/* What was out has come back to a settled call. */
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
    host->done(host, call->data, &outcome); /* which may free the host when nothing is pending */
    call->delivered = true;
    if (last_word)
        free_call(call);
    else if (call->back)
        report_late(call);
}

static void settle(struct bounded_call *call, struct outcome take_outcome)
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

/* Settles with what the tool brought, unless the turn has closed its gate meanwhile: then nothing of it is used. A
 * commit is told as it went; it was allowed while the gate was open. */
static void settle_answer(struct bounded_call *call, enum trace_state as, struct outcome take_outcome)
{
    if (!trace_complete(call->host->trace, call->id, as) && call->phase != COMMITTING) {
        outcome_release(&take_outcome);
        take_outcome = outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, false);
    }
    settle(call, take_outcome);
}

void bounded_deny(struct bounded_call *call, enum denial reason, const char *details)
{
    trace_complete(call->host->trace, call->id, TRACE_DENIED);
    settle(call, outcome_denied(call->id, call->tool->spec.name, reason, "%s", details));
}

void bounded_fail(struct bounded_call *call, bool retryable, const char *error)
{
    settle_answer(call, TRACE_FAILED, outcome_failure(call->id, call->tool->spec.name, retryable, "%s", error));
}

/* The output is there but cannot be kept (D39), or not in time: its beginning has to do. */
static void settle_cut(struct bounded_call *call)
{
    struct outcome outcome = outcome_result(call->id, call->tool->spec.name, steal(&call->cut));
    outcome.result.truncated = true;
    settle(call, outcome);
}

/* Tells the tool to stop. Whether it does is its affair; it may come back from within. */
static void stop_tool(struct bounded_call *call)
{
    deadline_cancel(&call->run.deadline);
    if (call->out == OUT_TOOL && call->tool->cancel)
        call->tool->cancel(&call->run);
}

/* Takes the time that the execution waited for a thread off its own; false when it still waits. The turn's end, and the
 * floor of every hard wait, stay where they are. */
static bool has_begun(struct bounded_call *call)
{
    int64_t began_us = atomic_load(&call->work.began_us);
    if (call->counted || call->phase != RUNNING || !call->tool->work)
        return true;
    if (began_us < 0)
        return false;
    int64_t waited_us = began_us - call->queued_us, ran_us = hold_now(call) - call->started_us;
    call->counted = true;
    if (waited_us > ran_us) /* part of it the clock stood still anyway */
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

static void on_timer(struct loop_timer *timer)
{
    struct bounded_call *call = CALL_OF(timer, timer);
    bool begun = has_begun(call);
    if (call->host->clock->depth > 0 || hold_now(call) < call->due_us) { /* it was held and nobody told us */
        set_timer(call);
        return;
    }
    if (call->phase == STORING) {
        settle_cut(call);
        return;
    }
    /* A foreign tool may have written before it fell silent, so repeating it is not safe. */
    bool retryable = !call->tool->spec.no_retry_on_timeout && call->phase != COMMITTING;
    trace_time_out(call->host->trace, call->id);
    settle(call, begun ? outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, retryable)
                       : outcome_never_began(call->id, call->tool->spec.name, call->deadline_s));
    stop_tool(call);
}

/* Executions and jobs */

/* What a tool says of its call once that has its outcome is not recorded. */
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

/* Outputs */

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
    settle(call, outcome);
}

/* The output as the result, or where it is too long for the model (D37) the name of the artifact that has the whole. */
static void settle_output(struct bounded_call *call)
{
    if (call->shape.text) {
        settle(call, outcome_result(call->id, call->tool->spec.name, steal(&call->shape.text)));
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
    trace_complete(call->host->trace, call->id, TRACE_COMPLETED);
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
    if (call->phase == SETTLED) /* a host that cannot record it may cancel a foreign call even now */
        return;
    if (!trace_complete(call->host->trace, call->id, TRACE_COMPLETED) && !committed) {
        settle(call, outcome_timeout(call->id, call->tool->spec.name, call->deadline_s, false));
        return;
    }
    call->citations = steal(&reply->citations);
    call->citation_count = reply->citation_count;
    reply->citation_count = 0;
    if (reply->recorded) {
        settle(call, *reply->recorded);
        *reply->recorded = (struct outcome){0};
    } else {
        settle_output(call);
    }
}

static void fail_asked_again(struct bounded_call *call)
{
    bounded_fail(call, false, "the tool asked for confirmation again after it had been given"); /* D42 */
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

/* Executions */

static void run_tool(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    if (tool_run_cancelled(&call->run)) /* while it waited for this thread */
        return;
    call->tool->work(&call->run, &call->reply);
    if (call->reply.type == REPLY_OUTPUT && !call->reply.page)
        output_shape_make(&call->shape, &call->reply.output);
}

/* What a tool answered from the loop is long: what is made of it is made on a thread. */
static void run_shape(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    output_shape_make(&call->shape, &call->reply.output);
    if (call->note) {
        output_shape_approve(&call->shape, &call->reply.output, call->note);
        free(steal(&call->note));
    }
}

/* The one door through which an execution comes back; its reply is in the call. */
static void tool_ran(struct loop_work *work)
{
    struct bounded_call *call = CALL_OF(work, work);
    struct tool_reply *reply = &call->reply;
    if (call->out != OUT_TOOL)
        BUG("the tool %s finished a run that is not under way", call->tool->spec.name);
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

/* Starts an execution that may use `cap_s`; the turn's end binds it as well. */
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

static void begin(struct loop_task *task)
{
    struct bounded_call *call = CALL_OF(task, task);
    start_tool(call, RUNNING, call->cap_s);
}

/* A proposal that is being decided */

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
    if (!call->host->ask_runs_clock) {
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

/* The doors */

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

    call->cap_s = spec->timeout_s > 0 ? spec->timeout_s : request->cap_s > 0 ? request->cap_s : DEADLINE_CAP_S;
    call->turn_due_us = request->turn_due_us;
    call->started_us = hold_now(call);
    int64_t left_us = call->turn_due_us - call->started_us;
    call->deadline_s = deadline_per_tool_s((double)left_us / 1e6, call->cap_s);
    call->due_us = call->started_us + hard_wait_us(call);

    host->pending++;
    trace_running(host->trace, call->id);
    if (left_us <= 0) {
        bounded_deny(call, DENIAL_DEADLINE, "the turn's time was used up before the call began");
    } else if (host->web == WEB_OFF && strcmp(spec->name, "web_search") == 0) {
        bounded_fail(call, true, "web_search is disabled (the web mode of this turn is off)");
    } else {
        enter(call, STARTING);
        if (call->tool->work) /* at once: the pool can begin while the rest of a wave is being started */
            start_tool(call, RUNNING, call->cap_s);
        else
            loop_post(call->loop, &call->task, begin);
    }
    return call;
}

const char *bounded_call_id(const struct bounded_call *call)
{
    return call->id;
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

int64_t bounded_call_elapsed_us(const struct bounded_call *call)
{
    return call->phase == SETTLED ? call->elapsed_us : elapsed_us(call);
}

double bounded_call_deadline_s(const struct bounded_call *call)
{
    return call->deadline_s;
}

void bounded_cancel(struct bounded_call *call)
{
    if (call->phase == SETTLED || (call->phase == COMMITTING && !call->foreign))
        return;
    if (call->phase == STORING) { /* the tool has done its part */
        settle_cut(call);
        return;
    }
    const char *error = call->phase == COMMITTING ? OUTCOME_STOPPED
                            " while the tool was writing; what it wrote is not known"
                                                  : OUTCOME_STOPPED;
    trace_complete(call->host->trace, call->id, TRACE_FAILED);
    settle(call, outcome_failure(call->id, call->tool->spec.name, true, "%s", error));
    stop_tool(call);
}

void bounded_clock_changed(struct bounded_call *call)
{
    set_timer(call);
}
