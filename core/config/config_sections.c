/* Reads the larger sections of config.json: "models", "workspace" and "skills".
 *
 * A mistake in a model is an error when the file is read. What a model lacks is an error when the model is used, so
 * that an unfinished one does not stop the others. */

#include "base/hash.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "config.h"
#include "config_internal.h"
#include "model/key_command.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL_TEXT(field)                                                            \
    static int take_##field(struct config_reader *reading, const struct json *value) \
    {                                                                                \
        reading->model->field = config_keep(reading, value);                         \
        return 0;                                                                    \
    }
MODEL_TEXT(file)
MODEL_TEXT(model)
MODEL_TEXT(key_command)

#define WORD_MAX 24 /* of a variable's name: a longer text is not a word */

static int take_base_url(struct config_reader *reading, const struct json *value)
{
    const char *bad = live_bad_url(value->text);
    reading->model->base_url = config_keep(reading, value);
    if (!bad)
        return 0;
    err_set(reading->err, "\"base_url\" of the model \"%.60s\" %s", reading->model->name, bad);
    return config_at_line(reading, value);
}

/* Accepts letters, digits and underscores, but no word as long as a key. */
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

/* The error does not repeat an invalid name: it may be the key itself. */
static int take_key_env(struct config_reader *reading, const struct json *value)
{
    reading->model->key_env = config_keep(reading, value);
    if (names_variable(reading->model->key_env))
        return 0;
    err_set(reading->err,
            "\"key_env\" of the model \"%.60s\" is not the name of an environment variable; put the key into a "
            "variable, not into the file",
            reading->model->name);
    return config_at_line(reading, value);
}

static int take_provider(struct config_reader *reading, const struct json *value)
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
        err_set(reading->err, "unknown provider \"%.60s\" (did you mean \"%s\"?)", name, near.best);
    else
        err_set(reading->err, "unknown provider \"%.60s\" (known: anthropic, openai, scripted)", name);
    return config_at_line(reading, value);
}

static int take_options(struct config_reader *reading, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *bad = live_bad_option(value);
    if (bad) {
        err_set(reading->err, "\"models.%.60s.options.%.60s\" is set by Keyturn; remove it", reading->model->name, bad);
        return config_at_line(reading, value);
    }
    json_write(&text, value, JSON_COMPACT);
    reading->model->options = arena_memdup0(&reading->config->arena, text.buf, text.len);
    return 0;
}

static int take_positive(struct config_reader *reading, const struct json *value, double *into)
{
    *into = json_num(value, NAN);
    if (*into >= 0)
        return 0;
    err_set(reading->err, "\"%.60s\" of the model \"%.60s\" must be 0 or more, is %.40s", value->key,
            reading->model->name, value->text);
    return config_at_line(reading, value);
}

#define PRICE(field)                                                                       \
    static int take_price_##field(struct config_reader *reading, const struct json *value) \
    {                                                                                      \
        return take_positive(reading, value, &reading->model->prices.field);               \
    }
PRICE(input)
PRICE(output)
PRICE(cache_read)
PRICE(cache_write)

static const struct config_key price_keys[] = {
#define PRICE_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

static int take_prices(struct config_reader *reading, const struct json *value)
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

static int take_idle(struct config_reader *reading, const struct json *value)
{
    return take_positive(reading, value, &reading->model->idle_s);
}

static int take_answer_mb(struct config_reader *reading, const struct json *value)
{
    return take_positive(reading, value, &reading->model->answer_mb);
}

static int take_reasoning(struct config_reader *reading, const struct json *value)
{
    reading->model->keep_reasoning = json_bool(value, false);
    return 0;
}

static int take_allow_http(struct config_reader *reading, const struct json *value)
{
    reading->model->allow_http = json_bool(value, false);
    return 0;
}

static const struct config_key model_keys[] = {
#define MODEL_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

static int take_model_entry(struct config_reader *reading, const struct json *value)
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
        err_set(reading->err,
                "the model \"%.60s\" has no \"provider\"; set it to \"anthropic\" or \"openai\", or to \"scripted\" "
                "with a \"file\"",
                value->key);
        return config_at_line(reading, value);
    }
    if (reading->model->key_env && reading->model->key_command) {
        err_set(reading->err, "the model \"%.60s\" has \"key_env\" and \"key_command\"; remove one", value->key);
        return config_at_line(reading, value);
    }
    return 0;
}

int config_take_models(struct config_reader *reading, const struct json *value)
{
    reading->config->model_count = 0;
    json_each (entry, value) {
        if (take_model_entry(reading, entry))
            return -1;
    }
    return 0;
}

/* ---- API keys ---- */

static char *key_of_variable(const struct config_model *model, const char *name, struct err *err)
{
    const char *value = getenv(name);
    if (value && *value)
        return xstrdup(value);
    err_set(err, "model \"%.60s\": $%.100s is not set; export it, or change key_env in the config file", model->name,
            name);
    return NULL;
}

/* Runs the command in the shell, as the user would. It may ask for a password at the terminal, so it has no time
 * limit. */
static char *key_of_command(const struct config_model *model, struct err *err)
{
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    const char *const argv[] = {"/bin/sh", "-c", model->key_command, NULL};
    struct process_end end;
    struct err why = ERR_INIT;
    if (process_read_in_terminal(&(struct process_spec){.argv = argv, .open = PROCESS_TERMINAL}, &said,
                                 KEY_COMMAND_BYTES_MAX, &end, &why)) {
        err_set(err, "cannot start the key_command of the model \"%.60s\": %s", model->name, why.text);
        return NULL;
    }
    return key_command_read(model->name, &said, end.exit_code, err);
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
        return 0; /* a private server needs no key */
    return *key ? 0 : -1;
}

/* ---- workspace and skills ---- */

/* Reads a whole number in a range. */
static int take_number(struct config_reader *reading, const struct json *value, int64_t least, int64_t most,
                       int64_t *out)
{
    int64_t number = json_int(value, least - 1);
    if (number < least || number > most) {
        err_set(reading->err, "\"workspace.%s\" must be a whole number, %lld to %lld, is %.40s", value->key,
                (long long)least, (long long)most, value->text);
        return config_at_line(reading, value);
    }
    *out = number;
    return 0;
}

#define NUMBER(field, least, most)                                                          \
    static int take_##field(struct config_reader *reading, const struct json *value)        \
    {                                                                                       \
        return take_number(reading, value, least, most, &reading->config->workspace.field); \
    }
#define TRUTH(field)                                                                 \
    static int take_##field(struct config_reader *reading, const struct json *value) \
    {                                                                                \
        reading->config->workspace.field = json_bool(value, false);                  \
        return 0;                                                                    \
    }
NUMBER(max_disk_mb, 1, 1 << 20)
NUMBER(memory_mb, 16, 1 << 20)
NUMBER(pids, 8, 32768) /* the sandbox, a shell and its children need some */
NUMBER(cpu_percent, 1, 6400)
NUMBER(timeout_s, 1, 86400)
NUMBER(programs, 1, 64)
TRUTH(persist)

static int take_engine(struct config_reader *reading, const struct json *value)
{
    reading->config->workspace.engine = config_keep(reading, value);
    reading->config->workspace.engine_line = config_line_of(reading, value);
    return 0;
}

/* Reads a list of texts, NULL-terminated, and the line of each; `lines` may be NULL. */
static int take_texts(struct config_reader *reading, const struct json *value, const char *within,
                      const char *const **out, const long **lines)
{
    struct arena *arena = &reading->config->arena;
    const char **list = arena_calloc(arena, (size_t)value->count + 1, sizeof(*list));
    long *at = arena_calloc(arena, (size_t)value->count + 1, sizeof(*at));
    size_t count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING || !item->len) {
            err_set(reading->err, "\"%s%s\" must be a list of strings, one of them is %s", within, value->key,
                    item->type == JSON_STRING ? "empty" : json_type_name(item->type));
            return config_at_line(reading, item);
        }
        at[count] = config_line_of(reading, item);
        list[count++] = config_keep(reading, item);
    }
    *out = list;
    if (lines)
        *lines = at;
    return 0;
}

static int take_inputs(struct config_reader *reading, const struct json *value)
{
    return take_texts(reading, value, "workspace.", &reading->config->workspace.inputs, NULL);
}

/* `true` allows every public host, a list the hosts it names. */
static int take_network(struct config_reader *reading, const struct json *value)
{
    struct network_rules *rules = &reading->config->workspace.network;
    bool all = value->type == JSON_TRUE;
    const char *const *texts = (const char *const[]){"*", NULL};
    const long *lines = NULL;
    if (value->type == JSON_ARRAY && take_texts(reading, value, "workspace.", &texts, &lines))
        return -1;
    size_t count = all ? 1 : value->type == JSON_ARRAY ? (size_t)value->count : 0;
    struct network_rule *items = arena_calloc(&reading->config->arena, count ? count : 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        if (network_rule_parse(&items[i], texts[i], reading->err)) {
            err_prefix(reading->err, "\"workspace.network\"");
            reading->err->line = lines ? lines[i] : 0;
            return -1;
        }
    *rules = (struct network_rules){items, count, "\"workspace.network\""};
    return 0;
}

static int take_allow(struct config_reader *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    return take_texts(reading, value, "workspace.", &workspace->allow, &workspace->allow_lines);
}

static int take_deny(struct config_reader *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    return take_texts(reading, value, "workspace.", &workspace->deny, &workspace->deny_lines);
}

struct naming {
    struct config_reader *reading;
    const struct json *item; /* an item whose text names variables */
};

static void on_missing(void *user, const char *name)
{
    const struct naming *naming = user;
    struct config *config = naming->reading->config;
    struct config_workspace *workspace = &config->workspace;
    GROW(workspace->env_lacking, workspace->env_lacking_count, workspace->env_lacking_room);
    workspace->env_lacking[workspace->env_lacking_count++] =
        (struct config_lack){.key = arena_strdup(&config->arena, naming->item->key),
                             .name = name,
                             .line = config_line_of(naming->reading, naming->item)};
    if (!workspace->env_missing)
        workspace->env_missing = name;
}

/* True if the text holds "${}" or "${:-instead}". */
static bool names_nothing(const char *text)
{
    for (; (text = strstr(text, "${")); text += 2)
        if (text[2] == '}' || (strncmp(text + 2, ":-", 2) == 0 && strchr(text, '}')))
            return true;
    return false;
}

/* True for a name that a shell accepts: any other would be dropped when a program starts. */
static bool is_variable(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *name && !strchr("0123456789", *name) && !name[strspn(name, plain)];
}

static int take_env(struct config_reader *reading, const struct json *value)
{
    struct config_workspace *workspace = &reading->config->workspace;
    struct arena *arena = &reading->config->arena;
    const char **list = arena_calloc(arena, (size_t)value->count + 1, sizeof(*list));
    size_t count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING || !is_variable(item->key)) {
            err_set(reading->err, "\"workspace.env.%.60s\" must be the name of a variable with a string as its value",
                    item->key);
            return config_at_line(reading, item);
        }
        if (names_nothing(item->text)) {
            err_set(reading->err, "\"workspace.env.%.60s\" has a ${} without the name of a variable", item->key);
            return config_at_line(reading, item);
        }
        struct naming naming = {reading, item};
        list[count++] = arena_printf(arena, "%s=%s", item->key, config_expand(arena, item->text, on_missing, &naming));
    }
    workspace->env = list;
    return 0;
}

static const struct config_key workspace_keys[] = {
#define WORKSPACE_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

int config_take_workspace(struct config_reader *reading, const struct json *value)
{
    return config_walk(reading, "workspace.", value, workspace_keys, COUNT_OF(workspace_keys));
}

int config_take_skills(struct config_reader *reading, const struct json *value)
{
    return take_texts(reading, value, "", &reading->config->skills, NULL);
}
