/* Starts calls with writes in a turn without a model. The turn always stays where calls are launched, so a settled call
 * does not continue it. */

#include "write_rig.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "turn/turn.h"
#include <string.h>

#define CALLS_MAX 32 /* at a time */

static const struct wave no_wave;
static struct write_rig *current; /* a test has one turn */

/* ---- questions ---- */

const char *write_rig_say(struct write_rig *test, const struct decision *decision)
{
    struct intent intent = {.type = INTENT_ANSWER,
                            .answer = {.question = test->asking[0] ? test->asking : "a0",
                                       .digest = test->shown_digest,
                                       .decision = *decision}};
    test->refusal = (struct err)ERR_INIT;
    test->answered = engine_submit(test->rig.engine, &intent, &test->refusal) == 0;
    return test->refusal.text;
}

void write_rig_answer(struct write_rig *test)
{
    if (!test->asking[0])
        BUG("there is no question to answer");
    write_rig_say(test, &test->decision);
}

static void on_answer(struct loop_timer *timer)
{
    write_rig_answer(CONTAINER_OF(timer, struct write_rig, answer));
}

/* The turn is held at the write gate: the question is open. The loop answers it. */
static void on_ask(struct write_rig *test)
{
    const struct question *question = engine_question(test->rig.engine);
    if (!question)
        BUG("held at the write gate without a question");
    call_log_add(&test->heard, question->again ? "ask-again" : "ask", question->call_id);
    test->questions++;
    snprintf(test->asking, sizeof(test->asking), "%s", question->id);
    snprintf(test->asked_call, sizeof(test->asked_call), "%s", question->call_id);
    snprintf(test->shown_digest, sizeof(test->shown_digest), "%s", question->digest);
    change_set_free(test->shown);
    test->shown = change_set_copy(question->changes);
    if (test->on_ask)
        test->on_ask(test);
    if (!test->never_answers)
        loop_timer_start(test->rig.loop, &test->answer, loop_now_us(test->rig.loop), on_answer);
}

/* ---- other events ---- */

static void on_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct write_rig *test = current;
    (void)sink;
    (void)session;
    call_log_event(&test->heard, event);
    switch (event->type) {
    case EVENT_HELD:
        if (strcmp(event->held.gate, gate_name(GATE_WRITE)) == 0)
            on_ask(test);
        break;
    case EVENT_WRITE_DECIDED:
        test->decisions++;
        if (test->on_decided)
            test->on_decided(test);
        break;
    case EVENT_CHECKPOINT_SAVED:
        if (!event->checkpoint_saved.paths.count)
            BUG("a checkpoint of nothing");
        call_log_add(&test->heard, "checkpoint", event->checkpoint_saved.call);
        test->checkpoints++;
        free(test->checkpoint);
        test->checkpoint = xstrdup(event->checkpoint_saved.checkpoint);
        if (test->on_checkpoint)
            test->on_checkpoint(test);
        break;
    default:
        break;
    }
}

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    struct write_rig *test = current;
    size_t n = ++test->emitted;
    if (test->cannot_record || (test->refuses && (n == test->refuses || (test->refuses_more && n > test->refuses))))
        return -1;
    return test->recorder.emit(emitter, events, count);
}

static struct outcome copy_outcome(const struct outcome *outcome)
{
    struct event_tool_finished finished = {0};
    struct outcome_record record;
    outcome_to_event(&finished, &record, outcome);
    struct outcome copy = outcome_from_event(outcome->call, outcome->tool, &finished);
    copy.elapsed_ms = outcome->elapsed_ms;
    return copy;
}

static void on_done(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct write_rig *test = current;
    const struct turn_call *call = data;
    call_log_outcome(&test->heard, call->id, copy_outcome(take_outcome));
    if (loop_timer_armed(&test->answer) && strcmp(test->asked_call, call->id) == 0) {
        /* Settled without an answer; a screen that still shows the question may answer it. */
        loop_timer_stop(test->rig.loop, &test->answer);
        write_rig_answer(test);
    }
    test->settle(host, data, take_outcome);
    if (test->on_done)
        test->on_done(test);
}

/* ---- set-up and tear-down ---- */

void write_rig_init_on(struct write_rig *test, struct clock *clock)
{
    *test = (struct write_rig){.decision = {.kind = DECISION_APPROVED, .by = BY_KEY}};
    call_log_init(&test->heard);
    turn_rig_init_on(&test->rig, clock);
    turn_rig_no_tools(&test->rig);
    test->rig.sink.event = on_event;
    fake_clock_advance(&test->rig.clock, SECONDS(100));
    current = test;
    turn_rig_open(&test->rig);

    struct engine *engine = test->rig.engine;
    struct turn *turn = test->turn = turn_make(engine, &test->rig.config, ++engine->turns, "calls");
    engine->turn = turn;
    test->recorder = turn->emitter;
    turn->emitter.emit = record;
    test->settle = turn->host.done;
    turn->host.done = on_done;
    turn->launching = true;
    turn->waves = &no_wave;
    turn->calls = xcalloc(CALLS_MAX, sizeof(*turn->calls));
    turn->call_count = CALLS_MAX;
    for (size_t i = 0; i < CALLS_MAX; i++)
        turn->calls[i].settled = true;
}

void write_rig_init(struct write_rig *test)
{
    write_rig_init_on(test, NULL);
}

void write_rig_release(struct write_rig *test)
{
    struct turn *turn = test->turn;
    if (turn->host.pending || turn->works || turn->question || turn->clock.depth)
        BUG("%zu calls are still pending, %zu jobs are out", turn->host.pending, (size_t)turn->works);
    test->rig.engine->turn = NULL;
    turn_free(turn);
    change_set_free(test->shown);
    free(test->checkpoint);
    call_log_release(&test->heard);
    turn_rig_release(&test->rig);
}

static struct turn_call *free_slot(struct turn *turn)
{
    for (size_t i = 0; i < turn->call_count; i++) {
        struct turn_call *call = &turn->calls[i];
        if (!call->settled)
            continue;
        free(call->id);
        free(call->name);
        free(call->arguments);
        free(call->message);
        for (size_t c = 0; c < call->citation_count; c++)
            free(call->citations[c].ref);
        free(call->citations);
        return call;
    }
    BUG("too many calls at a time");
}

struct bounded_call *write_rig_start(struct write_rig *test, const struct tool *tool, const char *call,
                                     const char *arguments, double turn_s, double cap_s)
{
    struct turn *turn = test->turn;
    struct turn_call *slot = free_slot(turn);
    const char *text = arena_strdup(&turn->arena, arguments ? arguments : "{\"path\": \"x\"}");
    *slot = (struct turn_call){.turn = turn,
                               .id = xstrdup(call),
                               .name = xstrdup(tool->spec.name),
                               .arguments = xstrdup(text),
                               .parsed = json_parse(&turn->arena, text, strlen(text), NULL),
                               .tool = tool,
                               .effect = tool->spec.effect};
    turn->unsettled++;
    slot->running = bounded_execute(
        &turn->host, &(struct bounded_request){.call = slot->id,
                                               .tool = tool,
                                               .arguments = slot->parsed,
                                               .turn_due_us = hold_clock_now(&turn->clock) + SECONDS(turn_s),
                                               .cap_s = cap_s,
                                               .data = slot});
    return slot->running;
}

int write_rig_cancel(struct write_rig *test)
{
    struct err err = ERR_INIT;
    return engine_submit(test->rig.engine, &(struct intent){.type = INTENT_CANCEL}, &err);
}

void write_rig_run(struct write_rig *test)
{
    turn_rig_run(&test->rig);
}

void write_rig_run_for(struct write_rig *test, int64_t ms)
{
    turn_rig_run_for(&test->rig, ms * 1000);
}
