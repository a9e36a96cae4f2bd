/* Records a session, runs the recording again and compares every event. */

#include "replay_rig.h"
#include "answers.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/scripted.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct fake_answer *replay_answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* ---- running again ---- */

static void compare(struct sink *sink, const struct event *event, const struct session *session)
{
    (void)session;
    divergences_see(((struct again *)((char *)sink - offsetof(struct again, sink)))->divergences, event);
}

void again_init(struct again *again, const char *path)
{
    struct err err = ERR_INIT;
    struct engine_config *config = &again->rig.config;
    turn_rig_init(&again->rig);
    again->recording = recording_open(path, &err);
    if (!again->recording)
        fail_msg("%s", err.text);
    provider_free(config->provider);
    again->rig.model = NULL;
    config->provider = scripted_new(again->rig.loop, recording_reader(again->recording), 0);
    recording_limits(again->recording, &config->limits);
    config->thinking = recording_thinking(again->recording);
    rules_free(config->rules);
    config->rules = rules_new(RULES_ASK, false);
    if (recording_decisions(again->recording, config->rules, &err) < 0 ||
        recorded_tools_add(again->recording, config->registry, false, &err) < 0)
        fail_msg("%s", err.text);
    config->tools = recording_tools(again->recording);
    config->undos = recording_undos(again->recording);
    again->divergences = divergences_new(again->recording);
    again->sink = (struct sink){.event = compare};
    again->rig.sink.next = &again->sink;
}

void again_run(struct again *again)
{
    turn_rig_open(&again->rig);
    for (size_t i = 0; i < recording_turn_count(again->recording); i++) {
        scripted_turn(again->rig.config.provider, recording_turn_number(again->recording, i));
        turn_rig_turn(&again->rig, recording_prompt(again->recording, i));
    }
    divergences_end(again->divergences);
}

void again_release(struct again *again)
{
    turn_check_end(&again->rig);
    divergences_free(again->divergences);
    recording_free(again->recording);
}

void again_check_none(const struct again *again)
{
    const struct divergence *first = divergences_at(again->divergences, 0);
    if (first) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        divergence_write(&text, first);
        fail_msg("%s", text.buf);
    }
    assert_int_equal(divergences_count(again->divergences), 0);
}

/* ---- the recorded session ---- */

void made_init(struct made *made)
{
    struct turn_rig *rig = &made->rig;
    turn_rig_init(rig);
    fake_tool_init(&made->look, "look", EFFECT_READ_ONLY);
    made->look.takes_ms = 300;
    made->look.output = "{\"seen\":[1,2,3]}";
    fake_tool_init(&made->slow, "slow", EFFECT_READ_ONLY);
    made->slow.tool.spec.timeout_s = 5;
    made->slow.takes_ms = 7000;
    fake_tool_init(&made->bad, "bad", EFFECT_NETWORK);
    made->bad.error = "it broke";
    made->bad.final = true;
    fake_tool_init(&made->foreign, "foreign", EFFECT_LOCAL_WRITE);
    made->foreign.asks = FAKE_ASKS_FIELD;
    made->foreign.takes_ms = 20;
    made->foreign.confirmed_ms = 40;
    turn_rig_add_tool(rig, &made->look.tool);
    turn_rig_add_tool(rig, &made->slow.tool);
    turn_rig_add_tool(rig, &made->bad.tool);
    turn_rig_add_tool(rig, &made->foreign.tool);
    made->path = scratch_path(&rig->scratch, "recorded.jsonl");
    rig->config.limits.tool_calls = 40;
    rig->config.limits.steps = 12;
    turn_rig_file(rig, "a.txt", "A\n");
    turn_rig_file(rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

void made_release(struct made *made)
{
    turn_check_end(&made->rig);
    fake_tool_release(&made->look);
    fake_tool_release(&made->slow);
    fake_tool_release(&made->bad);
    fake_tool_release(&made->foreign);
    free(made->path);
}

void again_copy_files(struct again *again)
{
    turn_rig_file(&again->rig, "a.txt", "A\n");
    turn_rig_file(&again->rig, "n.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
}

void made_decide(struct turn_rig *rig, const struct question *question)
{
    struct event_hunk_choice_list second = HUNKS("n.txt", 2, 2);
    struct intent intent = answer_yes(question);
    struct change_set *edited = NULL;
    if (strncmp(question->call_id, "no", 2) == 0)
        intent = answer_no(question, "not like this");
    if (strncmp(question->call_id, "part", 4) == 0)
        intent = answer_part(question, second);
    if (strncmp(question->call_id, "edit", 4) == 0) {
        edited = change_set_copy(question->changes);
        change_side_set(&edited->items[0].new, "mine\n", 5, 0600);
        intent = answer_edited(question, edited);
    }
    if (strncmp(question->call_id, "late", 4) != 0) /* that question stays unanswered */
        turn_rig_submit(rig, &intent);
    change_set_free(edited);
}

static void say_everything(struct turn_rig *rig)
{
    struct fake_answer *a = replay_answer(rig);
    a->takes_us = 1200000;
    a->usage = (struct usage){.input = 100, .output = 10, .cache_read = 3};
    fake_answer_call(a, "l", "look", "{\"at\":1}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "yes", "write_file", "{\"path\":\"new.txt\",\"content\":\"n\\n\"}");
    fake_answer_call(a, "no", "write_file", "{\"path\":\"a.txt\",\"content\":\"X\\n\"}");
    fake_answer_call(a, "part", "write_file",
                     "{\"path\":\"n.txt\",\"content\":\"ONE\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n11\\nTWELVE\\n\"}");
    fake_answer_call(a, "edit", "write_file", "{\"path\":\"e.txt\",\"content\":\"theirs\\n\"}");
    fake_answer_call(a, "late", "write_file", "{\"path\":\"l.txt\",\"content\":\"l\\n\"}");
    fake_answer_call(a, "nof", "foreign", "{}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"a.txt\"}"); /* the same id again, and a duplicate call */
    fake_answer_call(a, "u", "unknown_tool", "{}");
    a = replay_answer(rig);
    a->error = "overloaded";
    a->retryable = true;
    a = replay_answer(rig);
    fake_answer_call(a, "b", "bad", "{}");
    fake_answer_call(a, "b2", "bad", "{\"again\":1}");
    replay_answer(rig)->text = "first is over";
    a = replay_answer(rig);
    fake_answer_call(a, "nof", "foreign", "{\"second\":1}"); /* the ids of the first turn, with other outcomes */
    fake_answer_call(a, "l", "look", "{\"at\":2}");
    fake_answer_call(a, "r", "read_file", "{\"path\":\"new.txt\"}");
    replay_answer(rig)->text = "second is over";
}

void made_everything(struct made *made)
{
    struct turn_rig *rig = &made->rig;
    made_init(made);
    rig->config.thinking = THINKING_LOW;
    rig->config.ask_timeout_ms = 9000;
    rig->answer = made_decide;
    rig->answer_after_us = 800000;
    turn_check_open(rig, made->path);
    say_everything(rig);
    struct fake_answer *look = fake_provider_reflection(rig->model);
    look->text = "I see.";
    look->usage = (struct usage){.input = 40, .output = 4};
    fake_provider_reflection(rig->model)->text = "I see that too.";
    turn_rig_turn(rig, "do everything");
    rig->answer = turn_rig_say_yes;
    turn_rig_turn(rig, "and again");
    turn_check_do(rig, INTENT_END);
}
