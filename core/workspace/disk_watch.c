/* One count at a time, the first as the program begins: what was there before is not its doing. A last one that is
 * asked for while another is under way comes after it. */

#include "disk_watch.h"
#include "base/beneath.h"
#include "base/loop.h"
#include "base/mem.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct disk_watch {
    struct loop *loop;
    int root;
    int64_t limit;
    int64_t pause_us;
    struct loop_timer timer;
    struct loop_work work;
    struct disk_count first, before; /* counts that are over */
    int64_t before_us;               /* when that one began; -1: there was none */
    bool counting, hidden, last, told, freed;
    void (*full)(void *user, const char *why);
    void (*counted)(void *user, const char *why);
    void *user;
    /* Of a count, while it is under way the thread's. */
    int64_t began_us;
    struct disk_count now;
    struct err err;
    bool over, runs; /* the program does */
};

static void forget(struct disk_watch *watch)
{
    close(watch->root);
    free(watch);
}

static void count(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    watch->err = (struct err)ERR_INIT;
    watch->now = watch->runs ? disk_count(watch->root) : disk_count_opening(watch->root);
    watch->over = disk_check(watch->limit, &watch->now, 0, &watch->err) < 0;
}

static void on_timer(struct loop_timer *timer);

/* Not after half of what is left would be gone at the present rate. */
static void bound_pause(struct disk_watch *watch, int64_t before, int64_t now, int64_t limit)
{
    if (now <= before)
        return;
    double half = (double)(limit - now) / 2 / (double)(now - before) * (double)(watch->began_us - watch->before_us);
    if (half < (double)watch->pause_us)
        watch->pause_us = (int64_t)half;
}

/* Ever less often, unless there is hurry. */
static void set_pace(struct disk_watch *watch)
{
    watch->pause_us *= 2;
    bound_pause(watch, watch->before.bytes, watch->now.bytes, watch->limit);
    bound_pause(watch, watch->before.entries, watch->now.entries, WORKSPACE_ENTRIES_MAX);
    if (watch->pause_us > DISK_WATCH_MAX_MS * 1000)
        watch->pause_us = DISK_WATCH_MAX_MS * 1000;
    if (watch->pause_us < DISK_WATCH_MIN_MS * 1000)
        watch->pause_us = DISK_WATCH_MIN_MS * 1000;
}

/* Folders come and go and are shut under a count; two in a row have met more than one that nobody can look into. */
static bool is_full(struct disk_watch *watch)
{
    const struct disk_count *now = &watch->now, *before = &watch->before;
    bool hidden = now->missed > watch->first.missed, again = hidden && watch->hidden;
    watch->hidden = hidden;
    if (again && !watch->over)
        err_set(&watch->err, "what it wrote cannot be counted: %s", now->why);
    return again || (watch->over && (now->bytes > before->bytes || now->entries > before->entries));
}

static void judge(struct disk_watch *watch)
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
    loop_timer_start(watch->loop, &watch->timer, now + (share > watch->pause_us ? share : watch->pause_us), on_timer);
    if (!full || watch->told)
        return;
    watch->told = true;
    watch->full(watch->user, watch->err.text);
}

static void start(struct disk_watch *watch);

static void on_count(struct loop_work *work)
{
    struct disk_watch *watch = CONTAINER_OF(work, struct disk_watch, work);
    bool last = watch->last;
    watch->counting = false;
    if (watch->freed)
        forget(watch);
    else if (!last)
        judge(watch);
    else if (watch->began_us < 0) /* it was asked for while this one was under way */
        start(watch);
    else
        watch->counted(watch->user, watch->over ? watch->err.text : NULL);
}

static void start(struct disk_watch *watch)
{
    watch->counting = true;
    watch->runs = !watch->last;
    watch->began_us = loop_now_us(watch->loop);
    loop_work_start(watch->loop, &watch->work, count, on_count);
}

static void on_timer(struct loop_timer *timer)
{
    start(CONTAINER_OF(timer, struct disk_watch, timer));
}

struct disk_watch *disk_watch_new(struct loop *loop, const struct workspace *ws,
                                  void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user)
{
    if (ws->policy.max_disk_bytes <= 0)
        return NULL;
    struct disk_watch *watch = xcalloc(1, sizeof(*watch));
    *watch = (struct disk_watch){.loop = loop,
                                 .root = fcntl(beneath_fd(ws->root), F_DUPFD_CLOEXEC, 0),
                                 .limit = ws->policy.max_disk_bytes,
                                 .pause_us = DISK_WATCH_MIN_MS * 1000,
                                 .before_us = -1,
                                 .full = full,
                                 .counted = counted,
                                 .user = user};
    start(watch);
    return watch;
}

void disk_watch_finish(struct disk_watch *watch)
{
    loop_timer_stop(watch->loop, &watch->timer);
    watch->last = true;
    if (watch->counting)
        watch->began_us = -1;
    else
        start(watch);
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
        forget(watch);
}
