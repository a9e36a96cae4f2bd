/* Runs the areas of the turn: scheduling, replay control, budget. */

#include "areas.h"
#include "base/loop.h"
#include "base/mem.h"
#include "outcomes.h"
#include "support/event_json.h"
#include "tools/bounded.h"
#include "turn/budget.h"
#include "turn/tally.h"
#include "turn/waves.h"
#include "vector.h"
#include <math.h>
#include <pthread.h>
#include <time.h>

/* ---- schedule.waves ---- */

static const char *const *read_keys(struct vector *v, const struct json *list)
{
    const char **keys, **place;
    if (!list || list->type == JSON_NULL)
        return NULL;
    keys = place = arena_calloc(&v->arena, list->count + 1, sizeof(*keys));
    json_each (key, list) {
        *place++ = json_str(key, "");
    }
    return keys;
}

static struct tool_spec *read_spec(struct vector *v, const struct json *tool)
{
    static const char *const known[] = {"safety", "resource_keys", NULL};
    struct tool_spec *spec = arena_calloc(&v->arena, 1, sizeof(*spec));
    in_only(v, tool, "input.tools[]", known);
    spec->name = tool->key;
    spec->effect = effect_from_name(json_str(json_get(tool, "safety"), NULL));
    spec->resource_keys = read_keys(v, json_get(tool, "resource_keys"));
    return spec;
}

static struct wave_call *read_calls(struct vector *v, const struct json *tools, const struct json *calls)
{
    static const char *const known[] = {"id", "tool", "arguments", "args", NULL};
    struct wave_call *out = arena_calloc(&v->arena, (calls ? calls->count : 0) + 1, sizeof(*out));
    struct wave_call *place = out;
    json_each (call, calls) {
        const char *name = json_str(json_get(call, "tool"), "");
        const struct json *tool = json_get(tools, name);
        const struct json *arguments = json_get(call, "arguments");
        in_only(v, call, "input.calls[]", known);
        *place++ = (struct wave_call){
            .id = json_str(json_get(call, "id"), ""),
            .spec = tool ? read_spec(v, tool) : NULL,
            .tool = name,
            .arguments = arguments ? arguments : json_get(call, "args"),
        };
    }
    return out;
}

/* A list of calls of all classes on few keys, so that keys collide often. */
static struct wave_call *random_calls(struct vector *v, unsigned *seed, size_t count)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3", "k4", "k5"};
    struct wave_call *calls = arena_calloc(&v->arena, count + 1, sizeof(*calls));
    for (size_t i = 0; i < count; i++) {
        struct tool_spec *spec = arena_calloc(&v->arena, 1, sizeof(*spec));
        size_t key_count = (size_t)rand_r(seed) % 3;
        const char **keys = arena_calloc(&v->arena, key_count + 1, sizeof(*keys));
        for (size_t k = 0; k < key_count; k++)
            keys[k] = names[(size_t)rand_r(seed) % COUNT_OF(names)];
        spec->name = names[(size_t)rand_r(seed) % COUNT_OF(names)];
        /* Every other call reads: with five classes picked evenly, no wave would grow. */
        spec->effect = rand_r(seed) % 2 ? EFFECT_READ_ONLY : (enum effect)(rand_r(seed) % (EFFECT_DESTRUCTIVE + 1));
        spec->resource_keys = key_count ? keys : NULL;
        calls[i] = (struct wave_call){.id = arena_printf(&v->arena, "c%zu", i), .spec = spec, .tool = spec->name};
    }
    return calls;
}

static bool share_key(const struct wave_call *a, const struct wave_call *b)
{
    const char *const a_name[] = {a->tool, NULL}, *const b_name[] = {b->tool, NULL};
    for (const char *const *x = a->spec->resource_keys ? a->spec->resource_keys : a_name; *x; x++)
        for (const char *const *y = b->spec->resource_keys ? b->spec->resource_keys : b_name; *y; y++)
            if (strcmp(*x, *y) == 0)
                return true;
    return false;
}

struct wave_facts {
    bool in_order, once, others_alone, disjoint;
};

static void check_waves(struct wave_facts *facts, const struct wave *waves, size_t wave_count,
                        const struct wave_call *calls, size_t count)
{
    size_t next = 0;
    for (size_t w = 0; w < wave_count; w++) {
        facts->in_order = facts->in_order && waves[w].first == next;
        next = waves[w].first + waves[w].count;
        for (size_t i = waves[w].first; i < next && i < count; i++) {
            if (calls[i].spec->effect != EFFECT_READ_ONLY && waves[w].count != 1)
                facts->others_alone = false;
            for (size_t j = waves[w].first; j < i; j++)
                if (share_key(&calls[j], &calls[i]))
                    facts->disjoint = false;
        }
    }
    facts->once = facts->once && facts->in_order && next == count;
}

/* "random_lists": a number of lists of random length, the same ones every time. */
static void random_waves(struct vector *v)
{
    int64_t lists = in_int(v, "random_lists", 0), max_len = in_int(v, "max_len", 12);
    struct wave_facts facts = {true, true, true, true};
    unsigned seed = 1;
    for (int64_t i = 0; i < lists; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        size_t count = (size_t)rand_r(&seed) % (size_t)(max_len + 1), wave_count;
        struct wave_call *calls = random_calls(v, &seed, count);
        const struct wave *waves = waves_plan(&arena, calls, count, true, &wave_count);
        check_waves(&facts, waves, wave_count, calls, count);
    }
    got_bool(v, "concatenation_equals_input", facts.in_order);
    got_bool(v, "every_call_once", facts.once);
    got_bool(v, "non_read_waves_have_one_call", facts.others_alone);
    got_bool(v, "parallel_waves_have_disjoint_keys", facts.disjoint);
}

void area_schedule_waves(struct vector *v)
{
    const struct json *list = in_get(v, "calls");
    size_t count = list ? list->count : 0, wave_count;
    struct wave_call *calls = read_calls(v, in_get(v, "tools"), list);
    const struct wave *waves = waves_plan(&v->arena, calls, count, in_bool(v, "parallel_enabled", true), &wave_count);
    if (in_has(v, "random_lists")) {
        random_waves(v);
        return;
    }
    struct event event = {.type = EVENT_WAVES_PLANNED,
                          .waves_planned = {.waves = waves_to_event(&v->arena, waves, wave_count, calls)}};
    got_part(v, "waves", event_json(&event, "waves"));
}

/* ---- replay ---- */

void area_replay_key(struct vector *v)
{
    const char *tool = in_text(v, "tool", "");
    const struct json *first = in_has(v, "a") ? in_get(v, "a") : in_get(v, "arguments");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    char key[HASH_MD5_HEX], other[HASH_MD5_HEX];
    dedupe_key_text(&text, tool, first);
    dedupe_key(key, tool, first);
    got_text(v, "text", text.buf);
    got_text(v, "md5", key);
    if (in_has(v, "b")) {
        dedupe_key(other, tool, in_get(v, "b"));
        got_bool(v, "equal", strcmp(key, other) == 0);
    }
}

/* The outcomes in a history: Keyturn's names, those of refusals, and other names for them. */
static int outcome_of_word(const char *word)
{
    static const struct {
        const char *word;
        enum outcome_type type;
    } words[] = {
        {"success", OUTCOME_RESULT},
        {"error", OUTCOME_FAILURE},
        {"denial", OUTCOME_DENIED},
    };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return (int)words[i].type;
    for (int type = OUTCOME_RESULT; type <= OUTCOME_ARTIFACT; type++)
        if (strcmp(word, outcome_type_name((enum outcome_type)type)) == 0)
            return type;
    return denial_from_name(word) >= 0 ? OUTCOME_DENIED : -1;
}

/* A turn has a history of its own; an entry marked "(earlier turn)" goes into that of another turn. */
void area_replay_decide(struct vector *v)
{
    static const char arguments[] = "{\"x\": 1}", others[] = "{\"x\": 2}";
    static const char earlier[] = " (earlier turn)";
    struct dedupe now, before;
    char key[HASH_MD5_HEX], recorded[HASH_MD5_HEX];
    dedupe_init(&now);
    dedupe_init(&before);
    dedupe_key(key, "tool", vector_parse(v, arguments));
    dedupe_key(recorded, "tool", vector_parse(v, in_bool(v, "same_arguments", true) ? arguments : others));
    json_each (item, in_get(v, "history")) {
        const char *word = json_str(item, "");
        size_t len = strlen(word), tail = strlen(earlier);
        bool old = len > tail && strcmp(word + len - tail, earlier) == 0;
        int outcome = outcome_of_word(old ? arena_memdup0(&v->arena, word, len - tail) : word);
        if (outcome < 0)
            vector_fail(v, "expected an outcome the runner understands got input.history[] = %s", word);
        else
            dedupe_record(old ? &before : &now, recorded, (enum outcome_type)outcome);
    }
    /* Without a specification (null) a tool counts as idempotent. */
    bool skip = dedupe_should_skip(&now, key, in_is_null(v, "idempotent") || in_bool(v, "idempotent", true));
    got_bool(v, "skip", skip);
    got_text(v, "denied_reason", skip ? denial_name(DENIAL_DUPLICATE) : NULL);
    dedupe_release(&now);
    dedupe_release(&before);
}

/* ---- budget ---- */

struct claim_kind {
    const char *word, *limit;
    bool (*claim)(struct budget *budget);
};
static const struct claim_kind claim_kinds[] = {
    {"step", "max_steps", budget_claim_step},
    {"tool_call", "max_tool_calls", budget_claim_tool_call},
    {"tool call", "max_tool_calls", budget_claim_tool_call},
    {"tool", "max_tool_calls", budget_claim_tool_call},
    {"reflection", "max_reflections", budget_claim_reflection},
};

static const struct claim_kind *claim_by_word(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(claim_kinds); i++)
        if (strcmp(word, claim_kinds[i].word) == 0)
            return &claim_kinds[i];
    return NULL;
}

/* A case that only counts its claims is about the counter whose limit it gives. */
static const struct claim_kind *claim_by_limit(struct vector *v)
{
    const struct claim_kind *found = NULL;
    for (size_t i = 0; i < COUNT_OF(claim_kinds); i++) {
        if (!in_has(v, claim_kinds[i].limit))
            continue;
        if (found && found->claim != claim_kinds[i].claim)
            return NULL;
        found = &claim_kinds[i];
    }
    return found;
}

static void claim_in_order(struct vector *v, struct budget *budget, const struct json *claims)
{
    CLEANUP(strbuf) struct strbuf results = STRBUF_INIT;
    struct json_writer w = json_begin(&results);
    bool counted = claims->type == JSON_NUMBER;
    int64_t count = counted ? json_int(claims, 0) : claims->count;
    json_open(&w, NULL, '[');
    for (int64_t i = 0; i < count; i++) {
        const char *word = counted ? NULL : json_str(json_at(claims, (size_t)i), "");
        const struct claim_kind *kind = counted ? claim_by_limit(v) : claim_by_word(word);
        if (!kind) {
            vector_fail(v, "expected a claim the runner understands got input.claims: %s", counted ? "a number" : word);
            return;
        }
        json_add_bool(&w, NULL, kind->claim(budget));
    }
    json_close(&w, ']');
    got_json(v, "results", results.buf);
}

struct claimer {
    pthread_t thread;
    struct budget *budget;
    const struct claim_kind *kind;
    int64_t count, granted;
};

static void *claim_in_thread(void *data)
{
    struct claimer *claimer = data;
    for (int64_t i = 0; i < claimer->count; i++)
        claimer->granted += claimer->kind->claim(claimer->budget);
    return NULL;
}

static void claim_in_threads(struct vector *v, struct budget *budget)
{
    int64_t threads = in_int(v, "threads", 1), granted = 0;
    const struct claim_kind *kind = claim_by_limit(v);
    struct claimer *claimers = arena_calloc(&v->arena, (size_t)threads, sizeof(*claimers));
    if (!kind) {
        vector_fail(v, "expected one limit that the threads claim of got none or several");
        return;
    }
    for (int64_t i = 0; i < threads; i++) {
        claimers[i] = (struct claimer){.budget = budget, .kind = kind, .count = in_int(v, "claims_each", 1)};
        pthread_create(&claimers[i].thread, NULL, claim_in_thread, &claimers[i]);
    }
    for (int64_t i = 0; i < threads; i++) {
        pthread_join(claimers[i].thread, NULL);
        granted += claimers[i].granted;
    }
    got_int(v, "granted", granted);
}

/* One call through the bounded executor, under the budget of the case. */
struct execution {
    struct bounded_host host;
    struct call_states trace;
    struct loop_task cancel;
    struct bounded_call *call;
    struct outcome outcome;
    atomic_int started; /* executions of the tool */
    atomic_bool saw_cancel;
};

static void execution_done(struct bounded_host *host, void *data, struct outcome *take_outcome)
{
    struct execution *execution = (struct execution *)host;
    (void)data;
    execution->outcome = *take_outcome;
    memset(take_outcome, 0, sizeof(*take_outcome));
}

/* A cooperative tool: works until its token is canceled, at most one real second. */
static void cooperative_tool(struct tool_run *run, struct tool_reply *reply)
{
    struct execution *execution = run->tool->data;
    atomic_fetch_add(&execution->started, 1);
    for (int i = 0; i < 1000 && !tool_run_cancelled(run); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&execution->saw_cancel, tool_run_cancelled(run));
    tool_reply_output(reply, xstrdup("{}"));
}

static void cancel_call(struct loop_task *task)
{
    struct execution *execution = (struct execution *)((char *)task - offsetof(struct execution, cancel));
    if (atomic_load(&execution->started) == 0) /* a call that is canceled before its start never starts */
        loop_post(execution->host.env->loop, task, cancel_call);
    else
        bounded_cancel(execution->call);
}

static void execute(struct execution *execution, struct vector *v, const struct budget *budget, bool cancel)
{
    struct loop *loop = loop_new(budget->clock->under);
    struct tool_env env = {.loop = loop, .session = "vector"};
    struct tool tool = {
        .spec = {.name = "tool", .effect = EFFECT_READ_ONLY}, .work = cooperative_tool, .data = execution};
    call_states_init(&execution->trace);
    execution->host =
        (struct bounded_host){.env = &env, .trace = &execution->trace, .clock = budget->clock, .done = execution_done};
    execution->call = bounded_execute(&execution->host, &(struct bounded_request){.call = "c1",
                                                                                  .tool = &tool,
                                                                                  .arguments = vector_parse(v, "{}"),
                                                                                  .turn_due_us = budget->due_us,
                                                                                  .cap_s = budget->limits.tool_cap_s});
    if (cancel)
        loop_post(loop, &execution->cancel, cancel_call);
    loop_run(loop);
    loop_free(loop);
    call_states_release(&execution->trace);
}

static void got_execution(struct vector *v, const struct budget *budget)
{
    struct execution execution = {0};
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    execute(&execution, v, budget, false);
    json_open(&w, NULL, '{');
    json_add_str(&w, "outcome", vector_outcome_name(outcome_type_name(execution.outcome.type)));
    if (execution.outcome.type == OUTCOME_DENIED)
        json_add_str(&w, "reason", denial_name(execution.outcome.denied.reason));
    json_add_int(&w, "threads_started", atomic_load(&execution.started));
    json_close(&w, '}');
    outcome_release(&execution.outcome);
    got_part(v, "execute", text.buf);
}

static void got_cancel(struct vector *v, const struct budget *budget)
{
    struct execution execution = {0};
    struct deadline token;
    deadline_init(&token, budget->clock, budget->due_us, budget->limits.tool_cap_s);
    if (in_flag(v, "cancel"))
        deadline_cancel(&token);
    got_bool(v, "cancelled", deadline_cancelled(&token));
    if (wants(v, "seen_by_cooperative_tool")) {
        execute(&execution, v, budget, in_flag(v, "cancel"));
        outcome_release(&execution.outcome);
        got_bool(v, "seen_by_cooperative_tool", atomic_load(&execution.saw_cancel));
    }
}

/* remaining_s, expired, steps_used and similar members of the vectors. */
static void write_snapshot(struct strbuf *out, const struct budget *budget)
{
    static const struct {
        enum budget_key key;
        const char *used, *max;
    } counters[] = {
        {BUDGET_STEPS, "steps_used", "steps_max"},
        {BUDGET_TOOL_CALLS, "tool_calls_used", "tool_calls_max"},
        {BUDGET_REFLECTIONS, "reflections_used", "reflections_max"},
    };
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_num(&w, "remaining_s", budget_remaining_s(budget));
    json_add_bool(&w, "expired", budget_expired(budget));
    for (size_t i = 0; i < COUNT_OF(counters); i++) {
        json_add_num(&w, counters[i].used, budget_used(budget, counters[i].key));
        json_add_num(&w, counters[i].max, budget_limit(budget, counters[i].key));
    }
    json_close(&w, '}');
}

static void got_snapshot(struct vector *v, const struct budget *budget)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    write_snapshot(&text, budget);
    const struct json *snapshot = vector_parse(v, text.buf);
    json_each (key, wants(v, "keys")) {
        if (!json_get(snapshot, json_str(key, "")))
            vector_fail(v, "expected the snapshot to have %s got %s", json_str(key, "?"), text.buf);
    }
    got_part(v, "snapshot", text.buf);
    json_each (member, snapshot) {
        got_value(v, member->key, member);
    }
}

static const struct vector_field limit_fields[] = {
    FIELD("timeout_s", struct budget_limits, wall_s),
    FIELD("max_steps", struct budget_limits, steps),
    FIELD("max_tool_calls", struct budget_limits, tool_calls),
    FIELD("max_reflections", struct budget_limits, reflections),
    FIELD("max_context_tokens", struct budget_limits, context_tokens),
    FIELD("tool_timeout_cap_s", struct budget_limits, tool_cap_s),
};

void area_budget(struct vector *v)
{
    struct budget_limits limits = budget_defaults();
    struct fake_clock clock;
    struct hold_clock hold;
    struct budget budget;
    vector_fill(v, limit_fields, &limits);
    fake_clock_init(&clock);
    hold_clock_init(&hold, &clock.base);
    budget_open(&budget, &limits, &hold);
    fake_clock_advance(&clock, llround(in_num(v, "advance_s", 0) * 1e6));
    if (in_has(v, "claims"))
        claim_in_order(v, &budget, in_get(v, "claims"));
    if (in_has(v, "threads"))
        claim_in_threads(v, &budget);
    got_num(v, "timeout_s", budget_limit(&budget, BUDGET_WALL_MS) / 1000);
    got_num(v, "max_steps", budget_limit(&budget, BUDGET_STEPS));
    got_num(v, "max_tool_calls", budget_limit(&budget, BUDGET_TOOL_CALLS));
    got_num(v, "max_reflections", budget_limit(&budget, BUDGET_REFLECTIONS));
    got_num(v, "max_context_tokens", budget_limit(&budget, BUDGET_CONTEXT_TOKENS));
    got_num(v, "tool_timeout_cap_s", budget.limits.tool_cap_s);
    if (in_has(v, "cap_s")) { /* of a tool; the deadline counts from the start of the turn */
        double cap_s = in_num(v, "cap_s", 0);
        int64_t due_us = hold_clock_now(budget.clock) + llround(cap_s * 1e6);
        if (due_us > budget.due_us)
            due_us = budget.due_us;
        got_num(v, "tool_deadline_s", (double)(due_us - budget.start_us) / 1e6);
        got_num(v, "per_tool_s", budget_per_tool_s(&budget, cap_s));
    }
    got_bool(v, "is_expired", budget_expired(&budget));
    got_snapshot(v, &budget);
    got_cancel(v, &budget);
    if (wants(v, "execute"))
        got_execution(v, &budget);
}

/* A turn with this much time left, and the time that a tool gets. */
void area_budget_deadlines(struct vector *v)
{
    struct budget_limits limits = budget_defaults();
    double left_s = in_num(v, "remaining_s", limits.wall_s), cap_s = in_num(v, "cap_s", limits.tool_cap_s);
    struct fake_clock clock;
    struct hold_clock hold;
    struct budget budget;
    struct deadline token;
    limits.wall_s = (left_s > 0 ? left_s : 0) + 1;
    fake_clock_init(&clock);
    hold_clock_init(&hold, &clock.base);
    budget_open(&budget, &limits, &hold);
    fake_clock_advance(&clock, llround((limits.wall_s - left_s) * 1e6));
    deadline_init(&token, &hold, budget.due_us, cap_s);
    got_num(v, "remaining_s", budget_remaining_s(&budget));
    got_num(v, "per_tool_s", budget_per_tool_s(&budget, cap_s));
    got_num(v, "token_remaining_s", deadline_remaining_s(&token));
}
