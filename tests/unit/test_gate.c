/* Tests of gates: names, modes and breakpoints. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/test.h"
#include "turn/gates.h"
#include <string.h>

static int held_by; /* the breakpoint that the last gate was held by */

static const struct tool reader = {.spec = {.name = "read_file", .effect = EFFECT_READ_ONLY}};
static const struct tool writer = {.spec = {.name = "write_file", .effect = EFFECT_LOCAL_WRITE}};

static const char *hold(struct gates *gates, enum gate gate)
{
    return gates_hold(gates, &(struct gate_view){.gate = gate}, &held_by);
}

static const char *hold_tool(struct gates *gates, enum gate gate, const struct tool *tool)
{
    return gates_hold(gates, &(struct gate_view){.gate = gate, .tool = tool, .effect = tool->spec.effect}, &held_by);
}

static int add(struct gates *gates, const char *spec)
{
    struct err err = ERR_INIT;
    int id = gates_break(gates, spec, &err);
    if (id < 0)
        fail_msg("%s: %s", spec, err.text);
    return id;
}

TEST(gates_have_two_names)
{
    assert_string_equal(gate_name(GATE_MODEL), "before model");
    assert_string_equal(gate_name(GATE_ANSWER), "after answer");
    assert_string_equal(gate_name(GATE_WAVE), "before wave");
    assert_int_equal(gate_from_name("write"), GATE_WRITE);
    assert_int_equal(gate_from_name("nowhere"), -1);
    assert_int_equal(gate_from_name(NULL), -1);
    static const char *const brief[] = {"model",  "answer",  "wave",     "tool",  "write",
                                        "result", "reflect", "finalize", "budget"};
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        assert_int_equal(gate_from_name(gate_name((enum gate)gate)), gate);
        assert_int_equal(gate_from_name(brief[gate]), gate);
    }
}

TEST(running_holds_nowhere)
{
    struct gates gates;
    gates_init(&gates);
    for (int gate = 0; gate < GATE_COUNT; gate++)
        assert_null(hold(&gates, (enum gate)gate));
    gates_release(&gates);
}

TEST(stepping_holds_where_something_is_decided)
{
    struct gates gates;
    gates_init(&gates);
    gates.stepping = STEP_INTO;
    for (int gate = 0; gate < GATE_COUNT; gate++) {
        const char *why = hold(&gates, (enum gate)gate);
        if (gate == GATE_RESULT || gate == GATE_BUDGET)
            assert_null(why);
        else
            assert_string_equal(why, "step");
    }
    gates_release(&gates);
}

TEST(stepping_over_a_wave_passes_its_calls)
{
    struct gates gates;
    gates_init(&gates);
    gates.stepping = STEP_WAVE;
    assert_null(hold_tool(&gates, GATE_TOOL, &reader));
    assert_null(hold(&gates, GATE_WRITE));
    assert_null(hold(&gates, GATE_RESULT));
    assert_string_equal(hold(&gates, GATE_WAVE), "step");
    assert_string_equal(hold(&gates, GATE_MODEL), "step");
    gates_release(&gates);
}

TEST(a_pause_holds_once)
{
    struct gates gates;
    gates_init(&gates);
    gates.pause = true;
    assert_null(hold(&gates, GATE_RESULT));
    assert_string_equal(hold(&gates, GATE_TOOL), "pause");
    assert_null(hold(&gates, GATE_TOOL));
    gates.pause = true;
    int id = add(&gates, "tool=read_file");
    assert_string_equal(hold_tool(&gates, GATE_TOOL, &reader), "tool=read_file"); /* the user wanted this stop */
    assert_true(gates_remove(&gates, id));
    assert_null(hold(&gates, GATE_MODEL));
    gates_release(&gates);
}

TEST(breakpoints_match_tools_and_effects)
{
    struct gates gates;
    gates_init(&gates);
    add(&gates, "tool=write_file");
    assert_string_equal(hold_tool(&gates, GATE_TOOL, &writer), "tool=write_file");
    assert_null(hold_tool(&gates, GATE_TOOL, &reader));
    assert_null(hold_tool(&gates, GATE_WRITE, &writer)); /* once per call, not at every gate it passes */
    assert_null(hold(&gates, GATE_TOOL));
    add(&gates, "effect=read_only"); /* any case */
    assert_string_equal(hold_tool(&gates, GATE_TOOL, &reader), "effect=read_only");
    assert_string_equal(hold_tool(&gates, GATE_TOOL, &writer), "tool=write_file");
    gates_release(&gates);
}

static bool holds_at_arguments(struct gates *gates, const char *json)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct gate_view view = {
        .gate = GATE_TOOL, .tool = &writer, .arguments = json_parse(&arena, json, strlen(json), NULL)};
    return gates_hold(gates, &view, &held_by) != NULL;
}

TEST(breakpoints_match_paths_of_arguments_and_changes)
{
    struct gates gates;
    gates_init(&gates);
    add(&gates, "path=src/**/*.{c,h}");
    assert_true(holds_at_arguments(&gates, "{\"path\":\"src/a.c\"}"));
    assert_true(holds_at_arguments(&gates, "{\"path\":\"./src/x/y/a.h\"}"));
    assert_true(holds_at_arguments(&gates, "{\"from\":\"doc/a\",\"to\":\"src/b.c\"}"));
    assert_true(holds_at_arguments(&gates, "{\"from\":\"src/a.c\",\"to\":\"doc/b\"}"));
    assert_false(holds_at_arguments(&gates, "{\"path\":\"src/a.py\"}"));
    assert_false(holds_at_arguments(&gates, "{\"path\":5,\"text\":\"src/a.c\"}"));
    assert_false(holds_at_arguments(&gates, "[]"));
    assert_null(hold_tool(&gates, GATE_TOOL, &writer));

    struct change changes[] = {{.path = (char *)"README"}, {.path = (char *)"src/a.c"}};
    struct change_set set = {.items = changes, .count = 2};
    struct gate_view view = {.gate = GATE_WRITE, .tool = &writer, .changes = &set};
    assert_string_equal(gates_hold(&gates, &view, &held_by), "path=src/**/*.{c,h}");
    assert_int_equal(held_by, 1);
    set.count = 1;
    assert_null(gates_hold(&gates, &view, &held_by));
    gates_release(&gates);
}

TEST(breakpoints_match_outcomes)
{
    static const char *const names[] = {"result", "timeout", "failure", "denied", "artifact"};
    for (int type = 0; type < 5; type++) {
        struct gates gates;
        CLEANUP(free) char *spec = xasprintf("outcome=%s", names[type]);
        gates_init(&gates);
        add(&gates, spec);
        for (int got = 0; got < 5; got++) {
            struct outcome outcome = {.type = (enum outcome_type)got};
            const char *why =
                gates_hold(&gates, &(struct gate_view){.gate = GATE_RESULT, .outcome = &outcome}, &held_by);
            assert_int_equal(why != NULL, got == type);
        }
        assert_null(hold(&gates, GATE_RESULT));
        gates_release(&gates);
    }
}

TEST(a_budget_share_holds_once_per_turn)
{
    struct gates gates;
    gates_init(&gates);
    int id = add(&gates, "budget=80%");
    assert_true(gates.breaks[0].share > 0.799 && gates.breaks[0].share < 0.801);
    assert_null(gates_hold(&gates, &(struct gate_view){.gate = GATE_BUDGET, .budget_share = 0.79}, &held_by));
    assert_string_equal(gates_hold(&gates, &(struct gate_view){.gate = GATE_BUDGET, .budget_share = 0.8}, &held_by),
                        "budget=80%");
    assert_null(gates_hold(&gates, &(struct gate_view){.gate = GATE_BUDGET, .budget_share = 0.9}, &held_by));
    gates_turn_started(&gates);
    assert_true(gates_enable(&gates, id, false));
    assert_null(gates_hold(&gates, &(struct gate_view){.gate = GATE_BUDGET, .budget_share = 0.9}, &held_by));
    assert_true(gates_enable(&gates, id, true));
    assert_non_null(gates_hold(&gates, &(struct gate_view){.gate = GATE_MODEL, .budget_share = 0.9}, &held_by));
    gates_release(&gates);
}

TEST(gates_by_name)
{
    struct gates gates;
    gates_init(&gates);
    add(&gates, "gate=finalize");
    add(&gates, "gate=before wave");
    assert_string_equal(hold(&gates, GATE_FINALIZE), "gate=finalize");
    assert_string_equal(hold(&gates, GATE_FINALIZE), "gate=finalize"); /* each time */
    assert_string_equal(hold(&gates, GATE_WAVE), "gate=before wave");
    assert_null(hold(&gates, GATE_MODEL));
    gates.stepping = STEP_INTO;
    assert_string_equal(hold(&gates, GATE_FINALIZE), "gate=finalize"); /* the reason is more than "step" */
    gates_release(&gates);
}

TEST(breakpoints_come_and_go)
{
    struct gates gates;
    gates_init(&gates);
    int ids[20];
    for (int i = 0; i < 20; i++)
        ids[i] = add(&gates, i % 2 ? "tool=a" : "tool=b");
    for (int i = 1; i < 20; i++)
        assert_true(ids[i] > ids[i - 1]);
    for (int i = 0; i < 20; i += 2)
        assert_true(gates_remove(&gates, ids[i]));
    assert_false(gates_remove(&gates, ids[0]));
    assert_false(gates_enable(&gates, ids[0], true));
    assert_int_equal(gates.count, 10);
    for (size_t i = 0; i < gates.count; i++)
        assert_string_equal(gates.breaks[i].text, "tool=a");
    assert_true(add(&gates, "tool=c") > ids[19]); /* an id is never given twice */
    gates_release(&gates);
    assert_int_equal(gates.count, 0);
}

static void assert_refused(const char *spec, const char *says)
{
    struct gates gates;
    struct err err = ERR_INIT;
    gates_init(&gates);
    if (gates_break(&gates, spec, &err) != -1)
        fail_msg("\"%s\" was taken", spec);
    if (!strstr(err.text, says))
        fail_msg("\"%s\": %s", spec, err.text);
    assert_int_equal(gates.count, 0);
    gates_release(&gates);
}

TEST(unknown_breakpoint_is_an_error)
{
    assert_refused("", "tool=NAME");
    assert_refused("write_file", "tool=NAME");
    assert_refused("colour=red", "outcome=TYPE");
    assert_refused("tols=x", "tool=");
    assert_refused("tool=", "needs a value");
    assert_refused("=x", "tool=NAME");
    assert_refused("effect=harmless", "READ_ONLY");
    assert_refused("effect=unknown", "READ_ONLY");
    assert_refused("outcome=success", "result");
    assert_refused("gate=door", "finalize");
    assert_refused("budget=much", "budget=80%");
    assert_refused("budget=0%", "budget=80%");
    assert_refused("budget=101%", "budget=80%");
    assert_refused("budget=%", "budget=80%");
    assert_refused("budget=-5", "budget=80%");
    assert_refused("path=[a", "");
}
