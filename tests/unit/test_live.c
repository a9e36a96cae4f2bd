/* Tests of models over HTTP, against a real server on the loopback: whatever it does, the listener gets one reply,
 * either the right one or an error in one sentence. */

#include "base/mem.h"
#include "support/live_rig.h"
#include "support/test.h"
#include <math.h>
#include <stdint.h>

/* ---- answers ---- */

TEST_WITH(every_stream_arrives_whole_byte_by_byte_on_one_connection, live_rig_set_up, live_rig_tear_down)
{
    for (const struct stream *stream = streams; stream->name; stream++) {
        model_server_reset(rig->server);
        live_rig_use(&(struct live_spec){.provider = stream->dialect->name, .key = LIVE_KEY});
        model_server_add(rig->server, &(struct served){.body = stream->text, .piece = 1});
        model_server_add(rig->server,
                         &(struct served){.body = stream->text, .type = "text/event-stream; charset=utf-8"});
        assert_string_equal(live_rig_ask(), stream->says);
        assert_string_equal(live_rig_ask(), stream->says);
        if (rig->reply.text)
            assert_non_null(strstr(rig->heard.buf, rig->reply.text));
    }
    assert_int_equal(model_server_connections(rig->server), 1);
}

TEST_WITH(stream_cut_at_any_byte_is_an_error_or_the_same_reply, live_rig_set_up, live_rig_tear_down)
{
    for (const struct stream *stream = streams; stream->name; stream++) {
        size_t len = strlen(stream->text);
        live_rig_use(&(struct live_spec){.provider = stream->dialect->name});
        for (size_t cut = 1; cut <= len; cut++) {
            model_server_reset(rig->server);
            model_server_add(rig->server, &(struct served){.body = stream->text,
                                                           .len = cut,
                                                           .lengthless = cut % 2 == 0,
                                                           .promises_more = cut % 2 == 1});
            const char *said = live_rig_ask();
            if (cut == len)
                assert_string_equal(said, stream->says);
            else
                assert_ptr_equal(strstr(said, "error?=the answer ended early"), said);
        }
    }
}

TEST_WITH(end_marker_ends_the_answer_though_the_connection_stays_open, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){.provider = "openai"});
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("openai-text")->text, .silent = true});
    assert_string_equal(live_rig_ask(), live_rig_stream("openai-text")->says);
}

/* Data sent before the reset is still read. */
TEST_WITH(answer_that_came_whole_counts_though_the_connection_is_reset, live_rig_set_up, live_rig_tear_down)
{
    for (int i = 0; i < 20; i++)
        for (const struct stream *stream = streams; stream->name; stream++) {
            model_server_reset(rig->server);
            model_server_add(rig->server, &(struct served){.body = stream->text,
                                                           .lengthless = i % 3 == 0,
                                                           .promises_more = i % 3 == 1,
                                                           .resets = true});
            live_rig_use(&(struct live_spec){.provider = stream->dialect->name});
            assert_string_equal(live_rig_ask(), stream->says);
            assert_int_equal(model_server_count(rig->server), 1);
        }
}

TEST_WITH(ended_connection_is_replaced, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){.provider = "openai"});
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("openai-text")->text, .closes = true});
    for (int i = 0; i < 20; i++)
        assert_string_equal(live_rig_ask(), live_rig_stream("openai-text")->says);
    assert_int_equal(model_server_count(rig->server), 20);
}

TEST_WITH(cost_follows_the_prices_and_is_unknown_without, live_rig_set_up, live_rig_tear_down)
{
    live_rig_use(&(struct live_spec){.prices = {.input = 3, .output = 15, .cache_read = 0.3, .cache_write = 3.75}});
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("anthropic-text")->text});
    live_rig_ask();
    assert_true(fabs(rig->reply.cost_usd - (20 * 3 + 500 * 0.3 + 30 * 3.75 + 42 * 15) / 1e6) < 1e-12);
    live_rig_use(&(struct live_spec){.prices = {.input = 3, .output = 15, .cache_read = NAN, .cache_write = NAN}});
    live_rig_ask();
    assert_true(fabs(rig->reply.cost_usd - (550 * 3 + 42 * 15) / 1e6) < 1e-12);
    live_rig_use(&(struct live_spec){0});
    live_rig_ask();
    assert_true(isnan(rig->reply.cost_usd));
    /* Unknown usage is not the same as zero usage. */
    model_server_reset(rig->server);
    model_server_add(
        rig->server,
        &(struct served){.body = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n"});
    live_rig_use(&(struct live_spec){.provider = "openai", .prices = {.input = 3, .output = 15}});
    live_rig_ask();
    assert_string_equal(rig->reply.text, "x");
    assert_true(isnan(rig->reply.cost_usd));
}

/* ---- requests ---- */

TEST_WITH(request_has_the_headers_and_the_path_of_its_dialect, live_rig_set_up, live_rig_tear_down)
{
    CLEANUP(free) char *versioned = xasprintf("%s/v1/", model_server_url(rig->server));
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("anthropic-text")->text});
    live_rig_use(&(struct live_spec){.key = LIVE_KEY});
    live_rig_ask();
    CLEANUP(free) char *first = model_server_request(rig->server, 0);
    assert_ptr_equal(strstr(first, "POST /v1/messages HTTP/1.1\r\n"), first);
    assert_non_null(strstr(first, "x-api-key: " LIVE_KEY "\r\n"));
    assert_non_null(strstr(first, "anthropic-version: 2023-06-01\r\n"));
    live_rig_use(&(struct live_spec){.base_url = versioned});
    live_rig_ask();
    CLEANUP(free) char *second = model_server_request(rig->server, 1);
    assert_ptr_equal(strstr(second, "POST /v1/messages HTTP/1.1\r\n"), second);
    assert_null(strstr(second, "x-api-key"));
    live_rig_use(&(struct live_spec){.base_url = versioned, .provider = "openai", .key = LIVE_KEY});
    live_rig_ask();
    CLEANUP(free) char *third = model_server_request(rig->server, 2);
    assert_ptr_equal(strstr(third, "POST /v1/chat/completions HTTP/1.1\r\n"), third);
    assert_non_null(strstr(third, "Authorization: Bearer " LIVE_KEY "\r\n"));
}

TEST_WITH(proxy_of_the_environment_is_used, live_rig_set_up, live_rig_tear_down)
{
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("openai-text")->text});
    setenv("http_proxy", model_server_url(rig->server), 1);
    live_rig_use(&(struct live_spec){.provider = "openai", .base_url = "http://models.invalid/v1"});
    assert_string_equal(live_rig_ask(), live_rig_stream("openai-text")->says);
    unsetenv("http_proxy");
    CLEANUP(free) char *request = model_server_request(rig->server, 0);
    assert_ptr_equal(strstr(request, "POST http://models.invalid/v1/chat/completions HTTP/1.1\r\n"), request);
}

TEST_WITH(spec_that_makes_no_sense_is_refused, live_rig_set_up, live_rig_tear_down)
{
    static const struct {
        struct live_spec spec;
        const char *error;
    } cases[] = {
        {{.provider = "none", .model = "m"}, "unknown provider \"none\""},
        {{.provider = "openai"}, "the provider \"openai\" needs a \"model\""},
        {{.provider = "openai", .model = "m", .base_url = "ftp://x"},
         "\"base_url\" must begin with https:// or http://"},
        {{.provider = "openai", .model = "m", .base_url = "http://user:secret@x/v1"},
         "\"base_url\" must not contain a user or password; use key_env or key_command"},
        {{.provider = "openai", .model = "m", .key = "a\r\nX: b"}, "the key contains a space or a control character"},
        {{.provider = "openai", .model = "m", .options = "{\"stream\":false}"},
         "the option \"stream\" is set by Keyturn; remove it"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        assert_null(live_new(rig->loop, rig->http, &cases[i].spec, &err));
        assert_string_equal(err.text, cases[i].error);
    }
}

/* ---- keys and plain http ---- */

#define REFUSED(host) \
    "model \"m\" would send its key over plain http to " host ". Use https, or set \"allow_http\": true for it."

TEST_WITH(key_goes_over_plain_http_to_this_machine_only, live_rig_set_up, live_rig_tear_down)
{
    static const struct {
        const char *url, *error;
    } cases[] = {
        {"http://127.0.0.1:8080/v1", NULL},
        {"http://127.200.3.4", NULL},
        {"http://localhost:8080", NULL},
        {"http://LocalHost/v1", NULL},
        {"http://[::1]:8080/v1", NULL},
        {"https://models.invalid/v1", NULL},
        {"http://models.invalid/v1", REFUSED("models.invalid")},
        {"http://models.invalid:8080?x", REFUSED("models.invalid")},
        {"http://10.0.0.1/v1", REFUSED("10.0.0.1")},
        {"http://localhost.models.invalid/", REFUSED("localhost.models.invalid")},
        {"http://127.0.0.1.models.invalid/", REFUSED("127.0.0.1.models.invalid")},
        {"http://127.0.0.256/", REFUSED("127.0.0.256")},
        {"http://127.1/", REFUSED("127.1")},
        {"http://127.0.0.1x/", REFUSED("127.0.0.1x")},
        {"http://[::2]/", REFUSED("[::2]")},
        {"http://[::ffff:127.0.0.1]/", REFUSED("[::ffff:127.0.0.1]")},
        {"http://localhost\\x/", REFUSED("localhost\\x")},
        {"http://", REFUSED("")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct live_spec spec = {.provider = "openai", .model = "m", .base_url = cases[i].url, .key = LIVE_KEY};
        struct err err = ERR_INIT, late = ERR_INIT;
        struct provider *made = live_new(rig->loop, rig->http, &spec, &err);
        assert_int_equal(made != NULL, !cases[i].error);
        assert_string_equal(err.text, cases[i].error ? cases[i].error : "");
        provider_free(made);
        /* A key that comes later, and none at all. */
        spec.key = NULL;
        made = live_new(rig->loop, rig->http, &spec, &late);
        assert_non_null(made);
        assert_int_equal(live_set_key(made, LIVE_KEY, &late), cases[i].error ? -1 : 0);
        assert_string_equal(late.text, cases[i].error ? cases[i].error : "");
        provider_free(made);
        spec.key = LIVE_KEY;
        spec.allow_http = true;
        made = live_new(rig->loop, rig->http, &spec, &late);
        assert_non_null(made);
        provider_free(made);
    }
}

/* A proxy is another machine too: a request with a key to this machine bypasses it. */
TEST_WITH(key_for_this_machine_goes_past_the_proxy, live_rig_set_up, live_rig_tear_down)
{
    struct model_server *proxy = model_server_new();
    model_server_add(rig->server, &(struct served){.body = live_rig_stream("openai-text")->text});
    setenv("http_proxy", model_server_url(proxy), 1);
    unsetenv("no_proxy");
    live_rig_use(&(struct live_spec){.provider = "openai", .key = LIVE_KEY});
    assert_string_equal(live_rig_ask(), live_rig_stream("openai-text")->says);
    unsetenv("http_proxy");
    setenv("no_proxy", "127.0.0.1", 1);
    assert_int_equal(model_server_count(proxy), 0);
    model_server_free(proxy);
}

/* ---- canceling ---- */

static void cancel_now(struct loop_timer *timer)
{
    (void)timer;
    rig->provider->ops->cancel(rig->provider);
}

TEST_WITH(canceling_closes_the_connection_without_a_reply, live_rig_set_up, live_rig_tear_down)
{
    struct loop_timer timer = {0};
    live_rig_use(&(struct live_spec){0});
    model_server_add(rig->server, &(struct served){.body = "data: {\"type\":\"ping\"}\n\n", .silent = true});
    live_rig_start();
    loop_timer_start(rig->loop, &timer, loop_now_us(rig->loop) + 20000, cancel_now);
    loop_run(rig->loop);
    assert_int_equal(rig->dones, 0);
    if (model_server_count(rig->server)) /* the request may have been sent before the cancel */
        model_server_wait_gone(rig->server);
    rig->provider->ops->cancel(rig->provider); /* idle: nothing */
}

TEST_WITH(canceling_within_a_delta_ends_the_request, live_rig_set_up, live_rig_tear_down)
{
    for (const struct stream *stream = streams; stream->name; stream++) {
        model_server_reset(rig->server);
        model_server_add(rig->server, &(struct served){.body = stream->text, .lengthless = true});
        live_rig_use(&(struct live_spec){.provider = stream->dialect->name});
        rig->cancels = true;
        live_rig_start();
        loop_run(rig->loop);
        assert_int_equal(rig->dones, 0);
        rig->cancels = false;
        assert_string_equal(live_rig_ask(), stream->says);
    }
}
