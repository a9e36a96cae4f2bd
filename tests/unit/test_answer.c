/* Streams of both dialects become the expected reply in pieces of any size. Cut at any place, they become an error and
 * never another reply. */

#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/streams.h"
#include "support/test.h"
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

static char *read_pieces(const struct dialect *dialect, const char *text, size_t len, size_t piece)
{
    struct model_reply reply;
    stream_read(dialect, text, len, piece, &reply);
    char *said = stream_describe(&reply);
    model_reply_release(&reply);
    return said;
}

static void becomes(const struct dialect *dialect, const char *text, const char *says)
{
    CLEANUP(free) char *said = read_pieces(dialect, text, strlen(text), 0);
    assert_string_equal(said, says);
}

TEST(streams_become_their_replies_in_any_pieces)
{
    for (const struct stream *stream = streams; stream->name; stream++)
        for (size_t piece = 0; piece < 200; piece++) {
            CLEANUP(free) char *said = read_pieces(stream->dialect, stream->text, strlen(stream->text), piece);
            assert_string_equal(said, stream->says);
        }
}

TEST(stream_cut_anywhere_is_an_error_to_be_tried_again)
{
    for (const struct stream *stream = streams; stream->name; stream++)
        for (size_t len = 0; len < strlen(stream->text); len++) {
            CLEANUP(free) char *said = read_pieces(stream->dialect, stream->text, len, 0);
            assert_string_equal(said, "error?=the answer ended early");
        }
}

/* ---- Anthropic ---- */

#define A_END(reason)                                                        \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason \
    "\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
#define A_CALL                                                                                                   \
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\"," \
    "\"name\":\"f\",\"input\":{}}}\n\n"
#define A_PIECE(text)                                                                                                 \
    "data: "                                                                                                          \
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"" text \
    "\"}}\n\n"
#define A_STOP "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"

TEST(call_is_complete_only_if_the_stream_marks_it)
{
    becomes(&dialect_anthropic, A_CALL A_PIECE("{\\\"path\\\":\\\"/et") A_STOP A_END("max_tokens"),
            "call?=t/f/{\"path\":\"/et stop=max_tokens usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_PIECE("{\\\"n\\\":1}") A_END("max_tokens"),
            "call?=t/f/{\"n\":1} stop=max_tokens usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_PIECE("{\\\"n\\\":1}") A_STOP A_END("refusal"),
            "call?=t/f/{\"n\":1} stop=refusal usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_PIECE("{\\\"n\\\":1}") A_END("tool_use"),
            "call?=t/f/{\"n\":1} stop=tool_use usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_STOP A_END("max_tokens"), "call?=t/f/ stop=max_tokens usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_STOP A_END("model_context_window_exceeded"),
            "call?=t/f/ stop=model_context_window_exceeded usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_END("tool_use"), "call?=t/f/ stop=tool_use usage=0/0/0/0");
    becomes(&dialect_anthropic, A_CALL A_STOP A_END("tool_use"), "call=t/f/{} stop=tool_use usage=0/0/0/0");
}

TEST(errors_in_the_stream_quote_the_api)
{
    becomes(
        &dialect_anthropic,
        A_CALL
        "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n" A_STOP,
        "error?=the API closed the stream: overloaded_error: Overloaded");
    becomes(&dialect_anthropic,
            "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}\n\n",
            "error!=the API closed the stream: invalid_request_error: no");
    becomes(&dialect_openai,
            "data: {\"error\":{\"message\":\"gone\",\"code\":502},\"choices\":[{\"finish_reason\":\"error\"}]}\n\n",
            "error?=the API closed the stream: gone");
    becomes(&dialect_openai,
            "data: {\"error\":{\"message\":\"too long\",\"type\":\"exceed_context_size_error\",\"code\":400}}\n\n"
            "data: [DONE]\n\n",
            "error!=the API closed the stream: exceed_context_size_error: too long");
    becomes(&dialect_openai, "data: {\"object\":\"error\",\"message\":\"old vLLM\",\"code\":500}\n\n",
            "error?=the API closed the stream: old vLLM");
}

TEST(invalid_json_is_repaired_or_an_error)
{
    CLEANUP(free) char *said = read_pieces(&dialect_openai, "data: {\"choices\":[{]}\n\n", 23, 0);
    assert_ptr_equal(strstr(said, "error?=a stream event is not JSON: "), said);
    becomes(&dialect_openai, "data: 42\n\n", "error?=a stream event is not a JSON object");
    becomes(&dialect_openai,
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\\u0000b \\\\u0000 \xff\"}}]}\n\ndata: [DONE]\n\n",
            "text=a\xef\xbf\xbd"
            "b \\u0000 \xef\xbf\xbd stop=end_turn usage=0/0/0/0");
}

TEST(refusals_are_reported)
{
    becomes(&dialect_anthropic, A_END("refusal"), "error!=the model refused to answer");
    becomes(&dialect_openai,
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n",
            "error!=the model refused to answer");
    becomes(&dialect_openai,
            "data: {\"choices\":[{\"delta\":{\"refusal\":\"I will not.\"}}]}\n\n"
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
            "text=I will not. stop=refusal usage=0/0/0/0");
}

TEST(texts_around_another_block_are_separated)
{
#define A_SAYS(index, text)                                    \
    "data: {\"type\":\"content_block_start\",\"index\":" index \
    ",\"content_block\":{\"type\":\"text\",\"text\":\"" text "\"}}\n\n"
    becomes(&dialect_anthropic, A_SAYS("0", "One") A_SAYS("1", ", two.") A_END("end_turn"),
            "text=One, two. stop=end_turn usage=0/0/0/0");
    CLEANUP(free) char *said = NULL;
    const char *text = A_SAYS("0", "One.") "data: "
                                           "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":"
                                           "\"thinking\",\"thinking\":\"hm\","
                                           "\"signature\":\"s\"}}\n\n" A_SAYS("2", "Two.") A_END("end_turn");
    said = read_pieces(&dialect_anthropic, text, strlen(text), 0);
    assert_ptr_equal(strstr(said, "text=One.\n\nTwo. thinking=hm stop=end_turn"), said);
    assert_non_null(strstr(said, "{\"at\":6,\"bytes\":4}"));
}

/* ---- variants of Chat Completions ---- */

#define O(delta, reason) "data: {\"choices\":[{\"delta\":{" delta "},\"finish_reason\":" reason "}]}\n\n"
#define O_CALLS(pieces)  "\"tool_calls\":[" pieces "]"
#define O_DONE           "data: [DONE]\n\n"

TEST(calls_are_separate_with_any_numbering)
{
    const char *two = "call=a/f/{\"x\":1} call=b/g/{\"y\":2} stop=tool_use usage=0/0/0/0";
    /* no index at all */
    becomes(&dialect_openai,
            O(O_CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\"\"}}"), "null")
                O(O_CALLS("{\"function\":{\"arguments\":\":1}\"}}"), "null")
                    O(O_CALLS("{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"y\\\":2}\"}}"),
                      "\"tool_calls\"") O_DONE,
            two);
    /* every call has number 0 and the reason is "stop" */
    becomes(
        &dialect_openai,
        O(O_CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}}"), "null")
            O(O_CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"y\\\":2}\"}}"),
              "null") O("", "\"stop\"") O_DONE,
        two);
    /* the id and the name in every piece, arguments as an object */
    becomes(&dialect_openai,
            O(O_CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\"\"}},"
                      "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":{\"y\":2}}}"),
              "null") O(O_CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\":1}\"}}"),
                        "\"stop\"") O_DONE,
            two);
    /* no id: one is made up */
    becomes(&dialect_openai,
            O(O_CALLS("{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"), "\"stop\"") O_DONE,
            "call=call_1/f/{} stop=tool_use usage=0/0/0/0");
}

TEST(length_a_filter_and_silence_leave_calls_incomplete)
{
#define O_ONE(arguments) \
    O_CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"" arguments "\"}}")
    becomes(&dialect_openai, O(O_ONE(""), "\"length\"") O_DONE, "call?=a/f/ stop=max_tokens usage=0/0/0/0");
    becomes(&dialect_openai, O(O_ONE("{}"), "\"length\"") O_DONE, "call?=a/f/{} stop=max_tokens usage=0/0/0/0");
    becomes(&dialect_openai, O(O_ONE(""), "\"content_filter\"") O_DONE, "call?=a/f/ stop=refusal usage=0/0/0/0");
    becomes(&dialect_openai, O(O_ONE("{}"), "\"content_filter\"") O_DONE, "call?=a/f/{} stop=refusal usage=0/0/0/0");
    becomes(&dialect_openai, O(O_ONE("{}"), "null") O_DONE, "call?=a/f/{} stop=tool_use usage=0/0/0/0");
    becomes(&dialect_openai, O(O_CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\"}}"), "null") O_DONE,
            "call?=a/f/ stop=tool_use usage=0/0/0/0");
}

TEST(last_usage_counts_and_nonsense_is_ignored)
{
#define O_USED(in, out, more) \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":" in ",\"completion_tokens\":" out more "}}\n\n"
    becomes(&dialect_openai, O_USED("1", "2", "") O_USED("10", "20", ",\"prompt_cache_hit_tokens\":4") O_DONE,
            "stop=end_turn usage=10/20/4/0");
    becomes(&dialect_openai, O_USED("10", "20", ",\"cost\":0.25") O_DONE,
            "stop=end_turn usage=10/20/0/0 cost=0.250000");
    becomes(&dialect_openai, O_USED("9223372036854775807", "-5", "") O_DONE, "stop=end_turn usage=0/0/0/0");
}

/* ---- real recordings ---- */

static void check_recording(const struct dialect *dialect, const char *path, size_t *replies)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    assert_int_equal(file_read(path, &text, 0, NULL), 0);
    const struct json *top = json_parse(&arena, text.buf, text.len, NULL);
    assert_non_null(top);
    json_each (exchange, json_get(top, "interactions")) {
        const struct json *response = json_get(exchange, "response"), *body = json_get(response, "body");
        if (json_int(json_get(response, "status"), 0) != 200)
            continue;
        CLEANUP(free) char *whole = read_pieces(dialect, body->text, body->len, 0);
        assert_null(strstr(whole, "error"));
        assert_null(strstr(whole, "usage=0/"));
        /* A call of these recordings asks for the weather in Paris. */
        if (strstr(whole, "call="))
            assert_non_null(strstr(whole, "Paris"));
        for (size_t piece = 1; piece <= 4096; piece = piece == 1 ? 7 : piece == 7 ? 4096 : piece + 1) {
            CLEANUP(free) char *said = read_pieces(dialect, body->text, body->len, piece);
            assert_string_equal(said, whole);
        }
        for (size_t len = 0; len<body->len; len += body->len> 8192 ? 97 : 1) {
            CLEANUP(free) char *said = read_pieces(dialect, body->text, len, 0);
            assert_true(strstr(said, "error?=the answer ended early") == said || strcmp(said, whole) == 0);
        }
        ++*replies;
    }
}

TEST(recorded_streams_are_read)
{
    static const struct {
        const char *folder;
        const struct dialect *dialect;
    } folders[] = {{"anthropic-messages", &dialect_anthropic},
                   {"anthropic-messages-cache", &dialect_anthropic},
                   {"openai-chat", &dialect_openai},
                   {"openai-compatible-chat", &dialect_openai}};
    size_t replies = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        CLEANUP(free)
        char *folder = xasprintf("%s/../shared/transcripts/provider-recordings/%s", SOURCE_DIR, folders[i].folder);
        DIR *dir = opendir(folder);
        if (!dir) {
            print_message("no recordings of providers here: their test is left out\n");
            return;
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
            CLEANUP(free) char *path = xasprintf("%s/%s", folder, entry->d_name);
            if (entry->d_name[0] != '.')
                check_recording(folders[i].dialect, path, &replies);
        }
        closedir(dir);
    }
    assert_true(replies >= 12);
}
