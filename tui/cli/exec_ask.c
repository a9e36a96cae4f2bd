/* keyturn exec --ask: a model writes the script, the sandbox runs it, and errors go back to the model.
 *
 * The sandbox starts before the first request to the model. It reports which tools exist, and if no sandbox starts, no
 * request is paid for. */

#include "app/cli_error.h"
#include "app/setup.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "event/words.h"
#include "exec.h"
#include "turn/author.h"
#include <string.h>

struct ask {
    const struct options *options;
    struct setup setup; /* loop, model, sandbox and pool */
    struct exec_output out;
    struct author *author;
    struct emitter emitter; /* for the messages that scripts send */
    int64_t began_us;
    int stopped; /* exit status for the signal that arrived; 0: none */
    int status;
};

/* ---- output ---- */

static void flush(struct ask *ask)
{
    if (cli_out_flush(&ask->out.output) && ask->author)
        author_cancel(ask->author);
}

static void show_attempt(struct ask *ask, const struct attempt *attempt, size_t number)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    const char *name = ask->options->mode && strcmp(ask->options->mode, "interactive") == 0 ? "step" : "attempt";
    exec_output_script(&ask->out, attempt->script);
    if (ask->out.readable) {
        exec_output_attempt(&ask->out, name, number, &attempt->authoring);
        return;
    }
    struct json_writer w = json_begin(&line);
    json_open(&w, NULL, '{');
    json_add_str(&w, "type", "attempt");
    json_add_int(&w, "attempt", (int64_t)number);
    json_add_str(&w, "script", attempt->script);
    json_close(&w, '}');
    exec_output_event(&ask->out, line.buf, line.len);
}

/* Tells a user at a terminal that the program waits for the model. */
static void on_asks(void *user)
{
    struct ask *ask = user;
    const struct provider *provider = ask->setup.engine_config.provider;
    if (ask->out.readable)
        exec_output_asked(&ask->out, provider->ops->model(provider));
    flush(ask);
}

static void on_begins(void *user, const struct run_record *record)
{
    struct ask *ask = user;
    show_attempt(ask, &record->attempts[record->count - 1], record->count);
    flush(ask);
}

static int show_events(struct emitter *emitter, struct event *events, size_t count)
{
    struct ask *ask = CONTAINER_OF(emitter, struct ask, emitter);
    for (size_t i = 0; i < count; i++)
        exec_output_event(&ask->out, events[i].script_event.event, strlen(events[i].script_event.event));
    flush(ask);
    return 0;
}

static void on_waits(void *user, const char *error, int64_t wait_ms)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct event failed = {.type = EVENT_MODEL_FAILED, .model_failed = {.error = error, .retry_in_ms = wait_ms}};
    (void)user;
    event_words(&words, WORDS_PLAIN, NULL, &failed);
    cli_notice("model %s", words.buf);
}

static void show_end(struct ask *ask, const struct run_record *record)
{
    CLEANUP(free) char *why = redact_copy(record->why), *closing = redact_copy(record->closing);
    if (closing)
        exec_output_word(&ask->out, closing);
    exec_output_end(&ask->out, record->success, record->success ? NULL : why,
                    (loop_now_us(ask->setup.loop) - ask->began_us) / 1000, ask->setup.sandbox.spec.engine->name);
}

static void on_ask_done(void *user, struct run_record *take_record)
{
    struct ask *ask = user;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    ask->author = NULL;
    ask->status = take_record->success ? STATUS_DONE : STATUS_FAILED;
    if (ask->out.readable) {
        show_end(ask, take_record);
    } else {
        run_record_write(&line, take_record);
        exec_output_event(&ask->out, line.buf, line.len);
    }
    flush(ask);
    if (!take_record->success && !ask->out.readable && !ask->stopped && !ask->out.output.failed)
        exec_say_error(take_record->why);
    loop_stop(ask->setup.loop);
}

/* ---- the run ---- */

static void start_author(struct ask *ask)
{
    const struct engine_config *h = &ask->setup.engine_config;
    const struct script_request request = exec_request(&ask->setup.sandbox, ask->options);
    ask->emitter = (struct emitter){.emit = show_events};
    const struct author_options options = {
        .run =
            {
                .loop = ask->setup.loop,
                .pool = h->pool,
                .mode = request.mode,
                .attempts = ask->options->attempts > 0 ? (size_t)ask->options->attempts : 0,
                .timeout_s = request.timeout_s,
                .max_output_bytes = request.max_output_bytes,
                .secrets = request.secrets,
                .emitter = &ask->emitter,
            },
        .provider = h->provider,
        .wish = ask->options->ask,
        .tools = pool_tools(h->pool),
        .model_attempts = h->model_attempts,
        .model_jitter = h->model_jitter,
    };
    const struct author_listener listener = {
        .asks = on_asks,
        .begins = on_begins,
        .waits = on_waits,
        .done = on_ask_done,
        .user = ask,
    };
    ask->author = author_start(&options, &listener);
}

static void on_exec_ask_box(void *user, struct box *box, const char *why)
{
    struct ask *ask = user;
    if (!box) {
        ask->status = exec_no_box_error(why);
        loop_stop(ask->setup.loop);
        return;
    }
    for (const char *line = box_notes(box), *end; (end = strchr(line, '\n')); line = end + 1)
        exec_output_event(&ask->out, line, (size_t)(end - line));
    pool_give(ask->setup.engine_config.pool, box, true);
    start_author(ask);
}

static void stop(void *user, int status)
{
    struct ask *ask = user;
    ask->stopped = status;
    if (ask->author)
        author_cancel(ask->author); /* `done` follows */
    else
        loop_stop(ask->setup.loop);
}

static int run(struct ask *ask)
{
    struct signals stops = {.stopped = stop, .user = ask};
    struct pool *pool = ask->setup.engine_config.pool;
    ask->status = STATUS_FAILED;
    ask->began_us = loop_now_us(ask->setup.loop);
    signals_watch(&stops, ask->setup.loop);
    pool_take(pool, on_exec_ask_box, ask);
    loop_run(ask->setup.loop);
    signals_unwatch(&stops);
    if (ask->out.output.failed)
        ask->status = cli_out_error(&ask->out.output);
    return ask->stopped ? ask->stopped : ask->status;
}

int exec_ask(const struct options *options)
{
    CLEANUP(config) struct config *config = setup_config(options);
    if (!config)
        return STATUS_USAGE;
    if (!options->model && !config->model)
        return setup_say_no_model(options);
    struct ask ask = {.options = options,
                      .setup = {.loop = loop_new(clock_system()), .engine_config = engine_config_defaults()}};
    struct setup *setup = &ask.setup;
    exec_output_init(&ask.out);
    int status = setup_open_model(setup, &(struct setup_plan){.options = options, .config = config});
    if (!status)
        status = sandbox_choice_open(&setup->sandbox, options);
    if (!status && !(setup->engine_config.pool = exec_open_pool(&setup->sandbox, setup->loop, 1)))
        status = STATUS_USAGE;
    if (!status)
        status = run(&ask);
    setup_close(setup);
    exec_output_release(&ask.out);
    return status;
}
