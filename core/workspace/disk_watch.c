/* Watches the disk limit of a workspace while a program runs (disk_watch.h).
 *
 * A watch runs one count at a time. What was there before is not the program's doing: the last look says what that was,
 * or, before the first look, a count that starts with the program. A last count requested during another one follows
 * it. */

#include "disk_watch.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "look.h"
#include "sandbox/disk_limit.h"
#include "workspace.h"

struct disk_watch {
    struct loop *loop;
    struct workspace *ws;
    int64_t pause_us;
    struct loop_timer timer;
    struct loop_work work;
    struct disk_count first, before; /* finished counts */
    int64_t before_us;               /* when `before` began; -1: no earlier count */
    bool counting, hidden, last, told, freed;
    void (*full)(void *user, const char *why);
    void (*counted)(void *user, const char *why);
    void *user;
    /* State of one count. The thread owns it while the count runs. */
    int64_t began_us;
    struct disk_count now;
    struct err err;
    bool over, runs; /* `runs`: the program runs */
};

static void close_watch(struct disk_watch *watch)
{
    workspace_free(watch->ws);
    free(watch);
}

static int64_t limit_of(const struct disk_watch *watch)
{
    return watch->ws->policy.max_disk_bytes;
}

static void count_work(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    watch->err = (struct err)ERR_INIT;
    if (watch->runs) {
        watch->now = workspace_sample(watch->ws, watch->pause_us < DISK_WATCH_MAX_MS * 1000);
    } else {
        const struct workspace_look *look = workspace_look(watch->ws);
        watch->now = look->count;
        look_release(watch->ws, look);
    }
    watch->over = disk_check(limit_of(watch), &watch->now, 0, &watch->err) < 0;
}

static void count_timer(struct loop_timer *timer);

/* Bounds the pause to the time in which the program would use half of the remaining space at its present rate. */
static void bound_pause(struct disk_watch *watch, int64_t before, int64_t now, int64_t limit)
{
    if (now <= before)
        return;
    double half = (double)(limit - now) / 2 / (double)(now - before) * (double)(watch->began_us - watch->before_us);
    if (half < (double)watch->pause_us)
        watch->pause_us = (int64_t)half;
}

/* Doubles the pause between counts, unless the limit is near. */
static void set_pace(struct disk_watch *watch)
{
    watch->pause_us *= 2;
    bound_pause(watch, watch->before.bytes, watch->now.bytes, limit_of(watch));
    bound_pause(watch, watch->before.entries, watch->now.entries, WORKSPACE_ENTRIES_MAX);
    if (watch->pause_us > DISK_WATCH_MAX_MS * 1000)
        watch->pause_us = DISK_WATCH_MAX_MS * 1000;
    if (watch->pause_us < DISK_WATCH_MIN_MS * 1000)
        watch->pause_us = DISK_WATCH_MIN_MS * 1000;
}

/* A program may create, remove and close folders during a count. So uncountable folders matter only if two counts in
 * a row find more of them than the first count. */
static bool is_full(struct disk_watch *watch)
{
    const struct disk_count *now = &watch->now, *before = &watch->before;
    bool hidden = now->missed > watch->first.missed, again = hidden && watch->hidden;
    watch->hidden = hidden;
    if (again && !watch->over)
        err_set(&watch->err, "cannot measure what it wrote: %s", now->why);
    return again || (watch->over && (now->bytes > before->bytes || now->entries > before->entries));
}

static void judge_count(struct disk_watch *watch)
{
    bool full = false;
    if (watch->before_us < 0) {
        watch->first = watch->now;
    } else {
        full = is_full(watch);
        set_pace(watch);
    }
    watch->before = watch->now;
    watch->before_us = watch->began_us;
    int64_t now = loop_now_us(watch->loop), share = (now - watch->began_us) * DISK_WATCH_SHARE;
    loop_timer_start(watch->loop, &watch->timer, now + (share > watch->pause_us ? share : watch->pause_us),
                     count_timer);
    if (!full || watch->told)
        return;
    watch->told = true;
    watch->full(watch->user, watch->err.text);
}

static void start_count(struct disk_watch *watch);

static void count_done(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    bool last = watch->last;
    watch->counting = false;
    if (watch->freed)
        close_watch(watch);
    else if (!last)
        judge_count(watch);
    else if (watch->began_us < 0) /* the last count was requested while this one ran */
        start_count(watch);
    else
        watch->counted(watch->user, watch->over ? watch->err.text : NULL);
}

static void start_count(struct disk_watch *watch)
{
    watch->counting = true;
    watch->runs = !watch->last;
    watch->began_us = loop_now_us(watch->loop);
    loop_work_start(watch->loop, &watch->work, count_work, count_done);
}

static void count_timer(struct loop_timer *timer)
{
    start_count(CONTAINER_OF(timer, struct disk_watch, timer));
}

/* Begins where the last look ended, with the pause that its cost asks for. The folder of the run is new, and ours. */
static void begin_after_look(struct disk_watch *watch, int64_t took_us)
{
    int64_t pause = took_us * DISK_WATCH_SHARE;
    watch->first.entries++;
    watch->before = watch->first;
    watch->before_us = loop_now_us(watch->loop);
    loop_timer_start(watch->loop, &watch->timer, watch->before_us + (pause > watch->pause_us ? pause : watch->pause_us),
                     count_timer);
}

struct disk_watch *disk_watch_new(struct loop *loop, struct workspace *ws, void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user)
{
    int64_t took_us;
    if (ws->policy.max_disk_bytes <= 0)
        return NULL;
    struct disk_watch *watch = xcalloc(1, sizeof(*watch));
    *watch = (struct disk_watch){.loop = loop,
                                 .ws = workspace_hold(ws),
                                 .pause_us = DISK_WATCH_MIN_MS * 1000,
                                 .before_us = -1,
                                 .full = full,
                                 .counted = counted,
                                 .user = user};
    if (workspace_last_count(ws, &watch->first, &took_us))
        begin_after_look(watch, took_us);
    else
        start_count(watch);
    return watch;
}

void disk_watch_finish(struct disk_watch *watch)
{
    loop_timer_stop(watch->loop, &watch->timer);
    watch->last = true;
    if (watch->counting)
        watch->began_us = -1;
    else
        start_count(watch);
}

void disk_watch_free(struct disk_watch *watch)
{
    if (!watch)
        return;
    loop_timer_stop(watch->loop, &watch->timer);
    watch->freed = true;
    if (watch->counting)
        loop_work_disown(watch->loop, &watch->work);
    else
        close_watch(watch);
}
