#pragma once
/* A pool in virtual time, with fake boxes without processes. pool_world.c replaces box.c, so a program that links it
 * has no real boxes.
 *
 *     TEST_WITH(name, world_begin, world_end)
 *     world_open(2, 1, &world_local);
 *     world_ask(&caller);
 *     world_run_ms(100); */

#include "base/clock.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "sandbox/pool.h"
#include "scratch.h"

struct box {
    struct channel channel;
    struct box_listener listener;
    struct box *next;
    struct loop_timer timer;
    char *name, *workspace;
    bool busy, noisy;
    struct strbuf written;
};

extern struct pool_world {
    struct fake_clock clock;
    struct loop *loop;
    struct scratch scratch;
    char *folder;
    struct pool *pool;
    struct box *boxes; /* live boxes */
    size_t alive, started, freed;
    int64_t start_ms;       /* until a box is ready */
    const char *fails;      /* starts fail with this error */
    const char *complaints; /* complaints of a ready box */
    const char *cannot;     /* starts cannot even be tried, for this reason */
    int64_t tried_ms[32];   /* when */
    size_t changes;
    bool lazy, noisy;
    const char *tools; /* folder */
    const char *ready; /* what a ready box reports, as JSON; NULL: nothing */
} world;

struct caller {
    struct box *box;
    char *why;
    int calls;
    int64_t at_ms;
    struct pool_ticket *ticket;
};

extern struct sandbox_engine world_local, world_distant; /* with a workspace that we can see, and without */

int world_begin(void **state);
int world_end(void **state); /* checks that no box lives and no scratch folder is left */
void world_open(size_t size, size_t overflow, const struct sandbox_engine *engine);
int64_t world_now_ms(void);
void world_run_ms(int64_t ms);
void world_got(void *user, struct box *box, const char *why); /* for pool_take; the user is a struct caller */
void world_ask(struct caller *caller);
#define assert_pool(WHAT, number) assert_int_equal(pool_status(world.pool).WHAT, number)
