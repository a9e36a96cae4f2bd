/* web_search: one request to the endpoint of the configuration, which answers
 * {"results":[{"title","url","snippet"}]}.
 *
 * The answer is untrusted text. It is parsed within a size limit, only the three known fields are passed on, and only
 * http and https addresses count as sources. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/http.h"
#include "tool.h"
#include <ctype.h>

#define ANSWER_BYTES    ((size_t)1 << 20)
#define DEFAULT_RESULTS 5

struct web_search {
    struct tool_run *run;
    struct http_transfer *transfer;
    struct strbuf answer;
};

static void end_search(struct web_search *search, struct tool_reply *take_reply)
{
    struct tool_run *run = search->run;
    strbuf_release(&search->answer);
    free(search);
    run->state = NULL;
    tool_run_finish(run, take_reply);
}

static void add_escaped(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (isascii(c) && (isalnum(c) || strchr("-._~", c)))
            strbuf_addch(out, (char)c);
        else
            strbuf_addf(out, "%%%02X", c);
    }
}

static bool is_web_address(const char *url)
{
    return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
}

static void add_result(struct json_writer *w, const struct json *result, struct tool_reply *reply)
{
    static const char *const fields[] = {"title", "url", "snippet"};
    json_open(w, NULL, '{');
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        json_add_str(w, fields[i], json_str(json_get(result, fields[i]), ""));
    json_close(w, '}');
    const char *url = json_str(json_get(result, "url"), "");
    if (is_web_address(url))
        tool_reply_cite(reply, url, true);
}

static void read_answer(const struct web_search *search, struct tool_reply *reply)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *answer = json_parse(&arena, search->answer.buf, search->answer.len, &err);
    const struct json *results = json_get(answer, "results");
    if (!answer) {
        tool_reply_error(reply, "the web search returned text that is not JSON: %s", err.text);
        return;
    }
    if (!results || results->type != JSON_ARRAY) {
        tool_reply_error(reply, "the web search returned no list of results");
        return;
    }
    const struct json *arguments = search->run->arguments;
    int64_t left = json_int(json_get(arguments, "max"), DEFAULT_RESULTS);
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "query", json_str(json_get(arguments, "query"), ""));
    json_open(&w, "results", '[');
    json_each (result, results)
        if (result->type == JSON_OBJECT && left-- > 0)
            add_result(&w, result, reply);
    json_close(&w, ']');
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}

static void on_data(void *user, const char *bytes, size_t len)
{
    struct web_search *search = user;
    strbuf_add(&search->answer, bytes, len);
}

static void on_search_done(void *user, const struct http_result *result)
{
    struct web_search *search = user;
    struct tool_reply reply = {0};
    if (result->error)
        tool_reply_error(&reply, "the web search failed: %s", result->error);
    else if (result->status >= 300 && result->status < 400)
        tool_reply_error(&reply, "the web search returned HTTP status %ld, and Keyturn follows no redirects",
                         result->status);
    else if (result->status != 200)
        tool_reply_error(&reply, "the web search returned HTTP status %ld", result->status);
    else
        read_answer(search, &reply);
    end_search(search, &reply);
}

static void refuse_search(struct tool_run *run, const char *why)
{
    struct tool_reply reply = {.final = true}; /* the configuration does not change within a turn */
    tool_reply_error(&reply, "%s", why);
    tool_run_finish(run, &reply);
}

static void start_search(struct tool_run *run)
{
    const struct tool_env *env = run->env;
    if (!env->web_endpoint || !*env->web_endpoint) {
        refuse_search(run, "web_search has no endpoint (set web.endpoint in the configuration)");
        return;
    }
    if (!env->http) {
        refuse_search(run, "web_search has no HTTP client in this session");
        return;
    }
    CLEANUP(strbuf) struct strbuf url = STRBUF_INIT;
    strbuf_addf(&url, "%s%cq=", env->web_endpoint, strchr(env->web_endpoint, '?') ? '&' : '?');
    add_escaped(&url, json_str(json_get(run->arguments, "query"), ""));
    strbuf_addf(&url, "&count=%lld", (long long)json_int(json_get(run->arguments, "max"), DEFAULT_RESULTS));

    struct web_search *search = xcalloc(1, sizeof(*search));
    search->run = run;
    strbuf_init(&search->answer);
    run->state = search;
    static const char *const headers[] = {"Accept: application/json", NULL};
    double left_ms = deadline_remaining_s(&run->deadline) * 1000;
    search->transfer = http_start(env->http, &(struct http_request){
                                                 .url = url.buf,
                                                 .headers = headers,
                                                 .timeout_ms = left_ms < 1 ? 1 : (int64_t)left_ms,
                                                 .limit = ANSWER_BYTES,
                                                 .on_data = on_data,
                                                 .on_done = on_search_done,
                                                 .user = search,
                                             });
}

static void cancel_search(struct tool_run *run)
{
    struct web_search *search = run->state;
    struct tool_reply reply = {0};
    http_cancel(search->transfer);
    tool_reply_error(&reply, "the web search was canceled");
    end_search(search, &reply);
}

const struct tool tool_web_search = {
    .spec =
        {
            .name = "web_search",
            .description = "Search the web. Gives titles, addresses and short extracts of the best matches.",
            .effect = EFFECT_NETWORK,
            .idempotent = true,
            .resource_keys = (const char *const[]){"web", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1000,"
                          "\"description\":\"the search terms\"},"
                          "\"max\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20,"
                          "\"description\":\"number of results, default 5\"}},"
                          "\"required\":[\"query\"],\"additionalProperties\":false}",
        },
    .start = start_search,
    .cancel = cancel_search,
};
