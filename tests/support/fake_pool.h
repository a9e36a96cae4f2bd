#pragma once
/* A pool of one box that is none: a fake channel, handed out after a while or not at all, in the loop's time. It stands
 * in for pool.h and box.h by their own names, so a program that links it has no other.
 *
 *     struct fake_pool pool;
 *     fake_pool_init(&pool, loop);
 *     pool.harness.asked = answer;           how requests are answered (fake_channel.h)
 *     … fake_pool(&pool) …                   where a struct pool is wanted
 *     fake_pool_release(&pool); */

#include "sandbox/pool.h"
#include "support/fake_channel.h"

struct pool_ticket {
    void (*got)(void *user, struct box *box, const char *why);
    void *user;
    struct loop_timer timer;
    struct fake_pool *pool;
};

struct fake_pool {
    struct loop *loop;
    struct fake_channel harness;

    /* What it does. */
    int64_t ready_after_ms;     /* a caller waits so long */
    const char *trouble;        /* there is no box, for this reason */
    const char *const *secrets; /* declared names */
    struct toolset tools;
    bool tells;   /* what tools there are, with the first box, or to who waits for it so long */
    bool gave_up; /* a box could not be started, so nobody waits to hear of the tools */

    /* What happened. */
    int taken, forgotten;
    int given, spoilt; /* back, and of those not reusable */
    int closed;        /* of those closed by whoever had it */
    bool out;
    struct pool_ticket *ticket;
    struct waiter *curious;
    struct loop_timer telling;
};

void fake_pool_init(struct fake_pool *pool, struct loop *loop);
void fake_pool_release(struct fake_pool *pool); /* BUG when the box is out or somebody waits */
static inline struct pool *fake_pool(struct fake_pool *pool)
{
    return (struct pool *)(void *)pool;
}
