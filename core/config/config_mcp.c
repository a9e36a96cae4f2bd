/* Reads MCP servers: the "mcpServers" of config.json, and files of other programs in the same format.
 *
 * The format is the one that users already have: {"mcpServers": {"name": {"command", "args", "env", "cwd"}}}. Keyturn
 * adds "trust", "effects" and "timeout_s". It knows the keys of other programs by name and tells the user if one has no
 * effect here. So an entry copied from elsewhere works, and users do not rely on a key that does nothing.
 *
 * Both kinds of file go through one reader, config_mcp_read, which parses the text of the "mcpServers" object as a
 * document (base/doc.h). config.json itself stays on base/json: its other readers use the source text of their
 * nodes. */

#include "config_mcp.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "config.h"
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MAX_S 3600

struct server_entry {
    struct arena *arena;
    long first_line; /* of the object with the servers, in its file */
    struct mcp_spec *spec;
    const char *command;
    const struct doc *args;
    bool foreign;
    struct err *err;
};

static long line_of(const struct server_entry *entry, const struct doc *value)
{
    return entry->first_line + doc_line(value) - 1;
}

static int at_line(struct server_entry *entry, const struct doc *value)
{
    if (entry->err)
        entry->err->line = line_of(entry, value);
    return -1;
}

static int wrong(struct server_entry *entry, const struct doc *value, const char *key, const char *wanted)
{
    err_set(entry->err, "\"mcpServers.%.60s.%.60s\" must be %s", entry->spec->name, key, wanted);
    return at_line(entry, value);
}

/* An unset variable is reported when the server would be started. */
static void on_missing(void *user, const char *name)
{
    struct server_entry *entry = user;
    if (!entry->spec->refused)
        entry->spec->refused = arena_printf(entry->arena, "$%.60s is not set; its entry uses it", name);
}

static const char *expand(struct server_entry *entry, const char *text)
{
    return config_expand(entry->arena, text, on_missing, entry);
}

/* ---- keys ---- */

static int take_command(struct server_entry *entry, const struct doc *value)
{
    if (doc_type(value) != DOC_TEXT || !*doc_text(value))
        return wrong(entry, value, doc_key(value), "the program to start, a string");
    entry->command = expand(entry, doc_text(value));
    return 0;
}

static int take_args(struct server_entry *entry, const struct doc *value)
{
    doc_each (item, value)
        if (doc_type(value) != DOC_LIST || doc_type(item) != DOC_TEXT)
            return wrong(entry, item, "args", "a list of strings");
    if (doc_type(value) != DOC_LIST)
        return wrong(entry, value, "args", "a list of strings");
    entry->args = value;
    return 0;
}

static int take_env(struct server_entry *entry, const struct doc *value)
{
    if (doc_type(value) != DOC_OBJECT)
        return wrong(entry, value, "env", "an object of strings");
    const char **env = arena_calloc(entry->arena, doc_count(value) + 1, sizeof(*env));
    size_t count = 0;
    doc_each (item, value) {
        if (doc_type(item) != DOC_TEXT || !*doc_key(item) || strchr(doc_key(item), '='))
            return wrong(entry, item, "env", "an object of strings");
        env[count++] = arena_printf(entry->arena, "%s=%s", doc_key(item), expand(entry, doc_text(item)));
    }
    entry->spec->env = env;
    return 0;
}

static int take_cwd(struct server_entry *entry, const struct doc *value)
{
    if (doc_type(value) != DOC_TEXT || !*doc_text(value))
        return wrong(entry, value, "cwd", "a folder, a string");
    entry->spec->cwd = expand(entry, doc_text(value));
    return 0;
}

static int take_truth(struct server_entry *entry, const struct doc *value, bool *out)
{
    if (doc_type(value) != DOC_TRUE && doc_type(value) != DOC_FALSE)
        return wrong(entry, value, doc_key(value), "true or false");
    *out = doc_type(value) == DOC_TRUE;
    return 0;
}

static int take_trust(struct server_entry *entry, const struct doc *value)
{
    return take_truth(entry, value, &entry->spec->trust);
}

static int take_disabled(struct server_entry *entry, const struct doc *value)
{
    return take_truth(entry, value, &entry->spec->disabled);
}

static int take_timeout(struct server_entry *entry, const struct doc *value)
{
    double seconds = doc_number(value);
    if (!(seconds >= 1 && seconds <= TIMEOUT_MAX_S))
        return wrong(entry, value, doc_key(value), "a number of seconds, 1 to 3600");
    entry->spec->timeout_s = seconds;
    return 0;
}

static int take_effects(struct server_entry *entry, const struct doc *value)
{
    if (doc_type(value) != DOC_OBJECT)
        return wrong(entry, value, "effects", "an object: the name of a tool, or *, and its class");
    struct mcp_rule *rules = arena_calloc(entry->arena, doc_count(value) + 1, sizeof(*rules));
    size_t count = 0;
    doc_each (item, value) {
        enum effect effect = effect_from_name(doc_text(item));
        if (effect == EFFECT_UNKNOWN)
            return wrong(entry, item, "effects", "READ_ONLY, LOCAL_WRITE, NETWORK or DESTRUCTIVE for each tool");
        rules[count++] = (struct mcp_rule){arena_strdup(entry->arena, doc_key(item)), effect};
    }
    entry->spec->rules = rules;
    entry->spec->rule_count = count;
    return 0;
}

static int take_type(struct server_entry *entry, const struct doc *value)
{
    if (!doc_text(value) || strcmp(doc_text(value), "stdio") != 0)
        entry->spec->refused = "only stdio servers are supported";
    return 0;
}

static int take_url(struct server_entry *entry, const struct doc *value)
{
    (void)value;
    entry->spec->refused = "it has a URL; only stdio servers are supported";
    return 0;
}

/* Keys of other programs. */

static int take_nothing(struct server_entry *entry, const struct doc *value)
{
    (void)entry;
    (void)value;
    return 0;
}

static int take_note(struct server_entry *entry, const struct doc *value)
{
    entry->spec->note =
        arena_printf(entry->arena, "%s%s\"%.60s\" has no effect", entry->spec->note ? entry->spec->note : "",
                     entry->spec->note ? ", " : "", doc_key(value));
    return 0;
}

static const struct {
    const char *name;
    int (*take)(struct server_entry *entry, const struct doc *value);
} keys[] = {
#define SERVER_ENTRY(name, type, reader, standard, help) {name, reader},
#include "config.def"
};

static int take_key(struct server_entry *entry, const struct doc *value)
{
    struct nearest near = nearest_to(doc_key(value));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (strcmp(keys[i].name, doc_key(value)) == 0)
            return keys[i].take(entry, value);
        nearest_offer(&near, keys[i].name);
    }
    if (entry->foreign)
        return take_note(entry, value);
    if (near.best)
        err_set(entry->err, "unknown key \"mcpServers.%.60s.%.60s\" (did you mean \"%s\"?)", entry->spec->name,
                doc_key(value), near.best);
    else
        err_set(entry->err, "unknown key \"mcpServers.%.60s.%.60s\"; remove it (keyturn help config lists the keys)",
                entry->spec->name, doc_key(value));
    return at_line(entry, value);
}

static void make_argv(struct server_entry *entry)
{
    const char **argv = arena_calloc(entry->arena, 2 + (entry->args ? doc_count(entry->args) : 0), sizeof(*argv));
    size_t count = 0;
    argv[count++] = entry->command;
    doc_each (item, entry->args)
        argv[count++] = expand(entry, doc_text(item));
    entry->spec->argv = argv;
}

static int read_entry(struct server_entry *entry, const struct doc *value)
{
    if (doc_type(value) != DOC_OBJECT) {
        err_set(entry->err, "\"mcpServers.%.60s\" must be an object", doc_key(value));
        return at_line(entry, value);
    }
    entry->spec->line = line_of(entry, value);
    doc_each (member, value)
        if (take_key(entry, member))
            return -1;
    if (entry->command) {
        make_argv(entry);
    } else if (!entry->spec->refused) { /* the other servers of the file can still be started */
        entry->spec->refused = arena_printf(entry->arena, "its entry (line %ld) has no \"command\"", entry->spec->line);
    }
    return 0;
}

static int read_servers(struct arena *arena, struct mcp_specs *specs, const struct doc *servers, long first_line,
                        bool foreign, struct err *err)
{
    doc_each (value, servers) {
        struct mcp_spec spec = {.name = arena_strdup(arena, doc_key(value))};
        struct server_entry entry = {
            .arena = arena, .first_line = first_line, .spec = &spec, .foreign = foreign, .err = err};
        for (size_t i = 0; i < specs->count; i++)
            if (strcmp(specs->items[i].name, spec.name) == 0) {
                err_set(err, "duplicate MCP server \"%.60s\"; rename or remove one", spec.name);
                return at_line(&entry, value);
            }
        if (read_entry(&entry, value))
            return -1;
        GROW(specs->items, specs->count, specs->room);
        specs->items[specs->count++] = spec;
    }
    return 0;
}

int config_mcp_read(struct arena *arena, struct mcp_specs *specs, const char *text, size_t len, long first_line,
                    struct err *err)
{
    CLEANUP(doc) struct doc *servers = doc_parse(text, len, err);
    if (!servers && err)
        err->line += first_line - 1;
    return servers ? read_servers(arena, specs, servers, first_line, false, err) : -1;
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
    size_t first = config->mcp.count;
    if (file_read(path, &text, CONFIG_BYTES_MAX, err))
        return -1;
    CLEANUP(doc) struct doc *top = doc_parse(text.buf, text.len, err);
    if (!top)
        return -1;
    const struct doc *servers = doc_get(top, "mcpServers");
    if (!servers || doc_type(servers) != DOC_OBJECT)
        return err_set(err, "it has no \"mcpServers\" object");
    if (read_servers(&config->arena, &config->mcp, servers, 1, true, err))
        return -1;
    config_mcp_place(&config->arena, &config->mcp, first, path);
    return 0;
}
