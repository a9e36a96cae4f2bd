/* A live model and the local server that answers it. */

#include "live_rig.h"
#include "base/mem.h"
#include "base/redact.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct live_rig *rig;

static void on_delta(struct model_listener *listener, const char *text, const char *thinking)
{
    (void)listener;
    strbuf_addstr(&rig->heard, text ? text : thinking);
    if (rig->cancels)
        rig->provider->ops->cancel(rig->provider);
}

static void on_done(struct model_listener *listener, struct model_reply *take_reply)
{
    (void)listener;
    free(rig->said);
    rig->said = stream_describe(take_reply);
    model_reply_release(&rig->reply);
    rig->reply = *take_reply;
    rig->dones++;
}

int live_rig_set_up(void **state)
{
    (void)state;
    setenv("no_proxy", "127.0.0.1", 1);
    redact_add("MY_KEY", LIVE_KEY);
    rig = xcalloc(1, sizeof(*rig));
    rig->server = model_server_new();
    rig->loop = loop_new(clock_system());
    rig->http = http_new(rig->loop, NULL);
    assert_non_null(rig->http);
    rig->listener = (struct model_listener){.delta = on_delta, .done = on_done};
    message_list_init(&rig->messages);
    message_list_add(&rig->messages, ROLE_SYSTEM, "Be brief.");
    message_list_add(&rig->messages, ROLE_USER, "Hello");
    strbuf_init(&rig->heard);
    return 0;
}

int live_rig_tear_down(void **state)
{
    (void)state;
    provider_free(rig->provider);
    http_free(rig->http);
    loop_free(rig->loop);
    model_server_free(rig->server);
    message_list_release(&rig->messages);
    model_reply_release(&rig->reply);
    strbuf_release(&rig->heard);
    free(rig->said);
    free(rig);
    redact_forget();
    return 0;
}

void live_rig_use(const struct live_spec *spec)
{
    struct live_spec full = *spec;
    struct err err = ERR_INIT;
    provider_free(rig->provider);
    if (!full.base_url)
        full.base_url = model_server_url(rig->server);
    if (!full.model)
        full.model = "m";
    if (!full.provider)
        full.provider = "anthropic";
    if (full.prices.input == 0 && full.prices.output == 0)
        full.prices = (struct prices)PRICES_UNKNOWN;
    rig->provider = live_new(rig->loop, rig->http, &full, &err);
    assert_string_equal(err.text, "");
    assert_non_null(rig->provider);
}

void live_rig_start(void)
{
    strbuf_reset(&rig->heard);
    rig->dones = 0;
    rig->provider->ops->ask(rig->provider,
                            &(struct model_request){.step = 1, .messages = &rig->messages, .timeout_ms = 60000},
                            &rig->listener);
    assert_int_equal(rig->dones, 0);
}

const char *live_rig_ask(void)
{
    live_rig_start();
    loop_run(rig->loop);
    assert_int_equal(rig->dones, 1);
    return rig->said;
}

const struct stream *live_rig_stream(const char *name)
{
    const struct stream *stream = streams;
    while (stream->name && strcmp(stream->name, name) != 0)
        stream++;
    assert_non_null(stream->name);
    return stream;
}
