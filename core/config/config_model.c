/* "models": what a person wants to ask, by names of their own. What is wrong with a model by itself is told when the
 * file is read; what it lacks only when it is used, so that a half written one does not stop the others. */

#include "base/hash.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "config_inside.h"
#include "model/keyed.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL_TEXT(field)                                                      \
    static int take_##field(struct reading *reading, const struct json *value) \
    {                                                                          \
        reading->model->field = config_keep(reading, value);                   \
        return 0;                                                              \
    }
MODEL_TEXT(file)
MODEL_TEXT(model)
MODEL_TEXT(key_command)

#define WORD_MAX 24 /* of a variable's name: what is longer is no word */

static int take_base_url(struct reading *reading, const struct json *value)
{
    const char *bad = live_bad_url(value->text);
    reading->model->base_url = config_keep(reading, value);
    if (!bad)
        return 0;
    err_set(reading->err, "\"base_url\" of the model \"%.60s\" %s", reading->model->name, bad);
    return config_at_line(reading, value);
}

/* Letters, digits and underscores, and none of it as long as a key is. */
static bool names_variable(const char *name)
{
    size_t word = 0;
    if (!*name || isdigit((unsigned char)*name))
        return false;
    for (; *name; name++) {
        word = *name == '_' ? 0 : word + 1;
        if ((*name != '_' && !isalnum((unsigned char)*name)) || word > WORD_MAX)
            return false;
    }
    return true;
}

/* What is no name is not repeated: it may be the key itself. */
static int take_key_env(struct reading *reading, const struct json *value)
{
    reading->model->key_env = config_keep(reading, value);
    if (names_variable(reading->model->key_env))
        return 0;
    err_set(
        reading->err,
        "\"key_env\" of the model \"%.60s\" is no name of an environment variable (the key itself does not belong in "
        "the file)",
        reading->model->name);
    return config_at_line(reading, value);
}

static int take_provider(struct reading *reading, const struct json *value)
{
    struct nearest near = nearest_to(value->text);
    const char *name = config_keep(reading, value);
    reading->model->provider = name;
    if (strcmp(name, CONFIG_SCRIPTED) == 0 || dialect_find(name))
        return 0;
    nearest_offer(&near, CONFIG_SCRIPTED);
    for (size_t i = 0; dialects[i]; i++)
        nearest_offer(&near, dialects[i]->name);
    if (near.best)
        err_set(reading->err, "there is no provider \"%.60s\" (did you mean \"%s\"?)", name, near.best);
    else
        err_set(reading->err, "there is no provider \"%.60s\" (there are anthropic, openai and scripted)", name);
    return config_at_line(reading, value);
}

static int take_options(struct reading *reading, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *bad = live_bad_option(value);
    if (bad) {
        err_set(reading->err, "\"models.%.60s.options.%.60s\" is not for the config file to say (take it out)",
                reading->model->name, bad);
        return config_at_line(reading, value);
    }
    json_write(&text, value, JSON_COMPACT);
    reading->model->options = arena_memdup0(&reading->config->arena, text.buf, text.len);
    return 0;
}

static int take_positive(struct reading *reading, const struct json *value, double *into)
{
    *into = json_num(value, NAN);
    if (*into >= 0)
        return 0;
    err_set(reading->err, "\"%.60s\" of the model \"%.60s\" must be 0 or more, is %.40s", value->key,
            reading->model->name, value->text);
    return config_at_line(reading, value);
}

#define PRICE(field)                                                                 \
    static int take_price_##field(struct reading *reading, const struct json *value) \
    {                                                                                \
        return take_positive(reading, value, &reading->model->prices.field);         \
    }
PRICE(input)
PRICE(output)
PRICE(cache_read)
PRICE(cache_write)

static const struct key price_keys[] = {
    {"input", A_NUMBER, take_price_input},
    {"output", A_NUMBER, take_price_output},
    {"cache_read", A_NUMBER, take_price_cache_read},
    {"cache_write", A_NUMBER, take_price_cache_write},
};

static int take_prices(struct reading *reading, const struct json *value)
{
    const struct prices *prices = &reading->model->prices;
    CLEANUP(free) char *within = xasprintf("models.%.60s.prices.", reading->model->name);
    if (config_walk(reading, within, value, price_keys, COUNT_OF(price_keys)))
        return -1;
    if (!isnan(prices->input) && !isnan(prices->output))
        return 0;
    err_set(reading->err,
            "the prices of the model \"%.60s\" need \"input\" and \"output\", in US dollars per million tokens",
            reading->model->name);
    return config_at_line(reading, value);
}

static int take_idle(struct reading *reading, const struct json *value)
{
    return take_positive(reading, value, &reading->model->idle_s);
}

static int take_answer_mb(struct reading *reading, const struct json *value)
{
    return take_positive(reading, value, &reading->model->answer_mb);
}

static int take_reasoning(struct reading *reading, const struct json *value)
{
    reading->model->keep_reasoning = json_bool(value, false);
    return 0;
}

static int take_allow_http(struct reading *reading, const struct json *value)
{
    reading->model->allow_http = json_bool(value, false);
    return 0;
}

static const struct key model_keys[] = {
    {"provider", A_TEXT, take_provider},      {"file", A_TEXT, take_file},
    {"base_url", A_TEXT, take_base_url},      {"model", A_TEXT, take_model},
    {"key_env", A_TEXT, take_key_env},        {"key_command", A_TEXT, take_key_command},
    {"allow_http", A_TRUTH, take_allow_http}, {"options", AN_OBJECT, take_options},
    {"prices", AN_OBJECT, take_prices},       {"idle_s", A_NUMBER, take_idle},
    {"answer_mb", A_NUMBER, take_answer_mb},  {"keep_reasoning", A_TRUTH, take_reasoning},
};

static int take_model_entry(struct reading *reading, const struct json *value)
{
    struct config *config = reading->config;
    if (value->type != JSON_OBJECT)
        return config_wrong_type(reading, "models.", value->key, value, AN_OBJECT);
    GROW(config->models, config->model_count, config->model_room);
    reading->model = &config->models[config->model_count++];
    *reading->model = (struct config_model){.name = arena_strdup(&config->arena, value->key),
                                            .line = config_line_of(reading, value),
                                            .prices = PRICES_UNKNOWN};
    CLEANUP(free) char *within = xasprintf("models.%.60s.", value->key);
    if (config_walk(reading, within, value, model_keys, COUNT_OF(model_keys)))
        return -1;
    if (!reading->model->provider) {
        err_set(
            reading->err,
            "the model \"%.60s\" has no \"provider\" (say \"anthropic\", \"openai\", or \"scripted\" and a \"file\")",
            value->key);
        return config_at_line(reading, value);
    }
    if (reading->model->key_env && reading->model->key_command) {
        err_set(reading->err, "the model \"%.60s\" has \"key_env\" and \"key_command\" (take one of them out)",
                value->key);
        return config_at_line(reading, value);
    }
    return 0;
}

int config_take_models(struct reading *reading, const struct json *value)
{
    reading->config->model_count = 0;
    json_each (entry, value) {
        if (take_model_entry(reading, entry))
            return -1;
    }
    return 0;
}

/* Keys */

static char *key_of_variable(const struct config_model *model, const char *name, struct err *err)
{
    const char *value = getenv(name);
    if (value && *value)
        return xstrdup(value);
    err_set(err, "the key of the model \"%.60s\" is not there: the environment variable %.100s is not set", model->name,
            name);
    return NULL;
}

/* By the shell, as a person would; it may ask for a password at the terminal, so it has no time limit. */
static char *key_of_command(const struct config_model *model, struct err *err)
{
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    const char *const argv[] = {"/bin/sh", "-c", model->key_command, NULL};
    struct process_end end;
    struct err why = ERR_INIT;
    if (process_read_in_terminal(&(struct process_spec){.argv = argv, .open = PROCESS_TERMINAL}, &said, KEYED_BYTES_MAX,
                                 &end, &why)) {
        err_set(err, "the key_command of the model \"%.60s\" cannot be started: %s", model->name, why.text);
        return NULL;
    }
    return keyed_read(model->name, &said, end.exit_code, err);
}

int config_model_key(const struct config_model *model, char **key, struct err *err)
{
    const struct dialect *dialect = dialect_find(model->provider);
    *key = NULL;
    if (model->key_command)
        *key = key_of_command(model, err);
    else if (model->key_env)
        *key = key_of_variable(model, model->key_env, err);
    else if (dialect && !model->base_url)
        *key = key_of_variable(model, dialect->usual_env, err);
    else
        return 0; /* a server of one's own needs none */
    return *key ? 0 : -1;
}
