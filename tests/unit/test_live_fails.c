/* Tests of models over HTTP whose answer fails or breaks off: one sentence names the cause, what to do, and whether a
 * retry helps. */

#include "base/mem.h"
#include "support/live_rig.h"
#include "support/test.h"
#include <stdint.h>

TEST_WITH(failures_are_sentences_that_say_whether_to_try_again, live_rig_set_up, live_rig_tear_down)
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
         "error?=429 from 127.0.0.1: rate_limit_error: Slow down",
         7000},
        {{.status = "429 Too Many Requests",
          .type = "application/json",
          .more = "retry-after-ms: 1250\r\nRetry-After: 2\r\n",
          .body = "{\"error\":{\"message\":\"x\"}}"},
         "error?=429 from 127.0.0.1: x",
         1250},
        {{.status = "429 Too Many Requests",
          .type = "application/json",
          .body = "{\"error\":{\"message\":\"Pay.\",\"type\":\"insufficient_quota\"}}"},
         "error!=429 from 127.0.0.1: insufficient_quota: Pay (check the account at the provider)",
         -1},
        {{.status = "500 Internal Server Error", .type = "text/html", .body = "<html>"},
         "error?=500 from 127.0.0.1",
         -1},
        {{.status = "529 Overloaded",
          .type = "application/json",
          .body = "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"},
         "error?=529 from 127.0.0.1: overloaded_error: Overloaded",
         -1},
        {{.status = "401 Unauthorized",
          .type = "application/json",
          .body =
              "{\"error\":{\"message\":\"Incorrect API key provided:\\n" LIVE_KEY ".\",\"code\":\"invalid_api_key\"}}"},
         "error!=401 from 127.0.0.1: invalid_api_key: Incorrect API key provided: [secret MY_KEY] "
         "(check the key that key_env or key_command gives)",
         -1},
        {{.status = "404 Not Found",
          .type = "application/json",
          .body = "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: m\"}}"},
         "error!=404 from 127.0.0.1: not_found_error: model: m (check model and base_url in the config file)",
         -1},
        {{.status = "404 Not Found", .type = "text/html", .body = "<html>"},
         "error!=404 from 127.0.0.1 (check model and base_url in the config file)",
         -1},
        {{.status = "403 Forbidden"},
         "error!=403 from 127.0.0.1 (check the permissions of this key, or choose another model)",
         -1},
        {{.status = "400 Bad Request", .type = "application/json", .body = "{\"error\":\"model not found\"}"},
         "error!=400 from 127.0.0.1: model not found",
         -1},
        {{.status = "307 Temporary Redirect", .more = "Location: https://elsewhere.invalid/v1/messages\r\n"},
         NULL /* below */,
         -1},
        {{.type = "text/html", .body = "<html>Log in</html>"},
         "error!=127.0.0.1 returned text/html, not an event stream; check base_url",
         -1},
        {{.type = "application/json", .body = "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}"},
         "error!=error from 127.0.0.1: invalid_request_error: no",
         -1},
        {{.body = "data: {\"type\":\"message_start\"}\n\ndata: {oops\n\n"},
         "error?=a stream event is not JSON: expected a",
         -1},
        {{.body = "<html>not what it says it is</html>"}, "error?=the answer ended early", -1},
    };
    live_rig_use(&(struct live_spec){.key = LIVE_KEY});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_server_reset(rig->server);
        model_server_add(rig->server, &cases[i].served);
        const char *said = live_rig_ask();
        assert_null(strstr(said, LIVE_KEY));
        if (cases[i].says) {
            said = strndup(said, strlen(cases[i].says));
            assert_string_equal(said, cases[i].says);
            free((char *)said);
        }
        assert_int_equal(rig->reply.retry_after_ms, cases[i].retry_after_ms);
    }
}

TEST_WITH(redirect_to_another_server_is_refused_with_a_sentence, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){.key = LIVE_KEY});
    model_server_add(rig->server, &(struct served){.status = "308 Permanent Redirect",
                                                   .more = "Location: https://elsewhere.invalid/v1/messages?a=b\r\n"});
    CLEANUP(free)
    char *says = xasprintf("error!=%s redirects to another server, https://elsewhere.invalid; Keyturn follows no "
                           "redirects, correct base_url",
                           model_server_url(rig->server));
    assert_string_equal(live_rig_ask(), says);
    model_server_reset(rig->server);
    model_server_add(rig->server, &(struct served){.status = "301 Moved", .more = "Location: /v2/messages\r\n"});
    assert_non_null(strstr(live_rig_ask(), "redirects to another path of http://127.0.0.1"));
    assert_false(rig->reply.retryable);
    assert_int_equal(model_server_count(rig->server), 1);
}

TEST_WITH(line_without_an_end_is_refused, live_rig_set_up, live_rig_tear_down)
{
    CLEANUP(strbuf) struct strbuf body = STRBUF_INIT;
    strbuf_addstr(&body, "data: ");
    strbuf_grow(&body, 17u << 20);
    memset(body.buf + body.len, 'x', 17u << 20);
    strbuf_set_len(&body, body.len + (17u << 20));
    live_rig_use(&(struct live_spec){0});
    model_server_add(rig->server, &(struct served){.body = body.buf, .len = body.len, .lengthless = true});
    assert_string_equal(live_rig_ask(), "error!=a line of the stream is longer than 4 MB");
}

TEST_WITH(unreachable_server_is_named, live_rig_set_up, live_rig_tear_down)
{
    CLEANUP(free) char *url = xstrdup(model_server_url(rig->server));
    model_server_free(rig->server);
    live_rig_use(&(struct live_spec){.base_url = url, .key = LIVE_KEY});
    rig->server = model_server_new(); /* another port */
    CLEANUP(free) char *says = xasprintf("error?=no answer from %s: ", url);
    const char *said = live_rig_ask();
    assert_ptr_equal(strstr(said, says), said);
    assert_non_null(strstr(said, " (check that the server runs, and check base_url)"));
    live_rig_use(&(struct live_spec){.base_url = "http://nowhere.invalid"});
    assert_non_null(strstr(live_rig_ask(), " (check base_url, and the network of this machine)"));
    assert_true(rig->reply.retryable);
}

TEST_WITH(refusal_of_a_request_without_a_key_asks_for_one, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){0});
    model_server_add(rig->server, &(struct served){.status = "401 Unauthorized"});
    assert_string_equal(live_rig_ask(), "error!=401 from 127.0.0.1 (set key_env or key_command)");
}

static void begins(const char *said, const char *with)
{
    if (strncmp(said, with, strlen(with)) != 0)
        fail_msg("%s\n  does not begin with\n%s", said, with);
}

TEST_WITH(early_end_of_a_connection_is_reported_by_its_place, live_rig_set_up, live_rig_tear_down)
{
#define CUT  "error?=the answer ended early"
#define LOGS " (the server or a proxy closed the connection; its log may say why)"
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
         " (the server closed the connection; check base_url, and whether it must begin with https://)"},
        {{.raw = true},
         "error?=no answer from http://127.0.0.1:",
         " (the server closed the connection; check base_url, and whether it must begin with https://)"},
        {{.raw = true, .body = "\x15\x03\x01\x00\x02\x02\x46", .len = 7},
         "error!=no answer from http://127.0.0.1:",
         " (check base_url; if the server speaks TLS, it begins with https://)"},
        {{.status = "401 Unauthorized", .type = "application/json", .body = "{\"error\":\"no\"}", .resets = true},
         "error!=401 from 127.0.0.1: no (",
         " (check the key that key_env or key_command gives)"},
        {{.status = "503 Unavailable", .type = "text/html", .body = "<html>", .promises_more = true, .resets = true},
         "error?=503 from 127.0.0.1",
         "503 from 127.0.0.1"},
    };
    live_rig_use(&(struct live_spec){.key = LIVE_KEY});
    for (int round = 0; round < 5; round++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            model_server_reset(rig->server);
            model_server_add(rig->server, &cases[i].served);
            const char *said = live_rig_ask();
            begins(said, cases[i].begins);
            size_t len = strlen(said), end = strlen(cases[i].ends);
            assert_true(len >= end);
            assert_string_equal(said + len - end, cases[i].ends);
        }
}

TEST_WITH(unreachable_proxy_is_named, live_rig_set_up, live_rig_tear_down)
{
    CLEANUP(free) char *gone = xstrdup(model_server_url(rig->server));
    model_server_free(rig->server);
    setenv("http_proxy", gone, 1);
    live_rig_use(&(struct live_spec){.base_url = "http://models.invalid/v1"});
    const char *said = live_rig_ask();
    unsetenv("http_proxy");
    rig->server = model_server_new();
    CLEANUP(free) char *port = xasprintf("port %s ", strrchr(gone, ':') + 1);
    begins(said, "error?=no answer from http://models.invalid: ");
    assert_non_null(strstr(said, "127.0.0.1"));
    assert_non_null(strstr(said, port));
    assert_non_null(strstr(said, " (check the proxy in the environment)"));
}

TEST_WITH(retry_delay_is_read_from_the_reply, live_rig_set_up, live_rig_tear_down)
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
    live_rig_use(&(struct live_spec){0});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        model_server_reset(rig->server);
        model_server_add(rig->server, &(struct served){.status = cases[i].status, .more = cases[i].headers});
        live_rig_ask();
        assert_int_equal(rig->reply.retry_after_ms, cases[i].wait_ms);
    }
}

/* Also if the error comes within the stream. */
TEST_WITH(too_long_request_is_recognized, live_rig_set_up, live_rig_tear_down)
{
    static const char long_error[] =
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long\"}}";
    live_rig_use(&(struct live_spec){0});
    model_server_add(rig->server,
                     &(struct served){.status = "400 Bad Request", .type = "application/json", .body = long_error});
    live_rig_ask();
    assert_true(rig->reply.too_long);
    assert_false(rig->reply.retryable);
    model_server_reset(rig->server);
    CLEANUP(free) char *event = xasprintf("data: %s\n\n", long_error);
    model_server_add(rig->server, &(struct served){.body = event});
    live_rig_ask();
    assert_true(rig->reply.too_long);
    model_server_reset(rig->server);
    model_server_add(rig->server,
                     &(struct served){.status = "413 Content Too Large", .type = "text/html", .body = "<html>"});
    live_rig_ask();
    assert_true(rig->reply.too_long);
    model_server_reset(rig->server);
    model_server_add(rig->server, &(struct served){.status = "400 Bad Request", .body = "{\"error\":\"no\"}"});
    live_rig_ask();
    assert_false(rig->reply.too_long);
}

TEST_WITH(silence_ends_after_its_time, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){.idle_ms = 1000});
    model_server_add(rig->server, &(struct served){.body = "data: {\"type\":\"ping\"}\n\n", .silent = true});
    assert_string_equal(live_rig_ask(), "error?=the server sent no data for 1 s");
    model_server_wait_gone(rig->server);
}
