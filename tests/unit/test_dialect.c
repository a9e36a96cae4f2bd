/* Tests of requests: what both dialects send for the same conversation. */

#include "base/arena.h"
#include "base/mem.h"
#include "model/body.h"
#include "support/streams.h"
#include "support/test.h"
#include <stdint.h>

static const struct tool_offer tools[] = {{"read_file", "Reads.", "{\"type\":\"object\"}"}};

struct asking {
    const struct dialect *dialect;
    const char *options;
    bool reflection, no_tools, parallel;
    int thinking;
    const char *model;
};

/* Returns the request without its constant parts. */
static char *written(const struct message_list *messages, const struct asking *how)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct body body;
    const struct live_spec spec = {.provider = how->dialect->name, .model = how->model ? how->model : "m"};
    const struct json *options = how->options ? json_parse(&arena, how->options, strlen(how->options), NULL) : NULL;
    const struct model_request request = {.messages = messages,
                                          .reflection = how->reflection,
                                          .tools = tools,
                                          .tool_count = how->no_tools ? 0 : 1,
                                          .parallel = how->parallel,
                                          .thinking_tokens = how->thinking};
    body_init(&body);
    body_write(&body, how->dialect, &(struct dialect_request){&spec, options, &request});
    assert_non_null(json_parse(&arena, body.text.buf, body.text.len, NULL));
    char *text = strbuf_detach(&body.text, NULL);
    body_release(&body);
    return text;
}

static void writes(const struct message_list *messages, const struct asking *how, const char *expected)
{
    CLEANUP(free) char *text = written(messages, how);
    assert_string_equal(text, expected);
}

static void writes_part(const struct message_list *messages, const struct asking *how, const char *part)
{
    CLEANUP(free) char *text = written(messages, how);
    if (!strstr(text, part))
        fail_msg("%s\n  is not in\n%s", part, text);
}

static void writes_no(const struct message_list *messages, const struct asking *how, const char *part)
{
    CLEANUP(free) char *text = written(messages, how);
    if (strstr(text, part))
        fail_msg("%s\n  is in\n%s", part, text);
}

/* A conversation in the middle of a tool loop: two calls, whose results came in the other order. */
static void converse(struct message_list *list)
{
    message_list_init(list);
    message_list_add(list, ROLE_SYSTEM, "Be careful.");
    message_list_add(list, ROLE_SYSTEM, "today: x");
    message_list_add(list, ROLE_USER, "Before?");
    message_list_add(list, ROLE_ASSISTANT, "Yes.");
    message_list_add(list, ROLE_SYSTEM, "pack");
    message_list_add(list, ROLE_USER, "Read \"a\".");
    struct message *message = message_list_add(list, ROLE_ASSISTANT, "");
    message_add_call(message, "c:1", "read_file", "{\"path\": \"a\"}");
    message_add_call(message, "c2", "read_file", "{\"pa");
    message_list_add(list, ROLE_TOOL, "no JSON")->call_id = xstrdup("c2");
    message_list_add(list, ROLE_TOOL, "A")->call_id = xstrdup("c:1");
}

TEST(conversation_is_written_for_anthropic)
{
    struct message_list list;
    converse(&list);
    writes(
        &list, &(struct asking){.dialect = &dialect_anthropic},
        "{\"model\":\"m\",\"stream\":true,\"max_tokens\":8192,"
        "\"tools\":[{\"name\":\"read_file\",\"description\":\"Reads.\",\"input_schema\":{\"type\":\"object\"}}],"
        "\"system\":[{\"type\":\"text\",\"text\":\"Be careful.\",\"cache_control\":{\"type\":\"ephemeral\"}},"
        "{\"type\":\"text\",\"text\":\"today: x\"}],"
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Before?\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Yes.\"}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"pack\"},{\"type\":\"text\",\"text\":\"Read "
        "\\\"a\\\".\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c_1\",\"name\":\"read_file\",\"input\":{"
        "\"path\":\"a\"}},"
        "{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"read_file\",\"input\":{\"invalid_arguments\":\"{\\\"pa\"}}]},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c_1\",\"content\":\"A\"},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":\"no "
        "JSON\",\"cache_control\":{\"type\":\"ephemeral\"}}]}]}");
    message_list_release(&list);
}

TEST(conversation_is_written_for_openai)
{
    struct message_list list;
    converse(&list);
    writes(
        &list, &(struct asking){.dialect = &dialect_openai},
        "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"description\":\"Reads.\","
        "\"parameters\":{\"type\":\"object\"}}}],"
        "\"messages\":[{\"role\":\"system\",\"content\":\"Be careful.\\n\\ntoday: "
        "x\"},{\"role\":\"user\",\"content\":\"Before?\"},"
        "{\"role\":\"assistant\",\"content\":\"Yes.\"},{\"role\":\"user\",\"content\":\"pack\\n\\nRead \\\"a\\\".\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c:1\",\"type\":\"function\",\"function\":{"
        "\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}},"
        "{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"invalid_"
        "arguments\\\":\\\"{\\\\\\\"pa\\\"}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c:1\",\"content\":\"A\"},{\"role\":\"tool\",\"tool_call_id\":\"c2\","
        "\"content\":\"no JSON\"}]}");
    message_list_release(&list);
}

TEST(failed_results_are_marked_where_the_dialect_allows)
{
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    message_add_call(message_list_add(&list, ROLE_ASSISTANT, ""), "c1", "f", "{}");
    struct message *result = message_list_add(&list, ROLE_TOOL, "denied");
    result->call_id = xstrdup("c1");
    result->failed = true;
    writes_part(&list, &(struct asking){.dialect = &dialect_anthropic},
                "\"tool_use_id\":\"c1\",\"content\":\"denied\",\"is_error\":true,");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai},
                "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"denied\"}");
    message_list_release(&list);
}

TEST(errors_about_too_long_requests_are_recognized)
{
    static const struct {
        const char *body;
        bool too_long;
    } cases[] = {
        {"{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}", true},
        {"{\"error\":{\"message\":\"x\",\"type\":\"exceed_context_size_error\",\"code\":400}}", true},
        {"{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"x\"}}", true},
        {"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}",
         true},
        {"{\"object\":\"error\",\"message\":\"This model's maximum context length is 4096 tokens.\"}", true},
        {"{\"error\":\"input exceeds the context window\"}", true},
        {"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"max_tokens: 9 > 8\"}}", false},
        {"{\"error\":{\"type\":\"overloaded_error\"}}", false},
        {"{}", false},
    };
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(dialect_too_long(json_parse(&arena, cases[i].body, strlen(cases[i].body), NULL)),
                         cases[i].too_long);
    assert_false(dialect_too_long(NULL));
}

TEST(call_without_a_result_gets_one)
{
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    message_add_call(message_list_add(&list, ROLE_ASSISTANT, ""), "c1", "f", "{}");
    message_list_add(&list, ROLE_USER, "and?");
    writes_part(&list, &(struct asking){.dialect = &dialect_anthropic},
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"The "
                "call was not run.\",\"is_error\":true},{\"type\":\"text\",\"text\":\"and?\",");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai},
                "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"The call was not run.\"},"
                "{\"role\":\"user\",\"content\":\"and?\"}");
    message_list_release(&list);
}

TEST(last_word_is_never_the_models_own)
{
    static const struct dialect *const both[] = {&dialect_anthropic, &dialect_openai};
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    message_list_add(&list, ROLE_ASSISTANT, "I will look again.");
    for (size_t i = 0; i < 2; i++)
        writes_part(&list, &(struct asking){.dialect = both[i]}, "Continue.");
    message_list_add(&list, ROLE_USER, "y");
    for (size_t i = 0; i < 2; i++)
        writes_no(&list, &(struct asking){.dialect = both[i]}, "Continue.");
    message_list_release(&list);
    /* The first message too, if the dialect does not allow it. */
    message_list_add(&list, ROLE_SYSTEM, "What was said before: …");
    message_list_add(&list, ROLE_ASSISTANT, "Then.");
    message_list_add(&list, ROLE_USER, "y");
    writes_part(&list, &(struct asking){.dialect = &dialect_anthropic},
                "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Continue."
                "\"}]},{\"role\":\"assistant\"");
    message_list_release(&list);
}

TEST(reflection_lists_the_tools_and_forbids_calls)
{
    struct message_list list;
    converse(&list);
    writes_part(&list, &(struct asking){.dialect = &dialect_anthropic, .reflection = true, .thinking = 5000},
                "}],\"tool_choice\":{\"type\":\"none\"},\"system\"");
    writes_no(&list, &(struct asking){.dialect = &dialect_anthropic, .reflection = true, .thinking = 5000},
              "\"thinking\"");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai, .reflection = true},
                "}],\"tool_choice\":\"none\",\"messages\"");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai, .reflection = true, .no_tools = true}, "tool_choice");
    writes_no(&list, &(struct asking){.dialect = &dialect_anthropic, .no_tools = true}, "\"tools\"");
    message_list_release(&list);
}

TEST(options_win_and_null_leaves_out)
{
    struct message_list list;
    converse(&list);
    struct asking how = {.dialect = &dialect_anthropic,
                         .options = "{\"max_tokens\":99,\"top_p\":0.5,\"thinking\":{\"type\":\"adaptive\"}}",
                         .thinking = 2000};
    writes_part(&list, &how, "\"max_tokens\":99,\"top_p\":0.5,\"thinking\":{\"type\":\"adaptive\"},\"system\"");
    writes_no(&list, &how, "8192");
    writes_no(&list, &how, "budget_tokens");
    how = (struct asking){.dialect = &dialect_openai,
                          .options = "{\"stream_options\":null,\"reasoning_effort\":\"low\"}"};
    writes_no(&list, &how, "stream_options");
    writes_part(&list, &how, "\"reasoning_effort\":\"low\"");
    message_list_release(&list);
}

/* ---- thinking ---- */

/* A message as the turn makes it from a stream with thinking; the turn gave the call another id. */
static void add_thoughtful(struct message_list *list)
{
    struct model_reply reply;
    const struct stream *stream = streams;
    while (strcmp(stream->name, "anthropic-thinking") != 0)
        stream++;
    stream_read(stream->dialect, stream->text, strlen(stream->text), 0, &reply);
    struct message *message = message_list_add(list, ROLE_ASSISTANT, reply.text);
    message->opaque = steal(&reply.opaque);
    message_add_call(message, "renamed", reply.calls[0].name, "{\"path\":\"edited\"}");
    message_list_add(list, ROLE_TOOL, "B")->call_id = xstrdup("renamed");
    model_reply_release(&reply);
}

TEST(thinking_goes_back_as_it_came_in_its_place)
{
    struct message_list list, copy;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    add_thoughtful(&list);
    message_list_copy(&copy, &list);
    struct asking how = {.dialect = &dialect_anthropic, .thinking = 500};
    const char *back =
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Let me "
        "see.\",\"signature\":\"sig+/=\"},"
        "{\"type\":\"redacted_thinking\",\"data\":\"ZZZ\"},{\"type\":\"text\",\"text\":\"Look:\"},"
        "{\"type\":\"tool_use\",\"id\":\"renamed\",\"name\":\"read_file\",\"input\":{\"path\":\"edited\"}}]}";
    writes_part(&list, &how, back);
    writes_part(&copy, &how, back);
    writes_part(&list, &how, "\"max_tokens\":9216,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}");
    /* Not to another model. */
    how.model = "another";
    writes_no(&list, &how, "signature");
    writes_no(&list, &how, "budget_tokens"); /* the API rejects it for answers to calls without their thinking */
    /* Also if no thinking was requested: it came anyway and must go back. */
    how.model = NULL;
    how.thinking = 0;
    writes_part(&list, &how, back);
    writes_no(&list, &how, "budget_tokens");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai, .thinking = 500}, "sig+/=");
    message_list_release(&copy);
    message_list_release(&list);
}

TEST(thinking_that_no_longer_fits_its_message_is_left_out)
{
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    add_thoughtful(&list);
    struct asking how = {.dialect = &dialect_anthropic, .thinking = 500};
    message_add_call(&list.items[1], "more", "f", "{}");
    writes_no(&list, &how, "signature");
    writes_no(&list, &how, "budget_tokens");
    message_list_add(&list, ROLE_USER, "y"); /* a new prompt: the model may think again */
    writes_part(&list, &how, "budget_tokens");
    message_list_release(&list);
}

TEST(reasoning_of_an_earlier_turn_stays_away)
{
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    struct message *message = message_list_add(&list, ROLE_ASSISTANT, "");
    message->opaque = xstrdup("{\"provider\":\"openai\",\"model\":\"m\",\"reasoning_content\":\"Hm.\"}");
    message_add_call(message, "c", "f", "{}");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai}, "\"reasoning_content\":\"Hm.\"");
    list.items[1].meaning = message_history;
    message_list_add(&list, ROLE_USER, "y");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai}, "Hm.");
    message_list_release(&list);
}

TEST(two_answers_never_follow_each_other)
{
    struct message_list list;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    message_list_add(&list, ROLE_ASSISTANT, "I learned.");
    message_list_add(&list, ROLE_ASSISTANT, " ");
    message_list_add(&list, ROLE_ASSISTANT, "Done.");
    message_list_add(&list, ROLE_USER, "y");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai},
                "\"I learned.\"},{\"role\":\"user\",\"content\":\"Continue.\"},{\"role\":\"assistant\",\"content\":"
                "\"Done.\"}");
    writes_part(&list, &(struct asking){.dialect = &dialect_anthropic},
                "\"I learned.\"}]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Continue.\"}]},{"
                "\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}");
    message_list_release(&list);
}

/* ---- interruptions ---- */

#define A_EVENT(type, rest) "data: {\"type\":\"" type "\"" rest "}\n\n"

TEST(interrupted_answer_is_sent_back_and_continued)
{
    static const char stream[] = A_EVENT("content_block_start",
                                         ",\"index\":0,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s1\","
                                         "\"name\":\"web_search\",\"input\":{}}")
        A_EVENT("content_block_delta",
                ",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\":\"}")
            A_EVENT("content_block_delta",
                    ",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}")
                A_EVENT("content_block_stop", ",\"index\":0")
                    A_EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"pause_turn\"}") A_EVENT("message_stop", "");
    struct message_list list;
    struct model_reply reply;
    stream_read(&dialect_anthropic, stream, strlen(stream), 0, &reply);
    assert_string_equal(reply.stop, MODEL_PAUSED);
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    message_list_add(&list, ROLE_ASSISTANT, "")->opaque = steal(&reply.opaque);
    model_reply_release(&reply);
    struct asking how = {.dialect = &dialect_anthropic};
    writes_part(
        &list, &how,
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\","
        "\"input\":{\"q\":1}}]}]}");
    message_list_add(&list, ROLE_ASSISTANT, "Found."); /* one message with what follows it */
    writes_part(&list, &how, "\"input\":{\"q\":1}},{\"type\":\"text\",\"text\":\"Found.\"}]},{\"role\":\"user\"");
    /* No other model can continue it. */
    how.model = "another";
    writes_no(&list, &how, "server_tool_use");
    writes_part(&list, &how, "Continue.");
    message_list_release(&list);
}

TEST(parallel_calls_are_requested_where_they_are_allowed)
{
    struct message_list list;
    struct asking how = {.dialect = &dialect_openai, .parallel = true};
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    writes_part(&list, &how, "\"parallel_tool_calls\":true");
    how.options = "{\"parallel_tool_calls\":null}";
    writes_no(&list, &how, "parallel_tool_calls");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai, .parallel = true, .no_tools = true}, "parallel");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai}, "parallel");
    writes_no(&list, &(struct asking){.dialect = &dialect_anthropic, .parallel = true}, "parallel");
    message_list_release(&list);
}

TEST(reasoning_goes_back_only_to_a_model_that_wants_it)
{
    struct answer answer;
    struct message_list list;
    answer_init(&answer);
    answer_add_thinking(&answer, "Hm.", 3);
    answer_add_call(&answer, 0, "c", "f");
    struct live_spec spec = {.model = "m"};
    assert_null(dialect_openai.keep(&answer, &spec));
    spec.keep_reasoning = true;
    message_list_init(&list);
    message_list_add(&list, ROLE_USER, "x");
    struct message *message = message_list_add(&list, ROLE_ASSISTANT, "");
    message->opaque = dialect_openai.keep(&answer, &spec);
    assert_non_null(message->opaque);
    message_add_call(message, "c", "f", "{}");
    writes_part(&list, &(struct asking){.dialect = &dialect_openai},
                "\"content\":null,\"reasoning_content\":\"Hm.\",\"tool_calls\"");
    writes_no(&list, &(struct asking){.dialect = &dialect_openai, .model = "other"}, "Hm.");
    writes_no(&list, &(struct asking){.dialect = &dialect_anthropic}, "Hm.");
    message_list_release(&list);
    answer_release(&answer);
}
