/* Gates: where a turn stands when it is told to, what can be changed there, and how it goes on. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

static void add_break(struct turn_rig *rig, const char *spec)
{
    turn_rig_submit(rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = spec}});
}

static const char *try_edit(struct turn_rig *rig, enum edit_what what, const char *text)
{
    return turn_check_submit(rig, &(struct intent){.type = INTENT_EDIT, .edit = {.what = what, .text = text}});
}

static struct held_view held(const struct turn_rig *rig)
{
    struct held_view view = {0};

    if (!engine_held(rig->engine, &view))
        fail_msg("nothing is held");
    return view;
}

/* Goes on with `how` until the turn is over; answers yes on the way. The reasons and gates, in one line. */
static char *walk(struct turn_rig *rig, enum intent_type how)
{
    struct strbuf gates = STRBUF_INIT;
    struct held_view view;

    for (int i = 0; i < 100 && engine_held(rig->engine, &view); i++) {
        strbuf_addf(&gates, "%s%s", gates.len ? ", " : "", gate_name(view.gate));
        if (view.call)
            strbuf_addf(&gates, " %s", view.call);
        turn_check_do(rig, how);
    }
    return strbuf_detach(&gates, NULL);
}

/* ---- a turn with everything ---- */

struct rich {
    struct turn_rig rig;
    struct fake_tool read[2], bad;
};

/* Two reads side by side, then a write; a failing call and a look back; an answer. */
static void rich_init(struct rich *rich)
{
    struct turn_rig *rig = &rich->rig;
    struct fake_answer *a;

    turn_rig_init(rig);
    fake_tool_init(&rich->read[0], "look", EFFECT_READ_ONLY);
    fake_tool_init(&rich->read[1], "see", EFFECT_READ_ONLY);
    fake_tool_init(&rich->bad, "bad", EFFECT_NETWORK);
    rich->read[0].takes_ms = 200;
    rich->read[1].takes_ms = 100;
    rich->bad.error = "no";
    turn_rig_add_tool(rig, &rich->read[0].tool);
    turn_rig_add_tool(rig, &rich->read[1].tool);
    turn_rig_add_tool(rig, &rich->bad.tool);
    rig->harness.interactive = true;
    rig->harness.thinking = THINKING_LOW;
    rig->harness.limits.tool_calls = 20;
    rig->answer = turn_rig_say_yes;
    turn_rig_open(rig);
    a = answer(rig);
    fake_answer_call(a, "l", "look", "{}");
    fake_answer_call(a, "s", "see", "{}");
    fake_answer_call(a, "w", "write_file", "{\"path\":\"src/a.c\",\"content\":\"b\"}");
    fake_answer_call(answer(rig), "b", "bad", "{}");
    answer(rig)->text = "over";
}

static void rich_end(struct rich *rich)
{
    turn_check_end(&rich->rig);
    fake_tool_release(&rich->read[0]);
    fake_tool_release(&rich->read[1]);
    fake_tool_release(&rich->bad);
}

static void test_stepping_holds_at_every_gate_in_order(void **state)
{
    struct rich rich;
    CLEANUP(free) char *gates = NULL;

    (void)state;
    rich_init(&rich);
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_STEP});
    turn_rig_turn(&rich.rig, "all of it");
    assert_string_equal(held(&rich.rig).why, "step");
    gates = walk(&rich.rig, INTENT_STEP);
    assert_string_equal(
        gates, "before model, after answer, before wave, before tool l, before tool s, before wave, before tool w, "
               "before write w, before model, after answer, before wave, before tool b, before reflection, "
               "before model, after answer, before finalizing");
    assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
    rich_end(&rich);
}

static void test_stepping_over_the_wave_skips_what_is_inside_it(void **state)
{
    struct rich rich;
    CLEANUP(free) char *gates = NULL;

    (void)state;
    rich_init(&rich);
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_STEP_WAVE});
    turn_rig_turn(&rich.rig, "all of it");
    gates = walk(&rich.rig, INTENT_STEP_WAVE);
    assert_string_equal(gates, "before model, after answer, before wave, before wave, before model, after answer, "
                               "before wave, before reflection, before model, after answer, before finalizing");
    assert_int_equal(rich.rig.questions, 1); /* a write is asked about all the same */
    rich_end(&rich);
}

static void test_continue_goes_to_the_end_and_pause_holds_once_at_the_next_gate(void **state)
{
    struct rich rich;

    (void)state;
    rich_init(&rich);
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_PAUSE});
    turn_rig_run(&rich.rig);
    assert_string_equal(held(&rich.rig).why, "pause");
    assert_int_equal(held(&rich.rig).gate, GATE_MODEL);
    assert_non_null(held(&rich.rig).messages);
    turn_check_do(&rich.rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_HELD), 2); /* the pause and the question */
    assert_string_equal(turn_rig_event(&rich.rig, EVENT_RELEASED, 0)->released.by, "continue");
    rich_end(&rich);
}

static void test_going_on_takes_back_a_pause_that_has_not_been_reached(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    answer(&rig)->takes_us = SECONDS(5);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, SECONDS(1));
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_PAUSE});
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    turn_check_end(&rig);
}

/* ---- breakpoints ---- */

static void test_each_kind_of_breakpoint_holds_where_it_says(void **state)
{
    static const struct {
        const char *spec, *gates;
    } cases[] = {
        {"tool=see", "before tool s"},
        {"effect=READ_ONLY", "before tool l, before tool s"},
        {"effect=LOCAL_WRITE", "before tool w"},
        {"path=src/*", "before tool w, before write w"},
        {"path=lib/*", ""},
        {"outcome=failure", "after tool b"},
        {"outcome=result", "after tool s, after tool l, after tool w"},
        {"gate=wave", "before wave, before wave, before wave"},
        {"gate=write", "before write w"},
        {"gate=reflect", "before reflection"},
        {"gate=finalize", "before finalizing"},
        {"budget=30%", "at budget"}, /* the second of six steps is a third of them: once */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rich rich;
        CLEANUP(free) char *gates = NULL;

        rich_init(&rich);
        add_break(&rich.rig, cases[i].spec);
        turn_rig_turn(&rich.rig, "go");
        if (*cases[i].gates)
            assert_string_equal(held(&rich.rig).why, cases[i].spec);
        gates = walk(&rich.rig, INTENT_CONTINUE);
        assert_string_equal(gates, cases[i].gates);
        assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
        rich_end(&rich);
    }
}

static void test_breakpoint_that_was_taken_away_or_makes_no_sense_does_not_hold(void **state)
{
    struct rich rich;

    (void)state;
    rich_init(&rich);
    assert_string_not_equal(
        turn_check_submit(&rich.rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=nowhere"}}),
        "");
    add_break(&rich.rig, "gate=model");
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {.id = 1}});
    assert_string_not_equal(
        turn_check_submit(&rich.rig, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {.id = 1}}), "");
    turn_rig_turn(&rich.rig, "go");
    assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
    rich_end(&rich);
}

static void test_nobody_at_the_gates_means_they_are_noted_and_passed(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    add_break(&rig, "gate=model");
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_string_equal(turn_rig_event(&rig, EVENT_HELD, 0)->held.gate, "before model");
    assert_string_equal(turn_rig_event(&rig, EVENT_RELEASED, 0)->released.by, "nobody");
    assert_int_equal(turn_rig_event(&rig, EVENT_HELD, 0)->seq + 1, turn_rig_event(&rig, EVENT_RELEASED, 0)->seq);
    assert_int_equal(turn_check_finished(&rig)->waited_ms, 0);
    turn_check_end(&rig);
}

static void test_holds_of_several_calls_queue_up_and_are_shown_one_by_one(void **state)
{
    static const char *const names[] = {"one", "two", "three"};
    struct turn_rig rig;
    struct fake_tool tools[3];
    struct fake_answer *a;
    const struct message_list *messages;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    a = answer(&rig);
    for (size_t i = 0; i < 3; i++) {
        fake_tool_init(&tools[i], names[i], EFFECT_READ_ONLY);
        tools[i].takes_ms = 300 - 100 * (int64_t)i;
        turn_rig_add_tool(&rig, &tools[i].tool);
        fake_answer_call(a, names[i], names[i], "{}");
    }
    turn_rig_open(&rig);
    add_break(&rig, "outcome=result");
    turn_rig_turn(&rig, "go");
    /* All have ended meanwhile; one is shown. */
    assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_FINISHED), 3);
    assert_int_equal(turn_rig_count(&rig, EVENT_HELD), 1);
    assert_string_equal(held(&rig).call, "three");
    turn_rig_run_for(&rig, SECONDS(50));
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(held(&rig).call, "two");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(held(&rig).call, "one");
    assert_string_equal(try_edit(&rig, EDIT_RESULT, "{\"edited\":\"one\"}"), "");
    turn_rig_run_for(&rig, SECONDS(50));
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    assert_int_equal(turn_check_finished(&rig)->elapsed_ms, 100); /* from the first hold on no time has passed */
    assert_int_equal(turn_check_finished(&rig)->waited_ms, 100200);
    messages = turn_rig_messages(&rig);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(messages->items[messages->count - 3 + i].call_id, names[i]);
    assert_string_equal(turn_check_message(&rig, "one"), "{\"edited\":\"one\"}");
    turn_check_end(&rig);
    for (size_t i = 0; i < 3; i++)
        fake_tool_release(&tools[i]);
}

/* ---- edits ---- */

static void test_edited_arguments_are_checked_and_then_executed(void **state)
{
    struct turn_rig rig;
    const struct event *edited;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "b.txt", "B\n");
    add_break(&rig, "tool=read_file");
    fake_answer_call(answer(&rig), "r", "read_file", "{\"path\":\"a.txt\"}");
    turn_rig_turn(&rig, "read");
    assert_string_equal(held(&rig).arguments, "{\"path\":\"a.txt\"}");
    assert_string_equal(held(&rig).tool->spec.name, "read_file");
    assert_string_not_equal(try_edit(&rig, EDIT_ARGUMENTS, "{\"path\":"), "");
    assert_string_not_equal(try_edit(&rig, EDIT_ARGUMENTS, "[]"), "");
    assert_string_not_equal(try_edit(&rig, EDIT_ARGUMENTS, "{\"path\":7}"), "");
    assert_string_not_equal(try_edit(&rig, EDIT_ARGUMENTS, "{}"), "");
    assert_int_equal(turn_rig_count(&rig, EVENT_EDITED), 0);
    assert_string_equal(held(&rig).arguments, "{\"path\":\"a.txt\"}");
    assert_string_equal(try_edit(&rig, EDIT_ARGUMENTS, "{\n  \"path\": \"b.txt\"\n}"), "");
    assert_string_equal(held(&rig).arguments, "{\"path\":\"b.txt\"}");
    edited = turn_rig_event(&rig, EVENT_EDITED, 0);
    assert_string_equal(edited->edited.what, "arguments");
    assert_string_equal(edited->edited.call, "r");
    assert_string_equal(edited->edited.before, "{\"path\":\"a.txt\"}");
    assert_string_equal(edited->edited.after, "{\"path\":\"b.txt\"}");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_rig_event(&rig, EVENT_TOOL_STARTED, 0)->tool_started.arguments, "{\"path\":\"b.txt\"}");
    assert_string_equal(turn_check_json(&rig, turn_check_message(&rig, "r"), "entries[0]"), "B");
    turn_check_end(&rig);
}

static void test_arguments_that_were_no_json_can_be_mended_at_the_gate(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    turn_rig_file(&rig, "b.txt", "B\n");
    add_break(&rig, "tool=read_file");
    fake_answer_call(answer(&rig), "r", "read_file", "path: b.txt");
    rig.model->answers.items[0]->calls[0].incomplete = true; /* a person completes it */
    turn_rig_turn(&rig, "read");
    assert_string_equal(held(&rig).arguments, "\"path: b.txt\"");
    assert_string_equal(try_edit(&rig, EDIT_ARGUMENTS, "{\"path\":\"b.txt\"}"), "");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_outcome(&rig, "r"), "result");
    turn_check_end(&rig);
}

static void test_edited_result_is_what_the_model_reads(void **state)
{
    struct turn_rig rig;
    const struct event *edited;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    add_break(&rig, "outcome=failure");
    fake_answer_call(answer(&rig), "r", "read_file", "{\"path\":\"none\"}");
    turn_rig_turn(&rig, "read");
    assert_non_null(strstr(held(&rig).result, "\"status\":\"error\""));
    assert_string_not_equal(try_edit(&rig, EDIT_RESULT, "not json"), "");
    assert_non_null(strstr(held(&rig).result, "\"status\":\"error\""));
    assert_string_equal(try_edit(&rig, EDIT_RESULT, "{ \"entries\": [\"as if\"] }"), "");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(turn_check_message(&rig, "r"), "{\"entries\":[\"as if\"]}");
    assert_string_equal(turn_check_outcome(&rig, "r"), "failure"); /* what happened is not changed */
    edited = turn_rig_event(&rig, EVENT_EDITED, 0);
    assert_string_equal(edited->edited.what, "result");
    assert_string_equal(turn_check_json(&rig, edited->edited.before, "status"), "error");
    turn_check_end(&rig);
}

static void test_edited_prompt_is_what_the_model_is_asked(void **state)
{
    struct turn_rig rig;
    const struct message_list *messages;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_STEP});
    turn_rig_turn(&rig, "as typed");
    assert_string_not_equal(try_edit(&rig, EDIT_PROMPT, ""), "");
    assert_string_equal(try_edit(&rig, EDIT_PROMPT, "as \"meant\"\n"), "");
    turn_check_do(&rig, INTENT_CONTINUE);
    messages = turn_rig_messages(&rig);
    assert_string_equal(messages->items[messages->count - 1].text, "as \"meant\"\n");
    assert_string_equal(turn_rig_event(&rig, EVENT_EDITED, 0)->edited.before, "\"as typed\"");
    assert_string_equal(turn_rig_event(&rig, EVENT_EDITED, 0)->edited.after, "\"as \\\"meant\\\"\\n\"");
    turn_check_end(&rig);
}

static void test_what_does_not_stand_at_the_gate_cannot_be_edited(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    rig.harness.interactive = true;
    turn_rig_open(&rig);
    assert_string_equal(try_edit(&rig, EDIT_PROMPT, "x"), "nothing stands at a gate");
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_STEP});
    turn_rig_turn(&rig, "go");
    assert_string_not_equal(try_edit(&rig, EDIT_ARGUMENTS, "{}"), "");
    assert_string_not_equal(try_edit(&rig, EDIT_RESULT, "{}"), "");
    turn_check_do(&rig, INTENT_STEP);
    assert_int_equal(held(&rig).gate, GATE_ANSWER);
    assert_string_not_equal(try_edit(&rig, EDIT_PROMPT, "x"), "");
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_int_equal(turn_rig_count(&rig, EVENT_EDITED), 0);
    turn_check_end(&rig);
}

/* ---- cancelling ---- */

static void test_turn_that_is_held_can_be_cancelled_at_every_gate(void **state)
{
    static const struct {
        const char *spec, *status;
        bool written;
    } cases[] = {
        {"gate=model", "cancelled", false},  {"gate=answer", "cancelled", false},
        {"gate=wave", "cancelled", false},   {"gate=tool", "cancelled", false},
        {"gate=write", "cancelled", false},  {"outcome=result", "cancelled", false},
        {"gate=reflect", "cancelled", true}, {"budget=20%", "cancelled", true},
        {"gate=finalize", "done", true}, /* it was over */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rich rich;
        CLEANUP(free) char *content = NULL;

        rich_init(&rich);
        add_break(&rich.rig, cases[i].spec);
        turn_rig_turn(&rich.rig, "go");
        assert_string_equal(held(&rich.rig).why, cases[i].spec);
        turn_check_do(&rich.rig, INTENT_CANCEL);
        assert_string_equal(turn_check_finished(&rich.rig)->status, cases[i].status);
        content = turn_rig_read(&rich.rig, "src/a.c");
        assert_int_equal(content != NULL, cases[i].written);
        rich_end(&rich);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stepping_holds_at_every_gate_in_order),
        cmocka_unit_test(test_stepping_over_the_wave_skips_what_is_inside_it),
        cmocka_unit_test(test_continue_goes_to_the_end_and_pause_holds_once_at_the_next_gate),
        cmocka_unit_test(test_going_on_takes_back_a_pause_that_has_not_been_reached),
        cmocka_unit_test(test_each_kind_of_breakpoint_holds_where_it_says),
        cmocka_unit_test(test_breakpoint_that_was_taken_away_or_makes_no_sense_does_not_hold),
        cmocka_unit_test(test_nobody_at_the_gates_means_they_are_noted_and_passed),
        cmocka_unit_test(test_holds_of_several_calls_queue_up_and_are_shown_one_by_one),
        cmocka_unit_test(test_edited_arguments_are_checked_and_then_executed),
        cmocka_unit_test(test_arguments_that_were_no_json_can_be_mended_at_the_gate),
        cmocka_unit_test(test_edited_result_is_what_the_model_reads),
        cmocka_unit_test(test_edited_prompt_is_what_the_model_is_asked),
        cmocka_unit_test(test_what_does_not_stand_at_the_gate_cannot_be_edited),
        cmocka_unit_test(test_turn_that_is_held_can_be_cancelled_at_every_gate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
