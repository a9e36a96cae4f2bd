#include "registry.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "schema.h"
#include <ctype.h>

#define NAME_MAX_CHARS 64
#define ANY_OBJECT     "{\"type\":\"object\"}"

struct entry {
    const struct tool *tool;
    const struct json *schema; /* in the registry's arena */
};

struct registry {
    struct entry *entries;
    size_t count, room;
    struct hash_map by_name; /* → index */
    struct arena arena;
};

struct registry *registry_new(void)
{
    struct registry *registry = xcalloc(1, sizeof(*registry));
    registry->arena = (struct arena)ARENA_INIT;
    return registry;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    free(registry->entries);
    hash_map_release(&registry->by_name);
    arena_release(&registry->arena);
    free(registry);
}

static bool good_name(const char *name)
{
    size_t len = name ? strlen(name) : 0;
    if (len == 0 || len > NAME_MAX_CHARS)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isascii((unsigned char)name[i]) || (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i])))
            return false;
    return true;
}

static int check_tool(struct registry *registry, const struct tool *tool, const struct json **schema, struct err *err)
{
    const struct tool_spec *spec = &tool->spec;
    if (!good_name(spec->name))
        return err_set(err, "\"%.80s\" is no name for a tool (letters, digits, _ . -, at most %d)",
                       spec->name ? spec->name : "", NAME_MAX_CHARS);
    if (!tool->work == !tool->start)
        BUG("the tool %s has %s way to run", spec->name, tool->work ? "more than one" : "no");

    /* The values point into the text they were parsed from, and nobody promises that the tool's own stays. */
    char *text = arena_strdup(&registry->arena, spec->parameters ? spec->parameters : ANY_OBJECT);
    *schema = json_parse(&registry->arena, text, strlen(text), err);
    if (!*schema || schema_check(*schema, err))
        return err_prefix(err, "parameters of the tool %s", spec->name);
    return 0;
}

int registry_add(struct registry *registry, const struct tool *tool, struct err *err)
{
    const struct tool_spec *spec = &tool->spec;
    const struct json *schema;
    if (registry_find(registry, spec->name))
        return err_set(err, "there is a tool named %s already", spec->name);
    if (check_tool(registry, tool, &schema, err))
        return -1;
    GROW(registry->entries, registry->count, registry->room);
    registry->entries[registry->count] = (struct entry){tool, schema};
    hash_map_put(&registry->by_name, spec->name, (int64_t)registry->count);
    registry->count++;
    return 0;
}

int registry_replace(struct registry *registry, const struct tool *tool, struct err *err)
{
    int64_t index = hash_map_get(&registry->by_name, tool->spec.name, -1);
    const struct json *schema;
    if (index < 0)
        return err_set(err, "there is no tool named %.80s", tool->spec.name);
    if (check_tool(registry, tool, &schema, err))
        return -1;
    registry->entries[index] = (struct entry){tool, schema};
    return 0;
}

bool registry_remove(struct registry *registry, const char *name)
{
    int64_t index = hash_map_get(&registry->by_name, name, -1);
    if (index < 0)
        return false;
    size_t at = (size_t)index;
    memmove(&registry->entries[at], &registry->entries[at + 1], (registry->count - at - 1) * sizeof(*registry->entries));
    registry->count--;
    hash_map_clear(&registry->by_name);
    for (size_t i = 0; i < registry->count; i++)
        hash_map_put(&registry->by_name, registry->entries[i].tool->spec.name, (int64_t)i);
    return true;
}

int registry_add_builtin(struct registry *registry, struct err *err)
{
    for (size_t i = 0; builtin_tools[i]; i++)
        if (registry_add(registry, builtin_tools[i], err))
            return -1;
    return 0;
}

const struct tool *registry_find(const struct registry *registry, const char *name)
{
    int64_t index = name ? hash_map_get(&registry->by_name, name, -1) : -1;
    return index < 0 ? NULL : registry->entries[index].tool;
}

const char *registry_nearest(const struct registry *registry, const char *name)
{
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < registry->count; i++)
        nearest_offer(&near, registry->entries[i].tool->spec.name);
    return near.best;
}

size_t registry_count(const struct registry *registry)
{
    return registry->count;
}

const struct tool *registry_at(const struct registry *registry, size_t index)
{
    if (index >= registry->count)
        BUG("tool %zu of %zu", index, registry->count);
    return registry->entries[index].tool;
}

int registry_validate(const struct registry *registry, const struct tool *tool, const struct json *arguments,
                      struct err *err)
{
    int64_t index = hash_map_get(&registry->by_name, tool->spec.name, -1);
    if (index < 0)
        return err_set(err, "there is no tool named %s", tool->spec.name);
    return schema_validate(registry->entries[index].schema, arguments, err);
}

static void describe_keys(struct json_writer *w, const struct tool_spec *spec)
{
    json_open(w, "resource_keys", '[');
    if (!spec->resource_keys)
        json_add_str(w, NULL, spec->name);
    for (size_t i = 0; spec->resource_keys && spec->resource_keys[i]; i++)
        json_add_str(w, NULL, spec->resource_keys[i]);
    json_close(w, ']');
}

void registry_describe(const struct registry *registry, struct strbuf *out)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < registry->count; i++) {
        const struct tool_spec *spec = &registry->entries[i].tool->spec;
        json_open(&w, NULL, '{');
        json_add_str(&w, "name", spec->name);
        json_add_str(&w, "description", spec->description ? spec->description : "");
        json_add_str(&w, "effect", effect_name(spec->effect));
        json_add_bool(&w, "idempotent", spec->idempotent);
        describe_keys(&w, spec);
        json_add_value(&w, "parameters", registry->entries[i].schema);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}
