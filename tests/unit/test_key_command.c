/* Tests of keys that a command prints, against a real server. The request waits, the loop never does, and whatever the
 * command does, the listener gets one reply. */

#include "base/loop.h"
#include "base/mem.h"
#include "model/http.h"
#include "model/key_command.h"
#include "support/model_server.h"
#include "support/scratch.h"
#include "support/streams.h"
#include "support/test.h"
#include <stdint.h>

#define KEY "sk-test-0123456789"
#define ANSWER                                                                                                \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: " \
    "[DONE]\n\n"

struct fixture {
    struct model_server *server;
    struct scratch scratch;
    struct loop *loop;
    struct http *http;
    struct provider *provider;
    struct model_listener listener;
    struct loop_timer timer;
    int dones, got;
    char *said;
};

static struct fixture *f;

static void on_done(struct model_listener *listener, struct model_reply *take_reply)
{
    (void)listener;
    free(f->said);
    f->said = take_reply->error ? xstrdup(take_reply->error) : xstrdup(take_reply->text);
    model_reply_release(take_reply);
    f->dones++;
}

static void on_key(void *user, const char *key)
{
    assert_ptr_equal(user, f);
    assert_string_equal(key, KEY);
    assert_int_equal(model_server_count(f->server), 0); /* known before it is used */
    f->got++;
}

static int set_up(void **state)
{
    (void)state;
    setenv("no_proxy", "127.0.0.1", 1);
    f = xcalloc(1, sizeof(*f));
    scratch_init(&f->scratch);
    f->server = model_server_new();
    f->loop = loop_new(clock_system());
    f->http = http_new(f->loop, NULL);
    f->listener = (struct model_listener){.done = on_done};
    model_server_add(f->server, &(struct served){.body = ANSWER});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    provider_free(f->provider);
    http_free(f->http);
    loop_free(f->loop);
    model_server_free(f->server);
    scratch_release(&f->scratch);
    free(f->said);
    free(f);
    return 0;
}

static void use(const char *command, int64_t patience_ms)
{
    struct err err = ERR_INIT;
    f->provider = key_command_new(f->loop, f->http,
                                  &(struct key_command_spec){.name = "mine",
                                                             .command = command,
                                                             .live = {.provider = "openai",
                                                                      .base_url = model_server_url(f->server),
                                                                      .model = "m",
                                                                      .prices = PRICES_UNKNOWN},
                                                             .patience_ms = patience_ms,
                                                             .got = on_key,
                                                             .user = f},
                                  &err);
    assert_non_null(f->provider);
    assert_string_equal(f->provider->ops->name, "openai");
    assert_string_equal(f->provider->ops->model(f->provider), "m");
}

/* The request is freed when the call returns, like a turn's request. */
static void start(void)
{
    struct message_list messages;
    struct tool_offer tools[] = {{xstrdup("look"), xstrdup("Looks."), xstrdup("{}")}};
    message_list_init(&messages);
    message_list_add(&messages, ROLE_USER, "Hello");
    f->dones = 0;
    f->provider->ops->ask(
        f->provider,
        &(struct model_request){.step = 1, .messages = &messages, .tools = tools, .tool_count = 1, .timeout_ms = 60000},
        &f->listener);
    assert_int_equal(f->dones, 0);
    message_list_release(&messages);
    free((char *)tools[0].name);
    free((char *)tools[0].description);
    free((char *)tools[0].parameters);
}

static const char *ask(void)
{
    start();
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    return f->said;
}

static void let_it_go(struct loop_timer *timer)
{
    (void)timer;
    assert_int_equal(model_server_count(f->server), 0);
    scratch_write(&f->scratch, "go", "");
}

TEST_WITH(request_waits_for_the_command_and_the_loop_does_not, set_up, tear_down)
{
    CLEANUP(free) char *go = scratch_path(&f->scratch, "go");
    CLEANUP(free) char *command = xasprintf("until [ -e '%s' ]; do sleep 0.01; done; echo " KEY, go);
    use(command, 0);
    loop_timer_start(f->loop, &f->timer, loop_now_us(f->loop) + 20000, let_it_go);
    assert_string_equal(ask(), "Hi");
    CLEANUP(free) char *request = model_server_request(f->server, 0);
    assert_non_null(strstr(request, "Authorization: Bearer " KEY "\r\n"));
    assert_non_null(strstr(request, "\"content\":\"Hello\""));
    assert_non_null(strstr(request, "\"name\":\"look\""));
    assert_string_equal(ask(), "Hi"); /* and the next one has it already */
    assert_int_equal(f->got, 1);
}

TEST_WITH(command_that_gives_no_key_is_one_sentence, set_up, tear_down)
{
    static const struct {
        const char *command, *says;
    } cases[] = {
        {"echo 'no such entry' >&2; exit 3", "the key_command of the model \"mine\" failed (status 3): no such entry"},
        {"kill -9 $$", "the key_command of the model \"mine\" failed (status -1)"},
        {"true", "the key_command of the model \"mine\" printed nothing"},
        {"printf '  \\n'", "the key_command of the model \"mine\" printed nothing"},
        {"seq 5000", "the key_command of the model \"mine\" printed more than a key"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        use(cases[i].command, 0);
        assert_string_equal(ask(), cases[i].says);
        assert_string_equal(ask(), cases[i].says); /* it is tried again */
        provider_free(f->provider);
        f->provider = NULL;
    }
    assert_int_equal(model_server_count(f->server), 0);
}

TEST_WITH(command_that_does_not_end_is_ended, set_up, tear_down)
{
    use("sleep 1000", 30);
    assert_string_equal(ask(), "the key_command of the model \"mine\" timed out after 0 s; it must not prompt");
}

TEST_WITH(canceled_request_is_not_sent_and_the_key_stays, set_up, tear_down)
{
    use("echo " KEY, 0);
    start();
    f->provider->ops->cancel(f->provider);
    loop_run(f->loop);
    assert_int_equal(f->dones, 0);
    assert_int_equal(model_server_count(f->server), 0);
    assert_int_equal(f->got, 1);
    assert_string_equal(ask(), "Hi");
}

TEST_WITH(it_can_be_freed_while_the_command_runs, set_up, tear_down)
{
    use("sleep 1000", 0);
    start();
}
