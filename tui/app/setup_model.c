/* Chooses the model of a run and creates its provider. A model is a name from the config file, or a file of answers. */

#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli_error.h"
#include "model/http.h"
#include "model/key_command.h"
#include "model/scripted.h"
#include "setup.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A live model may be overloaded for a moment, so it gets more attempts than a model that fails at once. */
#define LIVE_ATTEMPTS 5
#define LIVE_JITTER   0.25

bool setup_is_recording(const char *name)
{
    static const char end[] = ".jsonl";
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* A path in the config file is relative to the folder of that file. */
static char *beside(const char *config_path, const char *file)
{
    const char *slash = config_path ? strrchr(config_path, '/') : NULL;
    if (file[0] == '/' || !slash)
        return xstrdup(file);
    return xasprintf("%.*s/%s", (int)(slash - config_path), config_path, file);
}

/* Prints what is wrong with a model of the config file. */
static int say_model_error(const struct config *config, const struct config_model *model, struct err *err)
{
    err->line = model->line;
    return cli_file_error(STATUS_USAGE, config->path ? config->path : "config.json", err);
}

static int choose_configured(const struct config *config, const struct config_model *model, struct model_choice *choice)
{
    struct err err = ERR_INIT;
    if (strcmp(model->provider, CONFIG_SCRIPTED) != 0) {
        if (!model->model) {
            err_set(&err, "model \"%.60s\" has no \"model\"; set it to the provider's name for the model", model->name);
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
    cli_error(STATUS_USAGE,
              "no model is configured (add one to the config file, use --model scripted:FILE, or try keyturn demo)");
    cli_page(page.buf, page.len);
    return STATUS_USAGE;
}

int setup_choose_model(const struct options *options, const struct config *config, struct model_choice *choice)
{
    const char *name = options->model ? options->model : config->model;
    const struct config_model *model = name ? config_model(config, name) : NULL;
    *choice = (struct model_choice){0};
    if (!name)
        return cli_error(STATUS_USAGE, "no model is configured (use --model scripted:FILE, or try keyturn demo)");
    if (model)
        return choose_configured(config, model, choice);
    if (strncmp(name, "scripted:", 9) == 0 && name[9])
        choice->file = xstrdup(name + 9);
    else if (setup_is_recording(name))
        choice->file = xstrdup(name);
    else {
        const char *near = config_nearest_model(config, name);
        if (near)
            return cli_error(STATUS_USAGE, "unknown model \"%s\" (did you mean %s?)", name, near);
        return cli_error(STATUS_USAGE,
                         "unknown model \"%s\" (add it to the config file, use --model scripted:FILE, or try "
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
        return cli_file_error(STATUS_USAGE, file, &err);
    if (journal_was_cut(setup->script))
        cli_notice("%s: the last line is incomplete and was skipped", file);
    setup->engine_config.provider = scripted_new(setup->loop, setup->script, speed);
    return 0;
}

/* Declares a key that a command printed as a secret. Keys in variables are declared with the config file. */
static void got_key(void *user, const char *key)
{
    const struct config_model *model = user;
    CLEANUP(free) char *name = xasprintf("key of %s", model->name);
    if (!redact_add(name, key))
        log_warn("the key of the model %s is shorter than 8 characters, so it is not redacted", model->name);
}

/* Creates a model asked over HTTP; NULL and err on failure. A command that prints the key may be slow, so with a screen
 * it runs on the loop. */
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
        return key_command_new(setup->loop, setup->model_http,
                               &(struct key_command_spec){.name = model->name,
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
        return cli_error(STATUS_USAGE, "--check uses the recorded model (leave out --model %s)", model->name);
    if (budget_user_set(&setup->engine_config.limits, "cost_usd") && isnan(model->prices.input))
        cli_notice(
            "budget cost_usd: model \"%s\" has no \"prices\" in the config file, so this limit works only if its "
            "server reports costs",
            model->name);
    setup->engine_config.provider = make_live(setup, model, &err);
    return setup->engine_config.provider ? 0 : say_model_error(plan->config, model, &err);
}

/* ---- changing the model during a session ---- */

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
        err_set(err, "unknown model \"%.60s\" (did you mean %s?)", name, near);
    else if (!model)
        err_set(err, "unknown model \"%.60s\" (:model lists them)", name);
    else if (strcmp(model->provider, CONFIG_SCRIPTED) == 0)
        return make_file(setup, model, err);
    else if (!model->model)
        err_set(err, "model \"%.60s\" has no \"model\"; set it to the provider's name for the model", model->name);
    else
        return make_live(setup, model, err);
    return NULL;
}

/* A run that repeats a recording cannot change its model. */
static void offer_models(struct setup *setup, const struct setup_plan *plan)
{
    setup->config = plan->config;
    setup->speed = plan->speed;
    setup->screen = plan->interactive;
    setup->models.open = open_named;
    /* Also if the first model is a file: a file never asks for a retry. */
    setup->engine_config.model_attempts = LIVE_ATTEMPTS;
    setup->engine_config.model_jitter = LIVE_JITTER;
    if (!plan->virtual_time && !plan->recording)
        setup->engine_config.models = &setup->models;
    setup->engine_config.model_chosen = plan->options->model != NULL;
    setup->engine_config.model_name = plan->options->model ? plan->options->model : plan->config->model;
}

int setup_open_model(struct setup *setup, const struct setup_plan *plan)
{
    const struct journal_reader *reader = plan->script      ? plan->script
                                          : plan->recording ? recording_reader(plan->recording)
                                                            : NULL;
    offer_models(setup, plan);
    if (reader && !plan->options->model) {
        setup->engine_config.provider = scripted_new(setup->loop, reader, plan->speed);
        return 0;
    }
    struct model_choice choice;
    int status = setup_choose_model(plan->options, plan->config, &choice);
    if (!status)
        status = choice.live ? open_live(setup, plan, choice.live) : open_file(setup, choice.file, plan->speed);
    free(choice.file);
    return status;
}

/* ---- the example of a config file ---- */

const char *const config_model_lines[] = {
    "{",
    "  \"model\": \"claude\",          // the default",
    "  \"models\": {",
    "    \"claude\": {\"provider\": \"anthropic\", \"model\": \"claude-sonnet-4-5\"},",
    "    \"gpt\": {\"provider\": \"openai\", \"model\": \"gpt-4.1\"},",
    "    \"router\": {\"provider\": \"openai\", \"model\": \"openai/gpt-4.1\",",
    "      \"base_url\": \"https://openrouter.ai/api/v1\",",
    "      \"key_env\": \"OPENROUTER_API_KEY\"},",
    "    \"local\": {\"provider\": \"openai\", \"model\": \"qwen3\",  // Ollama",
    "      \"base_url\": \"http://localhost:11434/v1\"} // llama.cpp: port 8080",
    "  }",
    "}",
    NULL,
};

const char config_key_note[] = "Keep keys out of it: use ANTHROPIC_API_KEY, OPENAI_API_KEY, \"key_env\" or "
                               "\"key_command\". A local server needs no key.";

void config_example_write(struct strbuf *out)
{
    strbuf_addstr(out, "// Settings of keyturn. Everything is optional; keyturn help config lists all entries.\n"
                       "// To add a model, remove the // before its lines and before the lines around it.\n"
                       "//\n");
    strbuf_addf(out, "// %s\n", config_key_note);
    for (size_t i = 0; config_model_lines[i]; i++) /* the braces too: without them the file is not valid */
        strbuf_addf(out, "%s%s\n", config_model_lines[i][0] == ' ' ? "  //" : "", config_model_lines[i]);
}

/* Adds text wrapped at word boundaries, for a terminal of the usual width. */
static void add_folded(struct strbuf *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        size_t columns = utf8_columns(text, word);
        if (column && column + 1 + columns > 78) {
            strbuf_addch(out, '\n');
            column = 0;
        } else if (column) {
            strbuf_addch(out, ' ');
            column++;
        }
        strbuf_add(out, text, word);
        column += columns;
        text += word + strspn(text + word, " ");
    }
    strbuf_addch(out, '\n');
}

void config_page_write(struct strbuf *out, const char *path, bool there)
{
    strbuf_addf(out, "To add one, put this into the config file%s, with your own models:\n%s\n\n",
                there ? "" : ", which does not exist yet", path);
    for (size_t i = 0; config_model_lines[i]; i++)
        strbuf_addf(out, "    %s\n", config_model_lines[i]);
    strbuf_addch(out, '\n');
    add_folded(out, config_key_note);
    add_folded(out, "For one run: keyturn run --model NAME. In a session: :model NAME.");
    add_folded(out, "All settings: keyturn help config. keyturn demo needs no model.");
}
