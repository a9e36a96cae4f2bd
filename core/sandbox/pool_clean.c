/* A box that came back is wiped and looked at before anybody has it again.
 *
 * The workspace of a box on this machine is emptied from here; one that we cannot see (in a container, on another
 * machine) by a script in the box itself, which finds nobody else there: every script's processes die with it. */

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "pool_inside.h"
#include <string.h>
#include <sys/stat.h>

#define SOON_US (SECOND_US / 10) /* a box that is being cleaned is worth waiting for so long */
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

/* The script that had it has ended: nothing of it can write any more. */
static void begin_cleaning(struct slot *slot)
{
    loop_timer_stop(slot->pool->loop, &slot->limit);
    slot->clean = false;
    if (slot->lives_there)
        loop_work_start(slot->pool->loop, &slot->work, empty_room, room_emptied);
    else if (slot->pool->spec->workspace)
        cleaned(slot, true); /* somebody else's folder: what is in it is wanted */
    else
        wipe_inside(slot);
}

void slot_idle(void *user, struct box *box)
{
    (void)box;
    struct slot *slot = user;
    if (slot->state == SLOT_CLEANING && loop_timer_armed(&slot->limit))
        begin_cleaning(slot);
}

void slot_clean(struct slot *slot)
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
