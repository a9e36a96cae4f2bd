/* The loop: libuv below, our own timers and tasks on top (loop.h).
 *
 * A round runs the tasks that were posted before it, fires the timers that are due, and then lets libuv handle
 * descriptors, pool work, children and signals. libuv may sleep there, but only if no task waits. One uv_timer for
 * the earliest timer wakes it, so an idle program does not wake up.
 *
 * Timers are ours for two reasons: the clock is a parameter, and the order is guaranteed (by due time, then by
 * start). They are a binary heap whose entries hold the due time and a serial number, so comparing touches nothing
 * outside the heap. libuv counts milliseconds of the same monotonic clock. Due times are rounded up to it and
 * checked against the clock again before firing, so a timer is never early.
 *
 * The pool is libuv's, made larger. A thread that hangs in an abandoned call is lost to other work, and the default
 * of four would soon be lost.
 *
 * In virtual time there is no uv_timer. A round asks libuv what is ready without sleeping. If that left nothing to
 * do and no pool work is in progress, the fake clock jumps to the earliest timer. The loop sleeps only without
 * timers. */

#include "loop.h"
#include "err.h"
#include "loop_internal.h"
#include "loop_meter.h"
#include "mem.h"
#include "strbuf.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

/* Threads of the pool: enough that a few hanging ones do not stop the rest, few enough that they do not compete. */
#define POOL_LEAST 8
#define POOL_MOST  16

/* How often virtual time looks for events that came up during events before it lets time pass. */
#define SETTLE_MAX 64

struct loop_entry {
    struct loop_timer *timer;
    int64_t due_us;
    uint64_t serial;
};

struct letter {
    struct letter *next;
    void (*run)(void *data);
    void *data;
};

struct loop {
    uv_loop_t uv;
    struct clock *clock;
    struct fake_clock *fake; /* the same clock in virtual time, else NULL */
    bool running;
    bool stopping;

    struct loop_entry *heap; /* heap[0] is the earliest; heap[i].timer->place is i + 1 */
    size_t count, room;
    uint64_t serial;
    uv_timer_t wake;
    int64_t wake_us; /* what `wake` is set to; -1: not set */

    struct loop_task *first, *last;
    size_t tasks;

    int works;
    int holds;
    int dying, floods;

    uv_async_t door;
    pthread_mutex_t lock; /* of the letters */
    struct letter *letters, **letters_end;
};

struct work_job {
    uv_work_t request;
    struct loop *loop;
    struct loop_work *work;
    bool disowned;
};

struct loop_watch {
    union {
        uv_handle_t handle;
        uv_poll_t poll;
        uv_signal_t signal;
    };
    void (*call)(void *data);
    void *data;
};

/* ---- timers ---- */

static bool is_before(const struct loop_entry *a, const struct loop_entry *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->serial < b->serial;
}

static void put_entry(struct loop *loop, size_t at, struct loop_entry entry)
{
    loop->heap[at] = entry;
    entry.timer->place = at + 1;
}

/* Puts the entry where it belongs, starting from the free place `at`. */
static void settle_entry(struct loop *loop, size_t at, struct loop_entry entry)
{
    while (at > 0 && is_before(&entry, &loop->heap[(at - 1) / 2])) {
        put_entry(loop, at, loop->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= loop->count)
            break;
        if (child + 1 < loop->count && is_before(&loop->heap[child + 1], &loop->heap[child]))
            child++;
        if (!is_before(&loop->heap[child], &entry))
            break;
        put_entry(loop, at, loop->heap[child]);
        at = child;
    }
    put_entry(loop, at, entry);
}

/* Fires due timers. A timer that a callback starts waits for the next round, even if it is due. So timers that
 * restart themselves cannot block everything else. */
static void fire_timers(struct loop *loop)
{
    int64_t now = loop_now_us(loop);
    uint64_t limit = loop->serial;
    while (loop->count && loop->heap[0].due_us <= now && loop->heap[0].serial < limit && !loop->stopping) {
        struct loop_timer *timer = loop->heap[0].timer;
        loop_timer_stop(loop, timer);
        LOOP_CALL("timer", timer->fire, timer->fire(timer));
    }
}

static void on_wake(uv_timer_t *wake)
{
    /* The next round fires the due timers. libuv may call this before it polls, and would then sleep without a
     * timer. uv_stop makes it poll without sleeping. */
    struct loop *loop = wake->data;
    loop->wake_us = -1;
    uv_stop(&loop->uv);
}

static void set_wake(struct loop *loop)
{
    int64_t due = loop->count ? loop->heap[0].due_us : -1;
    if (due == loop->wake_us && due >= 0)
        return;
    loop->wake_us = due;
    uv_timer_stop(&loop->wake);
    if (!loop->count)
        return;
    uv_update_time(&loop->uv);
    int64_t now_ms = (int64_t)uv_now(&loop->uv);
    int64_t due_ms = due / 1000 + (due % 1000 > 0);
    uv_timer_start(&loop->wake, on_wake, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

/* ---- tasks ---- */

static void unlink_task(struct loop *loop, struct loop_task *task)
{
    *(task->prev ? &task->prev->next : &loop->first) = task->next;
    *(task->next ? &task->next->prev : &loop->last) = task->prev;
    task->next = task->prev = NULL;
    task->posted = false;
    loop->tasks--;
}

/* Tasks that tasks post wait for the next round. */
static void run_tasks(struct loop *loop)
{
    for (size_t left = loop->tasks; left && loop->first && !loop->stopping; left--) {
        struct loop_task *task = loop->first;
        unlink_task(loop, task);
        LOOP_CALL("task", task->run, task->run(task));
    }
}

static void on_letters(uv_async_t *door)
{
    struct loop *loop = door->data;
    pthread_mutex_lock(&loop->lock);
    struct letter *letter = loop->letters;
    loop->letters = NULL;
    loop->letters_end = &loop->letters;
    pthread_mutex_unlock(&loop->lock);
    while (letter) {
        struct letter *next = letter->next;
        LOOP_CALL("post", letter->run, letter->run(letter->data));
        free(letter);
        letter = next;
    }
}

/* ---- rounds ---- */

static bool has_due(struct loop *loop)
{
    return loop->tasks || (loop->count && loop->heap[0].due_us <= loop_now_us(loop));
}

/* Polls once without sleeping. libuv skips this without active handles, so watches are polled here. */
static void run_nowait(struct loop *loop)
{
    loop_hold(loop);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    loop_let_go(loop);
}

/* Returns false if nothing can happen any more. */
static bool run_round(struct loop *loop)
{
    run_tasks(loop);
    fire_timers(loop);
    if (loop->stopping)
        return false;
    set_wake(loop);
    if (!loop->tasks && !uv_loop_alive(&loop->uv))
        return false;
    if (loop->tasks)
        run_nowait(loop);
    else
        uv_run(&loop->uv, UV_RUN_ONCE);
    return true;
}

/* Lets libuv handle everything that is ready. Twice at least: what a callback starts to watch is polled only then. */
static void run_ready(struct loop *loop)
{
    for (int i = 0; i < SETTLE_MAX; i++) {
        run_nowait(loop);
        struct pollfd ready = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};
        if (loop->stopping || (i > 0 && poll(&ready, 1, 0) <= 0))
            break;
    }
}

static bool run_virtual_round(struct loop *loop)
{
    run_tasks(loop);
    fire_timers(loop);
    if (loop->stopping)
        return false;
    run_ready(loop);
    if (loop->stopping || has_due(loop))
        return true;
    if (loop->works)
        uv_run(&loop->uv, UV_RUN_ONCE);
    else if (loop->count)
        loop->fake->now_us = loop->heap[0].due_us;
    else if (uv_loop_alive(&loop->uv))
        uv_run(&loop->uv, UV_RUN_ONCE);
    else
        return false;
    return true;
}

/* ---- pool work and watches ---- */

static void nothing(uv_work_t *request)
{
    (void)request;
}

static void nothing_done(uv_work_t *request, int status)
{
    (void)request;
    (void)status;
}

/* libuv reads the pool size from the environment when the first work starts. Start one here, then unset the variable,
 * so that children do not inherit it. A value set by the user stays. */
static void start_pool(void)
{
    static const char name[] = "UV_THREADPOOL_SIZE";
    if (getenv(name))
        return;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long threads = cores * 2 < POOL_LEAST ? POOL_LEAST : cores * 2 > POOL_MOST ? POOL_MOST : cores * 2;
    char text[24];
    snprintf(text, sizeof(text), "%ld", threads);
    uv_loop_t uv;
    uv_work_t first;
    if (setenv(name, text, 1) || uv_loop_init(&uv) || uv_queue_work(&uv, &first, nothing, nothing_done))
        BUG("cannot start the thread pool");
    uv_run(&uv, UV_RUN_DEFAULT);
    uv_loop_close(&uv);
    unsetenv(name);
}

static void run_work(uv_work_t *request)
{
    struct work_job *job = request->data;
    atomic_store(&job->work->began_us, loop_now_us(job->loop));
    job->work->run(job->work);
}

static void work_done(uv_work_t *request, int status)
{
    (void)status; /* only a canceled request fails, and we cancel none */
    struct work_job *job = request->data;
    struct loop_work *work = job->work;
    struct loop *loop = job->loop;
    bool disowned = job->disowned;
    loop->works--;
    free(job);
    work->impl = NULL;
    LOOP_CALL("work", work->done, work->done(work));
    if (disowned)
        loop_count_dying(loop, -1);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    /* Ignore the error: the reader's own read reports more. */
    (void)status;
    (void)events;
    struct loop_watch *watch = poll->data;
    LOOP_CALL("watch", watch->call, watch->call(watch->data));
}

static void on_signal(uv_signal_t *signal, int signum)
{
    (void)signum;
    struct loop_watch *watch = signal->data;
    LOOP_CALL("signal", watch->call, watch->call(watch->data));
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

static struct loop_watch *new_watch(void (*call)(void *data), void *data)
{
    struct loop_watch *watch = xcalloc(1, sizeof(*watch));
    watch->call = call;
    watch->data = data;
    return watch;
}

static struct loop_watch *begin_watch(struct loop_watch *watch, int failed)
{
    watch->handle.data = watch;
    if (failed) {
        uv_close(&watch->handle, free_watch);
        return NULL;
    }
    uv_unref(&watch->handle);
    return watch;
}

static void name_handle(uv_handle_t *handle, void *names)
{
    if (!uv_is_closing(handle))
        strbuf_addf(names, " %s", uv_handle_type_name(handle->type));
}

/* ---- the life of the loop ---- */

struct loop *loop_new(struct clock *clock)
{
    /* The write reports a child that stopped reading, not a signal. libuv restores the default for children. */
    signal(SIGPIPE, SIG_IGN);
    loop_meter_start();
    struct loop *loop = xcalloc(1, sizeof(*loop));
    loop->clock = clock;
    loop->fake = clock == clock_system() ? NULL : (struct fake_clock *)clock;
    loop->letters_end = &loop->letters;
    loop->wake_us = -1;
    if (uv_loop_init(&loop->uv) || uv_timer_init(&loop->uv, &loop->wake) ||
        uv_async_init(&loop->uv, &loop->door, on_letters) || pthread_mutex_init(&loop->lock, NULL))
        BUG("cannot create the event loop");
    loop->wake.data = loop;
    loop->door.data = loop;
    uv_unref((uv_handle_t *)&loop->door);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    while (loop->dying)
        uv_run(&loop->uv, UV_RUN_ONCE);
    if (loop->running || loop->count || loop->tasks || loop->works || loop->holds || loop->letters)
        BUG("the loop is still in use: %zu timers, %zu tasks, %d works, %d holds%s", loop->count, loop->tasks,
            loop->works, loop->holds, loop->letters ? ", letters" : "");
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->door, NULL);
    /* The second time is for handles that the first one's callbacks closed. */
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    if (uv_loop_close(&loop->uv)) {
        struct strbuf names = STRBUF_INIT;
        uv_walk(&loop->uv, name_handle, &names);
        BUG("the loop still has open handles:%s", names.buf);
    }
    pthread_mutex_destroy(&loop->lock);
    free(loop->heap);
    free(loop);
}

struct clock *loop_clock(const struct loop *loop)
{
    return loop->clock;
}

int64_t loop_now_us(const struct loop *loop)
{
    return loop->clock->now_us(loop->clock);
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

void loop_run(struct loop *loop)
{
    if (loop->running)
        BUG("the loop is already running");
    loop->running = true;
    while (!loop->stopping && (loop->fake ? run_virtual_round(loop) : run_round(loop)))
        ;
    loop->stopping = false;
    loop->running = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t due_us, void (*fire)(struct loop_timer *))
{
    loop_timer_stop(loop, timer);
    timer->fire = fire;
    timer->due_us = due_us;
    GROW(loop->heap, loop->count, loop->room);
    loop->count++;
    settle_entry(loop, loop->count - 1, (struct loop_entry){timer, due_us, loop->serial++});
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->place)
        return;
    size_t at = timer->place - 1;
    if (at >= loop->count || loop->heap[at].timer != timer)
        BUG("the timer is not one of this loop");
    timer->place = 0;
    struct loop_entry last = loop->heap[--loop->count];
    if (last.timer != timer)
        settle_entry(loop, at, last);
}

void loop_post(struct loop *loop, struct loop_task *task, void (*run)(struct loop_task *))
{
    if (task->posted)
        return;
    *task = (struct loop_task){.run = run, .prev = loop->last, .posted = true};
    *(loop->last ? &loop->last->next : &loop->first) = task;
    loop->last = task;
    loop->tasks++;
}

void loop_unpost(struct loop *loop, struct loop_task *task)
{
    if (task->posted)
        unlink_task(loop, task);
}

void loop_post_from_thread(struct loop *loop, void (*run)(void *data), void *data)
{
    struct letter *letter = xmalloc(sizeof(*letter));
    *letter = (struct letter){NULL, run, data};
    pthread_mutex_lock(&loop->lock);
    *loop->letters_end = letter;
    loop->letters_end = &letter->next;
    /* Hold the lock: once the letter is queued, the loop may run it and be freed. */
    uv_async_send(&loop->door);
    pthread_mutex_unlock(&loop->lock);
}

void loop_hold(struct loop *loop)
{
    if (loop->holds++ == 0)
        uv_ref((uv_handle_t *)&loop->door);
}

void loop_let_go(struct loop *loop)
{
    if (loop->holds == 0)
        BUG("the loop was not held");
    if (--loop->holds == 0)
        uv_unref((uv_handle_t *)&loop->door);
}

unsigned loop_count_floods(struct loop *loop, int change)
{
    loop->floods += change;
    return (unsigned)loop->floods;
}

void loop_count_dying(struct loop *loop, int change)
{
    loop->dying += change;
}

void loop_work_start(struct loop *loop, struct loop_work *work, void (*run)(struct loop_work *),
                     void (*done)(struct loop_work *))
{
    static pthread_once_t pool = PTHREAD_ONCE_INIT;
    if (work->impl)
        BUG("the work is already running");
    pthread_once(&pool, start_pool);
    struct work_job *job = xcalloc(1, sizeof(*job));
    job->request.data = job;
    job->loop = loop;
    job->work = work;
    work->run = run;
    work->done = done;
    work->impl = job;
    atomic_store(&work->began_us, -1);
    loop->works++;
    if (uv_queue_work(&loop->uv, &job->request, run_work, work_done))
        BUG("cannot start pool work");
}

void loop_work_disown(struct loop *loop, struct loop_work *work)
{
    struct work_job *job = work->impl;
    if (!job || job->disowned)
        return;
    job->disowned = true;
    loop_count_dying(loop, 1);
}

struct loop_watch *loop_watch_fd(struct loop *loop, int fd, void (*ready)(void *data), void *data)
{
    struct loop_watch *watch = new_watch(ready, data);
    /* A descriptor that cannot be watched, such as a regular file, leaves no handle behind. */
    if (uv_poll_init(&loop->uv, &watch->poll, fd)) {
        free(watch);
        return NULL;
    }
    return begin_watch(watch, uv_poll_start(&watch->poll, UV_READABLE, on_readable));
}

struct loop_watch *loop_watch_signal(struct loop *loop, int signum, void (*caught)(void *data), void *data)
{
    struct loop_watch *watch = new_watch(caught, data);
    uv_signal_init(&loop->uv, &watch->signal);
    return begin_watch(watch, uv_signal_start(&watch->signal, on_signal, signum));
}

void loop_watch_free(struct loop_watch *watch)
{
    if (watch)
        uv_close(&watch->handle, free_watch);
}

void loop_watch_keep(struct loop_watch *watch, bool keep)
{
    if (keep)
        uv_ref(&watch->handle);
    else
        uv_unref(&watch->handle);
}
