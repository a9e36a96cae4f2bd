/* The host of the executor in bounded_rig.h: it answers the executor's questions and logs its events. */

#include "bounded_rig.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "tools/artifact.h"
#include <stddef.h>

/* The host's data of a call. */
struct running {
    const char *id;
    struct bounded_call *call;
};

static struct bounded_rig *rig_of(struct bounded_host *host)
{
    return (struct bounded_rig *)((char *)host - offsetof(struct bounded_rig, host));
}

/* Denies a write, unless the test decides about it. */
static void on_propose(struct bounded_host *host, struct bounded_call *call, struct change_set *take_changes,
                       bool tool_writes)
{
    struct bounded_rig *rig = rig_of(host);
    (void)tool_writes;
    call_log_add(&rig->heard, "propose", ((const struct running *)bounded_call_data(call))->id);
    rig->proposals++;
    change_set_free(take_changes);
    bounded_pause(call);
    if (rig->on_propose)
        rig->on_propose(rig, call);
    else
        bounded_deny(call, DENIAL_WRITE_DENIED, "the write was denied, because no user is present");
}

/* ---- events of the executor ---- */

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    struct bounded_rig *rig = (struct bounded_rig *)((char *)emitter - offsetof(struct bounded_rig, emitter));
    for (size_t i = 0; i < count; i++)
        if (!call_log_event(&rig->heard, &events[i]))
            BUG("the executor emitted %s", event_type_name(events[i].type));
    return 0;
}

static void note_citations(struct bounded_rig *rig, const struct bounded_call *call)
{
    size_t count;
    const struct citation *citations = bounded_call_citations(call, &count);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&rig->cited, "%s%s%s", rig->cited.len ? ", " : "", citations[i].ref,
                    citations[i].web ? " (web)" : "");
}

static void on_done(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct bounded_rig *rig = rig_of(host);
    struct running *running = data;
    struct bounded_call *call = running->call;
    note_citations(rig, call);
    call_log_outcome(&rig->heard, running->id, *take_outcome);
    if (bounded_call_data(call) != data)
        BUG("an outcome with the data of another call");
    if (rig->on_done)
        rig->on_done(rig, call);
}

/* ---- set-up and tear-down ---- */

static void open_folders(struct bounded_rig *rig)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *workspace = scratch_path(&rig->scratch, "ws");
    CLEANUP(free) char *artifacts = scratch_path(&rig->scratch, "artifacts");
    scratch_mkdir(&rig->scratch, "ws");
    rig->env.root = beneath_open(workspace, &err);
    rig->env.artifacts = rig->env.root ? artifact_store_open(artifacts, &rig->fake.base, &err) : NULL;
    if (!rig->env.artifacts)
        BUG("%s", err.text);
}

void bounded_rig_init(struct bounded_rig *rig)
{
    *rig = (struct bounded_rig){
        .host = {.env = &rig->env,
                 .trace = &rig->trace,
                 .clock = &rig->hold,
                 .web = WEB_AUTO,
                 .propose = on_propose,
                 .done = on_done,
                 .emitter = &rig->emitter},
        .emitter = {.emit = record},
        .arena = ARENA_INIT,
        .cited = STRBUF_INIT,
    };
    call_log_init(&rig->heard);
    fake_tool_init(&rig->tool, "tool", EFFECT_READ_ONLY);
    scratch_init(&rig->scratch);
    fake_clock_init(&rig->fake);
    fake_clock_advance(&rig->fake, SECONDS(100));
    hold_clock_init(&rig->hold, &rig->fake.base);
    rig->loop = loop_new(&rig->fake.base);
    call_states_init(&rig->trace);
    rig->env.loop = rig->loop;
    rig->env.session = "s1";
    open_folders(rig);
}

void bounded_rig_release(struct bounded_rig *rig)
{
    if (rig->host.pending)
        BUG("%zu calls are still pending", rig->host.pending);
    call_log_release(&rig->heard);
    strbuf_release(&rig->cited);
    arena_release(&rig->arena);
    artifact_store_close(rig->env.artifacts);
    beneath_close(rig->env.root);
    call_states_release(&rig->trace);
    loop_free(rig->loop);
    scratch_release(&rig->scratch);
    fake_tool_release(&rig->tool);
}

struct bounded_call *bounded_rig_start(struct bounded_rig *rig, const struct tool *tool, const char *call,
                                       double turn_s, double cap_s)
{
    static const char arguments[] = "{\"path\": \"x\"}";
    struct running *running = arena_calloc(&rig->arena, 1, sizeof(*running));
    running->id = arena_strdup(&rig->arena, call);
    running->call =
        bounded_execute(&rig->host, &(struct bounded_request){
                                        .call = call,
                                        .tool = tool,
                                        .arguments = json_parse(&rig->arena, arguments, sizeof(arguments) - 1, NULL),
                                        .turn_due_us = hold_clock_now(&rig->hold) + SECONDS(turn_s),
                                        .cap_s = cap_s,
                                        .data = running,
                                    });
    return running->call;
}

void bounded_rig_run(struct bounded_rig *rig)
{
    loop_run(rig->loop);
}

struct moment {
    struct loop_timer timer;
    struct loop *loop;
};

static void on_moment(struct loop_timer *timer)
{
    loop_stop(((struct moment *)((char *)timer - offsetof(struct moment, timer)))->loop);
}

void bounded_rig_run_for(struct bounded_rig *rig, int64_t ms)
{
    struct moment moment = {.loop = rig->loop};
    loop_timer_start(rig->loop, &moment.timer, loop_now_us(rig->loop) + ms * 1000, on_moment);
    loop_run(rig->loop);
    if (loop_timer_armed(&moment.timer))
        BUG("another caller stopped the loop");
}
