/* A pool of one box without a process; it replaces pool.c and box.c. */

#include "fake_pool.h"
#include "base/mem.h"
#include "base/waiter.h"

static struct fake_pool *fake_of(struct pool *pool)
{
    return (struct fake_pool *)(void *)pool;
}

void fake_pool_init(struct fake_pool *pool, struct loop *loop)
{
    *pool = (struct fake_pool){.loop = loop, .tools = {.told = true, .chosen = true}};
    fake_channel_init(&pool->config, loop);
    pool->config.base.ordered = true;
}

void fake_pool_release(struct fake_pool *pool)
{
    if (pool->out || pool->ticket || pool->curious)
        BUG("the box is still in use");
    fake_channel_release(&pool->config);
}

static void hand_out(struct loop_timer *timer)
{
    struct pool_ticket own = *CONTAINER_OF(timer, struct pool_ticket, timer);
    struct fake_pool *pool = own.pool;
    free(steal(&pool->ticket));
    pool->out = !pool->trouble;
    pool->taken += pool->out;
    pool->tools.told |= pool->out && pool->tells;
    own.got(own.user, pool->out ? (struct box *)(void *)&pool->config : NULL, pool->trouble);
}

struct pool_ticket *pool_take(struct pool *pool, void (*got)(void *user, struct box *box, const char *why), void *user)
{
    struct fake_pool *fake = fake_of(pool);
    if (fake->out || fake->ticket)
        BUG("there is one box, and it is in use");
    fake->ticket = xcalloc(1, sizeof(*fake->ticket));
    fake->ticket->got = got;
    fake->ticket->user = user;
    fake->ticket->pool = fake;
    loop_timer_start(fake->loop, &fake->ticket->timer, loop_now_us(fake->loop) + fake->ready_after_ms * 1000, hand_out);
    return fake->ticket;
}

void pool_forget(struct pool *pool, struct pool_ticket *ticket)
{
    struct fake_pool *fake = fake_of(pool);
    if (ticket != fake->ticket)
        BUG("no caller waits with this ticket");
    loop_timer_stop(fake->loop, &ticket->timer);
    fake->forgotten++;
    free(steal(&fake->ticket));
}

/* Replaces a failed box with one that behaves like it. */
void pool_give(struct pool *pool, struct box *box, bool reusable)
{
    struct fake_pool *fake = fake_of(pool);
    struct fake_channel *config = &fake->config;
    if (!fake->out || (void *)box != (void *)config)
        BUG("a box is returned that was not taken");
    if (config->base.received || config->base.ended)
        BUG("a sandbox is given back while a listener is set");
    fake->out = false;
    fake->given++;
    fake->broken += !reusable;
    fake->closed += config->closed;
    if (reusable && !config->closed)
        return;
    struct fake_channel old = *config;
    fake_channel_release(config);
    fake_channel_init(config, fake->loop);
    config->base.ordered = old.base.ordered;
    config->asked = old.asked;
    config->data = old.data;
    config->requests = old.requests;
}

bool pool_tools_known(const struct pool *pool)
{
    const struct fake_pool *fake = (const struct fake_pool *)(const void *)pool;
    return fake->tools.told || fake->gave_up;
}

static void tell_tools(struct loop_timer *timer)
{
    struct fake_pool *fake = CONTAINER_OF(timer, struct fake_pool, telling);
    fake->tools.told = fake->tells;
    fake->gave_up = !fake->tells;
    struct waiter *waiter = steal(&fake->curious);
    waiter->wake(waiter);
}

void pool_await_tools(struct pool *pool, struct waiter *waiter)
{
    struct fake_pool *fake = fake_of(pool);
    if (fake->curious)
        BUG("one turn waits at a time");
    fake->curious = waiter;
    loop_timer_start(fake->loop, &fake->telling, loop_now_us(fake->loop) + fake->ready_after_ms * 1000, tell_tools);
}

void pool_stop_awaiting(struct pool *pool, struct waiter *waiter)
{
    struct fake_pool *fake = fake_of(pool);
    if (fake->curious != waiter)
        return;
    fake->curious = NULL;
    loop_timer_stop(fake->loop, &fake->telling);
}

const struct toolset *pool_tools(const struct pool *pool)
{
    return &((const struct fake_pool *)(const void *)pool)->tools;
}

const char *const *pool_secrets(const struct pool *pool)
{
    return ((const struct fake_pool *)(const void *)pool)->secrets;
}

struct channel *box_channel(struct box *box)
{
    return &((struct fake_channel *)(void *)box)->base;
}
