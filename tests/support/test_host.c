#include "support/test_host.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/artifact.h"
#include <stddef.h>

/* What a call carries for its host. */
struct running {
    struct bounded_call *call;
};

static struct test_host *test_of(struct bounded_host *host)
{
    return (struct test_host *)((char *)host - offsetof(struct test_host, host));
}

static void hear(struct test_host *test, const char *word, const char *call)
{
    strbuf_addf(&test->log, "%s%s %s", test->log.len ? ", " : "", word, call);
}

/* What wants to write is refused, unless the test decides about it. */
static void on_propose(struct bounded_host *host, struct bounded_call *call, struct change_set *take_changes,
                       bool tool_writes)
{
    struct test_host *test = test_of(host);
    (void)tool_writes;
    hear(test, "propose", bounded_call_id(call));
    test->proposals++;
    change_set_free(take_changes);
    bounded_pause(call);
    if (test->on_propose)
        test->on_propose(test, call);
    else
        bounded_deny(call, DENIAL_WRITE_DENIED, "the write was refused, because nobody can be asked");
}

/* What the executor tells */

static void on_event(struct test_host *test, const struct event *event)
{
    switch (event->type) {
    case EVENT_WRITE_APPLIED:
        hear(test, "applied", event->write_applied.call);
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

static void on_done(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct test_host *test = test_of(host);
    struct running *running = data;
    struct bounded_call *call = running->call;
    note_citations(test, call);
    hear(test, outcome_type_name(take_outcome->type), bounded_call_id(call));
    if (strcmp(take_outcome->call, bounded_call_id(call)) != 0 || bounded_call_data(call) != data ||
        test->outcome_count == COUNT_OF(test->outcomes))
        BUG("an outcome too many, or of another call");
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
    scratch_mkdir(&test->scratch, "ws");
    test->env.root = beneath_open(workspace, &err);
    test->env.artifacts = test->env.root ? artifact_store_open(artifacts, &test->fake.base, &err) : NULL;
    if (!test->env.artifacts)
        BUG("%s", err.text);
}

void test_host_init(struct test_host *test)
{
    *test = (struct test_host){
        .host = {.env = &test->env,
                 .trace = &test->trace,
                 .clock = &test->hold,
                 .web = WEB_AUTO,
                 .propose = on_propose,
                 .done = on_done,
                 .emitter = &test->emitter},
        .emitter = {.emit = record},
        .arena = ARENA_INIT,
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
    strbuf_release(&test->log);
    strbuf_release(&test->cited);
    strbuf_release(&test->output);
    arena_release(&test->arena);
    artifact_store_close(test->env.artifacts);
    beneath_close(test->env.root);
    trace_release(&test->trace);
    loop_free(test->loop);
    scratch_release(&test->scratch);
}

struct bounded_call *test_host_start(struct test_host *test, const struct tool *tool, const char *call, double turn_s,
                                     double cap_s)
{
    static const char arguments[] = "{\"path\": \"x\"}";
    struct running *running = arena_calloc(&test->arena, 1, sizeof(*running));
    running->call =
        bounded_execute(&test->host, &(struct bounded_request){
                                         .call = call,
                                         .tool = tool,
                                         .arguments = json_parse(&test->arena, arguments, sizeof(arguments) - 1, NULL),
                                         .turn_due_us = hold_clock_now(&test->hold) + SECONDS(turn_s),
                                         .cap_s = cap_s,
                                         .data = running,
                                     });
    return running->call;
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
