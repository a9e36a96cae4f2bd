/* The pool in virtual time, with boxes that are no processes: this file stands in for box.c. */

#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/pool.h"
#include "support/scratch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- boxes ---- */

struct box {
    struct channel channel;
    struct box_listener listener;
    struct box *next;
    struct loop_timer timer;
    char *name, *workspace;
    bool busy, noisy;
    struct strbuf written;
};

static struct {
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
} world;

static int64_t now_ms(void)
{
    return loop_now_us(world.loop) / 1000;
}

static void box_turns(struct loop_timer *timer)
{
    struct box *box = CONTAINER_OF(timer, struct box, timer);
    if (world.fails)
        box->listener.gone(box->listener.user, box, world.fails);
    else
        box->listener.ready(box->listener.user, box, NULL);
}

static int fake_write(struct channel *channel, const char *bytes, size_t len)
{
    struct box *box = CONTAINER_OF(channel, struct box, channel);
    strbuf_add(&box->written, bytes, len);
    box->busy = true;
    return 0;
}

static const struct channel_ops ops = {.write = fake_write};

struct box *box_start(struct loop *loop, const struct box_spec *spec, const char *name,
                      const struct box_listener *listener, struct err *err)
{
    if (world.started < COUNT_OF(world.tried_ms))
        world.tried_ms[world.started] = now_ms();
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

struct caller {
    struct box *box;
    char *why;
    int calls;
    int64_t at_ms;
    struct pool_ticket *ticket;
};

static void got(void *user, struct box *box, const char *why)
{
    struct caller *caller = user;
    caller->calls++;
    caller->box = box;
    caller->why = why ? xstrdup(why) : NULL;
    caller->at_ms = now_ms();
}

static struct caller take(void)
{
    return (struct caller){0};
}

static void ask(struct caller *caller)
{
    *caller = take();
    caller->ticket = pool_take(world.pool, got, caller);
    assert_int_equal(caller->calls, 0);
}

static void on_changed(void *user)
{
    (void)user;
    world.changes++;
}

static struct sandbox_engine local = {.name = "local", .argv = (char *[]){"x", "{workspace}", NULL}};
static struct sandbox_engine distant = {.name = "distant", .argv = (char *[]){"x", NULL}, .remote = true};

static void open_pool(size_t size, size_t overflow, const struct sandbox_engine *engine)
{
    struct err err = ERR_INIT;
    struct box_spec spec = {.engine = engine};
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

static void run_ms(int64_t ms)
{
    struct loop_timer timer = {0};
    loop_timer_start(world.loop, &timer, loop_now_us(world.loop) + ms * 1000, stop);
    loop_run(world.loop);
}

#define assert_pool(WHAT, number) assert_int_equal(pool_status(world.pool).WHAT, number)

static int begin(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    fake_clock_init(&world.clock);
    world.loop = loop_new(&world.clock.base);
    scratch_init(&world.scratch);
    world.folder = scratch_path(&world.scratch, "rooms");
    world.start_ms = 100;
    return 0;
}

static int end(void **state)
{
    (void)state;
    pool_free(world.pool);
    loop_free(world.loop);
    assert_int_equal(world.alive, 0);
    CLEANUP(free) char *left = scratch_list(&world.scratch, "rooms");
    assert_string_equal(left, "");
    scratch_release(&world.scratch);
    free(world.folder);
    return 0;
}

/* ---- tests ---- */

static void test_warm_before_the_first(void **state)
{
    (void)state;
    open_pool(2, 0, &local);
    run_ms(50);
    assert_pool(starting, 2);
    run_ms(100);
    assert_pool(idle, 2);
    assert_pool(starting, 0);
    assert_true(world.changes > 0);
    assert_string_equal(pool_status(world.pool).engine, "local");
    assert_string_equal(pool_status(world.pool).layers, "{\"fake\":true}");
    assert_null(pool_status(world.pool).trouble);
    assert_null(pool_status(world.pool).complaints);
    struct caller caller;
    ask(&caller);
    run_ms(0);
    assert_non_null(caller.box); /* without waiting for anything */
    assert_pool(busy, 1);
    assert_pool(idle, 1);
    struct stat st;
    assert_int_equal(stat(caller.box->workspace, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void test_overflow_and_order(void **state)
{
    (void)state;
    struct caller callers[7];
    open_pool(2, 1, &local);
    for (size_t i = 0; i < COUNT_OF(callers); i++)
        ask(&callers[i]);
    run_ms(1000);
    assert_pool(busy, 3);
    assert_pool(waiting, 4);
    assert_int_equal(world.started, 3);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(callers[i].box);
    pool_forget(world.pool, callers[4].ticket);
    pool_forget(world.pool, callers[6].ticket); /* the last in the line */
    ask(&callers[6]);
    pool_give(world.pool, callers[1].box, true);
    pool_give(world.pool, callers[0].box, true);
    run_ms(1000);
    assert_int_equal(callers[3].calls + callers[5].calls, 2);
    assert_int_equal(callers[4].calls + callers[6].calls, 0);
    assert_pool(waiting, 1);
    assert_int_equal(world.started, 3); /* the same boxes */
    pool_give(world.pool, callers[2].box, true);
    run_ms(1000);
    assert_int_equal(callers[6].calls, 1);
    pool_give(world.pool, callers[3].box, true);
    pool_give(world.pool, callers[5].box, true);
    pool_give(world.pool, callers[6].box, true);
    run_ms(1000);
    assert_pool(idle, 2); /* what was made for the rush is gone */
    assert_pool(retired, 0);
    assert_pool(served, 6);
    assert_int_equal(world.alive, 2);
}

static void test_wiped_on_return(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 0, &local);
    ask(&caller);
    run_ms(1000);
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
    ask(&caller);
    run_ms(1000);
    assert_ptr_equal(caller.box, box);
    assert_int_equal(stat(folder, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* it is mounted somewhere: not another one in its place */
    assert_int_equal(after.st_mode & 0777, 0700);
    assert_int_equal(after.st_nlink, 2);
    assert_int_equal(rmdir(folder), 0); /* empty */
    assert_true(scratch_exists(&world.scratch, "precious"));
    /* A folder that is not there any more cannot be wiped. */
    pool_give(world.pool, box, true);
    run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(idle, 1);
}

static void test_replaced(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 0, &local);
    ask(&caller);
    run_ms(1000);
    world.complaints = "no memory limit";
    pool_give(world.pool, caller.box, false);
    run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(idle, 1);
    assert_int_equal(world.started, 2);
    assert_string_equal(pool_status(world.pool).complaints, "no memory limit");
    for (int i = 1; i <= POOL_USES_MAX; i++) {
        ask(&caller);
        run_ms(1000);
        assert_int_equal(world.started, 2);
        pool_give(world.pool, caller.box, true);
    }
    run_ms(1000);
    assert_pool(retired, 2);
    assert_pool(idle, 1);
    assert_int_equal(world.started, 3);
    ask(&caller);
    run_ms(1000);
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    /* One that says something while nobody asked. */
    world.boxes->noisy = true;
    ask(&caller);
    run_ms(1000);
    assert_int_equal(world.started, 4);
    assert_non_null(caller.box);
    caller.box->noisy = true;
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    assert_int_equal(world.started, 5);
    assert_pool(retired, 4);
}

static void test_death(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 0, &local);
    ask(&caller);
    run_ms(1000);
    caller.box->listener.gone(caller.box->listener.user, caller.box, "killed");
    run_ms(1000);
    assert_int_equal(world.alive, 1); /* whoever has it still has it */
    assert_pool(busy, 1);
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    assert_pool(retired, 1);
    assert_pool(failed, 0);
    assert_pool(idle, 1);
    ask(&caller);
    run_ms(1000);
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    world.boxes->listener.gone(world.boxes->listener.user, world.boxes, "killed"); /* while idle */
    run_ms(1000);
    assert_int_equal(world.started, 3);
    assert_pool(idle, 1);
    assert_pool(retired, 2);
    /* One that never served anybody is a start that failed, and not tried again at once. */
    world.boxes->listener.gone(world.boxes->listener.user, world.boxes, "killed");
    run_ms(100);
    assert_pool(failed, 1);
    assert_int_equal(world.started, 3);
    assert_string_equal(pool_status(world.pool).trouble, "killed");
    run_ms(1000);
    assert_int_equal(world.started, 4);
    assert_null(pool_status(world.pool).trouble);
}

/* Boxes that are of no use from the beginning are not tried without pause, and whoever waits hears why. */
static void test_noisy_before_its_first_use(void **state)
{
    (void)state;
    struct caller first, second;
    world.noisy = true;
    open_pool(1, 0, &local);
    run_ms(1000);
    assert_pool(idle, 1);
    ask(&first);
    run_ms(100);
    assert_int_equal(first.calls, 1);
    assert_string_equal(first.why, "local speaks before it is asked");
    free(first.why);
    assert_int_equal(world.started, 1);
    assert_pool(failed, 1);
    assert_pool(retired, 0);
    run_ms(1000);
    assert_int_equal(world.started, 2); /* after a pause */
    ask(&second);
    run_ms(100);
    assert_int_equal(second.calls, 1);
    free(second.why);
    run_ms(900);
    assert_int_equal(world.started, 2); /* a longer one */
    world.noisy = false;
    run_ms(1000);
    ask(&second);
    run_ms(100);
    assert_non_null(second.box);
}

/* The result has come, the script goes on. */
static void test_a_script_that_goes_on(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 0, &local);
    ask(&caller);
    run_ms(1000);
    struct box *box = caller.box;
    box->busy = true;
    pool_give(world.pool, box, true);
    ask(&caller);
    run_ms(POOL_SETTLE_S * 1000 - 100);
    assert_int_equal(caller.calls, 0);
    box->busy = false;
    box->listener.idle(box->listener.user, box);
    run_ms(50);
    assert_ptr_equal(caller.box, box);
    box->busy = true;
    pool_give(world.pool, box, true);
    ask(&caller);
    run_ms(POOL_SETTLE_S * 1000 + 200);
    assert_int_equal(caller.calls, 1);
    assert_int_equal(world.started, 2);
    assert_pool(retired, 1);
}

/* … and whoever comes next has another box, where there may be one more. */
static void test_a_script_that_goes_on_holds_up_nobody(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 1, &local);
    ask(&caller);
    run_ms(1000);
    struct box *box = caller.box;
    box->busy = true;
    pool_give(world.pool, box, true);
    ask(&caller);
    run_ms(50);
    assert_int_equal(world.started, 1); /* it may end at once: most do */
    run_ms(250);
    assert_int_equal(world.started, 2);
    assert_non_null(caller.box);
    assert_ptr_not_equal(caller.box, box);
    box->busy = false;
    box->listener.idle(box->listener.user, box);
    run_ms(50);
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    assert_int_equal(world.alive, 1); /* what was made for the rush is gone */
    assert_pool(retired, 0);
    /* Nobody waits: nothing is made, however slow it is. */
    ask(&caller);
    run_ms(1000);
    caller.box->busy = true;
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
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

static void test_wiped_from_inside(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(1, 0, &distant);
    ask(&caller);
    run_ms(1000);
    struct box *box = caller.box;
    assert_null(box->workspace);
    pool_give(world.pool, box, true);
    run_ms(100);
    assert_non_null(strstr(box->written.buf, "os.unlink"));
    assert_pool(starting, 1);
    answer(box, "0");
    assert_pool(idle, 1);
    ask(&caller);
    run_ms(100);
    assert_ptr_equal(caller.box, box);
    pool_give(world.pool, box, true);
    answer(box, "3"); /* left over */
    run_ms(1000);
    assert_pool(retired, 1);
    ask(&caller);
    run_ms(1000);
    pool_give(world.pool, caller.box, true);
    run_ms(60000); /* no answer */
    assert_pool(retired, 2);
    assert_pool(idle, 1);
}

static void test_backoff(void **state)
{
    (void)state;
    struct caller first, second, third;
    world.fails = "no image";
    open_pool(1, 1, &local);
    ask(&first);
    ask(&second);
    run_ms(500);
    assert_int_equal(first.calls, 1);
    assert_null(first.box);
    assert_string_equal(first.why, "no image");
    assert_string_equal(second.why, "no image");
    assert_string_equal(pool_status(world.pool).trouble, "no image");
    ask(&third);
    run_ms(0);
    assert_string_equal(third.why, "no image"); /* at once */
    free(first.why);
    free(second.why);
    free(third.why);
    size_t before = world.started;
    run_ms(200000);
    assert_true(world.started > before + 5);
    /* The pauses grow, and not for ever. */
    int64_t last = world.tried_ms[world.started - 1] - world.tried_ms[world.started - 2];
    assert_in_range(last, 30000, 30200);
    for (size_t i = 3; i + 1 < world.started; i++)
        assert_true(world.tried_ms[i + 1] - world.tried_ms[i] >= world.tried_ms[i] - world.tried_ms[i - 1]);
    world.fails = NULL;
    run_ms(31000);
    assert_pool(idle, 1);
    assert_null(pool_status(world.pool).trouble);
    ask(&first);
    run_ms(100);
    assert_non_null(first.box);
}

static void test_nothing_kept_warm(void **state)
{
    (void)state;
    struct caller caller;
    open_pool(0, 1, &local);
    run_ms(1000);
    assert_int_equal(world.started, 0);
    world.cannot = "needs a host";
    ask(&caller);
    run_ms(1000);
    assert_string_equal(caller.why, "needs a host");
    free(caller.why);
    run_ms(100000);
    assert_int_equal(world.started, 1); /* nobody asks: nothing is tried */
    world.cannot = NULL;
    ask(&caller);
    run_ms(1000);
    assert_non_null(caller.box);
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    assert_int_equal(world.alive, 0);
}

static void test_lazy(void **state)
{
    (void)state;
    struct caller caller;
    world.lazy = true;
    scratch_write(&world.scratch, "rooms", "in the way");
    open_pool(2, 0, &local);
    run_ms(1000);
    assert_int_equal(world.started, 0);
    ask(&caller);
    run_ms(100);
    assert_non_null(strstr(caller.why, "rooms")); /* that no room can be had is told then */
    free(caller.why);
    scratch_remove(&world.scratch, "rooms");
    run_ms(1000);
    ask(&caller);
    run_ms(1000);
    assert_non_null(caller.box);
    assert_pool(idle, 1); /* and from then on it is warm */
    pool_give(world.pool, caller.box, true);
    run_ms(1000);
    assert_pool(idle, 2);
}

/* A caller that has a box waits for the one that comes back, however much trouble there is with others. */
static void test_trouble_beside_a_box(void **state)
{
    (void)state;
    struct caller first, second;
    open_pool(1, 1, &local);
    ask(&first);
    run_ms(1000);
    world.fails = "no more";
    ask(&second);
    run_ms(5000);
    assert_int_equal(second.calls, 0);
    pool_give(world.pool, first.box, true);
    run_ms(1000);
    assert_non_null(second.box);
}

static void give_at_once(void *user, struct box *box, const char *why)
{
    got(user, box, why);
    pool_give(world.pool, box, true);
}

static void free_at_once(void *user, struct box *box, const char *why)
{
    got(user, box, why);
    pool_free(world.pool);
    world.pool = NULL;
}

static void test_from_within(void **state)
{
    (void)state;
    struct caller callers[3] = {{0}, {0}, {0}};
    open_pool(1, 0, &local);
    pool_take(world.pool, give_at_once, &callers[0]);
    pool_take(world.pool, free_at_once, &callers[1]);
    pool_take(world.pool, got, &callers[2]);
    run_ms(10000);
    assert_int_equal(callers[0].calls + callers[1].calls, 2);
    assert_int_equal(callers[2].calls, 0);
    assert_int_equal(world.alive, 0);
}

static void test_freed_in_every_state(void **state)
{
    (void)state;
    struct caller callers[3];
    open_pool(3, 0, &local);
    run_ms(1000);
    for (size_t i = 0; i < 3; i++)
        ask(&callers[i]);
    run_ms(1);
    callers[1].box->busy = true;
    pool_give(world.pool, callers[0].box, true); /* is being emptied */
    pool_give(world.pool, callers[1].box, true); /* goes on */
    pool_free(world.pool);
    world.pool = NULL;
    open_pool(2, 0, &local); /* starting; and the rooms of two pools are beside each other */
    run_ms(10);
    pool_free(world.pool);
    world.pool = NULL;
    pool_free(NULL);
}

static void on_watched(void *user)
{
    ++*(size_t *)user;
}

static void test_boxes_are_listed(void **state)
{
    struct pool_box boxes[4];
    struct caller caller;
    size_t told = 0;
    (void)state;
    world.start_ms = 5;
    open_pool(2, 0, &local);
    pool_watch(world.pool, on_watched, &told);
    run_ms(1);
    assert_int_equal(pool_boxes(world.pool, boxes, COUNT_OF(boxes)), 2);
    assert_string_equal(boxes[0].state, "starting");
    assert_null(boxes[0].layers);
    run_ms(10);
    ask(&caller);
    run_ms(1);
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
    run_ms(100);
    assert_int_equal(told, 0);
    assert_int_equal(pool_boxes(world.pool, boxes, COUNT_OF(boxes)), 2);
    assert_int_equal(boxes[0].uses + boxes[1].uses, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_boxes_are_listed, begin, end),
        cmocka_unit_test_setup_teardown(test_warm_before_the_first, begin, end),
        cmocka_unit_test_setup_teardown(test_overflow_and_order, begin, end),
        cmocka_unit_test_setup_teardown(test_wiped_on_return, begin, end),
        cmocka_unit_test_setup_teardown(test_replaced, begin, end),
        cmocka_unit_test_setup_teardown(test_death, begin, end),
        cmocka_unit_test_setup_teardown(test_noisy_before_its_first_use, begin, end),
        cmocka_unit_test_setup_teardown(test_a_script_that_goes_on, begin, end),
        cmocka_unit_test_setup_teardown(test_a_script_that_goes_on_holds_up_nobody, begin, end),
        cmocka_unit_test_setup_teardown(test_wiped_from_inside, begin, end),
        cmocka_unit_test_setup_teardown(test_backoff, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_kept_warm, begin, end),
        cmocka_unit_test_setup_teardown(test_lazy, begin, end),
        cmocka_unit_test_setup_teardown(test_trouble_beside_a_box, begin, end),
        cmocka_unit_test_setup_teardown(test_from_within, begin, end),
        cmocka_unit_test_setup_teardown(test_freed_in_every_state, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
