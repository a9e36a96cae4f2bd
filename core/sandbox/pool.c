/* The pool of warm boxes: starts them ahead of time, lends them out, wipes and replaces them (pool.h).
 *
 * Every change ends in settle_pool, a task on the loop. It counts, hands out idle boxes, starts missing boxes and ends
 * surplus boxes. No other function decides about more than one box.
 *
 *   starting ──ready──► idle ──taken──► busy ──given──► cleaning ──empty, quiet──► idle
 *      │ gone             │ gone          │ not reusable     │ gone, not idle in time, not empty
 *      ▼                  ▼               ▼                  ▼
 *   trouble            leaving         leaving            leaving: kill the box, remove its folder on a thread
 *
 * Functions call callbacks last, because a callback may free the pool. A freed pool stays in memory, without calling
 * back, until the threads that remove folders have ended. */

#include "pool.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/waiter.h"
#include "scratch_dirs.h"
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define SECOND_US      INT64_C(1000000)
#define POOL_WIPE_LINE 4096u

enum slot_state { SLOT_STARTING, SLOT_IDLE, SLOT_BUSY, SLOT_CLEANING };

struct slot {
    struct pool *pool;
    struct slot *next;
    struct box *box;
    char *room;
    bool lives_there; /* the workspace is the scratch folder; false: Keyturn cannot see it, or the user owns it */
    enum slot_state state;
    unsigned number, uses;
    bool dead;  /* the box has ended */
    bool clean; /* the wipe succeeded */
    bool slow;  /* cleaning takes longer than SOON_US */
    struct loop_work work;
    struct loop_timer limit; /* bounds the step that the cleaning slot waits for */
    struct loop_timer soon;  /* sets `slow` */
    struct lines lines;      /* output of the wipe script */
    struct err err;
};

struct pool_ticket {
    struct pool_ticket *next;
    void (*got)(void *user, struct box *box, const char *why);
    void *user;
};

struct pool {
    struct loop *loop;
    struct box_options *spec;     /* owned by the pool */
    struct scratch_dirs *scratch; /* NULL: no box was requested yet */
    char *folder;
    struct pool_options options;
    struct slot *slots;
    struct pool_ticket *waiting, **waiting_end;
    struct loop_task settling, telling;
    struct loop_timer pause; /* the pool starts no box while this is armed */
    unsigned failures;       /* failed starts in a row */
    char *trouble, *layers, *complaints;
    struct toolset tools;
    struct waiter *curious; /* callers that wait until the tools are known */
    uint32_t id, number;    /* used in names */
    uint64_t served, retired, failed;
    size_t working; /* threads that remove folders of slots that are in no list any more */
    bool freed;
};

static void pool_changed(struct pool *pool);
static void slot_retire(struct slot *slot);
static void slot_clean(struct slot *slot);
static void slot_idle(void *user, struct box *box);

#define PAUSE_US     (SECOND_US / 2) /* after the first failure; doubled after each further one */
#define PAUSE_MAX_US (30 * SECOND_US)

static void settle_pool(struct loop_task *task);

/* ---- counting ---- */

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

static void pool_changed(struct pool *pool)
{
    loop_post(pool->loop, &pool->settling, settle_pool);
    if (pool->options.changed)
        loop_post(pool->loop, &pool->telling, tell_changed);
}

/* ---- the end of a slot ---- */

static void destroy_if_done(struct pool *pool)
{
    if (!pool->freed || pool->working)
        return;
    scratch_dirs_close(pool->scratch);
    free(pool->folder);
    box_options_free(pool->spec);
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
    /* A process that was just killed may still write. scratch_dirs removes the rest later. */
    if (file_remove_tree(slot->room, &slot->err))
        log_debug("pool: %s", slot->err.text);
}

/* Removes the slot from the list and ends its box. */
static void pool_leave(struct slot *slot)
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
    if (slot->work.impl) { /* a thread empties the folder; the pool no longer waits for it */
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

static void slot_retire(struct slot *slot)
{
    slot->pool->retired++;
    pool_leave(slot);
}

/* ---- starting ---- */

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

static void on_pool_ready(void *user, struct box *box, const struct json *ready)
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
        return; /* the borrower learns this from the channel and gives the box back */
    /* If the box never served, this counts as a failed start. */
    if (slot->state == SLOT_STARTING || slot->uses == 0)
        start_failed(pool, why);
    else
        pool->retired++;
    pool_leave(slot);
}

static void start_one(struct pool *pool)
{
    struct slot *slot = xcalloc(1, sizeof(*slot));
    struct box_options spec = *pool->spec;
    struct err err = ERR_INIT;
    CLEANUP(free) char *name = xasprintf("keyturn-%08x-%u", pool->id, ++pool->number);
    slot->pool = pool;
    slot->number = pool->number;
    slot->lines = (struct lines)LINES_INIT(POOL_WIPE_LINE);
    if (!pool->scratch)
        pool->scratch = scratch_dirs_open(pool->folder, &err);
    if (pool->scratch)
        spec.folder = slot->room = scratch_dirs_make(pool->scratch, name, &err);
    slot->lives_there = !spec.workspace && sandbox_engine_uses(spec.engine, "workspace");
    if (slot->lives_there)
        spec.workspace = slot->room;
    if (slot->room) {
        struct box_listener listener = {.ready = on_pool_ready, .gone = on_gone, .idle = slot_idle, .user = slot};
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

/* ---- settling ---- */

static struct slot *find_slot(struct pool *pool, enum slot_state state)
{
    for (struct slot *slot = pool->slots; slot; slot = slot->next)
        if (slot->state == state)
            return slot;
    return NULL;
}

/* Ends a box that was not quiet. If the box never served, this counts as a failed start, because the next box would
 * hardly be better. Otherwise the pool would start boxes without pause while the caller waits forever. */
static void reject(struct slot *slot)
{
    if (slot->uses) {
        slot_retire(slot);
        return;
    }
    CLEANUP(free) char *why = xasprintf("%s printed output before a request", slot->pool->spec->engine->name);
    start_failed(slot->pool, why);
    pool_leave(slot);
}

/* Finds a box that the pool can hand out. */
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

/* Counts the boxes that the waiting callers need. A waiting caller takes the next clean box. A box that is slow to
 * clean, because its script still runs, counts as busy. */
static size_t wanted(const struct pool *pool)
{
    size_t most = pool->options.size + pool->options.overflow, waiting = count_waiting(pool);
    size_t needed = count(pool, SLOT_BUSY) + waiting + (waiting ? count_slow(pool) : 0);
    if (needed < pool->options.size && (pool->scratch || !pool->options.lazy))
        return pool->options.size;
    if (!needed && !pool->tools.told && !pool->failed)
        return 1; /* the pool needs a box to list the tools before the first script */
    return needed < most ? needed : most;
}

/* Wakes one caller that waits for the tools, if they are known. */
static void tell_known(struct pool *pool)
{
    struct waiter *waiter = pool_tools_known(pool) ? pool->curious : NULL;
    if (!waiter)
        return;
    pool->curious = waiter->next;
    pool_changed(pool); /* more callers may wait */
    waiter->wake(waiter);
}

static void settle_pool(struct loop_task *task)
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
        pool_leave(idle);
    CLEANUP(free) char *why = NULL;
    if (!ticket && pool->waiting && !pool->slots && pool->trouble) {
        ticket = next_ticket(pool);
        why = xstrdup(pool->trouble);
    }
    if (!ticket) {
        tell_known(pool);
        return;
    }
    pool_changed(pool); /* the pool may have more boxes to hand out */
    struct pool_ticket own = *ticket;
    free(ticket);
    own.got(own.user, slot ? slot->box : NULL, why);
}

/* ---- from outside ---- */

struct pool *pool_new(const struct pool_options *options, struct err *err)
{
    struct scratch_dirs *scratch = options->lazy ? NULL : scratch_dirs_open(options->folder, err);
    if (!scratch && !options->lazy)
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
    pool->scratch = scratch;
    pool->folder = xstrdup(options->folder);
    pool->waiting_end = &pool->waiting;
    pool->spec = box_options_copy(options->spec);
    pool->tools.told = !pool->spec->tools; /* without a tools folder, the list is empty and known */
    if (getrandom(&pool->id, sizeof(pool->id), 0) != (ssize_t)sizeof(pool->id))
        BUG("cannot read random bytes");
    pool_changed(pool);
    return pool;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pool->freed = true;
    pool->working++; /* until the pool is freed */
    while (pool->waiting)
        free(next_ticket(pool));
    while (pool->slots)
        pool_leave(pool->slots);
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
        BUG("a box is returned that was not taken");
    struct channel *channel = box_channel(box);
    channel->received = NULL;
    channel->ended = NULL;
    channel->listener = NULL;
    slot->uses++;
    pool->served++;
    free(pool->complaints); /* the harness may have reloaded its tools */
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
        if (--at < room) { /* the list starts with the newest */
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

/* ---- cleaning a returned box ---- */

/* The pool wipes and checks a returned box before it hands the box out again.
 *
 * The pool empties the workspace of a box on this machine directly. If Keyturn cannot see the workspace (in a
 * container, on another machine), a script in the box wipes it. That script runs alone there, because the processes
 * of every earlier script died with that script. */

#define SOON_US (SECOND_US / 10) /* a caller waits this long for a box that is being cleaned */
#define WIPE_S  15

static const char wipe_script[] = "import os\n"
                                  "def empty(folder):\n"
                                  "    if os.stat(folder).st_mode & 0o700 != 0o700:\n"
                                  "        os.chmod(folder, 0o700)\n"
                                  "    for entry in list(os.scandir(folder)):\n"
                                  "        if entry.is_dir(follow_symlinks=False):\n"
                                  "            empty(entry.path)\n"
                                  "            os.rmdir(entry.path)\n"
                                  "        else:\n"
                                  "            os.unlink(entry.path)\n"
                                  "empty('.')\n"
                                  "emit_result(len(os.listdir('.')))\n";

static void cleaned(struct slot *slot, bool well)
{
    struct channel *channel = box_channel(slot->box);
    channel->received = NULL;
    channel->ended = NULL;
    loop_timer_stop(slot->pool->loop, &slot->limit);
    loop_timer_stop(slot->pool->loop, &slot->soon);
    slot->slow = false;
    if (!well || slot->dead || !box_kept_still(slot->box)) {
        slot_retire(slot);
        return;
    }
    slot->state = SLOT_IDLE;
    pool_changed(slot->pool);
}

static void empty_room(struct loop_work *work)
{
    struct slot *slot = CONTAINER_OF(work, struct slot, work);
    const char *folder = slot->room;
    if (file_empty_folder(folder, &slot->err) == 0 && chmod(folder, 0700) == 0)
        slot->clean = true;
}

static void room_emptied(struct loop_work *work)
{
    struct slot *slot = CONTAINER_OF(work, struct slot, work);
    cleaned(slot, slot->clean);
}

static void too_long(struct loop_timer *timer)
{
    cleaned(CONTAINER_OF(timer, struct slot, limit), false);
}

static void not_soon(struct loop_timer *timer)
{
    struct slot *slot = CONTAINER_OF(timer, struct slot, soon);
    slot->slow = true;
    pool_changed(slot->pool);
}

static bool on_wipe_line(void *user, const char *text, size_t len)
{
    struct slot *slot = user;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *event = json_parse(&arena, text, len, NULL);
    if (strcmp(json_str(json_get(event, "type"), ""), "final_result") == 0)
        slot->clean = json_int(json_get(event, "data"), -1) == 0;
    return true;
}

static void wipe_received(struct channel *channel, const char *bytes, size_t len)
{
    struct slot *slot = channel->listener;
    lines_feed(&slot->lines, bytes, len, on_wipe_line, slot);
    if (box_is_idle(slot->box))
        cleaned(slot, slot->clean);
}

static void limit_cleaning(struct slot *slot, int seconds)
{
    loop_timer_start(slot->pool->loop, &slot->limit, loop_now_us(slot->pool->loop) + seconds * SECOND_US, too_long);
}

static void wipe_inside(struct slot *slot)
{
    CLEANUP(strbuf) struct strbuf request = STRBUF_INIT;
    struct json_writer w = json_begin(&request);
    json_open(&w, NULL, '{');
    json_add_str(&w, "execution_id", "wipe");
    json_add_str(&w, "script", wipe_script);
    json_add_int(&w, "timeout", WIPE_S - 1);
    json_add_str(&w, "mode", "PLAN");
    json_add_raw(&w, "required_secrets", "[]");
    json_close(&w, '}');
    strbuf_addch(&request, '\n');
    struct channel *channel = box_channel(slot->box);
    channel->received = wipe_received;
    channel->listener = slot;
    limit_cleaning(slot, WIPE_S);
    if (channel->ops->write(channel, request.buf, request.len))
        cleaned(slot, false);
}

/* The script of this box has ended, so none of its processes can still write. */
static void begin_cleaning(struct slot *slot)
{
    loop_timer_stop(slot->pool->loop, &slot->limit);
    slot->clean = false;
    if (slot->lives_there)
        loop_work_start(slot->pool->loop, &slot->work, empty_room, room_emptied);
    else if (slot->pool->spec->workspace)
        cleaned(slot, true); /* the user owns this folder and needs its files */
    else
        wipe_inside(slot);
}

static void slot_idle(void *user, struct box *box)
{
    (void)box;
    struct slot *slot = user;
    if (slot->state == SLOT_CLEANING && loop_timer_armed(&slot->limit))
        begin_cleaning(slot);
}

static void slot_clean(struct slot *slot)
{
    struct pool *pool = slot->pool;
    slot->state = SLOT_CLEANING;
    loop_timer_start(pool->loop, &slot->soon, loop_now_us(pool->loop) + SOON_US, not_soon);
    pool_changed(pool);
    if (box_is_idle(slot->box))
        begin_cleaning(slot);
    else
        limit_cleaning(slot, POOL_SETTLE_S);
}
