/* The machine that takes a write from a tool's proposal to the bytes on disk.
 *
 *  bounded: proposal ─► Q_DIFFING (pool: diff and counts; clocks stopped)
 *                         ▼ write.proposed
 *                       Q_GATE (with a breakpoint or stepping: held, released)
 *                         ▼ rules_decide ── ask ─► Q_OPEN: held ◄──────────────────────────────┐
 *                         │ allow, deny              │ write_answer, expiry                    │
 *                         ▼◄─────────────────────────┘                                         │
 *                       write.decided, synced; clocks run; not recorded ⇒ deny                 │
 *              deny ◄─────┤ allow                                                              │
 *                │        ▼                                                                    │
 *                │      Q_CHECKING (pool: apply hunks or edits, compare with the disk, save a checkpoint)
 *                │        ├─ a file changed ─► Q_RUNNING: the tool runs again ─► Q_DIFFING     │
 *                │        ├─ nothing left, does not fit, writes closed ─► deny                 │
 *                │        ├─ no checkpoint and a person is there ─► a new question: no_undo ───┘   otherwise fail
 *                │        ▼ checkpoint.saved; not recorded ⇒ nothing is written
 *                │      Q_COMMITTING (writes still open? pool: change_set_commit, or the tool runs confirmed)
 *                ▼        ▼ write.applied
 *              bounded_deny, bounded_finish ─► tool.finished ─► write_call_gone
 *
 *  event \ state    DIFFING             GATE                OPEN                CHECKING          COMMITTING
 *  job done         diffs_made          –                   –                   checked           committed
 *  answer, expiry   refused             refused             write.decided       refused           refused
 *  call settled     closed, no event    decided: expired    decided: expired    closed (1)        ours: waits
 *
 * (1) A checkpoint that was just saved is removed. In Q_RUNNING the executor owns the call: it proposes again, or it
 * settles the call and the question ends. Q_CLOSED waits only for the end of the call and for a running job.
 *
 * A job reads its inputs from the question and stores its results there. No other code touches them until the job
 * returns. If the call is settled meanwhile, the question waits in Q_CLOSED for its job and drops the result.
 *
 * The proposal has one diff, made here. The screen shows it, the decision applies to it, and the counts of chosen
 * hunks come from it. The user's own version has a diff of its own, also made here. The journal has the decision
 * before anything acts on it. The clocks are stopped from the proposal to the decision. At most one question is open
 * at a time, because calls that write run alone.
 *
 * If the old bytes of a write cannot be saved, a new question says so. Only a person can answer it: the rules were
 * made for writes that can be undone.
 *
 * A call that shows no files may still name a protected path in its arguments (named_find in protected.h). Rules that
 * allow such calls do not apply to it. */

#include "write.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "decision.h"
#include "tools/checkpoint.h"
#include "tools/diff.h"
#include "tools/protected.h"
#include "turn.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define BEING_COMPARED "comparing your version; press the key again when the diff is shown"

#define QUESTION_OF(pointer, member) CONTAINER_OF(pointer, struct question, member)

/* ---- on the pool ---- */

static struct diff **compare(const struct change_set *set)
{
    struct diff **diffs = xcalloc(set->count + 1, sizeof(struct diff *));
    for (size_t i = 0; i < set->count; i++)
        diffs[i] = change_diff(&set->items[i], NULL);
    return diffs;
}

/* Compares the files of the proposal. The question is asked even if a diff cannot be made. */
static void make_diffs(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    if (q->diffs) { /* a second question about the same proposal, with the version that was approved */
        if (q->revised && !q->revised_diffs)
            q->revised_diffs = compare(q->revised);
        return;
    }
    q->diffs = compare(q->changes);
    q->files = proposal_files(&q->arena, q->changes, q->diffs);
    q->named = named_find(&q->names, q->turn->config->root);
    change_set_digest(q->changes, q->digest);
}

/* Computes the bytes to write, compares the files with the disk and saves the old bytes. */
static void check_and_save(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    const struct engine_config *config = q->turn->config;
    enum decision_kind kind = q->decision.kind;
    q->written = decision_apply(&q->decision, q->changes, q->diffs, &q->err);
    if (!q->written || !q->written->count)
        return;
    change_set_count(q->written);
    if (kind == DECISION_PARTIAL || kind == DECISION_EDITED)
        decision_note(&q->note, &q->decision, q->changes, q->diffs, q->written);
    q->failed = change_set_check(q->written, config->root, &q->err);
    if (q->failed || !config->checkpoints || q->decision.without_undo)
        return;
    change_set_note_folders(q->written, config->root);
    q->checkpoint = checkpoint_save(config->checkpoints, q->call_id, q->written, &q->err);
}

static void remove_checkpoint(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    CLEANUP(free) char *id = steal(&q->checkpoint);
    checkpoint_discard(q->turn->config->checkpoints, id);
}

static void commit(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    q->failed = change_set_commit(q->written, q->turn->config->root, &q->err);
    if (q->failed)
        return;
    CLEANUP(free) char *reply = proposal_reply(q->changes, q->written, q->note.buf);
    output_shape_make(&q->reply, &reply);
}

/* ---- jobs ---- */

static void start_job(struct question *q, enum question_state state, void (*run)(struct loop_work *),
                      void (*done)(struct loop_work *))
{
    q->state = state;
    q->job_out = true;
    q->failed = 0;
    q->err = (struct err)ERR_INIT;
    q->turn->works++;
    q->awaited = state == Q_CHECKING || state == Q_COMMITTING;
    if (q->awaited)
        bounded_job_out(q->running);
    loop_work_start(q->turn->config->loop, &q->work, run, done);
}

static void free_diffs(struct diff **diffs, const struct change_set *set)
{
    for (size_t i = 0; diffs && i < set->count; i++)
        diff_free(diffs[i]);
    free(diffs);
}

static void forget_version(struct question *q)
{
    free_diffs(steal(&q->revised_diffs), q->revised);
    change_set_free(steal(&q->revised));
}

/* Drops the data of an earlier version of the question. */
static void question_reset(struct question *q)
{
    forget_version(q);
    free_diffs(q->diffs, q->changes);
    change_set_free(q->changes);
    change_set_free(q->written);
    decision_release(&q->decision);
    free(q->checkpoint);
    free(q->named);
    free(q->no_undo);
    strbuf_release(&q->note);
    output_shape_release(&q->reply);
    arena_release(&q->arena);
    named_release(&q->names);
}

void question_free(struct question *q)
{
    if (!q)
        return;
    loop_timer_stop(q->turn->config->loop, &q->expiry);
    question_reset(q);
    free(q);
}

static void let_go(struct question *q);

static void checkpoint_removed(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    struct turn *turn = q->turn;
    turn->works--;
    q->job_out = false;
    let_go(q);
    turn_maybe_free(turn);
}

/* The call ended: frees the question once its job has returned. Removes a checkpoint that was not recorded first. */
static void let_go(struct question *q)
{
    if (q->job_out)
        return;
    if (q->checkpoint)
        start_job(q, Q_CLOSED, remove_checkpoint, checkpoint_removed);
    else
        question_free(q);
}

/* Returns the question whose job returned, or NULL if its call was settled meanwhile; the result is then dropped. */
static struct question *job_back(struct loop_work *work)
{
    struct question *q = QUESTION_OF(work, work);
    struct turn *turn = q->turn;
    turn->works--;
    q->job_out = false;
    if (q->awaited && !bounded_job_back(q->running))
        q->state = Q_CLOSED;
    if (q->state != Q_CLOSED)
        return q;
    if (turn->question != q)
        let_go(q);
    turn_maybe_free(turn);
    return NULL;
}

/* ---- moving on ---- */

/* The turn still accepts writes, and the call is not settled. */
static bool writes_open(const struct question *q)
{
    const struct call_states *trace = &q->turn->tally.trace;
    return call_states_accepting_writes(trace) && tool_state(trace, q->call_id) == TOOL_STATE_RUNNING;
}

static void stop_clock(struct question *q)
{
    q->since_us = loop_now_us(q->turn->config->loop);
    if (q->turn->config->clock_runs_while_asking)
        return;
    hold_clock_stop(&q->turn->clock);
    turn_clock_changed(q->turn);
}

/* Ends the time for the diff. The clocks were stopped, but the turn did not wait for the user. */
static void end_comparing(struct question *q)
{
    if (q->state == Q_DIFFING && !q->turn->config->clock_runs_while_asking)
        q->turn->comparing_us += loop_now_us(q->turn->config->loop) - q->since_us;
}

/* The question is decided: the clocks run again. */
static void start_clock(struct question *q)
{
    struct turn *turn = q->turn;
    end_comparing(q);
    loop_timer_stop(turn->config->loop, &q->expiry);
    if (q->state == Q_OPEN)
        emit(&turn->emitter,
             &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate_name(GATE_WRITE), .by = "decision"}});
    if (turn->config->clock_runs_while_asking)
        return;
    hold_clock_go(&turn->clock);
    turn_clock_changed(turn);
}

static void deny_closed(struct question *q)
{
    bounded_deny(q->running, DENIAL_DEADLINE, "the turn ended before the write; nothing was written");
}

static void deny(struct question *q, const char *why)
{
    const char *reason = q->decision.reason;
    CLEANUP(free) char *details = xasprintf("%s%s%s", why, reason ? ": " : "", reason ? reason : "");
    bounded_deny(q->running, DENIAL_WRITE_DENIED, details);
}

static const char *who_denied(const struct decision *decision)
{
    if (decision->kind == DECISION_EXPIRED || decision->by == BY_TIMEOUT)
        return "approval timed out, and the user did not deny it; nothing was written";
    switch (decision->by) {
    case BY_POLICY:
        return "a rule denied the write";
    case BY_RECORDING:
        return "the recording denies the write";
    case BY_CANCEL:
        return "the turn was canceled, nothing was written";
    case BY_KEY:
    case BY_TIMEOUT:
        break;
    }
    return decision->reason ? "the user denied the write" : "the user denied the write and gave no reason";
}

static void emit_edit(const struct question *q, const struct change_set *edited)
{
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    proposal_edit(&before, &after, q->changes, edited);
    emit(&q->turn->emitter,
         &(struct event){.type = EVENT_EDITED,
                         .edited = {.what = "write", .call = q->call_id, .before = before.buf, .after = after.buf}});
}

static void checked(struct loop_work *work);

/* Records a decision and acts on it. Returns -1 if it does not fit the proposal. A decision that cannot be recorded
 * counts as deny. Before the diff exists no question was recorded, so the journal gets no decision either. */
static int decided(struct question *q, const struct decision *decision, struct err *err)
{
    struct turn *turn = q->turn;
    int64_t waited_us = q->state == Q_OPEN ? loop_now_us(turn->config->loop) - q->since_us : 0;
    CLEANUP(free) char *waived = decision->without_undo ? xasprintf("without undo: %s", q->no_undo) : NULL;
    struct decision unrecorded = {.kind = DECISION_DENIED, .by = BY_POLICY, .reason = "cannot record the decision"};
    if ((decision->kind == DECISION_PARTIAL || decision->kind == DECISION_EDITED) &&
        decision_fits(decision, q->changes, err) < 0)
        return -1;
    if (decision->kind == DECISION_EDITED)
        emit_edit(q, decision->edited);
    if (q->recorded &&
        emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_DECIDED,
                                             .write_decided = {.ask = q->id,
                                                               .decision = decision_name(decision->kind),
                                                               .by = decider_name(decision->by),
                                                               .reason = waived ? waived : decision->reason,
                                                               .hunks = decision->hunks,
                                                               .waited_ms = waited_us / 1000}}) < 0)
        decision = &unrecorded;
    decision_release(&q->decision);
    q->decision = decision_copy(decision);
    decision = &q->decision;
    start_clock(q);
    bounded_resume(q->running);
    change_set_free(q->written);
    q->written = NULL;
    strbuf_reset(&q->note);
    if (decision_denies(decision)) {
        q->state = Q_CLOSED;
        deny(q, who_denied(decision));
    } else {
        start_job(q, Q_CHECKING, check_and_save, checked);
    }
    return 0;
}

static void expired(struct loop_timer *timer)
{
    struct question *q = QUESTION_OF(timer, expiry);
    CLEANUP(free)
    char *reason = xasprintf("no answer within %lld s", (long long)(q->turn->config->ask_timeout_ms / 1000));
    struct decision decision = {.kind = DECISION_EXPIRED, .by = BY_TIMEOUT, .reason = reason};
    if (bounded_waits(q->running) && decided(q, &decision, NULL) < 0)
        BUG("cannot record the expiry of a question");
}

void write_touch(struct turn *turn)
{
    struct loop *loop = turn->config->loop;
    struct question *q = turn->question;
    if (!q || q->state != Q_OPEN || turn->config->ask_timeout_ms <= 0)
        return;
    q->due_us = loop_now_us(loop) + turn->config->ask_timeout_ms * 1000;
    loop_timer_start(loop, &q->expiry, q->due_us, expired);
}

static void ask_person(struct question *q)
{
    q->state = Q_OPEN;
    q->since_us = loop_now_us(q->turn->config->loop);
    emit(&q->turn->emitter,
         &(struct event){.type = EVENT_HELD, .held = {.gate = gate_name(GATE_WRITE), .call = q->call_id}});
    write_touch(q->turn);
}

static void note_refused(const struct question *q, const char *reason)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool always = q->named || protected_in(q->changes); /* no option approves it, and the reason names the path */
    strbuf_addstr(&line, q->tool);
    if (q->changes->count && !always)
        strbuf_addf(&line, " %s", q->changes->items[0].path);
    if (q->changes->count > 1)
        strbuf_addf(&line, " and %zu more", q->changes->count - 1);
    strbuf_addf(&line, ": %s%s", reason, always ? "" : " (--approve allow approves it)");
    engine_note_refused(q->turn->engine, line.buf);
}

/* Decides by the rules, or asks the user. */
static void decide(struct turn *turn, struct turn_call *call)
{
    struct question *q = turn->question;
    struct err err = ERR_INIT;
    bool no_person = false;
    if (!q || q->call != call || q->state != Q_GATE || !bounded_waits(q->running))
        return; /* canceled or timed out at the gate */
    if (q->no_undo) {
        ask_person(q);
        return;
    }
    struct rule_subject subject = {
        .turn = turn->number, .call = q->call_id, .tool = q->tool, .changes = q->changes, .named = q->named};
    CLEANUP(decision) struct decision decision = rules_decide(turn->config->rules, &subject, &no_person);
    if (no_person)
        note_refused(q, decision.reason);
    if (decision.kind == DECISION_NONE) {
        ask_person(q);
    } else if (decided(q, &decision, &err) < 0) {
        CLEANUP(free) char *reason = xasprintf("the recorded decision does not match: %s", err.text);
        if (decided(q, &(struct decision){.kind = DECISION_DENIED, .by = decision.by, .reason = reason}, NULL) < 0)
            BUG("cannot close a question");
    }
}

static void decide_parked(struct turn *turn)
{
    if (turn->question)
        decide(turn, turn->question->call);
}

/* Records the proposal. Then the question pauses at its gate, or is decided at once. */
static void diffs_made(struct loop_work *work)
{
    struct question *q = job_back(work);
    if (!q)
        return;
    struct turn *turn = q->turn;
    struct gate_view view = {.gate = GATE_WRITE,
                             .tool = q->call->tool,
                             .effect = q->call->effect,
                             .arguments = q->call->parsed,
                             .changes = q->changes};
    end_comparing(q);
    q->state = Q_GATE;
    q->recorded = true;
    emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_PROPOSED,
                                         .write_proposed = {.call = q->call_id, .ask = q->id, .files = q->files}});
    if (!bounded_waits(q->running))
        return; /* settled meanwhile: write_call_gone follows */
    if (turn_at_limit(turn) && !turn->parked)
        turn->parked = decide_parked; /* one thing at a time: the user decides about the limit first */
    else if (!turn_hold_at(turn, &view, q->call, decide))
        decide(turn, q->call);
}

static void name_question(struct question *q)
{
    snprintf(q->id, sizeof(q->id), "a%" PRIu64, engine_next_ask(q->turn->engine));
}

/* Records the checkpoint before anything is written, so that undo can find it. Returns -1 if that failed. */
static int emit_checkpoint(struct question *q)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *id = q->checkpoint;
    int recorded =
        emit(&q->turn->emitter,
             &(struct event){.type = EVENT_CHECKPOINT_SAVED,
                             .checkpoint_saved = {
                                 .checkpoint = id, .call = q->call_id, .paths = turn_list_paths(&arena, q->written)}});
    q->checkpoint = recorded < 0 ? steal(&id) : NULL; /* an unrecorded checkpoint is removed later */
    return recorded;
}

static bool same_changes(const struct change_set *a, const struct change_set *b)
{
    char of_a[HASH_SHA256_HEX], of_b[HASH_SHA256_HEX];
    change_set_digest(a, of_a);
    change_set_digest(b, of_b);
    return strcmp(of_a, of_b) == 0;
}

/* The write cannot be undone: asks the user whether to make it anyway. */
static void ask_without_undo(struct question *q)
{
    free(q->no_undo);
    q->no_undo = xstrdup(q->err.text);
    if (!q->revised || !q->decision.edited || !same_changes(q->revised, q->decision.edited)) {
        forget_version(q);
        q->revised = steal(&q->decision.edited);
    }
    q->revising = false;
    q->recorded = false; /* a different question, not in the journal yet */
    name_question(q);
    bounded_pause(q->running);
    stop_clock(q);
    start_job(q, Q_DIFFING, make_diffs, diffs_made);
}

/* The approved proposal is out of date: the tool proposes again, and the user is asked again. */
static void propose_again(struct question *q)
{
    q->again = true;
    q->moved = q->err.code == ESTALE;
    q->state = Q_RUNNING;
    bounded_run_again(q->running);
}

static void committed(struct loop_work *work)
{
    struct question *q = job_back(work);
    if (q && q->failed)
        bounded_fail(q->running, true, q->err.text);
    else if (q)
        bounded_finish(q->running, q->written, &q->reply);
}

static void checked(struct loop_work *work)
{
    struct question *q = job_back(work);
    if (!q)
        return;
    bool wants_checkpoint =
        q->turn->config->checkpoints && !q->decision.without_undo && q->written && q->written->count;
    if (!q->written) {
        CLEANUP(free) char *why = xasprintf("the decision does not match the proposal: %s", q->err.text);
        bounded_deny(q->running, DENIAL_WRITE_DENIED, why);
    } else if (q->changes->count && !q->written->count) {
        deny(q, "the user discarded all hunks");
    } else if (q->failed) {
        propose_again(q);
    } else if (!writes_open(q)) {
        deny_closed(q);
    } else if (wants_checkpoint && !q->checkpoint && q->turn->config->interactive) {
        ask_without_undo(q);
    } else if (wants_checkpoint && !q->checkpoint) {
        CLEANUP(free)
        char *why = xasprintf("nothing was written, because saving the old content failed: %s", q->err.text);
        bounded_fail(q->running, true, why);
    } else if (q->checkpoint && emit_checkpoint(q) < 0) {
        bounded_cancel(q->running);
    } else if (!writes_open(q)) { /* a listener to checkpoint.saved closed them */
        if (bounded_waits(q->running))
            deny_closed(q);
    } else if (q->tool_writes) {
        q->state = Q_COMMITTING;
        bounded_run_confirmed(q->running, q->changes, q->changes->count ? q->written : NULL, q->note.buf);
    } else {
        bounded_commit(q->running);
        start_job(q, Q_COMMITTING, commit, committed);
    }
}

/* ---- from outside ---- */

void write_propose(struct bounded_host *host, struct bounded_call *running, struct change_set *take_changes,
                   bool tool_writes)
{
    struct turn *turn = CONTAINER_OF(host, struct turn, host);
    struct turn_call *call = bounded_call_data(running);
    bounded_pause(running);
    struct question *before = turn->question;
    bool again = before && before->call == call;
    struct question *q = again ? before : xcalloc(1, sizeof(*q));
    if (before && !again && before->state != Q_CLOSED) {
        change_set_free(take_changes);
        free(q);
        bounded_deny(running, DENIAL_WRITE_DENIED, "another write is waiting; call again after it");
        return;
    }
    if (before && !again)
        let_go(before);
    if (again)
        question_reset(q);
    turn->question = q;
    *q = (struct question){.turn = turn,
                           .call = call,
                           .running = running,
                           .changes = take_changes,
                           .tool_writes = tool_writes,
                           .again = again,
                           .moved = again && q->moved,
                           .note = STRBUF_INIT,
                           .arena = ARENA_INIT};
    /* Copies, because a job may still run after the calls are freed. */
    q->call_id = arena_strdup(&q->arena, call->id);
    q->tool = arena_strdup(&q->arena, call->name);
    name_question(q);
    named_init(&q->names);
    if (!take_changes->count)
        named_collect(&q->names, call->parsed);
    stop_clock(q);
    start_job(q, Q_DIFFING, make_diffs, diffs_made);
}

static bool is_undecided(const struct question *q)
{
    return q && (q->state == Q_DIFFING || q->state == Q_GATE || q->state == Q_OPEN);
}

static void change_set_cleanup(struct change_set **set)
{
    change_set_free(*set);
}

/* The user's version, or the chosen hunks of it. */
static struct change_set *revised_choice(const struct question *q, const struct decision *answer, struct err *err)
{
    struct decision choice = {.kind = answer->hunks.items ? DECISION_PARTIAL : DECISION_APPROVED,
                              .hunks = answer->hunks};
    return decision_apply(&choice, q->revised, q->revised_diffs, err);
}

/* A copy without line counts: this version came from outside, so its counts are not trusted. */
static struct change_set *uncounted(const struct change_set *version)
{
    struct change_set *copy = change_set_copy(version);
    for (size_t i = 0; i < copy->count; i++)
        copy->items[i].counts.known = false;
    return copy;
}

int write_answer(struct turn *turn, const char *id, const char *digest, unsigned revision,
                 const struct decision *decision, struct err *err)
{
    struct question *q = turn ? turn->question : NULL;
    if (!q || q->state != Q_OPEN || !bounded_waits(q->running) || !id || strcmp(id, q->id) != 0)
        return err_set(err, "this question is no longer open");
    if (decision->kind == DECISION_NONE)
        return err_set(err, "invalid decision");
    if (!decision_denies(decision) && (!digest || strcmp(digest, q->digest) != 0 || revision != q->revision))
        return err_set(err, "the question has changed; read it again");
    if (!decision_denies(decision) && q->revising)
        return err_set(err, BEING_COMPARED);
    if (decision->without_undo && !q->no_undo)
        return err_set(err, "this write can be undone; approve it normally");
    struct decision answer = *decision; /* borrowed from `decision` */
    CLEANUP(change_set) struct change_set *version = NULL;
    if (answer.reason && !*answer.reason)
        answer.reason = NULL;
    if (answer.kind == DECISION_EDITED && (answer.edited || q->revised)) {
        version = answer.edited ? uncounted(answer.edited) : revised_choice(q, &answer, err);
        if (!version)
            return -1;
        answer.edited = version;
        answer.hunks = (struct event_hunk_choice_list){0};
    }
    return decided(q, &answer, err);
}

/* A version from the user while the pool compares it. The question may be gone when the job returns. */
struct revision {
    struct loop_work work;
    struct turn *turn;
    char id[sizeof(((struct question *)0)->id)];
    struct change_set *version;
    struct diff **diffs;
};

static void compare_version(struct loop_work *work)
{
    struct revision *revision = CONTAINER_OF(work, struct revision, work);
    revision->diffs = compare(revision->version);
}

static void version_compared(struct loop_work *work)
{
    struct revision *revision = CONTAINER_OF(work, struct revision, work);
    struct turn *turn = revision->turn;
    struct question *q = turn->question;
    turn->works--;
    if (q && q->state == Q_OPEN && strcmp(q->id, revision->id) == 0) {
        q->revising = false;
        forget_version(q);
        q->revised = steal(&revision->version);
        q->revised_diffs = steal(&revision->diffs);
        for (size_t i = 0; i < q->revised->count; i++)
            change_count(&q->revised->items[i], q->revised_diffs[i]);
        q->revision++;
        engine_question_revised(turn->engine);
    }
    free_diffs(revision->diffs, revision->version);
    change_set_free(revision->version);
    free(revision);
    turn_maybe_free(turn);
}

int write_revise(struct turn *turn, const char *id, const struct change_set *version, struct err *err)
{
    struct question *q = turn ? turn->question : NULL;
    if (!q || q->state != Q_OPEN || !id || strcmp(id, q->id) != 0)
        return err_set(err, "this question is no longer open");
    if (q->revising)
        return err_set(err, BEING_COMPARED);
    struct revision *revision = xcalloc(1, sizeof(*revision));
    revision->turn = turn;
    revision->version = change_set_copy(version);
    memcpy(revision->id, q->id, sizeof(q->id));
    turn->works++;
    q->revising = true;
    write_touch(turn); /* the time in the editor counts as activity on this question */
    loop_work_start(turn->config->loop, &revision->work, compare_version, version_compared);
    return 0;
}

void write_cancel(struct turn *turn)
{
    struct decision no = {.kind = DECISION_DENIED, .by = BY_CANCEL};
    if (is_undecided(turn->question) && bounded_waits(turn->question->running) &&
        decided(turn->question, &no, NULL) < 0)
        BUG("cannot close a question");
}

void write_call_gone(struct turn *turn, const struct turn_call *call)
{
    struct question *q = turn->question;
    if (!q || q->call != call)
        return;
    if (is_undecided(q) && q->recorded)
        emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_DECIDED,
                                             .write_decided = {.ask = q->id,
                                                               .decision = decision_name(DECISION_EXPIRED),
                                                               .by = decider_name(BY_TIMEOUT),
                                                               .reason = "the call ended before it was answered"}});
    if (is_undecided(q))
        start_clock(q);
    turn->question = NULL;
    q->state = Q_CLOSED;
    let_go(q);
}
