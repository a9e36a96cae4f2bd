/* Answers as providers stream them, and the replies they must become. */

#include "streams.h"
#include "base/mem.h"
#include "model/sse.h"
#include <math.h>

#define A(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define A_START(input)                                                                 \
    A("message_start", ",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":" input \
                       ",\"cache_creation_input_tokens\":30,\"cache_read_input_tokens\":500,\"output_tokens\":1}}")
#define A_BLOCK(index, block) A("content_block_start", ",\"index\":" index ",\"content_block\":{" block "}")
#define A_DELTA(index, delta) A("content_block_delta", ",\"index\":" index ",\"delta\":{" delta "}    ")
#define A_STOP(index)         A("content_block_stop", ",\"index\":" index)
#define A_END(reason)                                                                                  \
    A("message_delta", ",\"delta\":{\"stop_reason\":\"" reason "\"},\"usage\":{\"output_tokens\":42}") \
    A("message_stop", "")
#define A_TEXT(text) "\"type\":\"text_delta\",\"text\":\"" text "\""
#define A_JSON(text) "\"type\":\"input_json_delta\",\"partial_json\":\"" text "\""

#define O(delta, reason)                                                                            \
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":" reason \
    "}],\"usage\":null}\n\n"
#define O_CALL(index, first, arguments) "\"tool_calls\":[{\"index\":" index first ",\"function\":{" arguments "}}]"
#define O_USAGE                                                                                     \
    "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":42," \
    "\"prompt_tokens_details\":{\"cached_tokens\":500}}}\n\n"
#define O_END O_USAGE "data: [DONE]\n\n"

const struct stream streams[] = {
    {"anthropic-text", &dialect_anthropic,
     (A_START("20") A_BLOCK("0", "\"type\":\"text\",\"text\":\"\"") A("ping", "")
          A_DELTA("0", A_TEXT("Gr\\u00fc\\u00df")) ": a comment\n\n" A_DELTA("0", A_TEXT("e, \xe2\x9c\x93")) A_STOP("0")
              A_END("end_turn")),
     "text=Grüße, ✓ stop=end_turn usage=550/42/500/30"},
    {"anthropic-calls", &dialect_anthropic,
     (A_START("20") A_BLOCK("0", "\"type\":\"text\",\"text\":\"\"") A_DELTA("0", A_TEXT("Both.")) A_STOP("0") A_BLOCK(
         "1", "\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"read_file\",\"input\":{}") A_DELTA("1", A_JSON(""))
          A_DELTA("1", A_JSON("{\\\"path\\\": \\\"a")) A_DELTA("1", A_JSON(".txt\\\"}")) A_STOP("1")
              A_BLOCK("2", "\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"list_dir\",\"input\":{}") A_STOP("2")
                  A_END("tool_use")),
     "text=Both. call=toolu_1/read_file/{\"path\": \"a.txt\"} call=toolu_2/list_dir/{} stop=tool_use "
     "usage=550/42/500/30"},
    {"anthropic-thinking", &dialect_anthropic,
     (A_START("20") A_BLOCK("0", "\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"")
          A_DELTA("0", "\"type\":\"thinking_delta\",\"thinking\":\"Let me\"")
              A_DELTA("0", "\"type\":\"thinking_delta\",\"thinking\":\" see.\"")
                  A_DELTA("0", "\"type\":\"signature_delta\",\"signature\":\"sig+/=\"") A_STOP("0")
                      A_BLOCK("1", "\"type\":\"redacted_thinking\",\"data\":\"ZZZ\"") A_STOP("1") A_BLOCK(
                          "2", "\"type\":\"text\",\"text\":\"\"") A_DELTA("2", A_TEXT("Look:")) A_STOP("2")
                          A_BLOCK("3", "\"type\":\"tool_use\",\"id\":\"toolu_3\",\"name\":\"read_file\",\"input\":{}")
                              A_DELTA("3", A_JSON("{\\\"path\\\":\\\"b\\\"}")) A_STOP("3") A_END("tool_use")),
     "text=Look: thinking=Let me see. call=toolu_3/read_file/{\"path\":\"b\"} stop=tool_use usage=550/42/500/30 "
     "kept={\"provider\":\"anthropic\",\"model\":\"m\",\"blocks\":[{\"keep\":{\"type\":\"thinking\",\"thinking\":\"Let "
     "me "
     "see.\",\"signature\":\"sig+/"
     "=\"}},{\"keep\":{\"type\":\"redacted_thinking\",\"data\":\"ZZZ\"}},{\"at\":0,\"bytes\":5},"
     "{\"call\":true}]}"},
    {"openai-text", &dialect_openai,
     (O("\"role\":\"assistant\",\"content\":\"\"",
        "null") ": OPENROUTER PROCESSING\n\n" O("\"content\":\"Gr\\u00fc\\u00df\"", "null")
          O("\"content\":\"e, \xe2\x9c\x93\"", "null") O("", "\"stop\"") O_END),
     "text=Grüße, ✓ stop=end_turn usage=900/42/500/0"},
    {"openai-calls", &dialect_openai,
     (O("\"reasoning_content\":\"Hm.\"",
        "null") O(O_CALL("0", ",\"id\":\"call_1\",\"type\":\"function\"", "\"name\":\"read_file\",\"arguments\":\"\""),
                  "null") O(O_CALL("0", "", "\"arguments\":\"{\\\"path\\\": \\\"a\""), "null")
          O(O_CALL("1", ",\"id\":\"call_2\",\"type\":\"function\"", "\"name\":\"list_dir\",\"arguments\":\"\""), "null")
              O(O_CALL("0", "", "\"arguments\":\".txt\\\"}\""), "null") O("", "\"tool_calls\"") O_END),
     "thinking=Hm. call=call_1/read_file/{\"path\": \"a.txt\"} call=call_2/list_dir/{} stop=tool_use "
     "usage=900/42/500/0"},
    {0},
};

char *stream_describe(const struct model_reply *reply)
{
    struct strbuf out = STRBUF_INIT;
    if (reply->error) {
        strbuf_addf(&out, "error%s=%s", reply->retryable ? "?" : "!", reply->error);
        return strbuf_detach(&out, NULL);
    }
    if (reply->text)
        strbuf_addf(&out, "text=%s ", reply->text);
    if (reply->thinking)
        strbuf_addf(&out, "thinking=%s ", reply->thinking);
    for (size_t i = 0; i < reply->call_count; i++)
        strbuf_addf(&out, "call%s=%s/%s/%s ", reply->calls[i].incomplete ? "?" : "", reply->calls[i].id,
                    reply->calls[i].name, reply->calls[i].arguments);
    strbuf_addf(&out, "stop=%s usage=%lld/%lld/%lld/%lld", reply->stop, (long long)reply->usage.input,
                (long long)reply->usage.output, (long long)reply->usage.cache_read,
                (long long)reply->usage.cache_write);
    if (!isnan(reply->cost_usd))
        strbuf_addf(&out, " cost=%.6f", reply->cost_usd);
    if (reply->opaque)
        strbuf_addf(&out, " kept=%s", reply->opaque);
    return strbuf_detach(&out, NULL);
}

struct reading {
    const struct dialect *dialect;
    struct answer answer;
};

static bool take(void *user, const char *data, size_t len)
{
    struct reading *reading = user;
    return reading->dialect->take(&reading->answer, data, len);
}

void stream_read(const struct dialect *dialect, const char *text, size_t len, size_t piece, struct model_reply *reply)
{
    struct reading reading = {.dialect = dialect};
    const struct live_spec spec = {.provider = dialect->name, .model = "m"};
    struct err err = ERR_INIT;
    struct sse sse;
    answer_init(&reading.answer);
    sse_init(&sse, take, &reading);
    for (size_t at = 0; at < len && !reading.answer.ended && !reading.answer.error;) {
        size_t now = piece && piece < len - at ? piece : len - at;
        /* A separate copy, so that a sanitizer finds a reader that keeps a pointer into it. */
        CLEANUP(free) char *copy = xmemdup0(text + at, now);
        if (sse_feed(&sse, copy, now, &err))
            answer_fail(&reading.answer, true, "%s", err.text);
        at += now;
    }
    char *opaque = reading.answer.ended && !reading.answer.error ? dialect->keep(&reading.answer, &spec) : NULL;
    answer_finish(&reading.answer, reply);
    reply->opaque = opaque;
    sse_release(&sse);
    answer_release(&reading.answer);
}
