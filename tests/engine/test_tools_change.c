/* Tools that come, become others and go between turns: each turn has those that were there when it began, the journal
 * says so before it, and a recording does the same again. */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/replay_rig.h"
#include "tools/source.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Before the second turn `late` comes, before the third it is another one, before the fourth it goes. */
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

static void coming_init(struct coming *coming, struct harness *harness)
{
    fake_tool_init(&coming->late, "late", EFFECT_DESTRUCTIVE);
    fake_tool_init(&coming->other, "late", EFFECT_DESTRUCTIVE);
    coming->other.tool.spec.description = "another one";
    coming->late.asks = coming->other.asks = FAKE_ASKS_FIELD;
    coming->source.adopt = adopt;
    harness->tools = &coming->source;
}

static void coming_release(struct coming *coming)
{
    fake_tool_release(&coming->late);
    fake_tool_release(&coming->other);
}

/* A turn that calls it. */
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
    call_late(rig, "c3"); /* what was allowed was allowed to another one: it is asked */
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

static void test_each_turn_has_the_tools_that_were_there_when_it_began(void **state)
{
    struct turn_rig rig;
    struct coming coming = {0};

    (void)state;
    turn_rig_init(&rig);
    coming_init(&coming, &rig.harness);
    turn_rig_open(&rig);
    four_turns(&rig);
    check_story(&rig);
    assert_int_equal(rig.questions, 2);
    assert_int_equal(coming.late.confirmed, 1);
    assert_int_equal(coming.other.confirmed, 1);
    turn_check_end(&rig);
    coming_release(&coming);
}

static void test_a_recording_of_it_goes_the_same_way(void **state)
{
    struct made made;
    struct again again;
    struct coming coming = {0};

    (void)state;
    made_init(&made);
    coming_init(&coming, &made.rig.harness);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_turn_has_the_tools_that_were_there_when_it_began),
        cmocka_unit_test(test_a_recording_of_it_goes_the_same_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
