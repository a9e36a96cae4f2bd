/* Tests of boxes that come back: wiped, or retired and replaced. */

#include "base/mem.h"
#include "support/pool_world.h"
#include "support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST_WITH(wiped_on_return, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 0, &world_local);
    world_ask(&caller);
    world_run_ms(1000);
    CLEANUP(free) char *folder = xstrdup(caller.box->workspace);
    CLEANUP(free)
    char *script =
        xasprintf("cd %s && mkdir -p a/b closed/in && echo 1 >a/b/f && ln -s %s link && ln -s /nowhere broken && "
                  "mkfifo pipe && seq 3000 | (cd a && xargs touch) && chmod 0 closed/in && chmod 0 closed . && echo x "
                  ">%s/precious",
                  folder, world.scratch.path, world.scratch.path);
    assert_int_equal(system(script), 0);
    struct stat before, after;
    assert_int_equal(stat(folder, &before), 0);
    struct box *box = caller.box;
    pool_give(world.pool, box, true);
    assert_pool(starting, 1);
    world_ask(&caller);
    world_run_ms(1000);
    assert_ptr_equal(caller.box, box);
    assert_int_equal(stat(folder, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* it is mounted somewhere: not another one in its place */
    assert_int_equal(after.st_mode & 0777, 0700);
    assert_int_equal(after.st_nlink, 2);
    assert_int_equal(rmdir(folder), 0); /* empty */
    assert_true(scratch_exists(&world.scratch, "precious"));
    /* A folder that is not there any more cannot be wiped. */
    pool_give(world.pool, box, true);
    world_run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(idle, 1);
}

TEST_WITH(a_box_that_cannot_be_reused_is_replaced, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 0, &world_local);
    world_ask(&caller);
    world_run_ms(1000);
    world.complaints = "no memory limit";
    pool_give(world.pool, caller.box, false);
    world_run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(idle, 1);
    assert_int_equal(world.started, 2);
    assert_string_equal(pool_status(world.pool).complaints, "no memory limit");
    for (int i = 1; i <= POOL_USES_MAX; i++) {
        world_ask(&caller);
        world_run_ms(1000);
        assert_int_equal(world.started, 2);
        pool_give(world.pool, caller.box, true);
    }
    world_run_ms(1000);
    assert_pool(retired, 2);
    assert_pool(idle, 1);
    assert_int_equal(world.started, 3);
    world_ask(&caller);
    world_run_ms(1000);
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    /* A box that sends output without a request. */
    world.boxes->noisy = true;
    world_ask(&caller);
    world_run_ms(1000);
    assert_int_equal(world.started, 4);
    assert_non_null(caller.box);
    caller.box->noisy = true;
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_int_equal(world.started, 5);
    assert_pool(retired, 4);
}

TEST_WITH(a_dead_box_is_replaced, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 0, &world_local);
    world_ask(&caller);
    world_run_ms(1000);
    caller.box->listener.gone(caller.box->listener.user, caller.box, "killed");
    world_run_ms(1000);
    assert_int_equal(world.alive, 1); /* its holder still has it */
    assert_pool(busy, 1);
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(failed, 0);
    assert_pool(idle, 1);
    world_ask(&caller);
    world_run_ms(1000);
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    world.boxes->listener.gone(world.boxes->listener.user, world.boxes, "killed"); /* while idle */
    world_run_ms(1000);
    assert_int_equal(world.started, 3);
    assert_pool(idle, 1);
    assert_pool(retired, 2);
    /* A box that never served a caller counts as a failed start and is not replaced at once. */
    world.boxes->listener.gone(world.boxes->listener.user, world.boxes, "killed");
    world_run_ms(100);
    assert_pool(failed, 1);
    assert_int_equal(world.started, 3);
    assert_string_equal(pool_status(world.pool).trouble, "killed");
    world_run_ms(1000);
    assert_int_equal(world.started, 4);
    assert_null(pool_status(world.pool).trouble);
}

/* Boxes that fail from the beginning are not restarted without a pause, and waiting callers get the reason. */
TEST_WITH(noisy_before_its_first_use, world_begin, world_end)
{
    struct caller first, second;
    world.noisy = true;
    world_open(1, 0, &world_local);
    world_run_ms(1000);
    assert_pool(idle, 1);
    world_ask(&first);
    world_run_ms(100);
    assert_int_equal(first.calls, 1);
    assert_string_equal(first.why, "local printed output before a request");
    free(first.why);
    assert_int_equal(world.started, 1);
    assert_pool(failed, 1);
    assert_pool(retired, 0);
    world_run_ms(1000);
    assert_int_equal(world.started, 2); /* after a pause */
    world_ask(&second);
    world_run_ms(100);
    assert_int_equal(second.calls, 1);
    free(second.why);
    world_run_ms(900);
    assert_int_equal(world.started, 2); /* a longer one */
    world.noisy = false;
    world_run_ms(1000);
    world_ask(&second);
    world_run_ms(100);
    assert_non_null(second.box);
}

/* The result has come, and the script keeps running. */
TEST_WITH(script_that_keeps_running, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 0, &world_local);
    world_ask(&caller);
    world_run_ms(1000);
    struct box *box = caller.box;
    box->busy = true;
    pool_give(world.pool, box, true);
    world_ask(&caller);
    world_run_ms(POOL_SETTLE_S * 1000 - 100);
    assert_int_equal(caller.calls, 0);
    box->busy = false;
    box->listener.idle(box->listener.user, box);
    world_run_ms(50);
    assert_ptr_equal(caller.box, box);
    box->busy = true;
    pool_give(world.pool, box, true);
    world_ask(&caller);
    world_run_ms(POOL_SETTLE_S * 1000 + 200);
    assert_int_equal(caller.calls, 1);
    assert_int_equal(world.started, 2);
    assert_pool(retired, 1);
}

/* … and the next caller gets another box, if one more is allowed. */
TEST_WITH(running_script_delays_no_caller, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 1, &world_local);
    world_ask(&caller);
    world_run_ms(1000);
    struct box *box = caller.box;
    box->busy = true;
    pool_give(world.pool, box, true);
    world_ask(&caller);
    world_run_ms(50);
    assert_int_equal(world.started, 1); /* it may end at once: most do */
    world_run_ms(250);
    assert_int_equal(world.started, 2);
    assert_non_null(caller.box);
    assert_ptr_not_equal(caller.box, box);
    box->busy = false;
    box->listener.idle(box->listener.user, box);
    world_run_ms(50);
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_int_equal(world.alive, 1); /* the boxes of the peak are gone */
    assert_pool(retired, 0);
    /* No caller waits: no box is started, even if this one takes long. */
    world_ask(&caller);
    world_run_ms(1000);
    caller.box->busy = true;
    pool_give(world.pool, caller.box, true);
    world_run_ms(1000);
    assert_int_equal(world.started, 2);
}

static void answer(struct box *box, const char *data)
{
    CLEANUP(free)
    char *line = xasprintf(
        "{\"type\":\"final_result\",\"execution_id\":\"wipe\",\"data\":%s}\n{\"type\":\"script_done\"}\n", data);
    box->busy = false;
    box->channel.received(&box->channel, line, strlen(line));
}

TEST_WITH(wiped_from_inside, world_begin, world_end)
{
    struct caller caller;
    world_open(1, 0, &world_distant);
    world_ask(&caller);
    world_run_ms(1000);
    struct box *box = caller.box;
    assert_null(box->workspace);
    pool_give(world.pool, box, true);
    world_run_ms(100);
    assert_non_null(strstr(box->written.buf, "os.unlink"));
    assert_pool(starting, 1);
    answer(box, "0");
    assert_pool(idle, 1);
    world_ask(&caller);
    world_run_ms(100);
    assert_ptr_equal(caller.box, box);
    pool_give(world.pool, box, true);
    answer(box, "3"); /* left over */
    world_run_ms(1000);
    assert_pool(retired, 1);
    world_ask(&caller);
    world_run_ms(1000);
    pool_give(world.pool, caller.box, true);
    world_run_ms(60000); /* no answer */
    assert_pool(retired, 2);
    assert_pool(idle, 1);
}
