/* Secrets: the record never holds them, whoever says them and in however many pieces; what is done is done with them.
 */

#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/turn_check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VALUE "sk-live-0123456789"

static int forget(void **state)
{
    (void)state;
    redact_forget();
    return 0;
}

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

static void open_rig(struct turn_rig *rig)
{
    CLEANUP(free) char *path = NULL;

    turn_rig_init(rig);
    redact_add("API_KEY", VALUE);
    path = scratch_path(&rig->scratch, "s.jsonl");
    turn_check_open(rig, path);
}

/* Nothing that was heard or written down holds it. */
static void check_record(struct turn_rig *rig)
{
    CLEANUP(free) char *file = scratch_read(&rig->scratch, "s.jsonl", NULL);

    assert_null(strstr(file, "sk-live"));
    assert_null(strstr(file, "0123456789"));
    for (size_t i = 0; i < rig->event_count; i++)
        assert_null(memmem(rig->events[i].raw, rig->events[i].raw_len, "0123456789", 10));
}

static void test_model_and_tool_say_it_and_the_record_does_not(void **state)
{
    struct turn_rig rig;
    struct fake_tool echo;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&echo, "echo", EFFECT_READ_ONLY);
    echo.output = "{\"env\":\"API_KEY=" VALUE "\\n\",\"url\":\"https://x/?k=" VALUE "&a\"}";
    echo.says = "using " VALUE " now";
    turn_rig_add_tool(&rig, &echo.tool);
    redact_add("API_KEY", VALUE);
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "s.jsonl");
    turn_check_open(&rig, path);
    fake_answer_call(answer(&rig), "c1", "echo", "{\"with\":\"Bearer " VALUE "\"}");
    answer(&rig)->text = "The key is " VALUE ".";
    turn_rig_turn(&rig, "What is " VALUE "?");
    check_record(&rig);
    assert_string_equal(turn_rig_event(&rig, EVENT_TURN_STARTED, 0)->turn_started.prompt, "What is [secret API_KEY]?");
    assert_string_equal(turn_check_finished(&rig)->text, "The key is [secret API_KEY].");
    assert_non_null(strstr(event_json(turn_rig_finished(&rig, "c1"), "result"), "?k=[secret API_KEY]&a"));
    /* The tool and the model had it as it is. */
    assert_string_equal(echo.arguments, "{\"with\": \"Bearer " VALUE "\"}");
    assert_non_null(strstr(turn_check_message(&rig, "c1"), VALUE));
    turn_check_end(&rig);
    fake_tool_release(&echo);
}

static void test_written_is_what_was_proposed_and_recorded_is_not(void **state)
{
    struct turn_rig rig;
    CLEANUP(free) char *written = NULL;

    (void)state;
    open_rig(&rig);
    rig.answer = turn_rig_say_yes;
    fake_answer_call(answer(&rig), "c1", "write_file", "{\"path\":\"conf\",\"content\":\"key = " VALUE "\\n\"}");
    turn_rig_turn(&rig, "write it");
    assert_string_equal(turn_check_outcome(&rig, "c1"), "result");
    written = turn_rig_read(&rig, "conf");
    assert_string_equal(written, "key = " VALUE "\n");
    check_record(&rig);
    assert_non_null(strstr(event_json(turn_rig_event(&rig, EVENT_WRITE_PROPOSED, 0), "files"), "[secret API_KEY]"));
    turn_check_end(&rig);
}

static void test_stream_in_pieces_is_held_back_where_it_may_begin(void **state)
{
    static const char *const pieces[] = {"It is sk", "-live-01234", "56789, and s", NULL};
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    struct turn_rig rig;
    struct fake_answer *a;

    (void)state;
    open_rig(&rig);
    a = answer(&rig);
    a->deltas = pieces;
    a->text = "It is " VALUE ", and s";
    turn_rig_turn(&rig, "say it");
    for (size_t i = 0; i < turn_rig_count(&rig, EVENT_MODEL_DELTA); i++)
        strbuf_addstr(&told, turn_rig_event(&rig, EVENT_MODEL_DELTA, i)->model_delta.text);
    assert_string_equal(told.buf, "It is [secret API_KEY], and s");
    assert_true(turn_check_place(&rig, EVENT_MODEL_DELTA, NULL, turn_rig_count(&rig, EVENT_MODEL_DELTA) - 1) <
                turn_check_place(&rig, EVENT_MODEL_RESPONDED, NULL, 0));
    check_record(&rig);
    turn_check_end(&rig);
}

static void test_failure_of_the_model_does_not_tell_its_key(void **state)
{
    struct turn_rig rig;

    (void)state;
    open_rig(&rig);
    answer(&rig)->error = "HTTP 401: Incorrect API key provided: " VALUE;
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_rig_event(&rig, EVENT_MODEL_FAILED, 0)->model_failed.error,
                        "HTTP 401: Incorrect API key provided: [secret API_KEY]");
    check_record(&rig);
    turn_check_end(&rig);
}

static void test_gate_shows_no_value_and_an_edit_keeps_it(void **state)
{
    struct turn_rig rig;
    struct fake_tool echo;
    struct held_view held;

    (void)state;
    turn_rig_init(&rig);
    fake_tool_init(&echo, "echo", EFFECT_READ_ONLY);
    turn_rig_add_tool(&rig, &echo.tool);
    rig.harness.interactive = true;
    redact_add("API_KEY", VALUE);
    redact_add("OTHER", "something else");
    turn_rig_open(&rig);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "tool=echo"}});
    fake_answer_call(answer(&rig), "c1", "echo", "{\"with\":\"" VALUE "\"}");
    turn_rig_turn(&rig, "go");
    assert_true(engine_held(rig.engine, &held));
    assert_string_equal(held.arguments, "{\"with\":\"[secret API_KEY]\"}");
    turn_rig_submit(&rig,
                    &(struct intent){.type = INTENT_EDIT,
                                     .edit = {.what = EDIT_ARGUMENTS,
                                              .text = "{\"with\":\"[secret API_KEY]!\",\"x\":\"[secret OTHER]\"}"}});
    turn_check_do(&rig, INTENT_CONTINUE);
    assert_string_equal(echo.arguments, "{\"with\": \"" VALUE "!\", \"x\": \"[secret OTHER]\"}");
    turn_check_end(&rig);
    fake_tool_release(&echo);
}

static void test_without_secrets_events_are_as_they_were(void **state)
{
    struct turn_rig rig;

    (void)state;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    answer(&rig)->text = "The key is " VALUE ".";
    turn_rig_turn(&rig, "go");
    assert_string_equal(turn_check_finished(&rig)->text, "The key is " VALUE ".");
    turn_check_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_model_and_tool_say_it_and_the_record_does_not, forget),
        cmocka_unit_test_teardown(test_written_is_what_was_proposed_and_recorded_is_not, forget),
        cmocka_unit_test_teardown(test_stream_in_pieces_is_held_back_where_it_may_begin, forget),
        cmocka_unit_test_teardown(test_failure_of_the_model_does_not_tell_its_key, forget),
        cmocka_unit_test_teardown(test_gate_shows_no_value_and_an_edit_keeps_it, forget),
        cmocka_unit_test_teardown(test_without_secrets_events_are_as_they_were, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
