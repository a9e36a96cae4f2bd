#include "support/test_host.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/artifact.h"
#include "tools/checkpoint.h"
#include <stddef.h>

static struct test_host *test_of(struct bounded_host *host)
{
    return (struct test_host *)((char *)host - offsetof(struct test_host, host));
}

static void hear(struct test_host *test, const char *word, const char *call)
{
    strbuf_addf(&test->log, "%s%s %s", test->log.len ? ", " : "", word, call);
}

/* Questions */

void test_host_answer(struct test_host *test)
{
    struct bounded_call *call = test->asking;
    test->asking = NULL;
    if (!call)
        BUG("there is no question to answer");
    if (test->holds_clock) {
        hold_clock_go(&test->hold);
        bounded_clock_changed(call);
    }
    if (test->meanwhile)
        scratch_write(&test->scratch, "ws/f.txt", test->meanwhile);
    test->meanwhile = NULL;
    test->answered = bounded_decide(call, &test->verdict);
}

static void on_answer(struct loop_timer *timer)
{
    test_host_answer((struct test_host *)((char *)timer - offsetof(struct test_host, answer)));
}

static void on_ask(struct bounded_host *host, struct bounded_call *call, const struct change_set *changes, bool again)
{
    struct test_host *test = test_of(host);
    hear(test, again ? "ask-again" : "ask", bounded_call_id(call));
    test->questions++;
    test->asking = call;
    change_set_free(test->shown);
    test->shown = change_set_copy(changes);
    if (test->holds_clock) {
        hold_clock_stop(&test->hold);
        bounded_clock_changed(call);
    }
    if (test->on_ask)
        test->on_ask(test, call);
    if (test->never_answers || test->asking != call)
        return;
    if (test->answer_after_ms)
        loop_timer_start(test->loop, &test->answer, loop_now_us(test->loop) + test->answer_after_ms * 1000, on_answer);
    else
        test_host_answer(test);
}

/* What else the executor tells */

static void on_event(struct test_host *test, const struct event *event)
{
    switch (event->type) {
    case EVENT_CHECKPOINT_SAVED:
        if (!event->checkpoint_saved.paths.count)
            BUG("a checkpoint of nothing");
        hear(test, "checkpoint", event->checkpoint_saved.call);
        test->checkpoints++;
        free(test->checkpoint);
        test->checkpoint = xstrdup(event->checkpoint_saved.checkpoint);
        if (test->on_checkpoint)
            test->on_checkpoint(test);
        break;
    case EVENT_WRITE_APPLIED:
        hear(test, "applied", event->write_applied.call);
        arena_reset(&test->applied_arena);
        test->applied = &event_copy(&test->applied_arena, event)->write_applied;
        break;
    case EVENT_TOOL_OUTPUT:
        hear(test, "output", event->tool_output.call);
        strbuf_addstr(&test->output, event->tool_output.text);
        break;
    case EVENT_LATE_SUPPRESSED:
        hear(test, "late", event->late_suppressed.call);
        strbuf_addf(&test->log, " (%lld ms)", (long long)event->late_suppressed.elapsed_ms);
        break;
    default:
        BUG("the executor emitted %s", event_type_name(event->type));
    }
}

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    struct test_host *test = (struct test_host *)((char *)emitter - offsetof(struct test_host, emitter));
    if (test->cannot_record)
        return -1;
    for (size_t i = 0; i < count; i++)
        on_event(test, &events[i]);
    return 0;
}

static void note_citations(struct test_host *test, const struct bounded_call *call)
{
    size_t count;
    const struct citation *citations = bounded_call_citations(call, &count);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&test->cited, "%s%s%s", test->cited.len ? ", " : "", citations[i].ref,
                    citations[i].web ? " (web)" : "");
}

static void on_done(struct bounded_host *host, struct bounded_call *call, struct outcome *take_outcome)
{
    struct test_host *test = test_of(host);
    note_citations(test, call);
    hear(test, outcome_type_name(take_outcome->type), bounded_call_id(call));
    if (strcmp(take_outcome->call, bounded_call_id(call)) != 0 || test->outcome_count == COUNT_OF(test->outcomes))
        BUG("an outcome too many, or of another call");
    if (test->asking == call) { /* it was settled without an answer; who still shows the question may answer it */
        if (test->holds_clock)
            hold_clock_go(&test->hold);
        test->asking = NULL;
        loop_timer_stop(test->loop, &test->answer);
        test->answered = bounded_decide(call, &test->verdict);
    }
    test->outcomes[test->outcome_count++] = *take_outcome;
    if (test->on_done)
        test->on_done(test, call);
}

/* Life */

static void open_folders(struct test_host *test)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *workspace = scratch_path(&test->scratch, "ws");
    CLEANUP(free) char *artifacts = scratch_path(&test->scratch, "artifacts");
    CLEANUP(free) char *undo = scratch_path(&test->scratch, "undo");
    scratch_mkdir(&test->scratch, "ws");
    test->env.root = beneath_open(workspace, &err);
    test->env.artifacts = test->env.root ? artifact_store_open(artifacts, &test->fake.base, &err) : NULL;
    test->host.checkpoints = test->env.artifacts ? checkpoints_open(undo, &err) : NULL;
    if (!test->host.checkpoints)
        BUG("%s", err.text);
}

void test_host_init(struct test_host *test)
{
    *test = (struct test_host){
        .host = {.env = &test->env,
                 .trace = &test->trace,
                 .clock = &test->hold,
                 .web = WEB_AUTO,
                 .ask = on_ask,
                 .done = on_done,
                 .emitter = &test->emitter},
        .emitter = {.emit = record},
        .arena = ARENA_INIT,
        .holds_clock = true,
        .verdict = {.decision = DECISION_APPROVED, .by = BY_KEY},
        .log = STRBUF_INIT,
        .cited = STRBUF_INIT,
        .output = STRBUF_INIT,
    };
    scratch_init(&test->scratch);
    fake_clock_init(&test->fake);
    fake_clock_advance(&test->fake, SECONDS(100));
    hold_clock_init(&test->hold, &test->fake.base);
    test->loop = loop_new(&test->fake.base);
    trace_init(&test->trace);
    test->env.loop = test->loop;
    test->env.session = "s1";
    open_folders(test);
}

void test_host_release(struct test_host *test)
{
    if (test->host.pending)
        BUG("%zu calls are still pending", test->host.pending);
    for (size_t i = 0; i < test->outcome_count; i++)
        outcome_release(&test->outcomes[i]);
    change_set_free(test->shown);
    arena_release(&test->applied_arena);
    free(test->checkpoint);
    strbuf_release(&test->log);
    strbuf_release(&test->cited);
    strbuf_release(&test->output);
    arena_release(&test->arena);
    artifact_store_close(test->env.artifacts);
    checkpoints_close(test->host.checkpoints);
    beneath_close(test->env.root);
    trace_release(&test->trace);
    loop_free(test->loop);
    scratch_release(&test->scratch);
}

struct bounded_call *test_host_start(struct test_host *test, const struct tool *tool, const char *call, double turn_s,
                                     double cap_s)
{
    static const char arguments[] = "{\"path\": \"x\"}";
    return bounded_execute(&test->host,
                           &(struct bounded_request){
                               .call = call,
                               .tool = tool,
                               .arguments = json_parse(&test->arena, arguments, sizeof(arguments) - 1, NULL),
                               .turn_due_us = hold_clock_now(&test->hold) + SECONDS(turn_s),
                               .cap_s = cap_s,
                           });
}

void test_host_run(struct test_host *test)
{
    loop_run(test->loop);
}

struct moment {
    struct loop_timer timer;
    struct loop *loop;
};

static void on_moment(struct loop_timer *timer)
{
    loop_stop(((struct moment *)((char *)timer - offsetof(struct moment, timer)))->loop);
}

void test_host_run_for(struct test_host *test, int64_t ms)
{
    struct moment moment = {.loop = test->loop};
    loop_timer_start(test->loop, &moment.timer, loop_now_us(test->loop) + ms * 1000, on_moment);
    loop_run(test->loop);
    if (loop_timer_armed(&moment.timer))
        BUG("the loop was stopped by somebody else");
}
