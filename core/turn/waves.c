/* One pass over the calls. A table remembers for each key the last call that used it; the key is taken in the open wave
 * exactly when that call is not before the wave's first one. So nothing is ever cleared, and a thousand small waves
 * cost no more than one large one.
 *
 * The table is our own: one byte a slot to search in, so that it stays in the cache however long the answer is, and the
 * rest beside it, written once and read only where that byte fits. With a table that copies each key to a place of its
 * own, large answers would cost more per key than small ones. */

#include "waves.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

struct use {
    uint32_t key; /* where its text begins in `texts` */
    uint32_t call;
};

struct plan {
    struct arena *arena;
    const struct wave_call *calls;
    struct wave *waves;
    size_t count;
    size_t first;        /* of the open wave */
    unsigned char *tags; /* of each slot: part of the key's hash, 0 when it is free */
    uint32_t *newest;    /* of each slot: the newest use of its key */
    size_t mask;         /* the number of slots, a power of two, less one */
    struct use *uses;
    size_t use_count;
    size_t own;          /* the first use of the call at hand, … */
    uint64_t *hashes;    /* … and the hashes of its keys */
    struct strbuf texts; /* of all keys so far, each ended by a NUL */
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

static size_t key_count(const struct tool_spec *spec)
{
    size_t count = 0;
    for (const char *const *key = spec ? spec->resource_keys : NULL; key && *key; key++)
        count++;
    return count ? count : 1;
}

/* Room for every key of every call, at most three quarters full. */
static void make_room(struct plan *plan, size_t call_count)
{
    size_t keys = 0, most = 1, slots = 16;
    for (size_t i = 0; i < call_count; i++) {
        size_t count = key_count(plan->calls[i].spec);
        keys += count;
        most = count > most ? count : most;
    }
    if (keys > UINT32_MAX / 2)
        BUG("%zu resource keys", keys);
    while (slots * 3 < keys * 4)
        slots *= 2;
    plan->tags = xcalloc(slots, sizeof(*plan->tags));
    plan->newest = xreallocarray(NULL, slots, sizeof(*plan->newest));
    plan->mask = slots - 1;
    plan->uses = xreallocarray(NULL, keys, sizeof(*plan->uses));
    plan->hashes = xreallocarray(NULL, most, sizeof(*plan->hashes));
}

/* Notes the keys of the call at hand. A tool that declares none, or an empty list, excludes itself by its name. */
static void note_keys(struct plan *plan, size_t call)
{
    const char *const *key = plan->calls[call].spec->resource_keys;
    const char *const name[] = {plan->calls[call].tool, NULL};
    bool declared = key && *key;
    plan->own = plan->use_count;
    for (key = declared ? key : name; *key; key++) {
        size_t start = plan->texts.len;
        if (declared)
            waves_expand_key(&plan->texts, *key, plan->calls[call].arguments);
        else
            strbuf_addstr(&plan->texts, *key);
        plan->hashes[plan->use_count - plan->own] = hash_fnv1a(plan->texts.buf + start, plan->texts.len - start);
        plan->uses[plan->use_count++] = (struct use){(uint32_t)start, (uint32_t)call};
        strbuf_addch(&plan->texts, '\0');
    }
    if (plan->texts.len > UINT32_MAX)
        BUG("%zu bytes of resource keys", plan->texts.len);
}

static const char *use_text(const struct plan *plan, size_t use)
{
    return plan->texts.buf + plan->uses[use].key;
}

/* The slot of a use's key; a key that is new gets one, with this as its first use. */
static size_t find_slot(struct plan *plan, size_t use)
{
    const char *text = use_text(plan, use);
    uint64_t hash = plan->hashes[use - plan->own];
    unsigned char tag = (unsigned char)(hash >> 56 ? hash >> 56 : 1);
    for (size_t at = (size_t)hash & plan->mask;; at = (at + 1) & plan->mask) {
        if (!plan->tags[at]) {
            plan->tags[at] = tag;
            plan->newest[at] = (uint32_t)use;
            return at;
        }
        if (plan->tags[at] == tag && strcmp(use_text(plan, plan->newest[at]), text) == 0)
            return at;
    }
}

/* Enters the keys of the call at hand and gives the first one that another call of the open wave has, NULL when there
 * is none. */
static const char *take_keys(struct plan *plan, size_t *by)
{
    const char *taken = NULL;
    size_t call = plan->uses[plan->own].call;
    for (size_t use = plan->own; use < plan->use_count; use++) {
        size_t slot = find_slot(plan, use);
        size_t user = plan->uses[plan->newest[slot]].call;
        if (!taken && user >= plan->first && user != call) {
            taken = use_text(plan, use);
            *by = user;
        }
        plan->newest[slot] = (uint32_t)use;
    }
    return taken;
}

/* Ends the open wave before call `end`. */
static void close_wave(struct plan *plan, size_t end, const char *why)
{
    size_t count = end - plan->first;
    plan->waves[plan->count++] = (struct wave){.first = plan->first, .count = count, .parallel = count > 1, .why = why};
    plan->first = end;
}

static const char *describe_alone(const struct plan *plan, enum effect effect)
{
    if (effect == EFFECT_UNKNOWN)
        return "runs alone: effect unknown";
    return arena_printf(plan->arena, "runs alone (%s)", effect_name(effect));
}

static void place_alone(struct plan *plan, size_t i, enum effect effect)
{
    if (plan->first < i)
        close_wave(plan, i, arena_printf(plan->arena, "%s is no read (%s)", plan->calls[i].id, effect_name(effect)));
    close_wave(plan, i + 1, describe_alone(plan, effect));
}

static void place_read(struct plan *plan, size_t i)
{
    size_t by = 0;
    note_keys(plan, i);
    const char *key = take_keys(plan, &by);
    if (!key)
        return;
    const char *other = plan->calls[by].id;
    close_wave(plan, i, arena_printf(plan->arena, "%s shares %s with %s", plan->calls[i].id, key, other));
    /* The page says that it runs in a wave of its own; it does not open the next one (D27). */
    close_wave(plan, i + 1, arena_printf(plan->arena, "runs alone: shares %s with %s", key, other));
}

static void plan_parallel(struct plan *plan, size_t call_count)
{
    make_room(plan, call_count);
    for (size_t i = 0; i < call_count; i++) {
        enum effect effect = plan->calls[i].spec ? plan->calls[i].spec->effect : EFFECT_UNKNOWN;
        if (effect == EFFECT_READ_ONLY)
            place_read(plan, i);
        else
            place_alone(plan, i, effect); /* one without a class too: it may do anything (D28) */
    }
    if (plan->first < call_count)
        close_wave(plan, call_count, "last call");
}

const struct wave *waves_plan(struct arena *arena, const struct wave_call *calls, size_t call_count, bool parallel,
                              size_t *count)
{
    struct plan plan = {.arena = arena, .calls = calls, .texts = STRBUF_INIT};
    plan.waves = arena_alloc(arena, call_count * sizeof(*plan.waves)); /* as many as there can be */
    if (parallel)
        plan_parallel(&plan, call_count);
    else
        for (size_t i = 0; i < call_count; i++)
            close_wave(&plan, i + 1, "parallel is off");
    free(plan.tags);
    free(plan.newest);
    free(plan.uses);
    free(plan.hashes);
    strbuf_release(&plan.texts);
    *count = plan.count;
    return plan.waves;
}

void waves_write(struct strbuf *out, const struct wave *waves, size_t count, const struct wave_call *calls)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&w, NULL, '{');
        json_add_int(&w, "index", (int64_t)i + 1);
        json_add_str(&w, "mode", waves[i].parallel ? "parallel" : "sequential");
        json_open(&w, "calls", '[');
        for (size_t k = 0; k < waves[i].count; k++)
            json_add_str(&w, NULL, calls[waves[i].first + k].id);
        json_close(&w, ']');
        json_add_str(&w, "why", waves[i].why);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}
