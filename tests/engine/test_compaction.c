/* A turn that comes near its context ceiling: its messages are made smaller before the model is asked, the journal says
 * so, and a recording of it goes on as it would have gone on. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STEPS   12
#define CEILING 12000 /* tokens: the usual tools, and most of the results of these steps */

struct stage {
    struct turn_rig rig;
    struct fake_tool tool;
    char *output;
    char *journal;
};

static struct fake_answer *answer(struct stage *stage)
{
    return fake_provider_answer(stage->rig.model);
}

static void stage_init(struct stage *stage, int64_t ceiling)
{
    struct strbuf text = STRBUF_INIT;

    turn_rig_init(&stage->rig);
    strbuf_addstr(&text, "{\"lines\":[");
    for (int i = 0; i < 60; i++)
        strbuf_addf(&text, "%s\"this is line number %d of a long file\"", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    stage->output = strbuf_detach(&text, NULL);
    fake_tool_init(&stage->tool, "look", EFFECT_READ_ONLY);
    stage->tool.output = stage->output;
    turn_rig_add_tool(&stage->rig, &stage->tool.tool);
    stage->rig.harness.limits.context_tokens = ceiling;
    stage->rig.harness.limits.steps = 20;
    stage->rig.harness.limits.tool_calls = 20;
    stage->journal = scratch_path(&stage->rig.scratch, "s.jsonl");
}

static void stage_answers(struct stage *stage, int from)
{
    for (int i = from; i <= STEPS; i++) {
        CLEANUP(free) char *id = xasprintf("c%d", i), *arguments = xasprintf("{\"n\":%d}", i);

        fake_answer_call(answer(stage), id, "look", arguments);
    }
    answer(stage)->text = "seen";
}

static void stage_end(struct stage *stage)
{
    turn_check_end(&stage->rig);
    fake_tool_release(&stage->tool);
    free(stage->output);
    free(stage->journal);
}

static char *messages_text(const struct message_list *messages)
{
    struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_TURN_PREPARED,
                          .turn_prepared = {.messages = message_list_to_event(&arena, messages)}};

    strbuf_addstr(&text, event_json(&event, "messages"));
    return strbuf_detach(&text, NULL);
}

static void test_messages_are_made_smaller_before_the_ceiling(void **state)
{
    struct stage stage;
    const struct event_context_compacted *compacted;
    CLEANUP(free) char *sent = NULL;

    (void)state;
    stage_init(&stage, CEILING);
    turn_check_open(&stage.rig, stage.journal);
    stage_answers(&stage, 1);
    turn_rig_turn(&stage.rig, "look at all of it");
    assert_string_equal(turn_check_finished(&stage.rig)->status, "done");
    assert_true(turn_rig_count(&stage.rig, EVENT_CONTEXT_COMPACTED) >= 1);
    compacted = &turn_rig_event(&stage.rig, EVENT_CONTEXT_COMPACTED, 0)->context_compacted;
    assert_true(compacted->before * 100 >= CEILING * 85);
    assert_true(compacted->after < compacted->before);
    assert_non_null(strstr(compacted->how, "tool result"));
    assert_true(engine_session(stage.rig.engine)->steps[compacted->step - 1].compacted_seq > 0);
    /* It is what the model was then asked with, and every call has its message. */
    sent = messages_text(&stage.rig.model->requests[compacted->step - 1].messages);
    assert_string_equal(sent, event_body_json(EVENT_CONTEXT_COMPACTED, compacted, "messages"));
    for (int i = 1; i <= STEPS; i++) {
        CLEANUP(free) char *id = xasprintf("c%d", i);

        assert_non_null(turn_check_message(&stage.rig, id));
    }
    assert_non_null(strstr(turn_check_message(&stage.rig, "c1"), "call look again if they are needed"));
    assert_int_equal(strlen(turn_check_message(&stage.rig, "c12")) > 2000, 1);
    stage_end(&stage);
}

static void test_what_the_model_counts_wins_over_the_estimate(void **state)
{
    struct stage stage;

    (void)state;
    stage_init(&stage, 100000);
    turn_check_open(&stage.rig, stage.journal);
    for (int i = 1; i <= 2; i++) {
        CLEANUP(free) char *arguments = xasprintf("{\"n\":%d}", i);
        struct fake_answer *a = answer(&stage);

        a->usage.input = i == 1 ? 1000 : 90000;
        fake_answer_call(a, NULL, "look", arguments);
    }
    answer(&stage)->text = "seen";
    turn_rig_turn(&stage.rig, "go");
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_CONTEXT_COMPACTED), 1);
    assert_int_equal(turn_rig_event(&stage.rig, EVENT_CONTEXT_COMPACTED, 0)->context_compacted.step, 3);
    stage_end(&stage);
}

/* What is told about the tools goes along with every request. */
static void test_tools_count_too(void **state)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < CEILING; i++)
        strbuf_addstr(&words, "many");
    for (int heavy = 0; heavy < 2; heavy++) {
        struct stage stage;
        const struct event_context_compacted *compacted;

        stage_init(&stage, 2 * CEILING);
        if (heavy)
            stage.tool.tool.spec.description = words.buf;
        turn_check_open(&stage.rig, stage.journal);
        stage_answers(&stage, 1);
        turn_rig_turn(&stage.rig, "look at all of it");
        assert_int_equal(turn_rig_count(&stage.rig, EVENT_CONTEXT_COMPACTED) > 0, heavy);
        if (heavy) {
            compacted = &turn_rig_event(&stage.rig, EVENT_CONTEXT_COMPACTED, 0)->context_compacted;
            assert_true(compacted->after > CEILING);
            assert_true(compacted->after < compacted->before);
        }
        stage_end(&stage);
    }
}

static void test_read_whose_result_is_gone_may_be_repeated(void **state)
{
    struct stage stage;

    (void)state;
    stage_init(&stage, CEILING);
    turn_check_open(&stage.rig, stage.journal);
    for (int i = 1; i <= STEPS; i++) {
        CLEANUP(free) char *id = xasprintf("c%d", i), *arguments = xasprintf("{\"n\":%d}", i);

        fake_answer_call(answer(&stage), id, "look", arguments);
    }
    fake_answer_call(answer(&stage), "again", "look", "{\"n\":1}");
    turn_rig_turn(&stage.rig, "look at all of it");
    assert_string_equal(turn_check_outcome(&stage.rig, "again"), "result");
    stage_end(&stage);
}

static void test_it_can_be_switched_off(void **state)
{
    struct stage stage;

    (void)state;
    stage_init(&stage, 1000);
    stage.rig.harness.compact = false;
    turn_check_open(&stage.rig, stage.journal);
    stage_answers(&stage, 1);
    turn_rig_turn(&stage.rig, "go");
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_CONTEXT_COMPACTED), 0);
    stage_end(&stage);
}

/* Left right after the event: the next request is the one that was made then. */
static void test_recording_goes_on_from_the_smaller_messages(void **state)
{
    struct stage first, second;
    struct err err = ERR_INIT;
    CLEANUP(free) char *bytes = NULL, *was = NULL, *is = NULL;
    size_t len, place, step;
    struct journal_reader *reader;
    const char *line;

    (void)state;
    stage_init(&first, CEILING);
    turn_check_open(&first.rig, first.journal);
    stage_answers(&first, 1);
    turn_rig_turn(&first.rig, "look at all of it");
    place = turn_check_place(&first.rig, EVENT_CONTEXT_COMPACTED, NULL, 0);
    step = (size_t)first.rig.events[place].context_compacted.step;
    was = messages_text(&first.rig.model->requests[step - 1].messages);
    bytes = scratch_read(&first.rig.scratch, "s.jsonl", &len);
    reader = journal_open_bytes(bytes, len, &err);
    line = journal_line(reader, place, &len);
    len = (size_t)(line - bytes) + len + 1;

    stage_init(&second, CEILING);
    scratch_write_bytes(&second.rig.scratch, "s.jsonl", bytes, len);
    journal_reader_free(reader);
    reader = journal_open(second.journal, &err);
    struct journal *journal = journal_resume(second.journal, &second.rig.clock.base, &err);
    assert_non_null(journal);
    second.rig.engine = engine_resume(&second.rig.harness, journal, reader, &second.rig.sink, &err);
    assert_non_null(second.rig.engine);
    journal_reader_free(reader);
    answer(&second)->text = "seen";
    turn_rig_submit(&second.rig, &(struct intent){.type = INTENT_GO_ON});
    turn_rig_run(&second.rig);
    is = messages_text(&second.rig.model->requests[0].messages);
    assert_string_equal(is, was);
    assert_int_equal(turn_rig_count(&second.rig, EVENT_CONTEXT_COMPACTED), 0); /* not once more */
    engine_free(second.rig.engine);
    second.rig.engine = NULL;
    turn_rig_release(&second.rig);
    fake_tool_release(&second.tool);
    free(second.output);
    free(second.journal);
    stage_end(&first);
}

static void says_too_long(struct stage *stage)
{
    struct fake_answer *a = answer(stage);

    a->error = "the API answered 400, too much";
    a->too_long = true;
}

static void test_model_that_was_asked_too_much_is_asked_again_with_less(void **state)
{
    struct stage stage;
    size_t failed, compacted;
    CLEANUP(free) char *sent = NULL;

    (void)state;
    stage_init(&stage, 1000000);
    turn_check_open(&stage.rig, stage.journal);
    for (int i = 1; i <= STEPS; i++) {
        CLEANUP(free) char *arguments = xasprintf("{\"n\":%d}", i);

        fake_answer_call(answer(&stage), NULL, "look", arguments);
    }
    says_too_long(&stage);
    answer(&stage)->text = "seen";
    turn_rig_turn(&stage.rig, "look at all of it");
    assert_string_equal(turn_check_finished(&stage.rig)->status, "done");
    assert_string_equal(turn_check_finished(&stage.rig)->text, "seen");
    failed = turn_check_place(&stage.rig, EVENT_MODEL_FAILED, NULL, 0);
    compacted = turn_check_place(&stage.rig, EVENT_CONTEXT_COMPACTED, NULL, 0);
    assert_int_equal(compacted, failed + 1);
    assert_int_equal(stage.rig.events[failed].model_failed.retry_in_ms, 0);
    assert_int_equal(stage.rig.events[compacted].context_compacted.step, STEPS + 1);
    assert_true(stage.rig.events[compacted].context_compacted.after * 10 <
                stage.rig.events[compacted].context_compacted.before * 7);
    sent = messages_text(&stage.rig.model->requests[STEPS + 1].messages);
    assert_string_equal(sent, event_json(&stage.rig.events[compacted], "messages"));
    stage_end(&stage);
}

static void test_model_is_asked_with_less_once_and_only_where_there_is_less(void **state)
{
    (void)state;
    for (int calls = 0; calls < 2; calls++) {
        struct stage stage;
        const struct event_model_failed *last;

        stage_init(&stage, 1000000);
        turn_check_open(&stage.rig, stage.journal);
        if (calls)
            fake_answer_call(answer(&stage), NULL, "look", "{}");
        says_too_long(&stage);
        stage.rig.model->repeat_last = true;
        turn_rig_turn(&stage.rig, "look");
        assert_int_equal(turn_rig_count(&stage.rig, EVENT_CONTEXT_COMPACTED), calls);
        assert_int_equal(turn_rig_count(&stage.rig, EVENT_MODEL_FAILED), calls + 1);
        last = &turn_rig_event(&stage.rig, EVENT_MODEL_FAILED, (size_t)calls)->model_failed;
        assert_int_equal(last->retry_in_ms, EVENT_NULL_INT);
        assert_string_equal(last->error,
                            "the API answered 400, too much (what can be left out is left out: ask for less, "
                            "or take a model that reads more)");
        assert_string_equal(turn_check_finished(&stage.rig)->status, "failed");
        stage_end(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_made_smaller_before_the_ceiling),
        cmocka_unit_test(test_what_the_model_counts_wins_over_the_estimate),
        cmocka_unit_test(test_tools_count_too),
        cmocka_unit_test(test_read_whose_result_is_gone_may_be_repeated),
        cmocka_unit_test(test_it_can_be_switched_off),
        cmocka_unit_test(test_recording_goes_on_from_the_smaller_messages),
        cmocka_unit_test(test_model_that_was_asked_too_much_is_asked_again_with_less),
        cmocka_unit_test(test_model_is_asked_with_less_once_and_only_where_there_is_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
