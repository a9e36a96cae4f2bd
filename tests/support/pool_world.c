/* Boxes without processes for tests of the pool; it replaces box.c. */

#include "pool_world.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct pool_world world;

/* ---- boxes ---- */

int64_t world_now_ms(void)
{
    return loop_now_us(world.loop) / 1000;
}

static void tell_ready(struct box *box)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *ready = world.ready ? json_parse(&arena, world.ready, strlen(world.ready), NULL) : NULL;
    box->listener.ready(box->listener.user, box, ready);
}

static void box_turns(struct loop_timer *timer)
{
    struct box *box = CONTAINER_OF(timer, struct box, timer);
    if (world.fails)
        box->listener.gone(box->listener.user, box, world.fails);
    else
        tell_ready(box);
}

static int fake_write(struct channel *channel, const char *bytes, size_t len)
{
    struct box *box = CONTAINER_OF(channel, struct box, channel);
    strbuf_add(&box->written, bytes, len);
    box->busy = true;
    return 0;
}

static const struct channel_ops ops = {.write = fake_write};

struct box *box_start(struct loop *loop, const struct box_options *spec, const char *name,
                      const struct box_listener *listener, struct err *err)
{
    if (world.started < COUNT_OF(world.tried_ms))
        world.tried_ms[world.started] = world_now_ms();
    world.started++;
    if (world.cannot) {
        err_set(err, "%s", world.cannot);
        return NULL;
    }
    struct box *box = xcalloc(1, sizeof(*box));
    box->channel.ops = &ops;
    box->listener = *listener;
    box->name = xstrdup(name);
    box->workspace = spec->workspace ? xstrdup(spec->workspace) : NULL;
    box->noisy = world.noisy;
    strbuf_init(&box->written);
    box->next = world.boxes;
    world.boxes = box;
    world.alive++;
    loop_timer_start(loop, &box->timer, loop_now_us(loop) + world.start_ms * 1000, box_turns);
    return box;
}

void box_free(struct box *box)
{
    struct box **at = &world.boxes;
    while (*at != box)
        at = &(*at)->next;
    *at = box->next;
    loop_timer_stop(world.loop, &box->timer);
    strbuf_release(&box->written);
    free(box->name);
    free(box->workspace);
    free(box);
    world.alive--;
    world.freed++;
}

struct channel *box_channel(struct box *box)
{
    return &box->channel;
}

const char *box_layers(const struct box *box)
{
    (void)box;
    return "{\"fake\":true}";
}

char *box_complaints_line(const struct box *box)
{
    (void)box;
    return world.complaints ? xstrdup(world.complaints) : NULL;
}

bool box_is_idle(const struct box *box)
{
    return !box->busy;
}

bool box_kept_still(struct box *box)
{
    bool still = !box->noisy;
    box->noisy = false;
    return still;
}

/* ---- callers ---- */

void world_got(void *user, struct box *box, const char *why)
{
    struct caller *caller = user;
    caller->calls++;
    caller->box = box;
    caller->why = why ? xstrdup(why) : NULL;
    caller->at_ms = world_now_ms();
}

void world_ask(struct caller *caller)
{
    *caller = (struct caller){0};
    caller->ticket = pool_take(world.pool, world_got, caller);
    assert_int_equal(caller->calls, 0);
}

static void on_changed(void *user)
{
    (void)user;
    world.changes++;
}

struct sandbox_engine world_local = {.name = "local", .argv = (char *[]){"x", "{workspace}", NULL}};
struct sandbox_engine world_distant = {.name = "distant", .argv = (char *[]){"x", NULL}, .remote = true};

void world_open(size_t size, size_t overflow, const struct sandbox_engine *engine)
{
    struct err err = ERR_INIT;
    struct box_options spec = {.engine = engine, .tools = world.tools};
    struct pool_options options = {.loop = world.loop,
                                   .spec = &spec,
                                   .size = size,
                                   .overflow = overflow,
                                   .folder = world.folder,
                                   .changed = on_changed};
    options.lazy = world.lazy;
    world.pool = pool_new(&options, &err);
    if (!world.pool)
        fail_msg("%s", err.text);
}

static void stop(struct loop_timer *timer)
{
    (void)timer;
    loop_stop(world.loop);
}

void world_run_ms(int64_t ms)
{
    struct loop_timer timer = {0};
    loop_timer_start(world.loop, &timer, loop_now_us(world.loop) + ms * 1000, stop);
    loop_run(world.loop);
}

int world_begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    fake_clock_init(&world.clock);
    world.loop = loop_new(&world.clock.base);
    scratch_init(&world.scratch);
    world.folder = scratch_path(&world.scratch, "scratch");
    world.start_ms = 100;
    return 0;
}

int world_end(void **state)
{
    (void)state;
    pool_free(world.pool);
    loop_free(world.loop);
    assert_int_equal(world.alive, 0);
    CLEANUP(free) char *left = scratch_list(&world.scratch, "scratch");
    assert_string_equal(left, "");
    scratch_release(&world.scratch);
    free(world.folder);
    return 0;
}
