/* Tests of the wave scheduler: each rule with the smallest list that shows it, then random lists against all rules. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/test.h"
#include "turn/waves.h"

static const char *const key_a[] = {"a", NULL}, *const key_b[] = {"b", NULL}, *const key_ab[] = {"a", "b", NULL},
                         *const key_twice[] = {"d", "d", NULL}, *const key_file[] = {"file:{path}", NULL},
                         *const no_keys[] = {NULL};

static const struct tool_spec tools[] = {
    {.name = "r_a", .effect = EFFECT_READ_ONLY, .resource_keys = key_a},
    {.name = "r_b", .effect = EFFECT_READ_ONLY, .resource_keys = key_b},
    {.name = "r_ab", .effect = EFFECT_READ_ONLY, .resource_keys = key_ab},
    {.name = "r_twice", .effect = EFFECT_READ_ONLY, .resource_keys = key_twice},
    {.name = "r_x", .effect = EFFECT_READ_ONLY},
    {.name = "r_y", .effect = EFFECT_READ_ONLY, .resource_keys = no_keys},
    {.name = "r_file", .effect = EFFECT_READ_ONLY, .resource_keys = key_file},
    {.name = "w", .effect = EFFECT_LOCAL_WRITE, .resource_keys = key_a},
    {.name = "n", .effect = EFFECT_NETWORK, .resource_keys = key_b},
    {.name = "d", .effect = EFFECT_DESTRUCTIVE, .resource_keys = key_a},
    {.name = "u", .effect = EFFECT_UNKNOWN},
};

static const struct tool_spec *tool(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* Plans "r_a r_b w" (calls c1, c2, c3; "r_file:x" gives a path) and shows it as "c1+c2 c3". */
static void show(struct strbuf *out, struct strbuf *why, const char *list, bool parallel)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct wave_call calls[32];
    size_t count = 0, wave_count;
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " "), name = strcspn(at, " :");
        struct wave_call *call = &calls[count++];
        *call = (struct wave_call){.id = arena_printf(&arena, "c%zu", count), .tool = arena_memdup0(&arena, at, name)};
        call->spec = tool(call->tool);
        if (name < len) {
            const char *json = arena_printf(&arena, "{\"path\":\"%.*s\"}", (int)(len - name - 1), at + name + 1);
            call->arguments = json_parse(&arena, json, strlen(json), NULL);
        }
        at += len;
    }
    const struct wave *waves = waves_plan(&arena, calls, count, parallel, &wave_count);
    for (size_t i = 0; i < wave_count; i++) {
        assert_int_equal(waves[i].parallel, waves[i].count > 1);
        strbuf_addf(why, "%s%s", i ? " | " : "", waves[i].why);
        for (size_t k = 0; k < waves[i].count; k++)
            strbuf_addf(out, "%s%s", k ? "+" : i ? " " : "", calls[waves[i].first + k].id);
    }
}

static void assert_waves(const char *list, bool parallel, const char *waves, const char *why)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf reasons = STRBUF_INIT;
    show(&out, &reasons, list, parallel);
    assert_string_equal(out.buf, waves);
    if (why)
        assert_string_equal(reasons.buf, why);
}

/* Scripts that only read have separate sandboxes, so several run at once; of a long key the beginning is shown. */
TEST(scripts_share_nothing_but_themselves)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct tool_spec spec = tool_run_script.spec;
    struct wave_call calls[3];
    size_t wave_count;
    spec.effect = EFFECT_READ_ONLY;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const char *json = arena_printf(&arena, "{\"script\":\"%s%0100d\\ny\"}", i == 1 ? "z" : "ü", 0);
        calls[i] = (struct wave_call){.id = arena_printf(&arena, "c%zu", i + 1), .tool = spec.name, .spec = &spec};
        calls[i].arguments = json_parse(&arena, json, strlen(json), NULL);
    }
    const struct wave *waves = waves_plan(&arena, calls, COUNT_OF(calls), true, &wave_count);
    assert_int_equal(wave_count, 2);
    assert_int_equal(waves[0].count, 2);
    assert_string_equal(waves[0].why, arena_printf(&arena, "c3 shares script:ü%072d… with c1", 0));
}

TEST(reads_gather_while_their_keys_differ)
{
    assert_waves("", true, "", "");
    assert_waves("r_a", true, "c1", "last call");
    assert_waves("r_a r_b", true, "c1+c2", "last call");
    assert_waves("r_a r_b r_x r_y", true, "c1+c2+c3+c4", NULL);
    assert_waves("r_a r_a", true, "c1 c2", "c2 shares a with c1 | runs alone: shares a with c1");
}

TEST(everything_else_runs_alone)
{
    assert_waves("w w", true, "c1 c2", "runs alone (LOCAL_WRITE) | runs alone (LOCAL_WRITE)");
    assert_waves("n n", true, "c1 c2", NULL);
    assert_waves("r_a r_b w r_a r_b", true, "c1+c2 c3 c4+c5",
                 "c3 is not a read (LOCAL_WRITE) | runs alone (LOCAL_WRITE) | last call");
    assert_waves("w r_a r_b n r_x d", true, "c1 c2+c3 c4 c5 c6", NULL);
    assert_waves("r_a w n d", true, "c1 c2 c3 c4", NULL);
}

TEST(an_overlapping_read_has_its_own_wave)
{
    assert_waves("r_a r_ab", true, "c1 c2", NULL);
    assert_waves("r_x r_a r_a r_b r_y", true, "c1+c2 c3 c4+c5", NULL);
    /* c3 is alone, so c4 does not overlap anything although it has the same key. */
    assert_waves("r_a r_b r_a r_a r_b", true, "c1+c2 c3 c4+c5", NULL);
}

TEST(a_tool_without_a_class_runs_alone)
{
    assert_waves("r_a u r_b", true, "c1 c2 c3", "c2 is not a read (UNKNOWN) | runs alone: effect unknown | last call");
    assert_waves("r_a nobody_knows_it r_b", true, "c1 c2 c3", NULL);
}

TEST(keys_take_arguments)
{
    assert_waves("r_file:a.c r_file:b.c", true, "c1+c2", NULL);
    assert_waves("r_file:a.c r_file:b.c r_file:a.c", true, "c1+c2 c3",
                 "c3 shares file:a.c with c1 | runs alone: shares file:a.c with c1");
    /* Without its argument the key is "file:" for both. */
    assert_waves("r_file r_file", true, "c1 c2", NULL);
}

TEST(parallel_off_is_one_wave_per_call)
{
    assert_waves("r_a r_b r_x", false, "c1 c2 c3", "parallel is off | parallel is off | parallel is off");
}

TEST(the_tool_name_is_the_default_key)
{
    assert_waves("r_x r_y", true, "c1+c2", NULL);
    assert_waves("r_x r_x", true, "c1 c2", "c2 shares r_x with c1 | runs alone: shares r_x with c1");
    assert_waves("r_y r_y", true, "c1 c2", NULL); /* an empty list is no list */
}

TEST(a_call_does_not_exclude_itself)
{
    assert_waves("r_twice r_a", true, "c1+c2", NULL);
}

static void assert_key(const char *key, const char *arguments, const char *expected)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    waves_expand_key(&out, key, arguments ? json_parse(&arena, arguments, strlen(arguments), NULL) : NULL);
    assert_string_equal(out.buf, expected);
}

TEST(keys_are_filled_in)
{
    assert_key("file:{path}", "{\"path\":\"src/a.c\"}", "file:src/a.c");
    assert_key("{a}-{b}-{a}", "{\"a\":1,\"b\":true}", "1-true-1");
    assert_key("x{list}", "{\"list\":[1,{\"b\":2,\"a\":1}]}", "x[1,{\"a\":1,\"b\":2}]");
    assert_key("file:{path}", "{\"pat\":\"no\",\"paths\":\"no\"}", "file:");
    assert_key("file:{path}", "{\"path\":null}", "file:");
    assert_key("file:{path}", "[1]", "file:");
    assert_key("file:{path}", NULL, "file:");
    assert_key("open{brace", "{}", "open{brace");
    assert_key("plain", NULL, "plain");
    assert_key("{p}", "{\"p\":\"{p}\"}", "{p}"); /* what was filled in is not filled in again */
}

TEST(waves_are_written_for_the_event)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct wave_call calls[] = {
        {"c1", tool("r_a"), "r_a", NULL}, {"c\"2", tool("r_b"), "r_b", NULL}, {"c3", tool("w"), "w", NULL}};
    size_t count;
    const struct wave *waves = waves_plan(&arena, calls, 3, true, &count);
    struct event event = {.type = EVENT_WAVES_PLANNED,
                          .waves_planned = {.waves = waves_to_event(&arena, waves, count, calls)}};
    assert_string_equal(event_json(&event, "waves"),
                        "[{\"index\":1,\"mode\":\"parallel\",\"calls\":[\"c1\",\"c\\\"2\"],"
                        "\"why\":\"c3 is not a read (LOCAL_WRITE)\",\"effect\":\"READ_ONLY\"},"
                        "{\"index\":2,\"mode\":\"sequential\",\"calls\":[\"c3\"],"
                        "\"why\":\"runs alone (LOCAL_WRITE)\",\"effect\":\"LOCAL_WRITE\"}]");
}

TEST(effects_of_recorded_waves)
{
    static const struct {
        const char *effect, *why;
        bool told;
        enum effect want;
    } cases[] = {
        {"NETWORK", "anything", true, EFFECT_NETWORK},
        {"READ_ONLY", "parallel is off", true, EFFECT_READ_ONLY},
        {NULL, "runs alone (LOCAL_WRITE)", true, EFFECT_LOCAL_WRITE}, /* files without the field */
        {NULL, "runs alone: effect unknown", true, EFFECT_UNKNOWN},
        {NULL, "last call", true, EFFECT_READ_ONLY},
        {NULL, "parallel is off", false, EFFECT_READ_ONLY},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        enum effect effect;
        struct event_plan_wave wave = {.effect = cases[i].effect, .why = cases[i].why};
        assert_int_equal(waves_effect(&wave, &effect), cases[i].told);
        assert_int_equal(effect, cases[i].want);
    }
}

static uint32_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static bool share_a_key(const struct wave_call *one, const struct wave_call *two)
{
    const char *const fallback_one[] = {one->tool, NULL}, *const fallback_two[] = {two->tool, NULL};
    const char *const *a = one->spec->resource_keys, *const *b = two->spec->resource_keys;
    for (const char *const *x = a && *a ? a : fallback_one; *x; x++)
        for (const char *const *y = b && *b ? b : fallback_two; *y; y++)
            if (strcmp(*x, *y) == 0)
                return true;
    return false;
}

static void check_plan(const struct wave_call *calls, size_t count, const struct wave *waves, size_t wave_count)
{
    size_t next = 0;
    for (size_t i = 0; i < wave_count; i++) {
        assert_int_equal(waves[i].first, next); /* in order, every call once */
        assert_true(waves[i].count > 0);
        next += waves[i].count;
        assert_true(waves[i].why && *waves[i].why);
        for (size_t k = waves[i].first; k < next; k++) {
            if (waves[i].count > 1)
                assert_int_equal(calls[k].spec->effect, EFFECT_READ_ONLY);
            for (size_t m = waves[i].first; m < k; m++)
                assert_false(share_a_key(&calls[k], &calls[m]));
        }
    }
    assert_int_equal(next, count);
}

TEST(random_lists_keep_every_rule)
{
    for (random_state = 1; random_state < 2000; random_state++) {
        uint32_t seed = random_state;
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct wave_call calls[24];
        size_t count = random_below(COUNT_OF(calls)), wave_count;
        for (size_t i = 0; i < count; i++) {
            /* Mostly reads, else every wave is a single call. */
            const struct tool_spec *spec = &tools[random_below(random_below(4) ? 6 : COUNT_OF(tools))];
            calls[i] = (struct wave_call){arena_printf(&arena, "c%zu", i), spec, spec->name, NULL};
        }
        const struct wave *waves = waves_plan(&arena, calls, count, random_below(8) != 0, &wave_count);
        check_plan(calls, count, waves, wave_count);
        random_state = seed;
    }
}

/* Large answers: one wave of everything, and thousands of small ones. Their cost is measured by the benchmark. */
TEST(large_lists_are_planned)
{
    static const char *const keys[] = {"a:{n}", "b:{n}", "c:{n}", "d:{n}", NULL};
    static const struct tool_spec read = {.name = "r", .effect = EFFECT_READ_ONLY, .resource_keys = keys};
    const size_t count = 20000, repeat = 3;
    for (int small = 0; small <= 1; small++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct wave_call *calls = arena_calloc(&arena, count, sizeof(*calls));
        size_t waves;
        for (size_t i = 0; i < count; i++) {
            const char *json = arena_printf(&arena, "{\"n\":%zu}", small ? i % repeat : i);
            calls[i] = (struct wave_call){arena_printf(&arena, "c%zu", i), &read, "r",
                                          json_parse(&arena, json, strlen(json), NULL)};
        }
        waves_plan(&arena, calls, count, true, &waves);
        assert_int_equal(waves, small ? 2 * (count / (repeat + 1)) : 1); /* three side by side, the fourth alone */
    }
}
