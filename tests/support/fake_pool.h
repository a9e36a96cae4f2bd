#pragma once
/* A fake pool of one fake box: a fake channel, given out after a delay or not at all, in the loop's time. It defines
 * the functions of pool.h and box.h, so a program that links it has no other pool.
 *
 *     struct fake_pool pool;
 *     fake_pool_init(&pool, loop);
 *     pool.harness.asked = answer;           how requests are answered (fake_channel.h)
 *     … fake_pool(&pool) …                   where a struct pool is wanted
 *     fake_pool_release(&pool); */

#include "fake_channel.h"
#include "sandbox/pool.h"

struct pool_ticket {
    void (*got)(void *user, struct box *box, const char *why);
    void *user;
    struct loop_timer timer;
    struct fake_pool *pool;
};

struct fake_pool {
    struct loop *loop;
    struct fake_channel config;

    /* What the fake does. */
    int64_t ready_after_ms;     /* how long a caller waits */
    const char *trouble;        /* why there is no box; NULL: there is one */
    const char *const *secrets; /* declared names */
    struct toolset tools;
    bool tells;   /* reports the tools with the first box, or to a caller that waits that long */
    bool gave_up; /* a box could not be started, so no caller waits for the tools */

    /* What happened. */
    int taken, forgotten;
    int given, broken; /* given back; not reusable ones among them */
    int closed;        /* closed by their holders among them */
    bool out;
    struct pool_ticket *ticket;
    struct waiter *curious;
    struct loop_timer telling;
};

void fake_pool_init(struct fake_pool *pool, struct loop *loop);
void fake_pool_release(struct fake_pool *pool); /* BUG if the box is in use or a caller waits */
static inline struct pool *fake_pool(struct fake_pool *pool)
{
    return (struct pool *)(void *)pool;
}
