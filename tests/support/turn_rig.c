/* Assembles the product as the program does, with a fake model and a virtual clock. */

#include "turn_rig.h"
#include "answers.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/artifact.h"
#include "tools/checkpoint.h"
#include <string.h>

static struct turn_rig *rig_of_sink(struct sink *sink)
{
    return (struct turn_rig *)((char *)sink - offsetof(struct turn_rig, sink));
}

static void give_answer(struct loop_timer *timer)
{
    struct turn_rig *rig = (struct turn_rig *)((char *)timer - offsetof(struct turn_rig, answer_timer));
    const struct question *question = engine_question(rig->engine);
    if (rig->answer && question)
        rig->answer(rig, question);
}

static void keep_event(struct sink *sink, const struct event *event, const struct session *session)
{
    struct turn_rig *rig = rig_of_sink(sink);
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct err err = ERR_INIT;
    (void)session;
    event_encode(&line, event);
    char *copy = arena_memdup0(&rig->arena, line.buf, line.len);
    GROW(rig->events, rig->event_count, rig->event_room);
    if (event_decode(&rig->events[rig->event_count], &rig->arena, copy, line.len, &err) < 0)
        BUG("an event that cannot be read back: %s: %s", err.text, copy);
    rig->event_count++;
    /* A question is open once the turn is held at the write gate; the loop answers it. */
    if (event->type == EVENT_HELD && strcmp(event->held.gate, gate_name(GATE_WRITE)) == 0) {
        rig->questions++;
        if (rig->answer)
            loop_timer_start(rig->loop, &rig->answer_timer, loop_now_us(rig->loop) + rig->answer_after_us, give_answer);
    }
}

void turn_rig_init(struct turn_rig *rig)
{
    turn_rig_init_on(rig, NULL);
}

void turn_rig_init_on(struct turn_rig *rig, struct clock *clock)
{
    struct engine_config config = engine_config_defaults();
    struct err err = ERR_INIT;
    CLEANUP(free) char *work = NULL;
    CLEANUP(free) char *artifacts = NULL;
    CLEANUP(free) char *checkpoints = NULL;
    *rig = (struct turn_rig){.config = config, .sink = {.event = keep_event}};
    fake_clock_init(&rig->clock);
    rig->loop = loop_new(clock ? clock : &rig->clock.base);
    rig->model = fake_provider_new(rig->loop);
    scratch_init(&rig->scratch);
    scratch_mkdir(&rig->scratch, "work");
    work = scratch_path(&rig->scratch, "work");
    artifacts = scratch_path(&rig->scratch, "artifacts");
    checkpoints = scratch_path(&rig->scratch, "checkpoints");
    rig->config.loop = rig->loop;
    rig->config.provider = &rig->model->base;
    rig->config.session = "rig";
    rig->config.project = "/project";
    rig->config.registry = registry_new();
    rig->config.rules = rules_new(RULES_ASK, true);
    if (registry_add_builtin(rig->config.registry, &err) < 0 || !(rig->config.root = beneath_open(work, &err)) ||
        !(rig->config.artifacts = artifact_store_open(artifacts, loop_clock(rig->loop), &err)) ||
        !(rig->config.checkpoints = checkpoints_open(checkpoints, &err)))
        BUG("%s", err.text);
}

void turn_rig_release(struct turn_rig *rig)
{
    loop_timer_stop(rig->loop, &rig->answer_timer);
    loop_timer_stop(rig->loop, &rig->stop_timer);
    engine_free(rig->engine);
    provider_free(rig->config.provider);
    registry_free(rig->config.registry);
    rules_free(rig->config.rules);
    checkpoints_close(rig->config.checkpoints);
    artifact_store_close(rig->config.artifacts);
    beneath_close(rig->config.root);
    loop_free(rig->loop);
    scratch_release(&rig->scratch);
    free(rig->events);
    arena_release(&rig->arena);
}

void turn_rig_add_tool(struct turn_rig *rig, const struct tool *tool)
{
    struct err err = ERR_INIT;
    if (registry_add(rig->config.registry, tool, &err) < 0)
        BUG("%s", err.text);
}

void turn_rig_no_tools(struct turn_rig *rig)
{
    registry_free(rig->config.registry);
    rig->config.registry = registry_new();
}

void turn_rig_open(struct turn_rig *rig)
{
    struct err err = ERR_INIT;
    struct journal *journal = journal_create(NULL, loop_clock(rig->loop), &err);
    if (journal)
        rig->engine = engine_new(&rig->config, journal, &rig->sink, &err);
    if (!rig->engine)
        BUG("%s", err.text);
}

void turn_rig_submit(struct turn_rig *rig, const struct intent *intent)
{
    struct err err = ERR_INIT;
    if (engine_submit(rig->engine, intent, &err) < 0)
        BUG("an intent was refused: %s", err.text);
}

void turn_rig_run(struct turn_rig *rig)
{
    loop_run(rig->loop);
}

static void stop_running(struct loop_timer *timer)
{
    loop_stop(((struct turn_rig *)((char *)timer - offsetof(struct turn_rig, stop_timer)))->loop);
}

void turn_rig_run_for(struct turn_rig *rig, int64_t us)
{
    loop_timer_start(rig->loop, &rig->stop_timer, loop_now_us(rig->loop) + us, stop_running);
    loop_run(rig->loop);
}

void turn_rig_turn(struct turn_rig *rig, const char *prompt)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = prompt}});
    turn_rig_run(rig);
}

void turn_rig_say_yes(struct turn_rig *rig, const struct question *question)
{
    struct intent yes = answer_yes(question);
    turn_rig_submit(rig, &yes);
}

void turn_rig_say_no(struct turn_rig *rig, const struct question *question)
{
    struct intent no = answer_no(question, NULL);
    turn_rig_submit(rig, &no);
}

void turn_rig_file(struct turn_rig *rig, const char *path, const char *content)
{
    CLEANUP(free) char *name = xasprintf("work/%s", path);
    scratch_write(&rig->scratch, name, content);
}

char *turn_rig_read(const struct turn_rig *rig, const char *path)
{
    CLEANUP(free) char *name = xasprintf("work/%s", path);
    return scratch_read(&rig->scratch, name, NULL);
}

size_t turn_rig_count(const struct turn_rig *rig, enum event_type type)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->event_count; i++)
        count += rig->events[i].type == type;
    return count;
}

const struct event *turn_rig_event(const struct turn_rig *rig, enum event_type type, size_t n)
{
    for (size_t i = 0; i < rig->event_count; i++)
        if (rig->events[i].type == type && n-- == 0)
            return &rig->events[i];
    return NULL;
}

const struct event *turn_rig_finished(const struct turn_rig *rig, const char *call)
{
    for (size_t i = 0; i < rig->event_count; i++)
        if (rig->events[i].type == EVENT_TOOL_FINISHED && strcmp(rig->events[i].tool_finished.call, call) == 0)
            return &rig->events[i];
    return NULL;
}

const struct message_list *turn_rig_messages(const struct turn_rig *rig)
{
    for (size_t i = rig->model->request_count; i > 0; i--)
        if (!rig->model->requests[i - 1].reflection)
            return &rig->model->requests[i - 1].messages;
    return NULL;
}
