/* Which model is meant, and making it. A name is one of the config file's; a file of answers may be named by itself. */

#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "config_example.h"
#include "model/http.h"
#include "model/keyed.h"
#include "model/scripted.h"
#include "say.h"
#include "setup.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A live model may be out of breath for a moment: it is asked more often than one that fails on the spot. */
#define LIVE_ATTEMPTS 5
#define LIVE_JITTER   0.25

bool setup_is_recording(const char *name)
{
    static const char end[] = ".jsonl";
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* A path in a file people write is meant from where the file is. */
static char *beside(const char *config_path, const char *file)
{
    const char *slash = config_path ? strrchr(config_path, '/') : NULL;
    if (file[0] == '/' || !slash)
        return xstrdup(file);
    return xasprintf("%.*s/%s", (int)(slash - config_path), config_path, file);
}

/* Says what is wrong with a model of the config file. */
static int say_model_error(const struct config *config, const struct config_model *model, struct err *err)
{
    err->line = model->line;
    return say_file_error(STATUS_USAGE, config->path ? config->path : "config.json", err);
}

static int choose_configured(const struct config *config, const struct config_model *model, struct model_choice *choice)
{
    struct err err = ERR_INIT;
    if (strcmp(model->provider, CONFIG_SCRIPTED) != 0) {
        if (!model->model) {
            err_set(&err, "the model \"%.60s\" needs a \"model\", the name that the provider knows it by", model->name);
            return say_model_error(config, model, &err);
        }
        choice->live = model;
        return 0;
    }
    if (!model->file) {
        err_set(&err, "the scripted model \"%.60s\" needs a \"file\"", model->name);
        return say_model_error(config, model, &err);
    }
    choice->file = beside(config->path, model->file);
    return 0;
}

int setup_say_no_model(const struct options *options)
{
    CLEANUP(strbuf) struct strbuf page = STRBUF_INIT;
    CLEANUP(free) char *usual = config_default_path();
    const char *path = options->config ? options->config : usual;
    config_page_write(&page, path, access(path, F_OK) == 0);
    say_error(STATUS_USAGE, "no model is configured (say --model NAME or --model scripted:FILE, or try keyturn demo)");
    say_page(page.buf, page.len);
    return STATUS_USAGE;
}

int setup_choose_model(const struct options *options, const struct config *config, struct model_choice *choice)
{
    const char *name = options->model ? options->model : config->model;
    const struct config_model *model = name ? config_model(config, name) : NULL;
    *choice = (struct model_choice){0};
    if (!name)
        return say_error(STATUS_USAGE, "no model is configured (say --model scripted:FILE, or try keyturn demo)");
    if (model)
        return choose_configured(config, model, choice);
    if (strncmp(name, "scripted:", 9) == 0 && name[9])
        choice->file = xstrdup(name + 9);
    else if (setup_is_recording(name))
        choice->file = xstrdup(name);
    else {
        const char *near = config_nearest_model(config, name);
        if (near)
            return say_error(STATUS_USAGE, "there is no model \"%s\" in the config file (did you mean %s?)", name,
                             near);
        return say_error(STATUS_USAGE,
                         "there is no model \"%s\" in the config file (say --model scripted:FILE, or try "
                         "keyturn demo)",
                         name);
    }
    return 0;
}

static int open_file(struct setup *setup, const char *file, double speed)
{
    struct err err = ERR_INIT;
    setup->script = journal_open(file, &err);
    if (!setup->script || scripted_check(setup->script, &err))
        return say_file_error(STATUS_USAGE, file, &err);
    if (journal_was_cut(setup->script))
        say_notice("%s: the last line was cut off and is left out", file);
    setup->harness.provider = scripted_new(setup->loop, setup->script, speed);
    return 0;
}

/* A command printed it. Those in variables are declared with the config file. */
static void got_key(void *user, const char *key)
{
    const struct config_model *model = user;
    CLEANUP(free) char *name = xasprintf("key of %s", model->name);
    if (!redact_add(name, key))
        log_warn("the key of the model %s is too short to be looked for in what is shown", model->name);
}

/* A model that is asked over HTTP; NULL and err. A command that prints the key may take its time: before a screen it
 * runs on the loop. */
static struct provider *make_live(struct setup *setup, const struct config_model *model, struct err *err)
{
    struct live_spec spec = {
        .provider = model->provider,
        .base_url = model->base_url,
        .model = model->model,
        .options = model->options,
        .prices = model->prices,
        .idle_ms = (int64_t)(model->idle_s * 1000),
        .allow_http = model->allow_http,
        .answer_max = (size_t)(fmin(model->answer_mb, 4096) * (1 << 20)),
        .keep_reasoning = model->keep_reasoning,
    };
    char *key = NULL;
    if ((model->key_command || model->key_env) && live_check_http(&spec, model->name, err))
        return NULL;
    if (!setup->model_http)
        setup->model_http = http_new(setup->loop, err);
    if (!setup->model_http)
        return NULL;
    if (model->key_command && setup->screen)
        return keyed_new(setup->loop, setup->model_http,
                         &(struct keyed_spec){.name = model->name,
                                              .command = model->key_command,
                                              .live = spec,
                                              .got = got_key,
                                              .user = (void *)(uintptr_t)model},
                         err);
    if (config_model_key(model, &key, err))
        return NULL;
    if (model->key_command)
        got_key((void *)(uintptr_t)model, key);
    spec.key = key;
    struct provider *made = live_new(setup->loop, setup->model_http, &spec, err);
    if (key)
        explicit_bzero(key, strlen(key));
    free(key);
    return made;
}

static int open_live(struct setup *setup, const struct setup_plan *plan, const struct config_model *model)
{
    struct err err = ERR_INIT;
    if (plan->virtual_time)
        return say_error(STATUS_USAGE, "--check repeats a recording and asks no live model (leave --model %s out)",
                         model->name);
    if (!isnan(setup->harness.limits.cost_usd) && isnan(model->prices.input))
        say_notice(
            "budget cost_usd: the config file has no \"prices\" of the model \"%s\": unless its server tells what "
            "an answer costs, this limit has no effect",
            model->name);
    setup->harness.provider = make_live(setup, model, &err);
    return setup->harness.provider ? 0 : say_model_error(plan->config, model, &err);
}

/* Another model in the middle of a session */

static struct provider *make_file(struct setup *setup, const struct config_model *model, struct err *err)
{
    CLEANUP(free) char *file = model->file ? beside(setup->config->path, model->file) : NULL;
    if (!file) {
        err_set(err, "the scripted model \"%.60s\" needs a \"file\"", model->name);
        return NULL;
    }
    struct journal_reader *reader = journal_open(file, err);
    if (!reader || scripted_check(reader, err)) {
        journal_reader_free(reader);
        err_prefix(err, "%s", file);
        return NULL;
    }
    GROW(setup->scripts, setup->script_count, setup->script_room);
    setup->scripts[setup->script_count++] = reader;
    return scripted_new(setup->loop, reader, setup->speed);
}

static struct provider *open_named(struct model_source *source, const char *name, struct err *err)
{
    struct setup *setup = CONTAINER_OF(source, struct setup, models);
    const struct config_model *model = config_model(setup->config, name);
    const char *near = model ? NULL : config_nearest_model(setup->config, name);
    if (!model && near)
        err_set(err, "there is no model \"%.60s\" in the config file (did you mean %s?)", name, near);
    else if (!model)
        err_set(err, "there is no model \"%.60s\" in the config file (:model lists them)", name);
    else if (strcmp(model->provider, CONFIG_SCRIPTED) == 0)
        return make_file(setup, model, err);
    else if (!model->model)
        err_set(err, "the model \"%.60s\" needs a \"model\", the name that the provider knows it by", model->name);
    else
        return make_live(setup, model, err);
    return NULL;
}

/* Whoever repeats a recording asks nobody else. */
static void offer_models(struct setup *setup, const struct setup_plan *plan)
{
    setup->config = plan->config;
    setup->speed = plan->speed;
    setup->screen = plan->interactive;
    setup->models.open = open_named;
    /* Also where the first one is a file: it never asks to be tried again. */
    setup->harness.model_attempts = LIVE_ATTEMPTS;
    setup->harness.model_jitter = LIVE_JITTER;
    if (!plan->virtual_time && !plan->recording)
        setup->harness.models = &setup->models;
    setup->harness.model_chosen = plan->options->model != NULL;
    setup->harness.model_name = plan->options->model ? plan->options->model : plan->config->model;
}

int setup_open_model(struct setup *setup, const struct setup_plan *plan)
{
    const struct journal_reader *reader = plan->script      ? plan->script
                                          : plan->recording ? recording_reader(plan->recording)
                                                            : NULL;
    offer_models(setup, plan);
    if (reader && !plan->options->model) {
        setup->harness.provider = scripted_new(setup->loop, reader, plan->speed);
        return 0;
    }
    struct model_choice choice;
    int status = setup_choose_model(plan->options, plan->config, &choice);
    if (!status)
        status = choice.live ? open_live(setup, plan, choice.live) : open_file(setup, choice.file, plan->speed);
    free(choice.file);
    return status;
}
