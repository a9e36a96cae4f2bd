#pragma once
/* A pool in virtual time, with boxes that are no processes: pool_world.c stands in for box.c, so a program that links
 * it has no other.
 *
 *     cmocka_unit_test_setup_teardown(test, world_begin, world_end)
 *     world_open(2, 1, &world_local);
 *     world_ask(&caller);
 *     world_run_ms(100); */

#include "base/clock.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "sandbox/pool.h"
#include "support/scratch.h"

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
    struct box *boxes; /* that live */
    size_t alive, started, freed;
    int64_t start_ms;       /* until one is ready */
    const char *fails;      /* starts fail with this */
    const char *complaints; /* of a box that is ready */
    const char *cannot;     /* starts cannot even be tried */
    int64_t tried_ms[32];   /* when */
    size_t changes;
    bool lazy, noisy;
    const char *tools; /* folder */
    const char *ready; /* what a box says when it is, as JSON; NULL: nothing */
} world;

struct caller {
    struct box *box;
    char *why;
    int calls;
    int64_t at_ms;
    struct pool_ticket *ticket;
};

extern struct sandbox_engine world_local, world_distant; /* with a workspace that we see, and without */

int world_begin(void **state);
int world_end(void **state); /* no box lives, no room is left */
void world_open(size_t size, size_t overflow, const struct sandbox_engine *engine);
int64_t world_now_ms(void);
void world_run_ms(int64_t ms);
void world_got(void *user, struct box *box, const char *why); /* for pool_take; the user is a struct caller */
void world_ask(struct caller *caller);
#define assert_pool(WHAT, number) assert_int_equal(pool_status(world.pool).WHAT, number)
