/* Tests of the pool in virtual time: which boxes it keeps warm, which caller gets one, and what it reports. */

#include "base/mem.h"
#include "base/waiter.h"
#include "support/pool_world.h"
#include "support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_WITH(warm_before_the_first, world_begin, world_end)
{
    world_open(2, 0, &world_local);
    world_run_ms(50);
    assert_pool(starting, 2);
    world_run_ms(100);
    assert_pool(idle, 2);
    assert_pool(starting, 0);
    assert_true(world.changes > 0);
    assert_string_equal(pool_status(world.pool).engine, "local");
    assert_string_equal(pool_status(world.pool).layers, "{\"fake\":true}");
    assert_null(pool_status(world.pool).trouble);
    assert_null(pool_status(world.pool).complaints);
    struct caller caller;
    world_ask(&caller);
    world_run_ms(0);
    assert_non_null(caller.box); /* without waiting for anything */
    assert_pool(busy, 1);
    assert_pool(idle, 1);
    struct stat st;
    assert_int_equal(stat(caller.box->workspace, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

TEST_WITH(overflow_and_order, world_begin, world_end)
{
    struct caller callers[7];
    world_open(2, 1, &world_local);
    for (size_t i = 0; i < COUNT_OF(callers); i++)
        world_ask(&callers[i]);
    world_run_ms(1000);
    assert_pool(busy, 3);
    assert_pool(waiting, 4);
    assert_int_equal(world.started, 3);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(callers[i].box);
    pool_forget(world.pool, callers[4].ticket);
    pool_forget(world.pool, callers[6].ticket); /* the last in the line */
    world_ask(&callers[6]);
    pool_give(world.pool, callers[1].box, true);
    pool_give(world.pool, callers[0].box, true);
    world_run_ms(1000);
    assert_int_equal(callers[3].calls + callers[5].calls, 2);
    assert_int_equal(callers[4].calls + callers[6].calls, 0);
    assert_pool(waiting, 1);
    assert_int_equal(world.started, 3); /* the same boxes */
    pool_give(world.pool, callers[2].box, true);
    world_run_ms(1000);
    assert_int_equal(callers[6].calls, 1);
    pool_give(world.pool, callers[3].box, true);
    pool_give(world.pool, callers[5].box, true);
    pool_give(world.pool, callers[6].box, true);
    world_run_ms(1000);
    assert_pool(idle, 2); /* the boxes of the peak are gone */
    assert_pool(retired, 0);
    assert_pool(served, 6);
    assert_int_equal(world.alive, 2);
}

TEST_WITH(failed_starts_are_delayed, world_begin, world_end)
{
    struct caller first, second, third;
    world.fails = "no image";
    world_open(1, 1, &world_local);
    world_ask(&first);
    world_ask(&second);
    world_run_ms(500);
    assert_int_equal(first.calls, 1);
    assert_null(first.box);
    assert_string_equal(first.why, "no image");
    assert_string_equal(second.why, "no image");
    assert_string_equal(pool_status(world.pool).trouble, "no image");
    world_ask(&third);
    world_run_ms(0);
    assert_string_equal(third.why, "no image"); /* at once */
    free(first.why);
    free(second.why);
    free(third.why);
    size_t before = world.started;
    world_run_ms(200000);
    assert_true(world.started > before + 5);
    /* The pauses grow up to a limit. */
    int64_t last = world.tried_ms[world.started - 1] - world.tried_ms[world.started - 2];
    assert_in_range(last, 30000, 30200);
    for (size_t i = 3; i + 1 < world.started; i++)
        assert_true(world.tried_ms[i + 1] - world.tried_ms[i] >= world.tried_ms[i] - world.tried_ms[i - 1]);
    world.fails = NULL;
    world_run_ms(31000);
    assert_pool(idle, 1);
    assert_null(pool_status(world.pool).trouble);
    world_ask(&first);
    world_run_ms(100);
    assert_non_null(first.box);
}

TEST_WITH(nothing_kept_warm, world_begin, world_end)
{
    struct caller caller;
    world_open(0, 1, &world_local);
    world_run_ms(1000);
    assert_int_equal(world.started, 0);
    world.cannot = "needs a host";
    world_ask(&caller);
    world_run_ms(1000);
    assert_string_equal(caller.why, "needs a host");
    free(caller.why);
    world_run_ms(100000);
    assert_int_equal(world.started, 1); /* no caller waits: no start is tried */
    world.cannot = NULL;
    world_ask(&caller);
    world_run_ms(1000);
    assert_non_null(caller.box);
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_int_equal(world.alive, 0);
}

TEST_WITH(a_lazy_pool_starts_on_demand, world_begin, world_end)
{
    struct caller caller;
    world.lazy = true;
    scratch_write(&world.scratch, "scratch", "in the way");
    world_open(2, 0, &world_local);
    world_run_ms(1000);
    assert_int_equal(world.started, 0);
    world_ask(&caller);
    world_run_ms(100);
    assert_non_null(strstr(caller.why, "scratch")); /* the caller then learns that no scratch folder can be made */
    free(caller.why);
    scratch_remove(&world.scratch, "scratch");
    world_run_ms(1000);
    world_ask(&caller);
    world_run_ms(1000);
    assert_non_null(caller.box);
    assert_pool(idle, 1); /* and from then on it is warm */
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_pool(idle, 2);
}

/* A waiting caller gets a returned box, even while new boxes fail to start. */
TEST_WITH(trouble_beside_a_box, world_begin, world_end)
{
    struct caller first, second;
    world_open(1, 1, &world_local);
    world_ask(&first);
    world_run_ms(1000);
    world.fails = "no more";
    world_ask(&second);
    world_run_ms(5000);
    assert_int_equal(second.calls, 0);
    pool_give(world.pool, first.box, true);
    world_run_ms(1000);
    assert_non_null(second.box);
}

static void give_at_once(void *user, struct box *box, const char *why)
{
    world_got(user, box, why);
    pool_give(world.pool, box, true);
}

static void free_at_once(void *user, struct box *box, const char *why)
{
    world_got(user, box, why);
    pool_free(world.pool);
    world.pool = NULL;
}

TEST_WITH(callbacks_may_use_the_pool, world_begin, world_end)
{
    struct caller callers[3] = {{0}, {0}, {0}};
    world_open(1, 0, &world_local);
    pool_take(world.pool, give_at_once, &callers[0]);
    pool_take(world.pool, free_at_once, &callers[1]);
    pool_take(world.pool, world_got, &callers[2]);
    world_run_ms(10000);
    assert_int_equal(callers[0].calls + callers[1].calls, 2);
    assert_int_equal(callers[2].calls, 0);
    assert_int_equal(world.alive, 0);
}

TEST_WITH(freed_in_every_state, world_begin, world_end)
{
    struct caller callers[3];
    world_open(3, 0, &world_local);
    world_run_ms(1000);
    for (size_t i = 0; i < 3; i++)
        world_ask(&callers[i]);
    world_run_ms(1);
    callers[1].box->busy = true;
    pool_give(world.pool, callers[0].box, true); /* is being emptied */
    pool_give(world.pool, callers[1].box, true); /* the script continues */
    pool_free(world.pool);
    world.pool = NULL;
    world_open(2, 0, &world_local); /* starting; and the scratch of two pools are beside each other */
    world_run_ms(10);
    pool_free(world.pool);
    world.pool = NULL;
    pool_free(NULL);
}

static void on_watched(void *user)
{
    ++*(size_t *)user;
}

TEST_WITH(boxes_are_listed, world_begin, world_end)
{
    struct pool_box boxes[4];
    struct caller caller;
    size_t told = 0;
    world.start_ms = 5;
    world_open(2, 0, &world_local);
    pool_watch(world.pool, on_watched, &told);
    world_run_ms(1);
    assert_int_equal(pool_boxes(world.pool, boxes, COUNT_OF(boxes)), 2);
    assert_string_equal(boxes[0].state, "starting");
    assert_null(boxes[0].layers);
    world_run_ms(10);
    world_ask(&caller);
    world_run_ms(1);
    assert_int_equal(pool_boxes(world.pool, boxes, COUNT_OF(boxes)), 2);
    assert_int_equal(boxes[0].number, 1);
    assert_int_equal(boxes[1].number, 2);
    assert_true((strcmp(boxes[0].state, "busy") == 0) != (strcmp(boxes[1].state, "busy") == 0));
    assert_string_equal(boxes[0].layers, "{\"fake\":true}");
    assert_int_equal(pool_boxes(world.pool, boxes, 1), 1);
    assert_int_equal(boxes[0].number, 1);
    assert_true(told > 0);
    pool_watch(world.pool, NULL, NULL);
    told = 0;
    pool_give(world.pool, caller.box, true);
    world_run_ms(100);
    assert_int_equal(told, 0);
    assert_int_equal(pool_boxes(world.pool, boxes, COUNT_OF(boxes)), 2);
    assert_int_equal(boxes[0].uses + boxes[1].uses, 1);
}

static int told; /* how often */

static void note_known(struct waiter *waiter)
{
    (void)waiter;
    told++;
}

TEST_WITH(waiting_caller_gets_the_tools, world_begin, world_end)
{
    struct waiter first = {.wake = note_known}, second = {.wake = note_known}, third = {.wake = note_known};
    told = 0;
    world.lazy = true;
    world.tools = "/t";
    world.ready = "{\"tools\":[],\"effects\":{}}";
    world_open(1, 0, &world_local);
    pool_await_tools(world.pool, &first);
    pool_await_tools(world.pool, &second);
    pool_await_tools(world.pool, &third);
    assert_int_equal(told, 0);
    pool_stop_awaiting(world.pool, &second);
    world_run_ms(50);
    assert_int_equal(told, 0);
    world_run_ms(1000);
    assert_int_equal(told, 2);
    pool_stop_awaiting(world.pool, &third); /* too late, and fine */
    pool_await_tools(world.pool, &first);
    world_run_ms(0);
    assert_int_equal(told, 3);
}

TEST_WITH(waiting_caller_learns_that_no_box_starts, world_begin, world_end)
{
    struct waiter waiter = {.wake = note_known};
    told = 0;
    world.tools = "/t";
    world.fails = "no image";
    world_open(1, 0, &world_local);
    pool_await_tools(world.pool, &waiter);
    world_run_ms(1000);
    assert_int_equal(told, 1);
    assert_false(pool_tools(world.pool)->told);
    assert_true(pool_tools_known(world.pool));
}

/* The effects of the tools must be known before the first script: the pool starts a box only to ask for them. */
TEST_WITH(a_box_starts_to_list_the_tools, world_begin, world_end)
{
    world.lazy = true;
    world.tools = "/t";
    world.ready = "{\"tools\":[\"look\",\"old\"],\"effects\":{\"look\":\"READ_ONLY\"}}";
    world_open(2, 0, &world_local);
    assert_false(pool_tools(world.pool)->told);
    world_run_ms(50);
    assert_int_equal(world.started, 2); /* and they are kept from then on */
    assert_false(pool_tools(world.pool)->told);
    world_run_ms(1000);
    const struct toolset *tools = pool_tools(world.pool);
    assert_true(tools->told && tools->chosen);
    assert_int_equal(tools->count, 2);
    assert_string_equal(toolset_find(tools, "look")->effect, "READ_ONLY");
    assert_string_equal(toolset_find(tools, "old")->effect, "");
    assert_null(toolset_find(tools, "none"));
}

/* Without a folder there are no tools, so no box is started for them. If none can be started, it is tried once. */
TEST_WITH(no_box_starts_without_a_tools_folder, world_begin, world_end)
{
    world.lazy = true;
    world_open(2, 0, &world_local);
    world_run_ms(1000);
    assert_int_equal(world.started, 0);
    assert_true(pool_tools(world.pool)->told);
    pool_free(world.pool);
    world.tools = "/t";
    world.fails = "no";
    world_open(0, 1, &world_local);
    world_run_ms(60000);
    assert_int_equal(world.started, 1);
    assert_false(pool_tools(world.pool)->told);
}

/* A harness of an older version does not report effects. */
TEST_WITH(an_older_harness, world_begin, world_end)
{
    world.ready = "{\"tools\":[\"look\"]}";
    world_open(1, 0, &world_local);
    world_run_ms(200);
    assert_false(pool_tools(world.pool)->chosen);
    assert_int_equal(pool_tools(world.pool)->count, 1);
}
