/* The form is the one that people have already: {"mcpServers": {"name": {"command", "args", "env", "cwd"}}}. What is
 * ours besides: "trust", "effects", "timeout_s". What others have besides is known by name, and told when it means
 * nothing here: an entry that was copied from elsewhere should work, and nobody should believe that a word counts which
 * does not. */

#include "config_mcp.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "config.h"
#include "expand.h"
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MAX_S 3600

struct entry {
    struct arena *arena;
    struct config_lines *lines;
    struct mcp_spec *spec;
    const char *command;
    const struct json *args;
    bool foreign;
    struct err *err;
};

static long line_of(struct entry *entry, const struct json *value)
{
    for (; entry->lines->counted < value->src; entry->lines->counted++)
        entry->lines->line += *entry->lines->counted == '\n';
    return entry->lines->line;
}

static int at_line(struct entry *entry, const struct json *value)
{
    if (entry->err)
        entry->err->line = line_of(entry, value);
    return -1;
}

static int wrong(struct entry *entry, const struct json *value, const char *key, const char *wanted)
{
    err_set(entry->err, "\"mcpServers.%.60s.%.60s\" must be %s", entry->spec->name, key, wanted);
    return at_line(entry, value);
}

/* A variable that is not set is said when the server would be started. */
static void on_missing(void *user, const char *name)
{
    struct entry *entry = user;
    if (!entry->spec->refused)
        entry->spec->refused =
            arena_printf(entry->arena, "the variable %.60s, which its entry names, is not set", name);
}

static const char *expand(struct entry *entry, const char *text)
{
    return config_expand(entry->arena, text, on_missing, entry);
}

/* Keys */

static int take_command(struct entry *entry, const struct json *value)
{
    if (value->type != JSON_STRING || !*value->text)
        return wrong(entry, value, value->key, "the program to start, a string");
    entry->command = expand(entry, value->text);
    return 0;
}

static int take_args(struct entry *entry, const struct json *value)
{
    json_each (item, value)
        if (value->type != JSON_ARRAY || item->type != JSON_STRING)
            return wrong(entry, item, "args", "a list of strings");
    if (value->type != JSON_ARRAY)
        return wrong(entry, value, "args", "a list of strings");
    entry->args = value;
    return 0;
}

static int take_env(struct entry *entry, const struct json *value)
{
    if (value->type != JSON_OBJECT)
        return wrong(entry, value, "env", "an object of strings");
    const char **env = arena_calloc(entry->arena, value->count + 1, sizeof(*env));
    size_t count = 0;
    json_each (item, value) {
        if (item->type != JSON_STRING || !*item->key || strchr(item->key, '='))
            return wrong(entry, item, "env", "an object of strings");
        env[count++] = arena_printf(entry->arena, "%s=%s", item->key, expand(entry, item->text));
    }
    entry->spec->env = env;
    return 0;
}

static int take_cwd(struct entry *entry, const struct json *value)
{
    if (value->type != JSON_STRING || !*value->text)
        return wrong(entry, value, "cwd", "a folder, a string");
    entry->spec->cwd = expand(entry, value->text);
    return 0;
}

static int take_truth(struct entry *entry, const struct json *value, bool *out)
{
    if (value->type != JSON_TRUE && value->type != JSON_FALSE)
        return wrong(entry, value, value->key, "true or false");
    *out = value->type == JSON_TRUE;
    return 0;
}

static int take_trust(struct entry *entry, const struct json *value)
{
    return take_truth(entry, value, &entry->spec->trust);
}

static int take_disabled(struct entry *entry, const struct json *value)
{
    return take_truth(entry, value, &entry->spec->disabled);
}

static int take_timeout(struct entry *entry, const struct json *value)
{
    double seconds = value->type == JSON_NUMBER ? json_num(value, 0) : 0;
    if (!(seconds >= 1 && seconds <= TIMEOUT_MAX_S))
        return wrong(entry, value, value->key, "a number of seconds, 1 to 3600");
    entry->spec->timeout_s = seconds;
    return 0;
}

static int take_effects(struct entry *entry, const struct json *value)
{
    if (value->type != JSON_OBJECT)
        return wrong(entry, value, "effects", "an object: the name of a tool, or *, and its class");
    struct mcp_rule *rules = arena_calloc(entry->arena, value->count + 1, sizeof(*rules));
    size_t count = 0;
    json_each (item, value) {
        enum effect effect = effect_from_name(json_str(item, NULL));
        if (effect == EFFECT_UNKNOWN)
            return wrong(entry, item, "effects", "READ_ONLY, LOCAL_WRITE, NETWORK or DESTRUCTIVE for each tool");
        rules[count++] = (struct mcp_rule){arena_strdup(entry->arena, item->key), effect};
    }
    entry->spec->rules = rules;
    entry->spec->rule_count = count;
    return 0;
}

static int take_type(struct entry *entry, const struct json *value)
{
    if (strcmp(json_str(value, ""), "stdio") != 0)
        entry->spec->refused = "only servers on stdio can be used";
    return 0;
}

static int take_url(struct entry *entry, const struct json *value)
{
    (void)value;
    entry->spec->refused = "it is named by an address; only servers on stdio can be used";
    return 0;
}

/* Words of other programs. */

static int take_nothing(struct entry *entry, const struct json *value)
{
    (void)entry;
    (void)value;
    return 0;
}

static int take_note(struct entry *entry, const struct json *value)
{
    entry->spec->note =
        arena_printf(entry->arena, "%s%s\"%.60s\" means nothing here", entry->spec->note ? entry->spec->note : "",
                     entry->spec->note ? ", " : "", value->key);
    return 0;
}

static const struct {
    const char *name;
    int (*take)(struct entry *entry, const struct json *value);
} keys[] = {
    {"command", take_command},     {"args", take_args},       {"env", take_env},           {"cwd", take_cwd},
    {"trust", take_trust},         {"effects", take_effects}, {"timeout_s", take_timeout}, {"disabled", take_disabled},
    {"type", take_type},           {"transport", take_type},  {"url", take_url},           {"headers", take_nothing},
    {"description", take_nothing}, {"icon", take_nothing},    {"alwaysAllow", take_note},  {"autoApprove", take_note},
    {"timeout", take_note},
};

static int take_key(struct entry *entry, const struct json *value)
{
    struct nearest near = nearest_to(value->key);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i].name, value->key) == 0)
            return keys[i].take(entry, value);
        nearest_offer(&near, keys[i].name);
    }
    if (entry->foreign)
        return take_note(entry, value);
    if (near.best)
        err_set(entry->err, "unknown key \"mcpServers.%.60s.%.60s\" (did you mean \"%s\"?)", entry->spec->name,
                value->key, near.best);
    else
        err_set(entry->err, "unknown key \"mcpServers.%.60s.%.60s\" (take it out, or see keyturn help config)",
                entry->spec->name, value->key);
    return at_line(entry, value);
}

static void make_argv(struct entry *entry)
{
    const char **argv = arena_calloc(entry->arena, 2 + (entry->args ? entry->args->count : 0), sizeof(*argv));
    size_t count = 0;
    argv[count++] = entry->command;
    json_each (item, entry->args)
        argv[count++] = expand(entry, item->text);
    entry->spec->argv = argv;
}

static int read_entry(struct entry *entry, const struct json *value)
{
    if (value->type != JSON_OBJECT) {
        err_set(entry->err, "\"mcpServers.%.60s\" must be an object", value->key);
        return at_line(entry, value);
    }
    entry->spec->line = line_of(entry, value);
    json_each (member, value)
        if (take_key(entry, member))
            return -1;
    if (entry->command) {
        make_argv(entry);
    } else if (!entry->spec->refused) { /* others of the file can be started all the same */
        entry->spec->refused = arena_printf(entry->arena, "its entry (line %ld) has no \"command\"", entry->spec->line);
    }
    return 0;
}

int config_mcp_read(struct arena *arena, struct mcp_specs *specs, const struct json *servers,
                    struct config_lines *lines, bool foreign, struct err *err)
{
    json_each (value, servers) {
        struct mcp_spec spec = {.name = arena_strdup(arena, value->key)};
        struct entry entry = {.arena = arena, .lines = lines, .spec = &spec, .foreign = foreign, .err = err};
        for (size_t i = 0; i < specs->count; i++)
            if (strcmp(specs->items[i].name, spec.name) == 0) {
                err_set(err, "there is a tool server named \"%.60s\" already", spec.name);
                return at_line(&entry, value);
            }
        if (read_entry(&entry, value))
            return -1;
        GROW(specs->items, specs->count, specs->room);
        specs->items[specs->count++] = spec;
    }
    return 0;
}

void config_mcp_place(struct arena *arena, struct mcp_specs *specs, size_t first, const char *file)
{
    const char *slash = strrchr(file, '/');
    for (size_t i = first; i < specs->count; i++) {
        const char *cwd = specs->items[i].cwd;
        if (cwd && *cwd != '/' && slash)
            specs->items[i].cwd = arena_printf(arena, "%.*s/%s", (int)(slash - file), file, cwd);
    }
}

int config_add_mcp(struct config *config, const char *path, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    size_t first = config->mcp.count;
    if (file_read(path, &text, CONFIG_BYTES_MAX, err))
        return -1;
    const struct json *top = json_parse_commented(&arena, text.buf, text.len, err);
    if (!top)
        return -1;
    const struct json *servers = json_get(top, "mcpServers");
    if (!servers || servers->type != JSON_OBJECT)
        return err_set(err, "there is no object \"mcpServers\" in it");
    struct config_lines lines = {text.buf, 1};
    if (config_mcp_read(&config->arena, &config->mcp, servers, &lines, true, err))
        return -1;
    config_mcp_place(&config->arena, &config->mcp, first, path);
    return 0;
}
