/* Reads config.json into a struct config.
 *
 * One table, config.def, lists every entry with its type, reader, default and help.
 *
 * config_walk checks an object against the rows of its table and calls their readers; each reader gets a value of the
 * right type. config_sections.c and config_mcp.c read the larger objects. */

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "config_internal.h"
#include "config_mcp.h"
#include "turn/gates.h"
#include "turn/prepare.h"
#include "turn/rules.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_A_TEXT          "a string"
#define NAME_A_TRUTH         "true or false"
#define NAME_A_NUMBER        "a number"
#define NAME_AN_OBJECT       "an object"
#define NAME_A_LIST          "a list"
#define NAME_A_TRUTH_OR_LIST "true, false or a list"

static const char *const wanted_names[] = {
    [A_TEXT] = NAME_A_TEXT,       [A_TRUTH] = NAME_A_TRUTH, [A_NUMBER] = NAME_A_NUMBER,
    [AN_OBJECT] = NAME_AN_OBJECT, [A_LIST] = NAME_A_LIST,   [A_TRUTH_OR_LIST] = NAME_A_TRUTH_OR_LIST,
};

/* Callers ask for values in the order of the file, so the lines are counted once, however many values there are. */
long config_line_of(struct config_reader *reading, const struct json *value)
{
    for (; reading->counted < value->src; reading->counted++)
        reading->line += *reading->counted == '\n';
    return reading->line;
}

/* Sets the line of the error in reading->err to that of the value. */
int config_at_line(struct config_reader *reading, const struct json *value)
{
    if (reading->err)
        reading->err->line = config_line_of(reading, value);
    return -1;
}

static bool is_wanted(enum config_type wanted, enum json_type type)
{
    switch (wanted) {
    case A_TEXT:
        return type == JSON_STRING;
    case A_TRUTH:
        return type == JSON_TRUE || type == JSON_FALSE;
    case A_NUMBER:
        return type == JSON_NUMBER;
    case AN_OBJECT:
        return type == JSON_OBJECT;
    case A_LIST:
        return type == JSON_ARRAY;
    case A_TRUTH_OR_LIST:
        return type == JSON_ARRAY || type == JSON_TRUE || type == JSON_FALSE;
    }
    return false;
}

static const char *article(enum json_type type)
{
    return type == JSON_NULL ? "" : type == JSON_ARRAY || type == JSON_OBJECT ? "an " : "a ";
}

int config_wrong_type(struct config_reader *reading, const char *within, const char *name, const struct json *value,
                      enum config_type wanted)
{
    err_set(reading->err, "\"%s%.60s\" must be %s, is %s%s", within, name, wanted_names[wanted], article(value->type),
            json_type_name(value->type));
    return config_at_line(reading, value);
}

static int unknown_key(struct config_reader *reading, const char *within, const struct json *value,
                       const struct config_key *keys, size_t count)
{
    struct nearest near = nearest_to(value->key);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&near, keys[i].name);
    if (near.best)
        err_set(reading->err, "unknown key \"%s%.60s\" (did you mean \"%s\"?)", within, value->key, near.best);
    else
        err_set(reading->err, "unknown key \"%s%.60s\"; remove it (keyturn help config lists the keys)", within,
                value->key);
    return config_at_line(reading, value);
}

/* `within` precedes the names in messages: "" or "budget.". */
int config_walk(struct config_reader *reading, const char *within, const struct json *object,
                const struct config_key *keys, size_t count)
{
    json_each (value, object) {
        size_t i = 0;
        while (i < count && strcmp(keys[i].name, value->key) != 0)
            i++;
        if (i == count)
            return unknown_key(reading, within, value, keys, count);
        if (!is_wanted(keys[i].wanted, value->type))
            return config_wrong_type(reading, within, value->key, value, keys[i].wanted);
        if (keys[i].take(reading, value))
            return -1;
    }
    return 0;
}

const char *config_keep(struct config_reader *reading, const struct json *value)
{
    return arena_strdup(&reading->config->arena, value->text);
}

/* Rejects a word that is not in a short list. */
static int wrong_word(struct config_reader *reading, const char *name, const struct json *value, const char *words)
{
    err_set(reading->err, "\"%s\" must be %s, is \"%.60s\"", name, words, value->text);
    return config_at_line(reading, value);
}

/* ---- budget ----
 *
 * --budget has the same keys and rules, so the same function reads them. */

static int take_limit(struct config_reader *reading, const struct json *value)
{
    CLEANUP(free) char *assignment = xasprintf("%s=%s", value->key, value->text);
    if (budget_limits_set(&reading->config->limits, assignment, reading->err)) {
        err_prefix(reading->err, "\"budget.%s\"", value->key);
        return config_at_line(reading, value);
    }
    return 0;
}

static const struct config_key budget_keys[] = {
#define BUDGET_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

static int take_budget(struct config_reader *reading, const struct json *value)
{
    return config_walk(reading, "budget.", value, budget_keys, COUNT_OF(budget_keys));
}

/* ---- web ---- */

static int take_web_mode(struct config_reader *reading, const struct json *value)
{
    reading->config->web = web_mode_from_name(value->text);
    return reading->config->web < 0 ? wrong_word(reading, "web.mode", value, "off, auto or on") : 0;
}

static int take_web_endpoint(struct config_reader *reading, const struct json *value)
{
    reading->config->web_endpoint = config_keep(reading, value);
    return 0;
}

static const struct config_key web_keys[] = {
#define WEB_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

static int take_web(struct config_reader *reading, const struct json *value)
{
    return config_walk(reading, "web.", value, web_keys, COUNT_OF(web_keys));
}

/* ---- thinking ---- */

static int take_level(struct config_reader *reading, const struct json *value)
{
    enum thinking_level level = thinking_level_from_name(value->text);
    /* That function reads an unknown name as OFF; a config file must report it. */
    if (strcasecmp(thinking_level_name(level), value->text) != 0)
        return wrong_word(reading, "thinking.level", value, "off, low, medium or high");
    reading->config->thinking = (int)level;
    return 0;
}

static int take_on_error(struct config_reader *reading, const struct json *value)
{
    reading->config->reflect_on_tool_error = json_bool(value, true);
    return 0;
}

static int take_every(struct config_reader *reading, const struct json *value)
{
    int64_t every = json_int(value, -1);
    if (every < 0) {
        err_set(reading->err, "\"thinking.reflect_every\" must be a number of turns (0: never), not %.40s",
                value->text);
        return config_at_line(reading, value);
    }
    reading->config->reflect_every = every;
    return 0;
}

static const struct config_key thinking_keys[] = {
#define THINKING_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

static int take_thinking(struct config_reader *reading, const struct json *value)
{
    return config_walk(reading, "thinking.", value, thinking_keys, COUNT_OF(thinking_keys));
}

/* ---- the other keys ---- */

static int take_breakpoints(struct config_reader *reading, const struct json *value)
{
    struct config *config = reading->config;
    struct gates gates;
    gates_init(&gates);
    config->breakpoint_count = 0;
    int result = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING)
            result = config_wrong_type(reading, "", "breakpoints", item, A_TEXT);
        else if (gates_break(&gates, item->text, reading->err) < 0)
            result = config_at_line(reading, item);
        if (result)
            break;
        GROW(config->breakpoints, config->breakpoint_count, config->breakpoint_room);
        config->breakpoints[config->breakpoint_count++] = config_keep(reading, item);
    }
    gates_release(&gates);
    return result;
}

static int take_secrets(struct config_reader *reading, const struct json *value)
{
    struct config *config = reading->config;
    config->secret_count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING)
            return config_wrong_type(reading, "", "secrets", item, A_TEXT);
        GROW(config->secrets, config->secret_count, config->secret_room);
        config->secrets[config->secret_count++] = config_keep(reading, item);
    }
    return 0;
}

static int take_keys(struct config_reader *reading, const struct json *value)
{
    struct config *config = reading->config;
    config->binding_count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING)
            return config_wrong_type(reading, "keys.", item->key, item, A_TEXT);
        GROW(config->bindings, config->binding_count, config->binding_room);
        config->bindings[config->binding_count++] = (struct config_binding){
            .action = arena_strdup(&config->arena, item->key),
            .keys = config_keep(reading, item),
            .line = config_line_of(reading, item),
        };
    }
    return 0;
}

static int take_approve(struct config_reader *reading, const struct json *value)
{
    reading->config->approve = rule_mode_from_name(value->text);
    return reading->config->approve < 0 ? wrong_word(reading, "approve", value, "ask, deny or allow") : 0;
}

static int take_memory(struct config_reader *reading, const struct json *value)
{
    reading->config->memory = memory_scope_from_name(value->text);
    return reading->config->memory < 0 ? wrong_word(reading, "memory", value, "project, global or off") : 0;
}

#define TOP_TEXT(field)                                                              \
    static int take_##field(struct config_reader *reading, const struct json *value) \
    {                                                                                \
        reading->config->field = config_keep(reading, value);                        \
        return 0;                                                                    \
    }
#define TOP_TRUTH(field)                                                             \
    static int take_##field(struct config_reader *reading, const struct json *value) \
    {                                                                                \
        reading->config->field = json_bool(value, false);                            \
        return 0;                                                                    \
    }
TOP_TEXT(model)
TOP_TEXT(system_prompt)
TOP_TRUTH(parallel)
TOP_TRUTH(select_tools)
TOP_TRUTH(citations)
TOP_TRUTH(project_instructions)
TOP_TRUTH(compact)

static int take_theme(struct config_reader *reading, const struct json *value)
{
    reading->config->theme = config_keep(reading, value);
    reading->config->theme_line = config_line_of(reading, value);
    return 0;
}

static int take_grace(struct config_reader *reading, const struct json *value)
{
    int64_t grace = json_int(value, -1);
    if (grace < 0 || grace > CONFIG_GRACE_MS_MAX) {
        err_set(reading->err, "\"question_grace_ms\" must be milliseconds, 0 to %d, is %.40s", CONFIG_GRACE_MS_MAX,
                value->text);
        return config_at_line(reading, value);
    }
    reading->config->question_grace_ms = grace;
    return 0;
}

/* ---- MCP servers ---- */

static int take_mcp(struct config_reader *reading, const struct json *value)
{
    return config_mcp_read(&reading->config->arena, &reading->config->mcp, value->src, value->src_len,
                           config_line_of(reading, value), reading->err);
}

static int take_mcp_wait(struct config_reader *reading, const struct json *value)
{
    double seconds = json_num(value, -1);
    if (!(seconds >= 0 && seconds <= 600)) {
        err_set(reading->err, "\"mcp_wait_s\" must be a number of seconds, 0 to 600, is %.40s", value->text);
        return config_at_line(reading, value);
    }
    reading->config->mcp_wait_s = seconds;
    return 0;
}

static const struct config_key top_keys[] = {
#define TOP_ENTRY(name, type, reader, standard, help) {name, type, reader},
#include "config.def"
};

/* The same table as text, for help and manual. */

static const struct config_entry entries[] = {
#define ENTRY(object, name, type, standard, help)           {object, name, NAME_##type, standard, help},
#define TOP_ENTRY(name, type, reader, standard, help)       ENTRY("", name, type, standard, help)
#define BUDGET_ENTRY(name, type, reader, standard, help)    ENTRY("budget", name, type, standard, help)
#define WEB_ENTRY(name, type, reader, standard, help)       ENTRY("web", name, type, standard, help)
#define THINKING_ENTRY(name, type, reader, standard, help)  ENTRY("thinking", name, type, standard, help)
#define MODEL_ENTRY(name, type, reader, standard, help)     ENTRY("models.NAME", name, type, standard, help)
#define PRICE_ENTRY(name, type, reader, standard, help)     ENTRY("models.NAME.prices", name, type, standard, help)
#define SERVER_ENTRY(name, type, reader, standard, help)    ENTRY("mcpServers.NAME", name, type, standard, help)
#define WORKSPACE_ENTRY(name, type, reader, standard, help) ENTRY("workspace", name, type, standard, help)
#include "config.def"
#undef ENTRY
};

const struct config_entry *config_entries(size_t *count)
{
    *count = COUNT_OF(entries);
    return entries;
}

void config_help_write(struct strbuf *out)
{
    const char *object = NULL;
    strbuf_addstr(out,
                  "The config file is $XDG_CONFIG_HOME/keyturn/config.json (usually ~/.config/keyturn/config.json).\n"
                  "It is JSON and may contain // comments. Every entry is optional; the command line overrides it.\n"
                  "The manual page keyturn-config(5) has the details.\n\n"
                  "  {\"model\": \"claude\",   // which of the models to use\n"
                  "   \"models\": {\"claude\": {\"provider\": \"anthropic\", \"model\": \"claude-sonnet-4-5\"}}}\n");
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        const struct config_entry *entry = &entries[i];
        if (!object || strcmp(object, entry->object) != 0)
            strbuf_addf(out, "\n%s\n", *entry->object ? entry->object : "Top level");
        object = entry->object;
        strbuf_addf(out, "  %-22s %s", entry->name, entry->type);
        if (*entry->standard)
            strbuf_addf(out, " (default: %s)", entry->standard);
        strbuf_addf(out, "\n%25s%s\n", "", entry->help);
    }
}

static struct config *config_empty(void)
{
    struct config *config = xcalloc(1, sizeof(*config));
    config->limits = budget_defaults();
    config->approve = config->memory = config->web = config->thinking = config->reflect_on_tool_error = -1;
    config->question_grace_ms = -1;
    config->mcp_wait_s = -1;
    config->reflect_every = config->parallel = config->select_tools = config->citations = -1;
    config->project_instructions = config->compact = -1;
    return config;
}

/* Refuses a key that occurs twice in one object: users should not have to know which one counts. Reports the first in
 * the file, in whichever object. */
static int refuse_twins(struct config_reader *reading, const struct json *value)
{
    struct hash_map names = {0};
    int result = 0;
    if (value->type != JSON_OBJECT && value->type != JSON_ARRAY)
        return 0;
    json_each (member, value) {
        if (value->type == JSON_OBJECT && hash_map_has(&names, member->key)) {
            err_set(reading->err, "duplicate key \"%.60s\"; remove one", member->key);
            result = config_at_line(reading, member);
        } else {
            if (value->type == JSON_OBJECT)
                hash_map_put(&names, member->key, 1);
            result = refuse_twins(reading, member);
        }
        if (result)
            break;
    }
    hash_map_release(&names);
    return result;
}

struct config *config_parse(const char *text, size_t len, struct err *err)
{
    struct config *config = config_empty();
    size_t blank = 0;
    while (blank < len && strchr(" \t\r\n", text[blank]) && text[blank])
        blank++;
    if (blank == len)
        return config; /* the file was only just created */
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct config_reader reading = {.config = config, .counted = text, .line = 1, .err = err};
    const struct json *top = json_parse_commented(&arena, text, len, err);
    int result = top ? 0 : -1;
    if (top && top->type != JSON_OBJECT) {
        err_set(err, "the file must hold one object in {}, is %s%s", article(top->type), json_type_name(top->type));
        result = config_at_line(&reading, top);
    }
    if (result == 0) {
        struct config_reader before = reading; /* lines are counted forwards, once for each pass */
        result = refuse_twins(&before, top);
    }
    if (result == 0 && config_walk(&reading, "", top, top_keys, COUNT_OF(top_keys)) == 0)
        return config;
    config_free(config);
    return NULL;
}

struct config *config_load(const char *path, struct err *err)
{
    CLEANUP(free) char *usual = path ? NULL : config_default_path();
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err reason = ERR_INIT;
    if (file_read(path ? path : usual, &text, CONFIG_BYTES_MAX, &reason)) {
        if (!path && (reason.code == ENOENT || reason.code == ENOTDIR))
            return config_empty();
        if (err)
            *err = reason;
        return NULL;
    }
    struct config *config = config_parse(text.buf, text.len, err);
    if (config) {
        config->path = arena_strdup(&config->arena, path ? path : usual);
        config_mcp_place(&config->arena, &config->mcp, 0, config->path);
    }
    return config;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    free(config->models);
    free(config->breakpoints);
    free(config->secrets);
    free(config->workspace.env_lacking);
    free(config->bindings);
    free(config->mcp.items);
    arena_release(&config->arena);
    free(config);
}

char *config_default_path(void)
{
    return file_xdg_path(FILE_CONFIG, "config.json");
}

const struct config_model *config_model(const struct config *config, const char *name)
{
    /* Backwards: of two models with one name the last counts, as in every JSON object. */
    for (size_t i = config->model_count; i-- > 0;)
        if (strcmp(config->models[i].name, name) == 0)
            return &config->models[i];
    return NULL;
}

const char *config_nearest_model(const struct config *config, const char *name)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < config->model_count; i++)
        nearest_offer(&near, config->models[i].name);
    return near.best;
}

/* Returns the replacement for the text inside the braces; NULL if there is none. */
static const char *look_up(struct arena *arena, const char *inside, size_t len, const char **name)
{
    const char *dash = memmem(inside, len, ":-", 2);
    *name = arena_memdup0(arena, inside, dash ? (size_t)(dash - inside) : len);
    const char *value = getenv(*name);
    if (value && (*value || !dash)) {
        redact_add_variable(*name, value);
        return value;
    }
    if (!dash)
        return NULL;
    const char *instead = arena_memdup0(arena, dash + 2, len - (size_t)(dash + 2 - inside));
    if (redact_name_tells(*name))
        redact_add(*name, instead);
    return instead;
}

const char *config_expand(struct arena *arena, const char *text, void (*missing)(void *user, const char *name),
                          void *user)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (const char *open, *close; (open = strstr(text, "${")) && (close = strchr(open, '}')); text = close + 1) {
        const char *name, *value = look_up(arena, open + 2, (size_t)(close - open) - 2, &name);
        strbuf_add(&out, text, (size_t)(open - text));
        strbuf_addstr(&out, value ? value : "");
        if (!value)
            missing(user, name);
    }
    strbuf_addstr(&out, text);
    return arena_strdup(arena, out.buf);
}
