/* One pass over the calls. A table remembers for each key the last call that used it; the key is taken in the open wave
 * exactly when that call is not before the wave's first one. So nothing is ever cleared, and a thousand small waves cost
 * no more than one large one. */

#include "waves.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"

struct plan {
    struct arena *arena;
    const struct wave_call *calls;
    struct wave *waves;
    size_t count;
    size_t first; /* of the open wave */
    struct hash_map users;
    struct strbuf keys; /* of the call at hand, each ended by a NUL */
};

static const struct json *argument(const struct json *arguments, const char *name, size_t len)
{
    const struct json *found = NULL;
    if (!arguments || arguments->type != JSON_OBJECT)
        return NULL;
    json_each(member, arguments)
    {
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

/* A tool that declares no key, or an empty list, excludes itself by its name. */
static void collect_keys(struct plan *plan, const struct wave_call *call)
{
    const char *const *key = call->spec->resource_keys;
    strbuf_reset(&plan->keys);
    if (!key || !*key) {
        strbuf_add(&plan->keys, call->tool, strlen(call->tool) + 1);
        return;
    }
    for (; *key; key++) {
        waves_expand_key(&plan->keys, *key, call->arguments);
        strbuf_addch(&plan->keys, '\0');
    }
}

#define each_key(key, plan) \
    for (const char *key = (plan)->keys.buf; key < (plan)->keys.buf + (plan)->keys.len; key += strlen(key) + 1)

/* The key that the call at hand shares with one of the open wave, NULL when it fits. */
static const char *taken_key(const struct plan *plan, size_t *by)
{
    each_key(key, plan)
    {
        int64_t user = hash_map_get(&plan->users, key, -1);
        if (user >= (int64_t)plan->first) {
            *by = (size_t)user;
            return key;
        }
    }
    return NULL;
}

static void take_keys(struct plan *plan, size_t call)
{
    each_key(key, plan)
    {
        hash_map_put(&plan->users, key, (int64_t)call);
    }
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
    collect_keys(plan, &plan->calls[i]);
    const char *key = taken_key(plan, &by);
    if (!key) {
        take_keys(plan, i);
        return;
    }
    const char *other = plan->calls[by].id;
    close_wave(plan, i, arena_printf(plan->arena, "%s shares %s with %s", plan->calls[i].id, key, other));
    /* The page says that it runs in a wave of its own; it does not open the next one (D27). */
    close_wave(plan, i + 1, arena_printf(plan->arena, "runs alone: shares %s with %s", key, other));
}

static void plan_parallel(struct plan *plan, size_t call_count)
{
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
    struct plan plan = {.arena = arena, .calls = calls, .keys = STRBUF_INIT};
    plan.waves = arena_calloc(arena, call_count, sizeof(*plan.waves));
    if (parallel)
        plan_parallel(&plan, call_count);
    else
        for (size_t i = 0; i < call_count; i++)
            close_wave(&plan, i + 1, "parallel is off");
    hash_map_release(&plan.users);
    strbuf_release(&plan.keys);
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
