/* One count at a time. A last one that is asked for while another is under way comes after it. */

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
    int64_t limit, before; /* what the count before this one said */
    int64_t pause_us;
    struct loop_timer timer;
    struct loop_work work;
    bool counting, failed, last, told, freed;
    void (*full)(void *user, const char *why);
    void (*counted)(void *user, const char *why);
    void *user;
    /* Of a count, while it is under way the thread's. */
    int64_t began_us, used;
    struct err err;
    bool over;
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
    watch->used = disk_used(watch->root, &watch->err);
    if (watch->used < 0)
        err_prefix(&watch->err, "what the workspace holds cannot be counted");
    watch->over = watch->used < 0 || disk_check(watch->limit, watch->used, 0, &watch->err) < 0;
}

static void on_timer(struct loop_timer *timer);

static void later(struct disk_watch *watch, int64_t took_us)
{
    int64_t share = took_us * DISK_WATCH_SHARE, pause = share > watch->pause_us ? share : watch->pause_us;
    loop_timer_start(watch->loop, &watch->timer, loop_now_us(watch->loop) + pause, on_timer);
    watch->pause_us *= 2;
    if (watch->pause_us > DISK_WATCH_MAX_MS * 1000)
        watch->pause_us = DISK_WATCH_MAX_MS * 1000;
}

/* Folders come and go under a count, so it may fail; two in a row have met one that is shut or too deep, where anything
 * may be. */
static void judge(struct disk_watch *watch)
{
    bool failed = watch->used < 0, full = failed ? watch->failed : watch->over && watch->used > watch->before;
    watch->failed = failed;
    if (!failed)
        watch->before = watch->used;
    later(watch, loop_now_us(watch->loop) - watch->began_us);
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
                                 .before = INT64_MAX, /* what was there before the program is not its doing */
                                 .full = full,
                                 .counted = counted,
                                 .user = user};
    later(watch, 0);
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
