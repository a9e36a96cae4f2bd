/* Plans waves: one pass over the calls of an answer, linear in the number of resource keys.
 *
 * A table holds the keys of the open wave. When the wave ends, its keys are taken out one by one, so the table is only
 * as large as the largest wave needed, and a thousand small waves cost no more than one large one.
 *
 * A slot of the table is two bytes of the key's hash, so the table stays in the cache and a long answer costs no more
 * per key than a short one. To find the call of a slot, the wave is searched backwards: only when a key is taken,
 * which ends the wave, and once in sixty thousand lookups for nothing. */

#include "waves.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <string.h>

#define KEY_SHOWN 80 /* characters */

struct use {
    uint32_t hash;
    uint32_t key; /* where its text begins in `texts` */
    uint32_t call;
    uint32_t slot;
};

struct plan {
    struct arena *arena;
    const struct wave_call *calls;
    struct wave *waves;
    size_t count;
    size_t first;      /* of the open wave */
    uint16_t *tags;    /* of each slot: part of the key's hash, 0 when it is free */
    size_t slot_count; /* a power of two */
    struct use *uses;  /* of the open wave and the current call */
    size_t use_count;
    struct strbuf texts; /* of their keys, each ended by a NUL */
};

static const struct json *argument(const struct json *arguments, const char *name, size_t len)
{
    const struct json *found = NULL;
    if (!arguments || arguments->type != JSON_OBJECT)
        return NULL;
    json_each (member, arguments) {
        if (strncmp(member->key, name, len) == 0 && member->key[len] == '\0')
            found = member;
    }
    return found;
}

void waves_expand_key(struct strbuf *out, const char *key, const struct json *arguments)
{
    for (;;) {
        const char *open = strchr(key, '{');
        const char *close = open ? strchr(open, '}') : NULL;
        if (!close) {
            strbuf_addstr(out, key);
            return;
        }
        strbuf_add(out, key, (size_t)(open - key));
        const struct json *value = argument(arguments, open + 1, (size_t)(close - open - 1));
        if (value && (value->type == JSON_STRING || value->type == JSON_NUMBER))
            strbuf_add(out, value->text, value->len);
        else if (value && value->type != JSON_NULL)
            json_write(out, value, JSON_COMPACT | JSON_SORTED);
        key = close + 1;
    }
}

static const char *use_text(const struct plan *plan, size_t use)
{
    return plan->texts.buf + plan->uses[use].key;
}

/* The newest use before `use` with this slot. */
static size_t use_before(const struct plan *plan, size_t use, size_t slot)
{
    while (use-- > 0)
        if (plan->uses[use].slot == slot)
            return use;
    BUG("a slot without a use");
}

/* Assigns a use the slot of its key. Returns the last use of the same key before it, or itself. */
static size_t find_slot(struct plan *plan, size_t use)
{
    uint32_t hash = plan->uses[use].hash;
    uint16_t tag = (uint16_t)(hash >> 16 ? hash >> 16 : 1);
    size_t mask = plan->slot_count - 1, at = hash & mask, found = use;
    for (; plan->tags[at]; at = (at + 1) & mask) {
        if (plan->tags[at] != tag)
            continue;
        size_t before = use_before(plan, use, at);
        if (strcmp(use_text(plan, before), use_text(plan, use)) == 0) {
            found = before;
            break;
        }
    }
    plan->tags[at] = tag;
    plan->uses[use].slot = (uint32_t)at;
    return found;
}

/* Twice the slots, at most three quarters full. */
static void grow(struct plan *plan)
{
    plan->slot_count = plan->slot_count ? plan->slot_count * 2 : 256;
    if (plan->slot_count > UINT32_MAX / 2)
        BUG("%zu resource keys in a wave", plan->use_count);
    free(plan->tags);
    plan->tags = xcalloc(plan->slot_count, sizeof(*plan->tags));
    for (size_t use = 0; use < plan->use_count; use++)
        find_slot(plan, use);
}

/* Enters one key of a call. Returns the call of the open wave that has it already, or `call` itself. */
static size_t use_key(struct plan *plan, size_t call, const char *key, bool declared)
{
    size_t start = plan->texts.len;
    if ((plan->use_count + 1) * 4 > plan->slot_count * 3)
        grow(plan);
    if (declared)
        waves_expand_key(&plan->texts, key, plan->calls[call].arguments);
    else
        strbuf_addstr(&plan->texts, key);
    if (plan->texts.len > UINT32_MAX)
        BUG("%zu bytes of resource keys in a wave", plan->texts.len);
    uint64_t hash = hash_fnv1a(plan->texts.buf + start, plan->texts.len - start);
    strbuf_addch(&plan->texts, '\0');
    plan->uses[plan->use_count++] = (struct use){.hash = (uint32_t)((hash ^ hash >> 32) * 0x9E3779B97F4A7C15u >> 32),
                                                 .key = (uint32_t)start,
                                                 .call = (uint32_t)call};
    return plan->uses[find_slot(plan, plan->use_count - 1)].call;
}

/* Enters the keys of a call. Returns the first one that another call of the open wave has, or NULL. A tool with no
 * keys, or an empty list, excludes itself by its name. */
static const char *take_keys(struct plan *plan, size_t call, size_t *by)
{
    const char *const *key = plan->calls[call].spec->resource_keys;
    const char *const name[] = {plan->calls[call].tool, NULL};
    bool declared = key && *key;
    size_t taken = SIZE_MAX;
    for (key = declared ? key : name; *key; key++) {
        size_t user = use_key(plan, call, *key, declared);
        if (taken == SIZE_MAX && user != call) {
            taken = plan->use_count - 1;
            *by = user;
        }
    }
    return taken == SIZE_MAX ? NULL : use_text(plan, taken);
}

static enum effect effect_of(const struct wave_call *call)
{
    return call->spec ? call->spec->effect : EFFECT_UNKNOWN;
}

/* Ends the open wave before call `end`. */
static void close_wave(struct plan *plan, size_t end, const char *why)
{
    size_t count = end - plan->first;
    plan->waves[plan->count++] = (struct wave){.first = plan->first,
                                               .count = count,
                                               .parallel = count > 1,
                                               .why = why,
                                               .effect = effect_of(&plan->calls[plan->first])};
    plan->first = end;
    for (size_t use = 0; use < plan->use_count; use++)
        plan->tags[plan->uses[use].slot] = 0;
    plan->use_count = 0;
    strbuf_reset(&plan->texts);
}

#define ALONE_UNKNOWN "runs alone: effect unknown"
#define ALONE         "runs alone ("
#define SERIAL        "parallel is off"
#define LAST          "last call"

static const char *describe_alone(const struct plan *plan, enum effect effect)
{
    if (effect == EFFECT_UNKNOWN)
        return ALONE_UNKNOWN;
    return arena_printf(plan->arena, ALONE "%s)", effect_name(effect));
}

/* Version 1 of the file format has the effect of a wave only in its reason. */
static bool wave_effect_from_v1_text(const char *why, enum effect *effect)
{
    *effect = EFFECT_READ_ONLY;
    if (strncmp(why, ALONE, sizeof(ALONE) - 1) == 0) {
        CLEANUP(free) char *name = xmemdup0(why + sizeof(ALONE) - 1, strcspn(why + sizeof(ALONE) - 1, ")"));
        *effect = effect_from_name(name);
    } else if (strcmp(why, ALONE_UNKNOWN) == 0) {
        *effect = EFFECT_UNKNOWN;
    }
    return strcmp(why, SERIAL) != 0;
}

bool waves_effect(const struct event_plan_wave *wave, enum effect *effect)
{
    if (!wave->effect)
        return wave_effect_from_v1_text(wave->why ? wave->why : "", effect);
    *effect = effect_from_name(wave->effect);
    return true;
}

const char *waves_cut_by(const struct event_plan_wave_list *waves, size_t index)
{
    const struct event_plan_wave *wave = &waves->items[index];
    enum effect effect;
    if (index + 1 == waves->count && waves_effect(wave, &effect) && effect == EFFECT_READ_ONLY)
        return NULL;
    return wave->why && *wave->why ? wave->why : NULL;
}

static void place_alone(struct plan *plan, size_t i, enum effect effect)
{
    if (plan->first < i)
        close_wave(plan, i, arena_printf(plan->arena, "%s is not a read (%s)", plan->calls[i].id, effect_name(effect)));
    close_wave(plan, i + 1, describe_alone(plan, effect));
}

/* A key may contain a whole argument; the beginning of its first line is enough. */
static size_t shown_len(const char *key)
{
    return utf8_prefix(key, strcspn(key, "\n"), KEY_SHOWN);
}

static void place_read(struct plan *plan, size_t i)
{
    size_t by = 0;
    const char *key = take_keys(plan, i, &by);
    if (!key)
        return;
    size_t len = shown_len(key);
    const char *shared =
        arena_printf(plan->arena, "shares %.*s%s with %s", (int)len, key, key[len] ? "…" : "", plan->calls[by].id);
    close_wave(plan, i, arena_printf(plan->arena, "%s %s", plan->calls[i].id, shared));
    /* The overlapping read runs in a wave of its own; it does not open the next one. */
    close_wave(plan, i + 1, arena_printf(plan->arena, "runs alone: %s", shared));
}

static size_t key_count(const struct tool_spec *spec)
{
    size_t count = 0;
    for (const char *const *key = spec ? spec->resource_keys : NULL; key && *key; key++)
        count++;
    return count ? count : 1;
}

static void plan_parallel(struct plan *plan, size_t call_count)
{
    size_t keys = 0;
    for (size_t i = 0; i < call_count; i++)
        keys += key_count(plan->calls[i].spec);
    plan->uses = xreallocarray(NULL, keys, sizeof(*plan->uses)); /* unused memory is never touched */
    for (size_t i = 0; i < call_count; i++) {
        enum effect effect = effect_of(&plan->calls[i]);
        if (effect == EFFECT_READ_ONLY)
            place_read(plan, i);
        else
            place_alone(plan, i, effect); /* also a tool without a class, because it may do anything */
    }
    if (plan->first < call_count)
        close_wave(plan, call_count, LAST);
}

const struct wave *waves_plan(struct arena *arena, const struct wave_call *calls, size_t call_count, bool parallel,
                              size_t *count)
{
    struct plan plan = {.arena = arena, .calls = calls, .texts = STRBUF_INIT};
    plan.waves = arena_alloc(arena, call_count * sizeof(*plan.waves)); /* upper bound */
    if (parallel)
        plan_parallel(&plan, call_count);
    else
        for (size_t i = 0; i < call_count; i++)
            close_wave(&plan, i + 1, SERIAL);
    free(plan.tags);
    free(plan.uses);
    strbuf_release(&plan.texts);
    *count = plan.count;
    return plan.waves;
}

struct event_plan_wave_list waves_to_event(struct arena *arena, const struct wave *waves, size_t count,
                                           const struct wave_call *calls)
{
    struct event_plan_wave *items = arena_calloc(arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const char **ids = arena_calloc(arena, waves[i].count + 1, sizeof(*ids));
        for (size_t k = 0; k < waves[i].count; k++)
            ids[k] = calls[waves[i].first + k].id;
        items[i] = (struct event_plan_wave){.index = (int64_t)i + 1,
                                            .mode = waves[i].parallel ? "parallel" : "sequential",
                                            .calls = {ids, waves[i].count},
                                            .why = waves[i].why,
                                            .effect = effect_name(waves[i].effect)};
    }
    return (struct event_plan_wave_list){items, count};
}
