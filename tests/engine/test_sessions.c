/* Tests what a session keeps and what it does not: its configuration never changes, a turn can begin where the last one
 * ends, tools can be added and removed between turns, a recording continues where it stopped, and the finalizer runs
 * all its steps. tests/cases has the sessions that need no callback. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/replay_rig.h"
#include "support/test.h"
#include "support/turn_check.h"
#include "tools/registry.h"
#include <string.h>

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* ---- turn after turn ---- */

TEST(configuration_is_the_same_to_the_byte_after_any_turn)
{
    struct turn_rig rig;
    struct fake_tool bad;
    unsigned char before[sizeof(rig.config)];
    turn_rig_init(&rig);
    fake_tool_init(&bad, "bad", EFFECT_READ_ONLY);
    bad.error = "no";
    turn_rig_add_tool(&rig, &bad.tool);
    rig.config.interactive = true;
    rig.config.thinking = THINKING_HIGH;
    rig.config.limits.steps = 2;
    rig.answer = turn_rig_say_yes;
    turn_rig_open(&rig);
    memcpy(before, &rig.config, sizeof(before));
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
    fake_answer_call(answer(&rig), "b", "bad", "{}");
    turn_rig_turn(&rig, "one");
    assert_memory_equal(before, &rig.config, sizeof(before));
    /* The limit on steps counts per turn: more steps for this turn add none to the session. */
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_EXTEND, .extend = {.key = BUDGET_STEPS, .share = 1}});
    turn_rig_run(&rig);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_memory_equal(before, &rig.config, sizeof(before));
    turn_rig_turn(&rig, "two");
    assert_memory_equal(before, &rig.config, sizeof(before));
    turn_check_end(&rig);
    fake_tool_release(&bad);
}

static void start_another(void *data)
{
    struct turn_rig *rig = data;
    if (turn_rig_count(rig, EVENT_TURN_FINISHED) < 3)
        turn_rig_submit(rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "and on"}});
}

TEST(next_turn_may_begin_from_within_the_end_of_the_last)
{
    struct turn_rig rig;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    engine_on_turn_end(rig.engine, start_another, &rig);
    turn_rig_turn(&rig, "begin");
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_FINISHED), 3);
    turn_check_end(&rig);
}

/* ---- recordings ---- */

TEST(resumed_session_never_repeats_a_question_id)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n"
        "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"p\"}\n"
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"model.requested\",\"step\":1}\n"
        "{\"seq\":4,\"t\":0,\"turn\":1,\"type\":\"model.responded\",\"step\":1,"
        "\"tool_calls\":[{\"id\":\"w\",\"name\":\"write_file\",\"arguments\":{}}]}\n"
        "{\"seq\":5,\"t\":0,\"turn\":1,\"type\":\"tool.started\",\"call\":\"w\",\"tool\":\"write_file\"}\n"
        "{\"seq\":6,\"t\":0,\"turn\":1,\"type\":\"write.proposed\",\"call\":\"w\",\"ask\":\"a7\",\"files\":[]}\n";
    struct turn_rig rig;
    CLEANUP(free) char *path = NULL;
    struct err err = ERR_INIT;
    turn_rig_init(&rig);
    scratch_write(&rig.scratch, "s.jsonl", recorded);
    path = scratch_path(&rig.scratch, "s.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    assert_non_null(reader);
    struct journal *journal = journal_resume(path, &rig.clock.base, &err);
    assert_non_null(journal);
    rig.engine = engine_resume(&rig.config, journal, reader, &rig.sink, &err);
    assert_non_null(rig.engine);
    journal_reader_free(reader);
    rig.answer = turn_rig_say_yes;
    fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"3\"}");
    turn_rig_turn(&rig, "on");
    assert_string_equal(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0)->write_proposed.ask, "a8");
    turn_rig_release(&rig);
}

TEST(hostile_texts_break_no_line_of_the_journal)
{
    static const char hostile[] =
        "a\nb\r\n\"\\\x01\x1b[31m \xff\xfe \xe2\x80\xae \xed\xa0\x80 {\"type\":\"session.ended\"}\n";
    struct turn_rig rig;
    struct fake_tool tool;
    CLEANUP(free) char *path = NULL;
    struct event event;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    turn_rig_init(&rig);
    fake_tool_init(&tool, "talk", EFFECT_READ_ONLY);
    tool.says = hostile;
    tool.error = hostile;
    turn_rig_add_tool(&rig, &tool.tool);
    rig.config.thinking = THINKING_LOW;
    path = scratch_path(&rig.scratch, "journal.jsonl");
    turn_check_open(&rig, path);
    turn_rig_file(&rig, "hostile.txt", hostile);
    struct fake_answer *a = answer(&rig);
    a->text = a->thinking = hostile;
    a->deltas = (const char *const[]){hostile, NULL};
    fake_answer_call(a, hostile, "talk", "{}");
    fake_answer_call(a, "x", hostile, "{}");
    fake_answer_call(a, "y", "read_file", hostile);
    fake_answer_call(a, "z", "read_file", "{\"path\":\n\"hostile.txt\"\n}");
    fake_provider_reflection(rig.model)->text = hostile;
    answer(&rig)->error = hostile;
    turn_rig_turn(&rig, hostile);
    assert_string_equal(turn_check_outcome(&rig, "z"), "result");
    assert_string_equal(turn_check_finished(&rig)->status, "failed");
    struct journal_reader *reader = journal_open(path, NULL);
    assert_non_null(reader);
    assert_int_equal(journal_count(reader), rig.event_count);
    for (size_t i = 0; i < journal_count(reader); i++) {
        assert_int_equal(journal_event(reader, i, &event, &arena, NULL), 0);
        assert_int_not_equal(event.type, EVENT_OTHER);
        assert_int_not_equal(event.type, EVENT_SESSION_ENDED);
    }
    journal_reader_free(reader);
    turn_check_end(&rig);
    fake_tool_release(&tool);
}

/* ---- tools added and removed ---- */

/* `late` is added before the second turn, replaced before the third and removed before the fourth. */
struct coming {
    struct tool_source source;
    struct fake_tool late, other;
};

static void adopt(struct tool_source *source, struct registry *registry, int64_t turn, struct tool_changes *changes)
{
    struct coming *coming = CONTAINER_OF(source, struct coming, source);
    struct err err = ERR_INIT;
    if (turn == 2) {
        assert_int_equal(registry_add(registry, &coming->late.tool, &err), 0);
        tool_changes_add(changes, "late", TOOL_ADDED);
    } else if (turn == 3) {
        assert_int_equal(registry_replace(registry, &coming->other.tool, &err), 0);
        tool_changes_add(changes, "late", TOOL_CHANGED);
    } else if (turn == 4) {
        assert_true(registry_remove(registry, "late"));
        tool_changes_add(changes, "late", TOOL_REMOVED);
    }
}

static void coming_init(struct coming *coming, struct engine_config *config)
{
    fake_tool_init(&coming->late, "late", EFFECT_DESTRUCTIVE);
    fake_tool_init(&coming->other, "late", EFFECT_DESTRUCTIVE);
    coming->other.tool.spec.description = "another one";
    coming->late.asks = coming->other.asks = FAKE_ASKS_FIELD;
    coming->source.adopt = adopt;
    config->tools = &coming->source;
}

static void coming_release(struct coming *coming)
{
    fake_tool_release(&coming->late);
    fake_tool_release(&coming->other);
}

/* Runs a turn that calls it. */
static void call_late(struct turn_rig *rig, const char *call)
{
    fake_answer_call(replay_answer(rig), call, "late", "{}");
    replay_answer(rig)->text = "so be it";
    turn_rig_turn(rig, call);
}

static void four_turns(struct turn_rig *rig)
{
    struct err err = ERR_INIT;
    struct intent allow = {.type = INTENT_ALLOW, .allow = {.tool = "late"}};
    rig->answer = turn_rig_say_yes;
    call_late(rig, "c1");
    call_late(rig, "c2");
    assert_int_equal(engine_submit(rig->engine, &allow, &err), 0);
    call_late(rig, "c3"); /* the rule was for the other tool: this call needs approval */
    call_late(rig, "c4");
}

static void check_story(struct turn_rig *rig)
{
    assert_int_equal(turn_rig_count(rig, EVENT_TOOLS_CHANGED), 3);
    assert_string_equal(turn_check_outcome(rig, "c1"), "denied:validation");
    assert_string_equal(turn_check_outcome(rig, "c2"), "result");
    assert_string_equal(turn_check_outcome(rig, "c3"), "result");
    assert_string_equal(turn_check_outcome(rig, "c4"), "denied:validation");
    const struct event *came = turn_rig_event(rig, EVENT_TOOLS_CHANGED, 0);
    assert_int_equal(came->turn, 0);
    assert_true(came->seq < turn_rig_event(rig, EVENT_TURN_STARTED, 1)->seq);
    assert_true(came->seq > turn_rig_event(rig, EVENT_TURN_FINISHED, 0)->seq);
    assert_string_equal(event_json(came, "added"), "[\"late\"]");
    assert_string_equal(event_json(came, "changed"), "[]");
    assert_non_null(strstr(event_json(came, "tools"), "\"name\":\"late\""));
    assert_string_equal(event_json(turn_rig_event(rig, EVENT_TOOLS_CHANGED, 1), "changed"), "[\"late\"]");
    const struct event *went = turn_rig_event(rig, EVENT_TOOLS_CHANGED, 2);
    assert_string_equal(event_json(went, "removed"), "[\"late\"]");
    assert_null(strstr(event_json(went, "tools"), "\"name\":\"late\""));
}

TEST(each_turn_has_the_tools_of_its_beginning)
{
    struct turn_rig rig;
    struct coming coming = {0};
    turn_rig_init(&rig);
    coming_init(&coming, &rig.config);
    turn_rig_open(&rig);
    four_turns(&rig);
    check_story(&rig);
    assert_int_equal(rig.questions, 2);
    assert_int_equal(coming.late.confirmed, 1);
    assert_int_equal(coming.other.confirmed, 1);
    turn_check_end(&rig);
    coming_release(&coming);
}

TEST(replay_has_the_tools_of_each_turn)
{
    struct made made;
    struct again again;
    struct coming coming = {0};
    made_init(&made);
    coming_init(&coming, &made.rig.config);
    turn_check_open(&made.rig, made.path);
    four_turns(&made.rig);
    again_init(&again, made.path);
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    check_story(&again.rig);
    again_release(&again);
    made_release(&made);
    coming_release(&coming);
}

/* ---- the finalizer ---- */

struct hooks_log {
    struct strbuf text;
    const struct turn_rig *rig;
    bool fail;
    bool closed_first; /* writes.closed was emitted before the first step ran */
};

static int note(struct hooks_log *log, const char *step, struct err *err)
{
    if (!log->text.len)
        log->closed_first = turn_rig_count(log->rig, EVENT_WRITES_CLOSED) == 1;
    strbuf_addf(&log->text, "%s%s", log->text.len ? " " : "", step);
    return log->fail ? err_set(err, "%s has no time", step) : 0;
}

static int on_citations(void *data, struct err *err)
{
    return note(data, "citations", err);
}

static int on_usage(void *data, const struct usage *usage, struct err *err)
{
    assert_int_equal(usage->input, 7);
    return note(data, "usage", err);
}

static int on_log(void *data, const char *role, const char *text, struct err *err)
{
    assert_string_equal(role, "assistant");
    assert_string_equal(text, "over");
    return note(data, "log", err);
}

static int on_decision(void *data, const struct finalize_input *input, struct err *err)
{
    assert_int_equal(input->turn, 1);
    return note(data, "decision", err);
}

static int on_memory(void *data, const struct finalize_input *input, struct err *err)
{
    assert_string_equal(input->prompt, "do it");
    return note(data, "memory", err);
}

static int on_learner(void *data, const struct finalize_input *input, struct err *err)
{
    assert_string_equal(input->text, "over");
    return note(data, "learner", err);
}

static int on_judges(void *data, const struct finalize_input *input, struct err *err)
{
    assert_string_equal(input->status, "done");
    return note(data, "judges", err);
}

TEST(finalizer_goes_through_all_steps_in_order_even_when_each_fails)
{
    for (int fail = 0; fail < 2; fail++) {
        struct turn_rig rig;
        struct hooks_log log = {.text = STRBUF_INIT, .rig = &rig, .fail = fail};
        turn_rig_init(&rig);
        rig.config.hooks = (struct finalize_hooks){.data = &log,
                                                   .citations = on_citations,
                                                   .usage = on_usage,
                                                   .log = on_log,
                                                   .decision = on_decision,
                                                   .memory = on_memory,
                                                   .learner = on_learner,
                                                   .judges = on_judges};
        rig.answer = turn_rig_say_yes;
        turn_rig_open(&rig);
        fake_answer_call(answer(&rig), "w", "write_file", "{\"path\":\"a\",\"content\":\"b\"}");
        struct fake_answer *a = answer(&rig);
        a->text = "over";
        a->usage.input = 7;
        turn_rig_turn(&rig, "do it");
        assert_string_equal(log.text.buf, "citations usage log decision memory learner judges");
        assert_true(log.closed_first);
        const struct event *finalized = turn_rig_event(&rig, EVENT_TURN_FINALIZED, 0);
        assert_string_equal(turn_check_json(&rig, event_json(finalized, "judges"), "status"), fail ? "failed" : "done");
        assert_string_equal(turn_check_json(&rig, event_json(finalized, "memory"), "reason"),
                            fail ? "memory has no time" : "");
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
        strbuf_release(&log.text);
    }
}

TEST(usage_is_not_reported_when_no_token_was_counted)
{
    struct turn_rig rig;
    struct hooks_log log = {.text = STRBUF_INIT, .rig = &rig};
    turn_rig_init(&rig);
    rig.config.hooks = (struct finalize_hooks){.data = &log, .usage = on_usage};
    turn_rig_open(&rig);
    turn_rig_turn(&rig, "do it");
    assert_string_equal(log.text.buf, "");
    turn_check_end(&rig);
    strbuf_release(&log.text);
}
