/* Models over HTTP, against a real server on the loopback: whatever it does, the listener hears of one reply, and it is
 * the right one or an error in one sentence. */

#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "model/http.h"
#include "model/live.h"
#include "support/model_server.h"
#include "support/streams.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY "sk-test-0123456789"

struct fixture {
    struct model_server *server;
    struct loop *loop;
    struct http *http;
    struct provider *provider;
    struct message_list messages;
    struct model_listener listener;
    int dones;
    char *said;
    struct model_reply reply;
    struct strbuf heard; /* deltas */
    bool cancels;        /* at the first delta */
};

static struct fixture *f;

static void on_delta(struct model_listener *listener, const char *text, const char *thinking)
{
    (void)listener;
    strbuf_addstr(&f->heard, text ? text : thinking);
    if (f->cancels)
        f->provider->ops->cancel(f->provider);
}

static void on_done(struct model_listener *listener, struct model_reply *take_reply)
{
    (void)listener;
    free(f->said);
    f->said = stream_describe(take_reply);
    model_reply_release(&f->reply);
    f->reply = *take_reply;
    f->dones++;
}

static int set_up(void **state)
{
    (void)state;
    setenv("no_proxy", "127.0.0.1", 1);
    redact_add("MY_KEY", KEY);
    f = xcalloc(1, sizeof(*f));
    f->server = model_server_new();
    f->loop = loop_new(clock_system());
    f->http = http_new(f->loop, NULL);
    assert_non_null(f->http);
    f->listener = (struct model_listener){.delta = on_delta, .done = on_done};
    message_list_init(&f->messages);
    message_list_add(&f->messages, ROLE_SYSTEM, "Be brief.");
    message_list_add(&f->messages, ROLE_USER, "Hello");
    strbuf_init(&f->heard);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    provider_free(f->provider);
    http_free(f->http);
    loop_free(f->loop);
    model_server_free(f->server);
    message_list_release(&f->messages);
    model_reply_release(&f->reply);
    strbuf_release(&f->heard);
    free(f->said);
    free(f);
    redact_forget();
    return 0;
}

static void use(const struct live_spec *spec)
{
    struct live_spec full = *spec;
    struct err err = ERR_INIT;
    provider_free(f->provider);
    if (!full.base_url)
        full.base_url = model_server_url(f->server);
    if (!full.model)
        full.model = "m";
    if (!full.provider)
        full.provider = "anthropic";
    if (full.prices.input == 0 && full.prices.output == 0)
        full.prices = (struct prices)PRICES_UNKNOWN;
    f->provider = live_new(f->loop, f->http, &full, &err);
    assert_string_equal(err.text, "");
    assert_non_null(f->provider);
}

static void start(void)
{
    strbuf_reset(&f->heard);
    f->dones = 0;
    f->provider->ops->ask(
        f->provider, &(struct model_request){.step = 1, .messages = &f->messages, .timeout_ms = 60000}, &f->listener);
    assert_int_equal(f->dones, 0);
}

static const char *ask(void)
{
    start();
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    return f->said;
}

static const struct stream *stream_named(const char *name)
{
    const struct stream *stream = streams;
    while (stream->name && strcmp(stream->name, name) != 0)
        stream++;
    assert_non_null(stream->name);
    return stream;
}

static const char *text_of(const char *name)
{
    return stream_named(name)->text;
}

/* ---- answers ---- */

static void test_every_stream_arrives_whole_byte_by_byte_on_one_connection(void **state)
{
    (void)state;
    for (const struct stream *stream = streams; stream->name; stream++) {
        model_server_reset(f->server);
        use(&(struct live_spec){.provider = stream->dialect->name, .key = KEY});
        model_server_add(f->server, &(struct served){.body = stream->text, .piece = 1});
        model_server_add(f->server, &(struct served){.body = stream->text, .type = "text/event-stream; charset=utf-8"});
        assert_string_equal(ask(), stream->says);
        assert_string_equal(ask(), stream->says);
        if (f->reply.text)
            assert_non_null(strstr(f->heard.buf, f->reply.text));
    }
    assert_int_equal(model_server_connections(f->server), 1);
}

static void test_stream_cut_at_any_byte_is_an_error_or_the_same_reply(void **state)
{
    (void)state;
    for (const struct stream *stream = streams; stream->name; stream++) {
        size_t len = strlen(stream->text);
        use(&(struct live_spec){.provider = stream->dialect->name});
        for (size_t cut = 1; cut <= len; cut++) {
            model_server_reset(f->server);
            model_server_add(f->server, &(struct served){.body = stream->text,
                                                         .len = cut,
                                                         .lengthless = cut % 2 == 0,
                                                         .promises_more = cut % 2 == 1});
            const char *said = ask();
            if (cut == len)
                assert_string_equal(said, stream->says);
            else
                assert_ptr_equal(strstr(said, "error?=the answer was cut off before its end"), said);
        }
    }
}

static void test_end_marker_ends_the_answer_though_the_connection_stays_open(void **state)
{
    (void)state;
    use(&(struct live_spec){.provider = "openai"});
    model_server_add(f->server, &(struct served){.body = text_of("openai-text"), .silent = true});
    assert_string_equal(ask(), stream_named("openai-text")->says);
}

/* The reset overtakes nothing: what was sent before it is read. */
static void test_answer_that_came_whole_counts_though_the_connection_is_reset(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        for (const struct stream *stream = streams; stream->name; stream++) {
            model_server_reset(f->server);
            model_server_add(f->server, &(struct served){.body = stream->text,
                                                         .lengthless = i % 3 == 0,
                                                         .promises_more = i % 3 == 1,
                                                         .resets = true});
            use(&(struct live_spec){.provider = stream->dialect->name});
            assert_string_equal(ask(), stream->says);
            assert_int_equal(model_server_count(f->server), 1);
        }
}

static void test_connection_that_ended_meanwhile_is_made_anew(void **state)
{
    (void)state;
    use(&(struct live_spec){.provider = "openai"});
    model_server_add(f->server, &(struct served){.body = text_of("openai-text"), .closes = true});
    for (int i = 0; i < 20; i++)
        assert_string_equal(ask(), stream_named("openai-text")->says);
    assert_int_equal(model_server_count(f->server), 20);
}

static void test_cost_is_what_the_prices_say_and_unknown_without(void **state)
{
    (void)state;
    use(&(struct live_spec){.prices = {.input = 3, .output = 15, .cache_read = 0.3, .cache_write = 3.75}});
    model_server_add(f->server, &(struct served){.body = text_of("anthropic-text")});
    ask();
    assert_true(fabs(f->reply.cost_usd - (20 * 3 + 500 * 0.3 + 30 * 3.75 + 42 * 15) / 1e6) < 1e-12);
    use(&(struct live_spec){.prices = {.input = 3, .output = 15, .cache_read = NAN, .cache_write = NAN}});
    ask();
    assert_true(fabs(f->reply.cost_usd - (550 * 3 + 42 * 15) / 1e6) < 1e-12);
    use(&(struct live_spec){0});
    ask();
    assert_true(isnan(f->reply.cost_usd));
    /* Nothing was counted: that is not the same as nothing. */
    model_server_reset(f->server);
    model_server_add(f->server,
                     &(struct served){.body = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"});
    use(&(struct live_spec){.provider = "openai", .prices = {.input = 3, .output = 15}});
    ask();
    assert_string_equal(f->reply.text, "x");
    assert_true(isnan(f->reply.cost_usd));
}

/* ---- requests ---- */

static void test_request_has_the_headers_and_the_path_of_its_dialect(void **state)
{
    (void)state;
    CLEANUP(free) char *versioned = xasprintf("%s/v1/", model_server_url(f->server));
    model_server_add(f->server, &(struct served){.body = text_of("anthropic-text")});
    use(&(struct live_spec){.key = KEY});
    ask();
    CLEANUP(free) char *first = model_server_request(f->server, 0);
    assert_ptr_equal(strstr(first, "POST /v1/messages HTTP/1.1\r\n"), first);
    assert_non_null(strstr(first, "x-api-key: " KEY "\r\n"));
    assert_non_null(strstr(first, "anthropic-version: 2023-06-01\r\n"));
    use(&(struct live_spec){.base_url = versioned});
    ask();
    CLEANUP(free) char *second = model_server_request(f->server, 1);
    assert_ptr_equal(strstr(second, "POST /v1/messages HTTP/1.1\r\n"), second);
    assert_null(strstr(second, "x-api-key"));
    use(&(struct live_spec){.base_url = versioned, .provider = "openai", .key = KEY});
    ask();
    CLEANUP(free) char *third = model_server_request(f->server, 2);
    assert_ptr_equal(strstr(third, "POST /v1/chat/completions HTTP/1.1\r\n"), third);
    assert_non_null(strstr(third, "Authorization: Bearer " KEY "\r\n"));
}

static void test_proxy_of_the_environment_is_used(void **state)
{
    (void)state;
    model_server_add(f->server, &(struct served){.body = text_of("openai-text")});
    setenv("http_proxy", model_server_url(f->server), 1);
    use(&(struct live_spec){.provider = "openai", .base_url = "http://models.invalid/v1"});
    assert_string_equal(ask(), stream_named("openai-text")->says);
    unsetenv("http_proxy");
    CLEANUP(free) char *request = model_server_request(f->server, 0);
    assert_ptr_equal(strstr(request, "POST http://models.invalid/v1/chat/completions HTTP/1.1\r\n"), request);
}

static void test_spec_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        struct live_spec spec;
        const char *error;
    } cases[] = {
        {{.provider = "none", .model = "m"}, "there is no provider \"none\""},
        {{.provider = "openai"}, "the provider \"openai\" needs a \"model\""},
        {{.provider = "openai", .model = "m", .base_url = "ftp://x"},
         "\"base_url\" must begin with https:// or http://"},
        {{.provider = "openai", .model = "m", .base_url = "http://user:secret@x/v1"},
         "\"base_url\" must hold no user and no password (name a key with key_env or key_command)"},
        {{.provider = "openai", .model = "m", .key = "a\r\nX: b"},
         "the key holds a blank or a control character, which no key does"},
        {{.provider = "openai", .model = "m", .options = "{\"stream\":false}"},
         "the option \"stream\" is not for the config to say"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        assert_null(live_new(f->loop, f->http, &cases[i].spec, &err));
        assert_string_equal(err.text, cases[i].error);
    }
}

/* ---- failures ---- */

static void test_failures_are_sentences_that_say_whether_to_try_again(void **state)
{
    static const struct {
        struct served served;
        const char *says;
        int64_t retry_after_ms;
    } cases[] = {
        {{.status = "429 Too Many Requests",
          .type = "application/json",
          .more = "Retry-After: 7\r\n",
          .body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Slow down.\"}}"},
         "error?=the API answered 429, rate_limit_error: Slow down",
         7000},
        {{.status = "429 Too Many Requests",
          .type = "application/json",
          .more = "retry-after-ms: 1250\r\nRetry-After: 2\r\n",
          .body = "{\"error\":{\"message\":\"x\"}}"},
         "error?=the API answered 429, x",
         1250},
        {{.status = "429 Too Many Requests",
          .type = "application/json",
          .body = "{\"error\":{\"message\":\"Pay.\",\"type\":\"insufficient_quota\"}}"},
         "error!=the API answered 429, insufficient_quota: Pay (see to the account at the provider)",
         -1},
        {{.status = "500 Internal Server Error", .type = "text/html", .body = "<html>"},
         "error?=the API answered 500",
         -1},
        {{.status = "529 Overloaded",
          .type = "application/json",
          .body = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"},
         "error?=the API answered 529, overloaded_error: Overloaded",
         -1},
        {{.status = "401 Unauthorized",
          .type = "application/json",
          .body = "{\"error\":{\"message\":\"Incorrect API key provided:\\n" KEY ".\",\"code\":\"invalid_api_key\"}}"},
         "error!=the API answered 401, invalid_api_key: Incorrect API key provided: [secret MY_KEY] "
         "(check the key that key_env or key_command gives)",
         -1},
        {{.status = "404 Not Found",
          .type = "application/json",
          .body = "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: m\"}}"},
         "error!=the API answered 404, not_found_error: model: m (check model and base_url in the config file)",
         -1},
        {{.status = "404 Not Found", .type = "text/html", .body = "<html>"},
         "error!=the API answered 404 (check model and base_url in the config file)",
         -1},
        {{.status = "403 Forbidden"},
         "error!=the API answered 403 (check what this key is allowed, or take another model)",
         -1},
        {{.status = "400 Bad Request", .type = "application/json", .body = "{\"error\":\"model not found\"}"},
         "error!=the API answered 400, model not found",
         -1},
        {{.status = "307 Temporary Redirect", .more = "Location: https://elsewhere.invalid/v1/messages\r\n"},
         NULL /* below */,
         -1},
        {{.type = "text/html", .body = "<html>Log in</html>"},
         "error!=the API answered with text/html instead of an event stream (is base_url right?)",
         -1},
        {{.type = "application/json", .body = "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}"},
         "error!=the API answered invalid_request_error: no",
         -1},
        {{.body = "data: {\"type\":\"message_start\"}\n\ndata: {oops\n\n"},
         "error?=the stream has an event that is no JSON: expected a",
         -1},
        {{.body = "<html>not what it says it is</html>"}, "error?=the answer was cut off before its end", -1},
    };
    (void)state;
    use(&(struct live_spec){.key = KEY});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_server_reset(f->server);
        model_server_add(f->server, &cases[i].served);
        const char *said = ask();
        assert_null(strstr(said, KEY));
        if (cases[i].says) {
            said = strndup(said, strlen(cases[i].says));
            assert_string_equal(said, cases[i].says);
            free((char *)said);
        }
        assert_int_equal(f->reply.retry_after_ms, cases[i].retry_after_ms);
    }
}

static void test_redirect_to_another_server_is_refused_with_a_sentence(void **state)
{
    (void)state;
    use(&(struct live_spec){.key = KEY});
    model_server_add(f->server, &(struct served){.status = "308 Permanent Redirect",
                                                 .more = "Location: https://elsewhere.invalid/v1/messages?a=b\r\n"});
    CLEANUP(free)
    char *says = xasprintf("error!=%s redirects to another server, https://elsewhere.invalid, which is not "
                           "followed: the key and the conversation are for this one (correct base_url)",
                           model_server_url(f->server));
    assert_string_equal(ask(), says);
    model_server_reset(f->server);
    model_server_add(f->server, &(struct served){.status = "301 Moved", .more = "Location: /v2/messages\r\n"});
    assert_non_null(strstr(ask(), "redirects to another place at http://127.0.0.1"));
    assert_false(f->reply.retryable);
    assert_int_equal(model_server_count(f->server), 1);
}

static void test_line_without_an_end_is_refused(void **state)
{
    CLEANUP(strbuf) struct strbuf body = STRBUF_INIT;
    (void)state;
    strbuf_addstr(&body, "data: ");
    strbuf_grow(&body, 17u << 20);
    memset(body.buf + body.len, 'x', 17u << 20);
    strbuf_set_len(&body, body.len + (17u << 20));
    use(&(struct live_spec){0});
    model_server_add(f->server, &(struct served){.body = body.buf, .len = body.len, .lengthless = true});
    assert_string_equal(ask(), "error?=a line of the stream is longer than 16 MiB");
}

static void test_server_that_is_not_there_is_named(void **state)
{
    (void)state;
    CLEANUP(free) char *url = xstrdup(model_server_url(f->server));
    model_server_free(f->server);
    use(&(struct live_spec){.base_url = url, .key = KEY});
    f->server = model_server_new(); /* another port */
    CLEANUP(free) char *says = xasprintf("error?=no answer from %s: ", url);
    const char *said = ask();
    assert_ptr_equal(strstr(said, says), said);
    assert_non_null(strstr(said, " (check that the server runs, and base_url)"));
    use(&(struct live_spec){.base_url = "http://nowhere.invalid"});
    assert_non_null(strstr(ask(), " (check base_url, and that this machine is on the network)"));
    assert_true(f->reply.retryable);
}

static void test_refusal_of_a_request_without_a_key_asks_for_one(void **state)
{
    (void)state;
    use(&(struct live_spec){0});
    model_server_add(f->server, &(struct served){.status = "401 Unauthorized"});
    assert_string_equal(ask(), "error!=the API answered 401 (name its key with key_env or key_command)");
}

static void begins(const char *said, const char *with)
{
    if (strncmp(said, with, strlen(with)) != 0)
        fail_msg("%s\n  does not begin with\n%s", said, with);
}

static void test_connection_that_ends_too_early_is_told_by_where_it_ended(void **state)
{
#define CUT  "error?=the answer was cut off before its end"
#define LOGS " (the server, or what stands before it, ended the connection: what it logs may say why)"
    static const struct {
        struct served served;
        const char *begins, *ends;
    } cases[] = {
        {{.body = "data: {\"type\":\"ping\"}\n\n", .lengthless = true, .resets = true}, CUT ": ", LOGS},
        {{.body = "data: {\"type\":\"ping\"}\n\n", .promises_more = true, .resets = true}, CUT ": ", LOGS},
        {{.body = "data: {\"type\":\"ping\"}\n\n", .promises_more = true}, CUT ": ", LOGS},
        {{.body = "", .promises_more = true, .resets = true}, CUT ": ", LOGS},
        {{.body = ""}, CUT, CUT}, /* whole, and nothing in it */
        {{.body = "", .lengthless = true}, CUT, CUT},
        {{.raw = true, .resets = true},
         "error?=no answer from http://127.0.0.1:",
         " (the server ended the connection: check base_url, and whether it must begin with https://)"},
        {{.raw = true},
         "error?=no answer from http://127.0.0.1:",
         " (the server ended the connection: check base_url, and whether it must begin with https://)"},
        {{.raw = true, .body = "\x15\x03\x01\x00\x02\x02\x46", .len = 7},
         "error!=no answer from http://127.0.0.1:",
         " (check base_url: that of a server that speaks TLS begins with https://)"},
        {{.status = "401 Unauthorized", .type = "application/json", .body = "{\"error\":\"no\"}", .resets = true},
         "error!=the API answered 401, no (",
         " (check the key that key_env or key_command gives)"},
        {{.status = "503 Unavailable", .type = "text/html", .body = "<html>", .promises_more = true, .resets = true},
         "error?=the API answered 503",
         "the API answered 503"},
    };
    (void)state;
    use(&(struct live_spec){.key = KEY});
    for (int round = 0; round < 5; round++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            model_server_reset(f->server);
            model_server_add(f->server, &cases[i].served);
            const char *said = ask();
            begins(said, cases[i].begins);
            size_t len = strlen(said), end = strlen(cases[i].ends);
            assert_true(len >= end);
            assert_string_equal(said + len - end, cases[i].ends);
        }
}

static void test_proxy_that_is_not_there_is_the_one_to_be_looked_at(void **state)
{
    (void)state;
    CLEANUP(free) char *gone = xstrdup(model_server_url(f->server));
    model_server_free(f->server);
    setenv("http_proxy", gone, 1);
    use(&(struct live_spec){.base_url = "http://models.invalid/v1"});
    const char *said = ask();
    unsetenv("http_proxy");
    f->server = model_server_new();
    CLEANUP(free) char *port = xasprintf("port %s ", strrchr(gone, ':') + 1);
    begins(said, "error?=no answer from http://models.invalid: ");
    assert_non_null(strstr(said, "127.0.0.1"));
    assert_non_null(strstr(said, port));
    assert_non_null(strstr(said, " (check the proxy that the environment names)"));
}

static void test_wish_for_a_later_attempt_is_read_from_what_servers_say(void **state)
{
    static const struct {
        const char *status, *headers;
        int64_t wait_ms;
    } cases[] = {
        {"429 Too Many Requests", "Retry-After: 99999\r\n", 99999000},
        {"429 Too Many Requests", "Retry-After: 0\r\n", -1},
        {"429 Too Many Requests", "Retry-After: soon\r\n", -1},
        {"429 Too Many Requests", "x-ratelimit-reset-requests: 3s\r\n", 3000},
        {"429 Too Many Requests", "x-ratelimit-reset-tokens: 1m2.5s\r\n", 62500},
        {"429 Too Many Requests", "x-ratelimit-reset-requests: 120ms\r\nx-ratelimit-reset-tokens: 6s\r\n", 6000},
        {"429 Too Many Requests",
         "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 120ms\r\n"
         "x-ratelimit-remaining-tokens: 9000\r\nx-ratelimit-reset-tokens: 6m0s\r\n",
         120},
        {"429 Too Many Requests", "Retry-After: 2\r\nx-ratelimit-reset-tokens: 6s\r\n", 2000},
        {"500 Internal Server Error", "x-ratelimit-reset-tokens: 6s\r\n", -1},
    };
    (void)state;
    use(&(struct live_spec){0});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_server_reset(f->server);
        model_server_add(f->server, &(struct served){.status = cases[i].status, .more = cases[i].headers});
        ask();
        assert_int_equal(f->reply.retry_after_ms, cases[i].wait_ms);
    }
}

/* Also where the error is told within the stream. */
static void test_request_that_is_too_long_is_told_apart(void **state)
{
    static const char long_error[] =
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long\"}}";
    (void)state;
    use(&(struct live_spec){0});
    model_server_add(f->server,
                     &(struct served){.status = "400 Bad Request", .type = "application/json", .body = long_error});
    ask();
    assert_true(f->reply.too_long);
    assert_false(f->reply.retryable);
    model_server_reset(f->server);
    CLEANUP(free) char *event = xasprintf("data: %s\n\n", long_error);
    model_server_add(f->server, &(struct served){.body = event});
    ask();
    assert_true(f->reply.too_long);
    model_server_reset(f->server);
    model_server_add(f->server,
                     &(struct served){.status = "413 Content Too Large", .type = "text/html", .body = "<html>"});
    ask();
    assert_true(f->reply.too_long);
    model_server_reset(f->server);
    model_server_add(f->server, &(struct served){.status = "400 Bad Request", .body = "{\"error\":\"no\"}"});
    ask();
    assert_false(f->reply.too_long);
}

static void test_silence_ends_after_its_time(void **state)
{
    (void)state;
    use(&(struct live_spec){.idle_ms = 1000});
    model_server_add(f->server, &(struct served){.body = "data: {\"type\":\"ping\"}\n\n", .silent = true});
    assert_string_equal(ask(), "error?=the server said nothing for 1 s");
    model_server_wait_gone(f->server);
}

/* ---- cancelling ---- */

static void cancel_now(struct loop_timer *timer)
{
    (void)timer;
    f->provider->ops->cancel(f->provider);
}

static void test_cancelling_closes_the_connection_at_once_and_nobody_is_told(void **state)
{
    struct loop_timer timer = {0};
    (void)state;
    use(&(struct live_spec){0});
    model_server_add(f->server, &(struct served){.body = "data: {\"type\":\"ping\"}\n\n", .silent = true});
    start();
    loop_timer_start(f->loop, &timer, loop_now_us(f->loop) + 20000, cancel_now);
    loop_run(f->loop);
    assert_int_equal(f->dones, 0);
    if (model_server_count(f->server)) /* it was quick enough to be asked */
        model_server_wait_gone(f->server);
    f->provider->ops->cancel(f->provider); /* idle: nothing */
}

static void test_cancelling_from_within_a_delta_ends_it(void **state)
{
    (void)state;
    for (const struct stream *stream = streams; stream->name; stream++) {
        model_server_reset(f->server);
        model_server_add(f->server, &(struct served){.body = stream->text, .lengthless = true});
        use(&(struct live_spec){.provider = stream->dialect->name});
        f->cancels = true;
        start();
        loop_run(f->loop);
        assert_int_equal(f->dones, 0);
        f->cancels = false;
        assert_string_equal(ask(), stream->says);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_stream_arrives_whole_byte_by_byte_on_one_connection),
        TEST(test_stream_cut_at_any_byte_is_an_error_or_the_same_reply),
        TEST(test_end_marker_ends_the_answer_though_the_connection_stays_open),
        TEST(test_answer_that_came_whole_counts_though_the_connection_is_reset),
        TEST(test_connection_that_ended_meanwhile_is_made_anew),
        TEST(test_cost_is_what_the_prices_say_and_unknown_without),
        TEST(test_request_has_the_headers_and_the_path_of_its_dialect),
        TEST(test_proxy_of_the_environment_is_used),
        TEST(test_spec_that_makes_no_sense_is_refused),
        TEST(test_failures_are_sentences_that_say_whether_to_try_again),
        TEST(test_redirect_to_another_server_is_refused_with_a_sentence),
        TEST(test_line_without_an_end_is_refused),
        TEST(test_server_that_is_not_there_is_named),
        TEST(test_refusal_of_a_request_without_a_key_asks_for_one),
        TEST(test_connection_that_ends_too_early_is_told_by_where_it_ended),
        TEST(test_proxy_that_is_not_there_is_the_one_to_be_looked_at),
        TEST(test_wish_for_a_later_attempt_is_read_from_what_servers_say),
        TEST(test_request_that_is_too_long_is_told_apart),
        TEST(test_silence_ends_after_its_time),
        TEST(test_cancelling_closes_the_connection_at_once_and_nobody_is_told),
        TEST(test_cancelling_from_within_a_delta_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
