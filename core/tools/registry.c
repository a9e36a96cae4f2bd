/* Keeps the tools of a session: the registry, the built-in list, and the parts every tool shares. */

#include "registry.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "bounded.h"
#include "event/emitter.h"
#include "outcome.h"
#include "schema.h"
#include "tool.h"
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_CHARS 64
#define ANY_OBJECT     "{\"type\":\"object\"}"

struct registry_entry {
    const struct tool *tool;
    const struct json *schema; /* in the registry's arena */
};

struct registry {
    struct registry_entry *entries;
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
        return err_set(err, "invalid tool name \"%.80s\" (letters, digits, _ . -, at most %d)",
                       spec->name ? spec->name : "", NAME_MAX_CHARS);
    if (!tool->work == !tool->start)
        BUG("the tool %s has %s way to run", spec->name, tool->work ? "more than one" : "no");

    /* The values point into the parsed text, and the tool's own text may not live long enough. */
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
        return err_set(err, "duplicate tool %s", spec->name);
    if (check_tool(registry, tool, &schema, err))
        return -1;
    GROW(registry->entries, registry->count, registry->room);
    registry->entries[registry->count] = (struct registry_entry){tool, schema};
    hash_map_put(&registry->by_name, spec->name, (int64_t)registry->count);
    registry->count++;
    return 0;
}

int registry_replace(struct registry *registry, const struct tool *tool, struct err *err)
{
    int64_t index = hash_map_get(&registry->by_name, tool->spec.name, -1);
    const struct json *schema;
    if (index < 0)
        return err_set(err, "unknown tool %.80s", tool->spec.name);
    if (check_tool(registry, tool, &schema, err))
        return -1;
    registry->entries[index] = (struct registry_entry){tool, schema};
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
        return err_set(err, "unknown tool %s", tool->spec.name);
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

/* ---- source ---- */

void tool_changes_add(struct tool_changes *changes, const char *name, enum tool_fate what)
{
    GROW(changes->items, changes->count, changes->room);
    changes->items[changes->count++] = (struct tool_change){name, what};
}

void tool_changes_release(struct tool_changes *changes)
{
    free(changes->items);
    *changes = (struct tool_changes){0};
}

/* ---- builtin ---- */

/* The tools every session has, in the order the model sees them: reading before writing. */

const struct tool *const builtin_tools[] = {
    &tool_list_dir,
    &tool_read_file,
    &tool_search_files,
    &tool_get_context_pack,
    &tool_write_file,
    &tool_edit_file,
    &tool_delete_file,
    &tool_move_file,
    &tool_run_script,
    &tool_workspace_exec,
    &tool_workspace_write_stdin,
    &tool_workspace_kill,
    &tool_run_code,
    &tool_stage_input,
    &tool_collect_outputs,
    &tool_bring_back,
    &tool_save_artifact,
    &tool_load_artifact,
    &tool_skill_list,
    &tool_skill_load,
    &tool_skill_run,
    &tool_web_search,
    NULL,
};

/* ---- tool ---- */

/* Common parts of tools: names of effects, and the functions that fill a reply. */

static const char *const effect_names[] = {
    [EFFECT_UNKNOWN] = "UNKNOWN", [EFFECT_READ_ONLY] = "READ_ONLY",     [EFFECT_LOCAL_WRITE] = "LOCAL_WRITE",
    [EFFECT_NETWORK] = "NETWORK", [EFFECT_DESTRUCTIVE] = "DESTRUCTIVE",
};

const char *effect_name(enum effect effect)
{
    return (size_t)effect < COUNT_OF(effect_names) ? effect_names[effect] : effect_names[EFFECT_UNKNOWN];
}

enum effect effect_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(effect_names); i++)
        if (strcasecmp(name, effect_names[i]) == 0)
            return (enum effect)i;
    return EFFECT_UNKNOWN;
}

enum effect effect_stronger(enum effect a, enum effect b)
{
    if (a == EFFECT_UNKNOWN || b == EFFECT_UNKNOWN)
        return EFFECT_UNKNOWN;
    return a > b ? a : b;
}

enum effect tool_call_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                             const struct json *arguments)
{
    return tool->effect ? tool->effect(tool, env, call, arguments) : tool->spec.effect;
}

bool tool_run_must_ask(const struct tool_run *run)
{
    return !run->confirm_write &&
           tool_call_effect(run->tool, run->env, run->call, run->arguments) == EFFECT_DESTRUCTIVE;
}

/* A reply may be set again; the last one counts. Citations stay. */
static void forget_body(struct tool_reply *reply)
{
    free(reply->output);
    free(reply->error);
    change_set_free(reply->changes);
    if (reply->recorded)
        outcome_release(reply->recorded);
    free(reply->recorded);
    reply->output = NULL;
    reply->error = NULL;
    reply->changes = NULL;
    reply->recorded = NULL;
}

void tool_reply_release(struct tool_reply *reply)
{
    forget_body(reply);
    for (size_t i = 0; i < reply->citation_count; i++)
        free(reply->citations[i].ref);
    free(reply->citations);
    *reply = (struct tool_reply){0};
}

void tool_reply_error(struct tool_reply *reply, const char *fmt, ...)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    forget_body(reply); /* only now, because the arguments may point into it */
    reply->type = REPLY_ERROR;
    reply->error = strbuf_detach(&text, NULL);
}

void tool_reply_output(struct tool_reply *reply, char *take_json)
{
    forget_body(reply);
    reply->type = REPLY_OUTPUT;
    reply->output = take_json;
}

void tool_reply_page(struct tool_reply *reply, char *take_json)
{
    tool_reply_output(reply, take_json);
    reply->page = true;
}

void tool_reply_recorded(struct tool_reply *reply, const struct outcome *take_outcome)
{
    forget_body(reply);
    reply->type = REPLY_RECORDED;
    reply->recorded = xcalloc(1, sizeof(*reply->recorded));
    *reply->recorded = *take_outcome;
}

void tool_reply_propose(struct tool_reply *reply, struct change_set *take_changes)
{
    forget_body(reply);
    reply->type = REPLY_PROPOSAL;
    reply->changes = take_changes;
}

void tool_reply_propose_own(struct tool_reply *reply, struct change_set *take_changes)
{
    tool_reply_propose(reply, take_changes);
    reply->tool_writes = true;
}

void tool_reply_ask(struct tool_reply *reply)
{
    tool_reply_output(reply, xstrdup("{\"needs_confirmation\":true}"));
}

void tool_reply_cite(struct tool_reply *reply, const char *ref, bool web)
{
    GROW(reply->citations, reply->citation_count, reply->citation_room);
    reply->citations[reply->citation_count++] = (struct citation){xstrdup(ref), web};
}

void tool_run_say(struct tool_run *run, const char *stream, const char *text)
{
    emit(run->emitter, &(struct event){.type = EVENT_TOOL_OUTPUT,
                                       .tool_output = {.call = run->call, .stream = stream, .text = text}});
}

int web_mode_from_name(const char *name)
{
    static const char *const names[] = {[WEB_OFF] = "off", [WEB_AUTO] = "auto", [WEB_ON] = "on"};
    for (size_t i = 0; name && i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}
