/* Counts what a turn uses against its limits.
 *
 * The deadline is a point on the turn's hold clock, so waiting for the user costs no time. Counters are claimed before
 * use with a compare-and-swap, so no count ever passes its limit. Limits may be raised on the loop thread while a tool
 * thread claims, hence the relaxed atomic reads of plain fields. */

#include "budget.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "model/message.h"
#include <math.h>

#define SECOND_US 1e6
#define FAR_US    (INT64_MAX / 4) /* later than any clock value, and still safe to add to */

/* The keys that can be set from outside, in the order of the help text. */
struct limit_key {
    const char *name;
    size_t offset;
    bool whole;
};
/* One call leaves a quarter of the time left, as the specification's cap of 45 s does in its turn of 60 s. */
#define TOOL_SHARE 0.75

#define FIELD(field) #field, offsetof(struct budget_limits, field)
static const struct limit_key limit_keys[] = {
    {FIELD(wall_s), false},     {FIELD(steps), true},          {FIELD(tool_calls), true},
    {FIELD(reflections), true}, {FIELD(input_tokens), true},   {FIELD(output_tokens), true},
    {FIELD(cost_usd), false},   {FIELD(context_tokens), true}, {FIELD(tool_cap_s), false},
};

struct budget_limits budget_defaults(void)
{
    return (struct budget_limits){
        .wall_s = 60,
        .steps = 6,
        .tool_calls = BUDGET_AS_STEPS,
        .reflections = 4,
        .context_tokens = 200000,
        .input_tokens = BUDGET_UNLIMITED,
        .output_tokens = BUDGET_UNLIMITED,
        .cost_usd = NAN,
        .tool_cap_s = DEADLINE_CAP_S,
        .tool_share = 1,
    };
}

struct budget_limits budget_defaults_for(bool interactive)
{
    struct budget_limits limits = budget_defaults();
    limits.wall_s = interactive ? 3600 : 1800;
    limits.steps = interactive ? 100 : 50;
    limits.tool_calls = BUDGET_UNLIMITED;
    limits.tool_share = TOOL_SHARE;
    if (interactive)
        limits.cost_usd = 5;
    return limits;
}

void budget_limits_fill(struct budget_limits *limits, const struct budget_limits *defaults)
{
    for (size_t i = 0; i < COUNT_OF(limit_keys); i++) {
        size_t offset = limit_keys[i].offset, size = limit_keys[i].whole ? sizeof(int64_t) : sizeof(double);
        if (!(limits->set & 1u << i))
            memcpy((char *)limits + offset, (const char *)defaults + offset, size);
    }
    limits->tool_share = defaults->tool_share;
}

bool budget_user_set(const struct budget_limits *limits, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(limit_keys); i++)
        if (strcmp(limit_keys[i].name, name) == 0)
            return limits->set & 1u << i;
    BUG("budget %s", name);
}

static int unknown_key(const char *name, size_t len, struct err *err)
{
    CLEANUP(strbuf) struct strbuf known = STRBUF_INIT;
    CLEANUP(free) char *wanted = xmemdup0(name, len < 60 ? len : 60);
    struct nearest near = nearest_to(wanted);
    for (size_t i = 0; i < COUNT_OF(limit_keys); i++) {
        strbuf_addf(&known, "%s%s", i ? ", " : "", limit_keys[i].name);
        nearest_offer(&near, limit_keys[i].name);
    }
    if (near.best)
        return err_set(err, "unknown limit \"%s\" (did you mean %s?)", wanted, near.best);
    return err_set(err, "unknown limit \"%s\" (known: %s)", wanted, known.buf);
}

/* Reads a JSON number, or ".5". Independent of the locale, and without strtod's hexadecimals, infinities and leading
 * blanks, which are not useful as limits. */
static const struct json *read_number(struct arena *arena, const char *text)
{
    char *padded = arena_printf(arena, "%s%s", text[0] == '.' ? "0" : "", text);
    const struct json *value = json_parse(arena, padded, strlen(padded), NULL);
    if (!value || value->type != JSON_NUMBER || value->src_len != strlen(padded))
        return NULL;
    return value;
}

int budget_limits_set(struct budget_limits *limits, const char *assignment, struct err *err)
{
    size_t len = strcspn(assignment, "=");
    const struct limit_key *key = NULL;
    for (size_t i = 0; i < COUNT_OF(limit_keys) && !key; i++)
        if (strlen(limit_keys[i].name) == len && memcmp(limit_keys[i].name, assignment, len) == 0)
            key = &limit_keys[i];
    if (!key)
        return unknown_key(assignment, len, err);
    if (assignment[len] != '=' || assignment[len + 1] == '\0')
        return err_set(err, "the budget %s needs a value, as in %s=%s", key->name, key->name, key->whole ? "9" : "2.5");

    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *text = assignment + len + 1;
    const struct json *value = read_number(&arena, text);
    double number = json_num(value, NAN);
    if (!isfinite(number) || signbit(number))
        return err_set(err, "the budget %s must be a number of 0 or more, not \"%.60s\"", key->name, text);
    void *field = (char *)limits + key->offset;
    int64_t whole = json_int(value, -1);
    if (key->whole && whole < 0)
        return err_set(err, "the budget %s must be a whole number, not \"%.60s\"", key->name, text);
    if (key->whole)
        *(int64_t *)field = whole;
    else
        *(double *)field = number;
    limits->set |= 1u << (key - limit_keys);
    return 0;
}

static int64_t to_us(double seconds)
{
    double us = seconds * SECOND_US;
    if (!(us > 0))
        return 0;
    return us < (double)FAR_US ? (int64_t)llround(us) : FAR_US;
}

static int64_t whole_or(double value, int64_t other)
{
    return value >= 0 && value < (double)INT64_MAX ? (int64_t)value : other;
}

static double number_or(double value, double other)
{
    return isnan(value) ? other : value;
}

/* The recorded turn had no limit of tool calls: null, not a value that an older recording lacks. */
static bool recorded_none(const struct event_budget_values *values)
{
    struct event_layout layout = event_record_layout(EVENT_RECORD_budget_values);
    for (size_t i = 0; i < layout.count; i++)
        if (strcmp(layout.fields[i].name, budget_key_name(BUDGET_TOOL_CALLS)) == 0)
            return values->present & (uint64_t)1 << i && isnan(values->tool_calls);
    return false;
}

void budget_limits_from_event(struct budget_limits *limits, const struct event_budget_values *values)
{
    if (!values)
        return;
    limits->wall_s = number_or(values->wall_ms, limits->wall_s * 1000) / 1000;
    limits->steps = whole_or(values->steps, limits->steps);
    limits->tool_calls = whole_or(values->tool_calls, recorded_none(values) ? BUDGET_UNLIMITED : limits->tool_calls);
    limits->reflections = whole_or(values->reflections, limits->reflections);
    limits->context_tokens = whole_or(values->context_tokens, limits->context_tokens);
    limits->input_tokens = whole_or(values->input_tokens, limits->input_tokens);
    limits->output_tokens = whole_or(values->output_tokens, limits->output_tokens);
    limits->cost_usd = number_or(values->cost_usd, limits->cost_usd);
}

void budget_set_limits(struct budget *budget, const struct budget_limits *limits)
{
    budget->limits = *limits;
    if (limits->tool_calls == BUDGET_AS_STEPS)
        budget->limits.tool_calls = limits->steps;
    budget->due_us = budget->start_us + to_us(limits->wall_s);
}

void budget_set_wall_used(struct budget *budget, int64_t used_us)
{
    budget->start_us = hold_clock_now(budget->clock) - used_us;
    budget->due_us = budget->start_us + to_us(budget->limits.wall_s);
}

void budget_open(struct budget *budget, const struct budget_limits *limits, const struct hold_clock *clock)
{
    int64_t now = hold_clock_now(clock);
    budget->clock = clock;
    budget->start_us = now;
    budget->due_us = now + to_us(limits->wall_s);
    budget->first = budget->limits = *limits;
    if (limits->tool_calls == BUDGET_AS_STEPS)
        budget->limits.tool_calls = limits->steps;
    atomic_init(&budget->steps, 0);
    atomic_init(&budget->tool_calls, 0);
    atomic_init(&budget->reflections, 0);
    budget->used = (struct usage_sum){.cost_known = true};
    budget->context_tokens = 0;
    memset(budget->warned, 0, sizeof(budget->warned));
}

static int64_t left_us(const struct budget *budget)
{
    int64_t left = budget->due_us - hold_clock_now(budget->clock);
    return left > 0 ? left : 0;
}

double budget_remaining_s(const struct budget *budget)
{
    return (double)left_us(budget) / SECOND_US;
}

bool budget_expired(const struct budget *budget)
{
    return left_us(budget) == 0;
}

static bool claim(atomic_llong *used, const int64_t *limit)
{
    long long count = atomic_load_explicit(used, memory_order_relaxed);
    do {
        int64_t most = __atomic_load_n(limit, __ATOMIC_RELAXED);
        if (most >= 0 && count >= most)
            return false;
    } while (!atomic_compare_exchange_weak(used, &count, count + 1));
    return true;
}

bool budget_claim_step(struct budget *budget)
{
    return claim(&budget->steps, &budget->limits.steps);
}

bool budget_claim_tool_call(struct budget *budget)
{
    return claim(&budget->tool_calls, &budget->limits.tool_calls);
}

bool budget_claim_reflection(struct budget *budget)
{
    return claim(&budget->reflections, &budget->limits.reflections);
}

double budget_per_tool_s(const struct budget *budget, double cap_s)
{
    return deadline_per_tool_s(budget_remaining_s(budget), cap_s);
}

double budget_cap_s(const struct budget_limits *limits, double own_s, double left_s)
{
    if (budget_user_set(limits, "tool_cap_s"))
        return own_s > 0 ? fmin(own_s, limits->tool_cap_s) : limits->tool_cap_s;
    double cap_s = own_s > 0 ? own_s : limits->tool_cap_s;
    return fmin(cap_s, limits->tool_share * left_s);
}

void budget_charge(struct budget *budget, const struct usage *usage, double cost_usd)
{
    struct usage_sum *used = &budget->used;
    used->input += usage->input;
    used->output += usage->output;
    used->cache_read += usage->cache_read;
    used->cache_write += usage->cache_write;
    budget->context_tokens = usage->input;
    if (isnan(cost_usd))
        used->cost_known = false;
    else
        used->cost_usd += cost_usd;
}

double budget_used(const struct budget *budget, enum budget_key key)
{
    switch (key) {
    case BUDGET_WALL_MS:
        return (double)((hold_clock_now(budget->clock) - budget->start_us) / 1000);
    case BUDGET_STEPS:
        return (double)atomic_load_explicit(&budget->steps, memory_order_relaxed);
    case BUDGET_TOOL_CALLS:
        return (double)atomic_load_explicit(&budget->tool_calls, memory_order_relaxed);
    case BUDGET_REFLECTIONS:
        return (double)atomic_load_explicit(&budget->reflections, memory_order_relaxed);
    case BUDGET_CONTEXT_TOKENS:
        return (double)budget->context_tokens;
    case BUDGET_INPUT_TOKENS:
        return (double)budget->used.input;
    case BUDGET_OUTPUT_TOKENS:
        return (double)budget->used.output;
    case BUDGET_COST_USD:
        return budget->used.cost_usd;
    case BUDGET_KEY_COUNT:
        break;
    }
    BUG("budget key %d", (int)key);
}

static int64_t *whole_limit(struct budget_limits *limits, enum budget_key key)
{
    switch (key) {
    case BUDGET_STEPS:
        return &limits->steps;
    case BUDGET_TOOL_CALLS:
        return &limits->tool_calls;
    case BUDGET_REFLECTIONS:
        return &limits->reflections;
    case BUDGET_CONTEXT_TOKENS:
        return &limits->context_tokens;
    case BUDGET_INPUT_TOKENS:
        return &limits->input_tokens;
    case BUDGET_OUTPUT_TOKENS:
        return &limits->output_tokens;
    default:
        return NULL;
    }
}

double budget_limit(const struct budget *budget, enum budget_key key)
{
    if (key == BUDGET_WALL_MS)
        return (double)((budget->due_us - budget->start_us) / 1000);
    if (key == BUDGET_COST_USD)
        return budget->limits.cost_usd;
    int64_t limit = *whole_limit((struct budget_limits *)&budget->limits, key);
    return limit < 0 ? NAN : (double)limit;
}

bool budget_reached(const struct budget *budget, enum budget_key key)
{
    /* The clock in microseconds: in milliseconds the last one would count as used up. */
    if (key == BUDGET_WALL_MS)
        return budget_expired(budget);
    return budget_used(budget, key) >= budget_limit(budget, key); /* never true without a limit */
}

int budget_exhausted(const struct budget *budget)
{
    static const enum budget_key order[] = {BUDGET_WALL_MS, BUDGET_STEPS, BUDGET_INPUT_TOKENS, BUDGET_OUTPUT_TOKENS,
                                            BUDGET_COST_USD};
    for (size_t i = 0; i < COUNT_OF(order); i++)
        if (budget_reached(budget, order[i]))
            return (int)order[i];
    return -1;
}

int budget_warning(struct budget *budget, double share)
{
    for (int key = 0; key < BUDGET_KEY_COUNT; key++) {
        double used = budget_used(budget, (enum budget_key)key);
        if (budget->warned[key] || !(used > 0) || !(used >= share * budget_limit(budget, (enum budget_key)key)))
            continue;
        budget->warned[key] = true;
        return key;
    }
    return -1;
}

double budget_adds(const struct budget *budget, enum budget_key key)
{
    const struct budget_limits *first = &budget->first;
    if (key == BUDGET_WALL_MS)
        return first->wall_s > 0 ? first->wall_s * 1000 : 1000;
    if (key == BUDGET_COST_USD)
        return first->cost_usd == 0 ? 0.01 : first->cost_usd;
    bool follows = key == BUDGET_TOOL_CALLS && first->tool_calls == BUDGET_AS_STEPS;
    int64_t limit = *whole_limit((struct budget_limits *)first, follows ? BUDGET_STEPS : key);
    return limit < 0 ? NAN : limit > 0 ? (double)limit : 1;
}

/* Tokens and time can exceed their limit by more than the share. Adding to the used amount makes sure that the turn
 * can continue. */
static void extend_whole(struct budget *budget, enum budget_key key, double share)
{
    int64_t *limit = whole_limit(&budget->limits, key);
    int64_t used = (int64_t)budget_used(budget, key);
    int64_t from = *limit > used ? *limit : used;
    double more = ceil(share * budget_adds(budget, key));
    int64_t add = more < 1 ? 1 : more < 1e15 ? (int64_t)more : (int64_t)1e15;
    if (__builtin_add_overflow(from, add, &from))
        from = INT64_MAX;
    __atomic_store_n(limit, from, __ATOMIC_RELAXED);
}

void budget_extend(struct budget *budget, enum budget_key key, double share)
{
    const struct budget_limits *first = &budget->first;
    if (!(share > 0) || isnan(budget_limit(budget, key)))
        return;
    if (key == BUDGET_WALL_MS) {
        int64_t now = hold_clock_now(budget->clock);
        int64_t from = budget->due_us > now ? budget->due_us : now;
        int64_t due;
        budget->due_us =
            __builtin_add_overflow(from, to_us(share * budget_adds(budget, key) / 1000), &due) ? from : due;
        budget->limits.wall_s = (double)(budget->due_us - budget->start_us) / SECOND_US;
    } else if (key == BUDGET_COST_USD) {
        budget->limits.cost_usd =
            fmax(budget->limits.cost_usd, budget->used.cost_usd) + share * budget_adds(budget, key);
    } else {
        extend_whole(budget, key, share);
        /* If tool calls follow the steps, they still do: more steps without calls are useless. */
        if (key == BUDGET_STEPS && first->tool_calls == BUDGET_AS_STEPS)
            extend_whole(budget, BUDGET_TOOL_CALLS, share);
    }
    budget->warned[key] = false;
}

static struct event_budget_values to_event(const struct budget *budget,
                                           double (*value)(const struct budget *, enum budget_key))
{
    return (struct event_budget_values){.present = EVENT_ALL_PRESENT,
                                        .wall_ms = value(budget, BUDGET_WALL_MS),
                                        .steps = value(budget, BUDGET_STEPS),
                                        .tool_calls = value(budget, BUDGET_TOOL_CALLS),
                                        .reflections = value(budget, BUDGET_REFLECTIONS),
                                        .context_tokens = value(budget, BUDGET_CONTEXT_TOKENS),
                                        .input_tokens = value(budget, BUDGET_INPUT_TOKENS),
                                        .output_tokens = value(budget, BUDGET_OUTPUT_TOKENS),
                                        .cost_usd = value(budget, BUDGET_COST_USD)};
}

struct event_budget_values budget_limits_to_event(const struct budget *budget)
{
    return to_event(budget, budget_limit);
}

/* An unknown cost is null. A partly known cost is reported as far as it is known. */
static double shown_use(const struct budget *budget, enum budget_key key)
{
    if (key == BUDGET_COST_USD && !budget->used.cost_known && !(budget->used.cost_usd > 0))
        return NAN;
    return budget_used(budget, key);
}

struct event_budget_values budget_used_to_event(const struct budget *budget)
{
    return to_event(budget, shown_use);
}
