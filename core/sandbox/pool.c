/* Every change ends in settle(), a task on the loop: it hands out what is idle, starts what is missing and ends what is
 * too much, by counting. So no place decides more than what happened to one box.
 *
 *   starting ──ready──► idle ──taken──► busy ──given──► cleaning ──empty, quiet──► idle
 *      │ gone             │ gone          │ not reusable     │ gone, not idle in time, not empty
 *      ▼                  ▼               ▼                  ▼
 *   trouble            leaving         leaving            leaving: the box is killed, its room removed on a thread
 *
 * How a box is cleaned is in pool_clean.c.
 *
 * Whatever calls somebody does so last, for the pool may be freed there. A freed pool lives on, without calling
 * anybody, until the threads that remove rooms have ended. */

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool_inside.h"
#include "rooms.h"
#include <string.h>
#include <sys/random.h>

#define PAUSE_US     (SECOND_US / 2) /* after the first failure; doubled after each that follows */
#define PAUSE_MAX_US (30 * SECOND_US)

static void settle(struct loop_task *task);

/* Counting */

static size_t count(const struct pool *pool, enum slot_state state)
{
    size_t n = 0;
    for (const struct slot *slot = pool->slots; slot; slot = slot->next)
        n += slot->state == state;
    return n;
}

static size_t count_all(const struct pool *pool)
{
    size_t n = 0;
    for (const struct slot *slot = pool->slots; slot; slot = slot->next)
        n++;
    return n;
}

static size_t count_waiting(const struct pool *pool)
{
    size_t n = 0;
    for (const struct pool_ticket *ticket = pool->waiting; ticket; ticket = ticket->next)
        n++;
    return n;
}

static void tell_changed(struct loop_task *task)
{
    struct pool *pool = CONTAINER_OF(task, struct pool, telling);
    pool->options.changed(pool->options.user);
}

void pool_changed(struct pool *pool)
{
    loop_post(pool->loop, &pool->settling, settle);
    if (pool->options.changed)
        loop_post(pool->loop, &pool->telling, tell_changed);
}

/* The end of a slot */

static void destroy_if_done(struct pool *pool)
{
    if (!pool->freed || pool->working)
        return;
    rooms_close(pool->rooms);
    free(pool->folder);
    box_spec_free(pool->spec);
    free(pool->trouble);
    free(pool->layers);
    free(pool->complaints);
    toolset_release(&pool->tools);
    free(pool);
}

static void slot_free(struct slot *slot)
{
    lines_release(&slot->lines);
    free(slot->room);
    free(slot);
}

static void work_ended(struct loop_work *work)
{
    struct slot *slot = CONTAINER_OF(work, struct slot, work);
    struct pool *pool = slot->pool;
    slot_free(slot);
    pool->working--;
    destroy_if_done(pool);
}

static void remove_room(struct loop_work *work)
{
    struct slot *slot = CONTAINER_OF(work, struct slot, work);
    /* A process that has just been killed may still be writing; what is left goes with the other rooms. */
    if (file_remove_tree(slot->room, &slot->err))
        log_debug("pool: %s", slot->err.text);
}

/* Takes the slot out and ends its box. */
static void leave(struct slot *slot)
{
    struct pool *pool = slot->pool;
    struct slot **at = &pool->slots;
    while (*at != slot)
        at = &(*at)->next;
    *at = slot->next;
    loop_timer_stop(pool->loop, &slot->limit);
    loop_timer_stop(pool->loop, &slot->soon);
    box_free(slot->box);
    slot->box = NULL;
    if (slot->work.impl) { /* it is being emptied; nobody waits for that any more */
        pool->working++;
        slot->work.done = work_ended;
        loop_work_disown(pool->loop, &slot->work);
    } else {
        pool->working++;
        loop_work_start(pool->loop, &slot->work, remove_room, work_ended);
        loop_work_disown(pool->loop, &slot->work);
    }
    pool_changed(pool);
}

void slot_retire(struct slot *slot)
{
    slot->pool->retired++;
    leave(slot);
}

/* Starting */

static void pause_over(struct loop_timer *timer)
{
    pool_changed(CONTAINER_OF(timer, struct pool, pause));
}

static void start_failed(struct pool *pool, const char *why)
{
    pool->failed++;
    free(pool->trouble);
    pool->trouble = xstrdup(why);
    log_warn("pool: %s", why);
    int64_t pause = pool->failures < 10 ? PAUSE_US << pool->failures : PAUSE_MAX_US;
    pool->failures++;
    loop_timer_start(pool->loop, &pool->pause, loop_now_us(pool->loop) + (pause < PAUSE_MAX_US ? pause : PAUSE_MAX_US),
                     pause_over);
    pool_changed(pool);
}

static void on_ready(void *user, struct box *box, const struct json *ready)
{
    struct slot *slot = user;
    struct pool *pool = slot->pool;
    slot->state = SLOT_IDLE;
    toolset_read(&pool->tools, ready);
    free(pool->layers);
    pool->layers = box_layers(box) ? xstrdup(box_layers(box)) : NULL;
    free(pool->complaints);
    pool->complaints = box_complaints_line(box);
    free(pool->trouble);
    pool->trouble = NULL;
    pool_changed(pool);
}

static void on_gone(void *user, struct box *box, const char *why)
{
    (void)box;
    struct slot *slot = user;
    struct pool *pool = slot->pool;
    slot->dead = true;
    if (slot->state == SLOT_BUSY)
        return; /* whoever has it hears of it by the channel, and gives it back */
    /* One that never served is a start that failed, however far it came. */
    if (slot->state == SLOT_STARTING || slot->uses == 0)
        start_failed(pool, why);
    else
        pool->retired++;
    leave(slot);
}

static void start_one(struct pool *pool)
{
    struct slot *slot = xcalloc(1, sizeof(*slot));
    struct box_spec spec = *pool->spec;
    struct err err = ERR_INIT;
    CLEANUP(free) char *name = xasprintf("keyturn-%08x-%u", pool->id, ++pool->number);
    slot->pool = pool;
    slot->number = pool->number;
    slot->lines = (struct lines)LINES_INIT(POOL_WIPE_LINE);
    if (!pool->rooms)
        pool->rooms = rooms_open(pool->folder, &err);
    if (pool->rooms)
        spec.folder = slot->room = rooms_make(pool->rooms, name, &err);
    slot->lives_there = !spec.workspace && sandbox_engine_uses(spec.engine, "workspace");
    if (slot->lives_there)
        spec.workspace = slot->room;
    if (slot->room) {
        struct box_listener listener = {.ready = on_ready, .gone = on_gone, .idle = slot_idle, .user = slot};
        slot->box = pool->options.start(pool->loop, &spec, name, &listener, &err);
    }
    if (!slot->box) {
        if (slot->room)
            rmdir(slot->room);
        slot_free(slot);
        start_failed(pool, err.text);
        return;
    }
    slot->next = pool->slots;
    pool->slots = slot;
}

/* Settling */

static struct slot *find_slot(struct pool *pool, enum slot_state state)
{
    for (struct slot *slot = pool->slots; slot; slot = slot->next)
        if (slot->state == state)
            return slot;
    return NULL;
}

/* One that did not keep still. If it never served, the next would hardly be better: it counts as a start that failed,
 * or boxes would be started without pause while the caller waits for ever. */
static void reject(struct slot *slot)
{
    if (slot->uses) {
        slot_retire(slot);
        return;
    }
    CLEANUP(free) char *why = xasprintf("%s speaks before it is asked", slot->pool->spec->engine->name);
    start_failed(slot->pool, why);
    leave(slot);
}

/* One that can be handed out. */
static struct slot *find_quiet(struct pool *pool)
{
    struct slot *slot;
    while ((slot = find_slot(pool, SLOT_IDLE)) && !box_kept_still(slot->box))
        reject(slot);
    return slot;
}

static struct pool_ticket *next_ticket(struct pool *pool)
{
    struct pool_ticket *ticket = pool->waiting;
    pool->waiting = ticket->next;
    if (!pool->waiting)
        pool->waiting_end = &pool->waiting;
    return ticket;
}

static size_t count_slow(const struct pool *pool)
{
    size_t n = 0;
    for (const struct slot *slot = pool->slots; slot; slot = slot->next)
        n += slot->slow;
    return n;
}

/* Whoever waits takes the next box that is clean. One that is not soon clean, since its script goes on, is as good as
 * busy for him. */
static size_t wanted(const struct pool *pool)
{
    size_t most = pool->options.size + pool->options.overflow, waiting = count_waiting(pool);
    size_t needed = count(pool, SLOT_BUSY) + waiting + (waiting ? count_slow(pool) : 0);
    if (needed < pool->options.size && (pool->rooms || !pool->options.lazy))
        return pool->options.size;
    if (!needed && !pool->tools.told && !pool->failed)
        return 1; /* what its tools may do is asked for before anybody runs a script */
    return needed < most ? needed : most;
}

/* One of those who wait for the tools, if they are known. */
static void tell_known(struct pool *pool)
{
    struct waiter *waiter = pool_tools_known(pool) ? pool->curious : NULL;
    if (!waiter)
        return;
    pool->curious = waiter->next;
    pool_changed(pool); /* there may be more of them */
    waiter->wake(waiter);
}

static void settle(struct loop_task *task)
{
    struct pool *pool = CONTAINER_OF(task, struct pool, settling);
    struct pool_ticket *ticket = NULL;
    struct slot *slot = pool->waiting ? find_quiet(pool) : NULL;
    if (slot) {
        ticket = next_ticket(pool);
        slot->state = SLOT_BUSY;
    }
    while (count_all(pool) < wanted(pool) && !loop_timer_armed(&pool->pause))
        start_one(pool);
    for (struct slot *idle; count_all(pool) > wanted(pool) && (idle = find_slot(pool, SLOT_IDLE));)
        leave(idle);
    CLEANUP(free) char *why = NULL;
    if (!ticket && pool->waiting && !pool->slots && pool->trouble) {
        ticket = next_ticket(pool);
        why = xstrdup(pool->trouble);
    }
    if (!ticket) {
        tell_known(pool);
        return;
    }
    pool_changed(pool); /* there may be more to hand out */
    struct pool_ticket own = *ticket;
    free(ticket);
    own.got(own.user, slot ? slot->box : NULL, why);
}

/* From outside */

struct pool *pool_new(const struct pool_options *options, struct err *err)
{
    struct rooms *rooms = options->lazy ? NULL : rooms_open(options->folder, err);
    if (!rooms && !options->lazy)
        return NULL;
    struct pool *pool = xcalloc(1, sizeof(*pool));
    pool->loop = options->loop;
    pool->options = *options;
    pool->options.spec = NULL;
    pool->options.folder = NULL;
    if (!pool->options.start)
        pool->options.start = box_start;
    if (pool->options.size + pool->options.overflow == 0)
        pool->options.overflow = 1;
    pool->rooms = rooms;
    pool->folder = xstrdup(options->folder);
    pool->waiting_end = &pool->waiting;
    pool->spec = box_spec_copy(options->spec);
    pool->tools.told = !pool->spec->tools; /* none */
    if (getrandom(&pool->id, sizeof(pool->id), 0) != (ssize_t)sizeof(pool->id))
        BUG("the kernel gives no random bytes");
    pool_changed(pool);
    return pool;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pool->freed = true;
    pool->working++; /* until everything is taken down */
    while (pool->waiting)
        free(next_ticket(pool));
    while (pool->slots)
        leave(pool->slots);
    loop_timer_stop(pool->loop, &pool->pause);
    loop_unpost(pool->loop, &pool->settling);
    loop_unpost(pool->loop, &pool->telling);
    pool->working--;
    destroy_if_done(pool);
}

struct pool_ticket *pool_take(struct pool *pool, void (*got)(void *user, struct box *box, const char *why), void *user)
{
    struct pool_ticket *ticket = xcalloc(1, sizeof(*ticket));
    ticket->got = got;
    ticket->user = user;
    *pool->waiting_end = ticket;
    pool->waiting_end = &ticket->next;
    pool_changed(pool);
    return ticket;
}

void pool_forget(struct pool *pool, struct pool_ticket *ticket)
{
    struct pool_ticket **at = &pool->waiting;
    while (*at && *at != ticket)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = ticket->next;
    if (!*at)
        pool->waiting_end = at;
    free(ticket);
    pool_changed(pool);
}

void pool_give(struct pool *pool, struct box *box, bool reusable)
{
    struct slot *slot = pool->slots;
    while (slot && slot->box != box)
        slot = slot->next;
    if (!slot || slot->state != SLOT_BUSY)
        BUG("a box is given back that was not taken");
    struct channel *channel = box_channel(box);
    channel->received = NULL;
    channel->ended = NULL;
    channel->listener = NULL;
    slot->uses++;
    pool->served++;
    free(pool->complaints); /* it may have loaded its tools again */
    pool->complaints = box_complaints_line(box);
    if (!reusable || slot->dead || slot->uses >= POOL_USES_MAX) {
        slot_retire(slot);
        return;
    }
    pool->failures = 0;
    slot_clean(slot);
}

const struct toolset *pool_tools(const struct pool *pool)
{
    return &pool->tools;
}

bool pool_tools_known(const struct pool *pool)
{
    return pool->tools.told || pool->failed;
}

void pool_await_tools(struct pool *pool, struct waiter *waiter)
{
    waiter->next = pool->curious;
    pool->curious = waiter;
    pool_changed(pool);
}

void pool_stop_awaiting(struct pool *pool, struct waiter *waiter)
{
    struct waiter **at = &pool->curious;
    while (*at && *at != waiter)
        at = &(*at)->next;
    if (*at)
        *at = waiter->next;
}

const char *const *pool_secrets(const struct pool *pool)
{
    return pool->spec->secrets;
}

struct pool_status pool_status(const struct pool *pool)
{
    return (struct pool_status){
        .engine = pool->spec->engine->name,
        .layers = pool->layers,
        .trouble = pool->trouble,
        .complaints = pool->complaints,
        .starting = count(pool, SLOT_STARTING) + count(pool, SLOT_CLEANING),
        .idle = count(pool, SLOT_IDLE),
        .busy = count(pool, SLOT_BUSY),
        .waiting = count_waiting(pool),
        .served = pool->served,
        .retired = pool->retired,
        .failed = pool->failed,
    };
}

size_t pool_boxes(const struct pool *pool, struct pool_box *boxes, size_t room)
{
    static const char *const states[] = {
        [SLOT_STARTING] = "starting", [SLOT_IDLE] = "warm", [SLOT_BUSY] = "busy", [SLOT_CLEANING] = "wiped"};
    size_t written = 0, all = count_all(pool), at = all;
    for (const struct slot *slot = pool->slots; slot; slot = slot->next)
        if (--at < room) { /* the newest stands first in the list */
            boxes[at] = (struct pool_box){slot->number, states[slot->state], slot->uses,
                                          slot->state == SLOT_STARTING ? NULL : box_layers(slot->box)};
            written++;
        }
    return written;
}

void pool_watch(struct pool *pool, void (*tell)(void *user), void *user)
{
    pool->options.changed = tell;
    pool->options.user = user;
    if (!tell)
        loop_unpost(pool->loop, &pool->telling);
}
