/* A turn in which every kind of event happens. */

#include "rich_turn.h"
#include "answers.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>
#include <unistd.h>

const struct rich_file rich_files[2] = {
    {"a.txt", "old\n", "new\n"},
    {"b.txt", "one\ntwo\n", "ONE\ntwo\nthree\n"},
};

static struct rich_turn *rich_of_sink(struct sink *sink)
{
    return (struct rich_turn *)((char *)sink - offsetof(struct rich_turn, sink));
}

/* ---- striking ---- */

static void strike(struct rich_turn *rich)
{
    rich->struck = true;
    rich->events_before = rich->rig.event_count;
    rich->strike(rich);
}

static void strike_soon(struct loop_task *task)
{
    struct rich_turn *rich = (struct rich_turn *)((char *)task - offsetof(struct rich_turn, strike_task));
    if (rich->rounds-- > 0)
        loop_post(rich->rig.loop, task, strike_soon);
    else
        strike(rich);
}

static void strike_due(struct loop_timer *timer)
{
    strike((struct rich_turn *)((char *)timer - offsetof(struct rich_turn, strike_timer)));
}

/* ---- stepping ---- */

static void step(struct loop_task *task)
{
    struct rich_turn *rich = (struct rich_turn *)((char *)task - offsetof(struct rich_turn, step_task));
    struct held_view view;
    /* An intent may be refused here because another event came first. */
    if (engine_held(rich->rig.engine, &view))
        turn_check_submit(&rich->rig, &(struct intent){.type = INTENT_STEP});
}

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct rich_turn *rich = rich_of_sink(sink);
    (void)session;
    if (rich->at_event && rich->rig.event_count == rich->at_event)
        loop_post(rich->rig.loop, &rich->strike_task, strike_soon);
    if (rich->stepping && event->type == EVENT_HELD)
        loop_post(rich->rig.loop, &rich->step_task, step);
}

/* Approves. At the first question about b.txt, the rig adds a line to that file meanwhile. */
static void answer_question(struct turn_rig *rig, const struct question *question)
{
    struct rich_turn *rich = (struct rich_turn *)((char *)rig - offsetof(struct rich_turn, rig));
    if (strcmp(question->call_id, "e") == 0 && !rich->meddled) {
        turn_rig_file(rig, "b.txt", "one\ntwo\nthree\n");
        rich->meddled = true;
    }
    struct intent yes = answer_yes(question);
    turn_check_submit(rig, &yes);
}

/* ---- the turn ---- */

static char *make_long_output(void)
{
    struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "{\"lines\":[");
    for (int i = 0; i < 500; i++)
        strbuf_addf(&text, "%s\"this is line number %d of very many\"", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    return strbuf_detach(&text, NULL);
}

static void init_tools(struct rich_turn *rich)
{
    struct turn_rig *rig = &rich->rig;
    fake_tool_init(&rich->look, "look", EFFECT_READ_ONLY);
    rich->look.takes_ms = 200;
    rich->look.says = "looking\n";
    fake_tool_init(&rich->see, "see", EFFECT_READ_ONLY);
    fake_tool_on_pool(&rich->see);
    fake_tool_init(&rich->dump, "dump", EFFECT_READ_ONLY);
    rich->dump.output = rich->long_output = make_long_output();
    fake_tool_init(&rich->foreign, "foreign", EFFECT_LOCAL_WRITE);
    rich->foreign.asks = FAKE_ASKS_FIELD;
    rich->foreign.takes_ms = 50;
    rich->foreign.confirmed_ms = 300;
    fake_tool_init(&rich->bad, "bad", EFFECT_NETWORK);
    rich->bad.error = "no";
    rich->bad.takes_ms = 10;
    turn_rig_add_tool(rig, &rich->look.tool);
    turn_rig_add_tool(rig, &rich->see.tool);
    turn_rig_add_tool(rig, &rich->dump.tool);
    turn_rig_add_tool(rig, &rich->foreign.tool);
    turn_rig_add_tool(rig, &rich->bad.tool);
}

static void init_answers(struct rich_turn *rich)
{
    static const char *const pieces[] = {"I ", "will", NULL};
    struct fake_provider *model = rich->rig.model;
    struct fake_answer *a = fake_provider_answer(model);
    a->text = "I will";
    a->deltas = pieces;
    a->takes_us = 1000000;
    a->usage = (struct usage){.input = 100, .output = 10};
    a->opaque = "{\"provider\":\"fake\",\"blocks\":[1]}";
    fake_answer_call(a, "l", "look", "{}");
    fake_answer_call(a, "s", "see", "{}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "d", "dump", "{}");
    fake_answer_call(a, "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"new\\n\"}");
    a = fake_provider_answer(model);
    a->error = "overloaded";
    a->retryable = true;
    a = fake_provider_answer(model);
    a->takes_us = 700000;
    fake_answer_call(a, "e", "edit_file", "{\"path\":\"b.txt\",\"old\":\"one\",\"new\":\"ONE\"}");
    fake_answer_call(a, "f", "foreign", "{}");
    fake_answer_call(a, "b", "bad", "{}");
    fake_answer_call(a, "u", "unknown", "{}");
    a = fake_provider_reflection(model);
    a->text = "Go on.";
    a->takes_us = 400000;
    fake_provider_answer(model)->text = "over";
}

void rich_turn_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

void rich_turn_init(struct rich_turn *rich)
{
    *rich = (struct rich_turn){.sink = {.event = hear}, .at_us = -1};
    turn_rig_init(&rich->rig);
    init_tools(rich);
    init_answers(rich);
    rich->rig.config.interactive = true;
    rich->rig.config.thinking = THINKING_LOW;
    rich->rig.config.limits.tool_calls = 20;
    rich->rig.config.limits.wall_s = 600;
    rich->rig.answer = answer_question;
    rich->rig.answer_after_us = 250000;
    rich->rig.sink.next = &rich->sink;
    for (size_t i = 0; i < COUNT_OF(rich_files); i++)
        turn_rig_file(&rich->rig, rich_files[i].path, rich_files[i].before);
}

void rich_turn_run(struct rich_turn *rich)
{
    struct turn_rig *rig = &rich->rig;
    turn_check_open(rig, rich->journal);
    if (rich->at_us >= 0)
        loop_timer_start(rig->loop, &rich->strike_timer, rich->at_us, strike_due);
    if (rich->stepping)
        turn_rig_submit(rig, &(struct intent){.type = INTENT_STEP});
    /* With a broken journal even the start may be refused. */
    turn_check_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "do everything"}});
    turn_rig_run(rig);
}

void rich_turn_release(struct rich_turn *rich)
{
    loop_timer_stop(rich->rig.loop, &rich->strike_timer);
    loop_unpost(rich->rig.loop, &rich->strike_task);
    loop_unpost(rich->rig.loop, &rich->step_task);
    turn_rig_release(&rich->rig);
    fake_tool_release(&rich->look);
    fake_tool_release(&rich->see);
    fake_tool_release(&rich->dump);
    fake_tool_release(&rich->foreign);
    fake_tool_release(&rich->bad);
    free(rich->long_output);
}
