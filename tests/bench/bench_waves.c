/* Measures scheduling, which is linear: twice the calls cost about twice the time. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "bench.h"
#include "turn/waves.h"
#include <stdio.h>

#define CALLS 20000

static const char *const keys[] = {"file:{a}", "file:{b}", "dir:{c}", "name:{d}", NULL};
static const struct tool_spec spec = {.name = "read", .effect = EFFECT_READ_ONLY, .resource_keys = keys};
static struct wave_call calls[CALLS];

static void plan(size_t count)
{
    struct arena arena = ARENA_INIT;
    size_t waves;
    if (!waves_plan(&arena, calls, count, true, &waves))
        abort();
    arena_release(&arena);
}

static void plan_all(void *none)
{
    (void)none;
    plan(CALLS);
}

static void plan_half(void *none)
{
    (void)none;
    plan(CALLS / 2);
}

int main(void)
{
    struct arena arena = ARENA_INIT;
    for (int i = 0; i < CALLS; i++) {
        /* Every hundredth call uses an earlier key, so that a wave ends there. */
        const char *text = arena_printf(&arena, "{\"a\":\"a%d\",\"b\":\"b%d\",\"c\":\"c%d\",\"d\":\"d%d\"}",
                                        i - (i % 100 == 99), i, i, i);
        calls[i] = (struct wave_call){.id = arena_printf(&arena, "c%d", i),
                                      .spec = &spec,
                                      .tool = "read",
                                      .arguments = json_parse(&arena, text, strlen(text), NULL)};
    }
    struct bench_pair pair = bench_compare(15, plan_all, plan_half, NULL);
    bench_report("schedule", pair.value_s * 1e3, "ms", pair.floor_s * 1e3, 2.2);
    arena_release(&arena);
    return bench_status();
}
