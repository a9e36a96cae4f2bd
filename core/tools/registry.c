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
    memmove(&registry->entries[at], &registry->entries[at + 1],
            (registry->count - at - 1) * sizeof(*registry->entries));
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

static struct event_strs describe_keys(struct arena *arena, const struct tool_spec *spec)
{
    if (!spec->resource_keys) {
        const char **own = arena_alloc(arena, sizeof(*own));
        *own = spec->name;
        return (struct event_strs){own, 1};
    }
    size_t count = 0;
    while (spec->resource_keys[count])
        count++;
    return (struct event_strs){spec->resource_keys, count};
}

struct event_tool_info_list registry_to_event(const struct registry *registry, struct arena *arena)
{
    struct event_tool_info *items = arena_calloc(arena, registry->count + 1, sizeof(*items));
    for (size_t i = 0; i < registry->count; i++) {
        const struct tool_spec *spec = &registry->entries[i].tool->spec;
        CLEANUP(strbuf) struct strbuf schema = STRBUF_INIT;
        json_write(&schema, registry->entries[i].schema, JSON_COMPACT);
        items[i] = (struct event_tool_info){.name = spec->name,
                                            .description = spec->description ? spec->description : "",
                                            .effect = effect_name(spec->effect),
                                            .idempotent = spec->idempotent,
                                            .resource_keys = describe_keys(arena, spec),
                                            .parameters = arena_memdup0(arena, schema.buf, schema.len)};
    }
    return (struct event_tool_info_list){items, registry->count};
}
