/* Questions about writes.
 *
 * A proposal becomes write.proposed (its diff is made on the pool), stands at the write gate if a breakpoint says so,
 * and is then decided: by a recording, a rule or the mode, or by a person. The decision is in the journal, synced,
 * before the executor hears of it; one that cannot be recorded counts as a no. From the proposal to the decision the
 * clocks stand still. There is at most one question at a time: calls that write run alone.
 *
 * A write that was allowed and whose old bytes cannot be kept is asked about again, as a question of its own that says
 * so. Only a person answers that one: whoever said yes beforehand said it to a write that can be undone (D43).
 *
 * A call that shows no files may still name a protected place in its arguments (named.h). What was allowed to such
 * calls does not hold for that one. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/diff.h"
#include "tools/named.h"
#include "tools/protected.h"
#include "turn.h"
#include <string.h>

#define DIFFS_MAX                                                                                                      \
    ((size_t)2 << 20) /* bytes of all diffs of a question in the record: a screen must be able to show it */

/* ---- the diff, on the pool ---- */

/* The diff as text that takes at most `room` bytes of the record, or the line that says that it was cut. What is cut
 * can only be decided as a whole. Returns the bytes that it takes. */
static size_t fit_diff(struct strbuf *text, struct diff *diff, const struct change *change, size_t room)
{
    for (size_t fits = room;; fits /= 2) {
        size_t len;

        strbuf_reset(text);
        diff_write(text, diff, change->path, change->old.exists, change->new.exists);
        len = json_printed_length(text->buf, text->len);
        if (len <= room || !diff->hunk_count)
            return len;
        diff_cut(diff, fits);
    }
}

/* Lines of the change's note about what a write cannot keep. */
static struct event_strs list_losses(struct arena *arena, const struct change *change)
{
    const char *loses = change_loses(change);
    size_t count = 0, room = 1;

    if (!loses)
        return (struct event_strs){0};
    for (const char *at = loses; *at; at++)
        room += *at == '\n';
    const char **lines = arena_calloc(arena, room, sizeof(*lines));
    for (const char *line = loses; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != '\0'))
        lines[count++] = arena_memdup0(arena, line, strcspn(line, "\n"));
    return (struct event_strs){lines, count};
}

/* One file of the question. Its diff is optional: the question is asked all the same. */
static struct event_proposed_file describe_file(struct arena *arena, struct change *change, size_t *room)
{
    struct err err = ERR_INIT;
    struct diff *diff = change_diff(change, &err);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    size_t takes = diff ? fit_diff(&text, diff, change, *room) : 0;
    const struct guarded *place = change->guard;
    const char *why = place ? place->why : NULL;

    *room -= takes < *room ? takes : *room;
    change_count(change, diff);
    struct event_proposed_file file = {
        .path = change->path,
        .old_digest = change->old.digest,
        .new_digest = change->new.digest,
        .through = change->through,
        .protected = place && place->guard == GUARD_PROTECTED ? why : NULL,
        .dangerous = place && place->guard != GUARD_PROTECTED ? why : NULL,
        .loses = list_losses(arena, change),
        .added = (int64_t)change->counts.added,
        .removed = (int64_t)change->counts.removed,
        .binary = change->counts.binary,
        .diff = diff ? arena_memdup0(arena, text.buf, text.len) : NULL};
    diff_free(diff);
    return file;
}

static void describe(struct loop_work *work)
{
    struct ask_work *ask = (struct ask_work *)work;
    struct event_proposed_file *files = arena_calloc(&ask->arena, ask->changes->count + 1, sizeof(*files));
    size_t room = DIFFS_MAX;

    for (size_t i = 0; i < ask->changes->count; i++)
        files[i] = describe_file(&ask->arena, &ask->changes->items[i], &room);
    ask->files = (struct event_proposed_file_list){files, ask->changes->count};
    ask->names = named_find(&ask->named, ask->turn->harness->root);
}

/* ---- deciding ---- */

static const char *applied_word(enum decision decision)
{
    return decision == DECISION_DENIED || decision == DECISION_EXPIRED ? "refused" : decision_name(decision);
}

/* The clocks stand still for the diff too, but that is not time anybody was waited for. */
static void end_comparing(struct turn *turn)
{
    if (turn->ask.comparing && !turn->harness->ask_runs_clock)
        turn->comparing_us += loop_now_us(turn->harness->loop) - turn->ask.since_us;
    turn->ask.comparing = false;
}

static void close_question(struct turn *turn)
{
    bool open = turn->ask.open;

    end_comparing(turn);
    loop_timer_stop(turn->harness->loop, &turn->ask.expiry);
    turn->ask.open = false;
    turn->ask.proposed = false;
    turn->ask.call = NULL;
    change_set_free(turn->ask.changes);
    turn->ask.changes = NULL;
    free(turn->ask.id);
    turn->ask.id = NULL;
    free(turn->ask.no_undo);
    turn->ask.no_undo = NULL;
    free(turn->ask.named);
    turn->ask.named = NULL;
    if (open)
        emit(&turn->emitter,
             &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate_name(GATE_WRITE), .by = "decision"}});
    if (!turn->harness->ask_runs_clock) {
        hold_clock_go(&turn->clock);
        turn_clock_changed(turn);
    }
}

static const struct change *proposed_change(const struct turn *turn, const char *path)
{
    for (size_t i = 0; i < turn->ask.changes->count; i++)
        if (strcmp(turn->ask.changes->items[i].path, path) == 0)
            return &turn->ask.changes->items[i];
    return NULL;
}

/* An edit may be of some of the files only. What is recorded is enough to write the same again. */
static void record_edit(struct turn *turn, const struct change_set *edited)
{
    CLEANUP(strbuf) struct strbuf before = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct json_writer b = json_begin(&before), a = json_begin(&after);

    json_open(&b, NULL, '[');
    json_open(&a, NULL, '[');
    for (size_t i = 0; i < edited->count; i++) {
        const struct change *change = &edited->items[i];
        const struct change *proposed = proposed_change(turn, change->path);

        json_open(&b, NULL, '{');
        json_add_str(&b, "path", change->path);
        json_add_str(&b, "digest", proposed ? proposed->new.digest : NULL);
        json_close(&b, '}');
        json_open(&a, NULL, '{');
        json_add_str(&a, "path", change->path);
        if (change->new.exists) {
            json_add_strn(&a, "text", change->new.bytes, change->new.len);
            json_add_int(&a, "mode", change->new.mode);
        }
        json_close(&a, '}');
    }
    json_close(&b, ']');
    json_close(&a, ']');
    emit(&turn->emitter,
         &(struct event){
             .type = EVENT_EDITED,
             .edited = {.what = "write", .call = turn->ask.call->id, .before = before.buf, .after = after.buf}});
}

int turn_decide(struct turn *turn, const struct verdict *verdict, struct err *err)
{
    struct bounded_call *running;
    struct turn_call *call = turn->ask.call;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(verdict) struct verdict final = {0}; /* a copy: what we are given may be part of the question itself */
    CLEANUP(free) char *waived = NULL;
    int64_t waited_us;

    if (!call || !bounded_asks(call->running))
        return err_set(err, "this question is no longer open"); /* or was a moment ago, and the host hears of it next */
    if ((verdict->decision == DECISION_PARTIAL || verdict->decision == DECISION_EDITED) &&
        verdict_fits(verdict, turn->ask.changes, err) < 0)
        return -1;
    if (verdict->decision == DECISION_EDITED)
        record_edit(turn, verdict->edited);
    waited_us = turn->ask.open ? loop_now_us(turn->harness->loop) - turn->ask.since_us : 0;
    if (verdict->without_undo)
        waived = xasprintf("without undo: %s", turn->ask.no_undo);
    /* Before its diff was made nothing was asked, and there is nothing to answer in the journal. */
    if (turn->ask.proposed &&
        emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_DECIDED,
                                             .write_decided = {.ask = turn->ask.id,
                                                               .decision = decision_name(verdict->decision),
                                                               .by = decider_name(verdict->by),
                                                               .reason = waived ? waived : verdict->reason,
                                                               .hunks = verdict_hunks_to_event(&arena, verdict),
                                                               .waited_ms = waited_us / 1000}}) < 0)
        final = (struct verdict){
            .decision = DECISION_DENIED, .by = BY_POLICY, .reason = xstrdup("the decision could not be recorded")};
    else
        final = verdict_copy(verdict);
    turn_state_decided(&turn->state, "%s %s: %s by %s%s%s", call->name,
                       turn->ask.changes->count ? turn->ask.changes->items[0].path : "", applied_word(final.decision),
                       decider_name(final.by), final.reason ? ": " : "", final.reason ? final.reason : "");
    running = call->running;
    close_question(turn);
    bounded_decide(running, &final);
    return 0;
}

static void expired(struct loop_timer *timer)
{
    struct turn *turn = CONTAINER_OF(timer, struct turn, ask.expiry);
    CLEANUP(free)
    char *reason = xasprintf("nobody answered within %lld s", (long long)(turn->harness->ask_timeout_ms / 1000));
    struct verdict verdict = {.decision = DECISION_EXPIRED, .by = BY_TIMEOUT, .reason = reason};

    /* It fails only when the call itself ended at this very moment; then that closes the question. */
    if (turn_decide(turn, &verdict, NULL) < 0)
        log_warn("a question expired after its call had ended");
}

void turn_attend(struct turn *turn)
{
    struct loop *loop = turn->harness->loop;

    if (turn->harness->ask_timeout_ms <= 0)
        return;
    turn->ask.view.due_us = loop_now_us(loop) + turn->harness->ask_timeout_ms * 1000;
    loop_timer_start(loop, &turn->ask.expiry, turn->ask.view.due_us, expired);
}

static void ask_person(struct turn *turn)
{
    struct turn_call *call = turn->ask.call;

    turn->ask.open = true;
    turn->ask.since_us = loop_now_us(turn->harness->loop);
    turn->ask.view = (struct question){.ask = turn->ask.id,
                                       .call = call->id,
                                       .tool = call->name,
                                       .digest = turn->ask.digest,
                                       .changes = turn->ask.changes,
                                       .since_us = turn->ask.since_us,
                                       .again = turn->ask.again,
                                       .moved = bounded_moved(call->running),
                                       .named = turn->ask.named,
                                       .no_undo = turn->ask.no_undo};
    emit(&turn->emitter,
         &(struct event){.type = EVENT_HELD, .held = {.gate = gate_name(GATE_WRITE), .call = call->id}});
    turn_attend(turn);
}

static void judge(struct turn *turn, struct turn_call *call)
{
    bool nobody = false;
    struct verdict verdict;
    struct err err = ERR_INIT;

    if (turn->ask.call != call || !bounded_asks(call->running))
        return; /* cancelled or timed out while it stood at the gate */
    if (turn->ask.no_undo) {
        ask_person(turn);
        return;
    }
    verdict = approval_judge(turn->harness->approval, turn->number, call->id, call->name, turn->ask.changes,
                             turn->ask.named, &nobody);
    if (nobody)
        engine_set_nobody_asked(turn->engine,
                                turn->ask.named || protected_in(turn->ask.changes) ? verdict.reason : NULL);
    if (verdict.decision == DECISION_NONE) {
        ask_person(turn);
        return;
    }
    if (turn_decide(turn, &verdict, &err) < 0) {
        /* A recorded decision that does not fit this proposal: the safe answer. */
        CLEANUP(free) char *reason = xasprintf("the recorded decision does not fit: %s", err.text);
        struct verdict no = {.decision = DECISION_DENIED, .by = verdict.by, .reason = reason};

        if (turn_decide(turn, &no, NULL) < 0)
            BUG("a question could not be closed");
    }
    verdict_release(&verdict);
}

static void described(struct loop_work *work)
{
    struct ask_work *ask = (struct ask_work *)work;
    struct turn *turn = ask->turn;

    turn->works--;
    if (turn->ask.call && turn->ask.number == ask->number) {
        struct turn_call *call = turn->ask.call;
        struct gate_view view = {.gate = GATE_WRITE,
                                 .tool = call->tool,
                                 .effect = call->effect,
                                 .arguments = call->parsed,
                                 .changes = turn->ask.changes};

        end_comparing(turn);
        change_set_take_counts(turn->ask.changes, ask->changes);
        bounded_counted(call->running, ask->changes);
        turn->ask.proposed = true;
        turn->ask.named = steal(&ask->names);
        emit(&turn->emitter,
             &(struct event){.type = EVENT_WRITE_PROPOSED,
                             .write_proposed = {.call = call->id, .ask = turn->ask.id, .files = ask->files}});
        if (!turn_hold_at(turn, &view, call, judge))
            judge(turn, call);
    }
    change_set_free(ask->changes);
    arena_release(&ask->arena);
    free(ask->names);
    named_release(&ask->named);
    free(ask);
    turn_maybe_free(turn);
}

void turn_ask(struct bounded_host *host, struct bounded_call *running, const struct change_set *changes, bool again)
{
    struct turn *turn = CONTAINER_OF(host, struct turn, host);
    struct ask_work *ask = xcalloc(1, sizeof(*ask));

    turn->ask.call = bounded_call_data(running);
    turn->ask.number = engine_next_ask(turn->engine);
    turn->ask.id = xasprintf("a%llu", (unsigned long long)turn->ask.number);
    turn->ask.changes = change_set_copy(changes);
    turn->ask.again = again;
    turn->ask.comparing = true;
    turn->ask.since_us = loop_now_us(turn->harness->loop);
    turn->ask.no_undo = bounded_no_undo(running) ? xstrdup(bounded_no_undo(running)) : NULL;
    change_set_digest(changes, turn->ask.digest);
    if (!turn->harness->ask_runs_clock) {
        hold_clock_stop(&turn->clock);
        turn_clock_changed(turn);
    }
    ask->turn = turn;
    ask->number = turn->ask.number;
    ask->changes = change_set_copy(changes);
    named_init(&ask->named);
    if (!changes->count)
        named_collect(&ask->named, turn->ask.call->parsed);
    turn->works++;
    loop_work_start(turn->harness->loop, &ask->work, describe, described);
}

void turn_ask_closed(struct turn *turn, struct turn_call *call)
{
    if (turn->ask.call != call)
        return;
    if (turn->ask.proposed)
        emit(&turn->emitter, &(struct event){.type = EVENT_WRITE_DECIDED,
                                             .write_decided = {.ask = turn->ask.id,
                                                               .decision = decision_name(DECISION_EXPIRED),
                                                               .by = decider_name(BY_TIMEOUT),
                                                               .reason = "the call ended before it was answered"}});
    close_question(turn);
}

void turn_ask_release(struct turn *turn)
{
    loop_timer_stop(turn->harness->loop, &turn->ask.expiry);
    change_set_free(turn->ask.changes);
    free(turn->ask.id);
    free(turn->ask.named);
    free(turn->ask.no_undo);
}
