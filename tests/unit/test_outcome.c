/* Tests of outcomes: what the model reads and what the journal keeps of each. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "support/event_json.h"
#include "support/test.h"
#include "tools/outcome.h"
#include <stdint.h>

struct text {
    struct arena arena;
    struct strbuf buf;
    const struct json *json;
};

static void read_back(struct text *text)
{
    text->json = json_parse(&text->arena, text->buf.buf, text->buf.len, NULL);
    assert_non_null(text->json);
}

static const char *field(const struct text *text, const char *key)
{
    return json_str(json_get(text->json, key), "(none)");
}

static void message_of(struct text *text, struct outcome *take_outcome)
{
    *text = (struct text){.arena = ARENA_INIT, .buf = STRBUF_INIT};
    outcome_message(&text->buf, take_outcome);
    outcome_release(take_outcome);
    read_back(text);
}

static void details_of(struct text *text, struct outcome *take_outcome)
{
    *text = (struct text){.arena = ARENA_INIT, .buf = STRBUF_INIT};
    struct event event = {.type = EVENT_TOOL_FINISHED};
    struct outcome_record record;
    outcome_to_event(&event.tool_finished, &record, take_outcome);
    strbuf_addstr(&text->buf, event_json(&event, outcome_type_name(take_outcome->type)));
    outcome_release(take_outcome);
    read_back(text);
}

static void done_with(struct text *text)
{
    arena_release(&text->arena);
    strbuf_release(&text->buf);
}

TEST(result_is_sent_as_it_is)
{
    struct text text;
    struct outcome outcome = outcome_result("c1", "read_file", xstrdup("{\"content\":\"a\"}"));
    assert_string_equal(outcome.call, "c1");
    assert_string_equal(outcome.tool, "read_file");
    message_of(&text, &outcome);
    assert_string_equal(text.buf.buf, "{\"content\":\"a\"}");
    done_with(&text);
    outcome = outcome_result("c1", "read_file", xstrdup("[1]"));
    outcome.result.truncated = true;
    details_of(&text, &outcome);
    assert_string_equal(text.buf.buf, "{\"output\":[1],\"truncated\":true}");
    done_with(&text);
}

TEST(timeout_is_not_a_denial)
{
    struct text text;
    struct outcome outcome = outcome_timeout("c1", "slow", 45, true);
    message_of(&text, &outcome);
    assert_string_equal(field(&text, "status"), "timeout");
    assert_non_null(strstr(field(&text, "error"), "slow"));
    assert_non_null(strstr(field(&text, "error"), "45 s"));
    assert_true(json_bool(json_get(text.json, "retryable"), false));
    done_with(&text);
    outcome = outcome_timeout("c1", "slow", 5, false);
    message_of(&text, &outcome);
    assert_non_null(strstr(field(&text, "hint"), "blocked"));
    done_with(&text);
    outcome = outcome_timeout("c1", "slow", 7.5, false);
    details_of(&text, &outcome);
    assert_string_equal(text.buf.buf, "{\"deadline_s\":7.5,\"retryable\":false}");
    done_with(&text);
}

TEST(failure_names_its_cause)
{
    struct text text;
    struct outcome outcome = outcome_failure("c1", "x", true, "no such file: %s", "a\"b");
    message_of(&text, &outcome);
    assert_string_equal(field(&text, "status"), "error");
    assert_string_equal(field(&text, "error"), "no such file: a\"b");
    assert_null(json_get(text.json, "hint"));
    done_with(&text);
    outcome = outcome_failure("c1", "x", false, "gone");
    message_of(&text, &outcome);
    assert_non_null(strstr(field(&text, "hint"), "blocked"));
    done_with(&text);
    outcome = outcome_failure("c1", "x", false, "gone");
    details_of(&text, &outcome);
    assert_string_equal(text.buf.buf, "{\"error\":\"gone\",\"retryable\":false}");
    done_with(&text);
}

TEST(every_denial_reads_differently)
{
    struct text texts[6];
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = outcome_denied("c1", "x", (enum denial)i, "because %d", i);
        message_of(&texts[i], &outcome);
        assert_string_equal(field(&texts[i], "status"), "denied");
        assert_string_equal(field(&texts[i], "reason"), denial_name((enum denial)i));
        assert_int_equal(denial_from_name(field(&texts[i], "reason")), i);
        assert_non_null(strstr(field(&texts[i], "details"), "because"));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(field(&texts[i], "hint"), field(&texts[j], "hint"));
    }
    for (int i = 0; i < 6; i++)
        done_with(&texts[i]);
    assert_int_equal(denial_from_name("other"), -1);
    assert_int_equal(denial_from_name(NULL), -1);
}

TEST(the_reason_the_user_gave_is_in_message_and_details)
{
    struct text text;
    struct outcome outcome = outcome_denied("c1", "write_file", DENIAL_WRITE_DENIED, "the user refused: use tabs");
    message_of(&text, &outcome);
    assert_non_null(strstr(field(&text, "details"), "use tabs"));
    assert_non_null(strstr(field(&text, "hint"), "nothing was written"));
    done_with(&text);
    outcome = outcome_denied("c1", "write_file", DENIAL_WRITE_DENIED, "the user refused: use tabs");
    details_of(&text, &outcome);
    assert_string_equal(text.buf.buf, "{\"reason\":\"write_denied\",\"details\":\"the user refused: use tabs\"}");
    done_with(&text);
}

static struct outcome artifact(void)
{
    return (struct outcome){
        .type = OUTCOME_ARTIFACT,
        .call = xstrdup("c1"),
        .tool = xstrdup("x"),
        .artifact = {xstrdup("art_0123456789abcdef"), xstrdup("/a/b.txt"), xstrdup("first words"), 20000},
    };
}

TEST(artifact_explains_how_to_read_it)
{
    struct text text;
    struct outcome outcome = artifact();
    message_of(&text, &outcome);
    assert_string_equal(field(&text, "status"), "stored");
    assert_string_equal(field(&text, "id"), "art_0123456789abcdef");
    assert_int_equal(json_int(json_get(text.json, "size"), 0), 20000);
    assert_string_equal(field(&text, "summary"), "first words");
    assert_non_null(strstr(field(&text, "hint"), "read_file path=art_0123456789abcdef"));
    done_with(&text);
    outcome = artifact();
    details_of(&text, &outcome);
    assert_string_equal(field(&text, "path"), "/a/b.txt");
    done_with(&text);
}

TEST(only_outcomes_that_are_not_retryable_block_the_tool)
{
    struct outcome outcomes[] = {
        outcome_timeout("c", "t", 5, false),
        outcome_failure("c", "t", false, "x"),
        outcome_timeout("c", "t", 5, true),
        outcome_failure("c", "t", true, "x"),
        outcome_result("c", "t", xstrdup("1")),
        outcome_denied("c", "t", DENIAL_BLOCKED, "x"),
        artifact(),
    };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        assert_int_equal(outcome_blocks_tool(&outcomes[i]), i < 2);
        outcome_release(&outcomes[i]);
    }
}

TEST(names_are_those_of_the_events)
{
    assert_string_equal(outcome_type_name(OUTCOME_RESULT), "result");
    assert_string_equal(outcome_type_name(OUTCOME_TIMEOUT), "timeout");
    assert_string_equal(outcome_type_name(OUTCOME_FAILURE), "failure");
    assert_string_equal(outcome_type_name(OUTCOME_DENIED), "denied");
    assert_string_equal(outcome_type_name(OUTCOME_ARTIFACT), "artifact");
    assert_string_equal(denial_name(DENIAL_WRITE_DENIED), "write_denied");
    assert_string_equal(denial_name(DENIAL_PRE_HOOK), "pre_hook");
}
